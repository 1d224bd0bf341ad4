//! The run as a whole: how it ends, and what is left then.

use rustc_hash::FxHashSet;

use super::{Activity, FIRST, Gathering, Pe, SHOWN_GOALS, control};
use crate::distributed::message::{Kind, Malformed, Reader};
use crate::distributed::quiescence::Token;
use crate::distributed::report::{Counts, End, Interrupted, State, WaitingGoal};

impl Pe {
    pub(super) fn control_packet(&mut self, to: usize, what: u8) -> Vec<u8> {
        debug_assert_ne!(to, self.me);
        self.sent[Kind::Control as usize] += 1;
        vec![Kind::Control as u8, what]
    }

    pub(super) fn tell_all_others(&mut self, what: u8, rest: &[u8]) {
        for pe in (0..self.pes).filter(|pe| *pe != self.me).collect::<Vec<_>>() {
            let mut packet = self.control_packet(pe, what);
            packet.extend_from_slice(rest);
            self.control.push((pe, packet));
        }
    }

    /// This PE ends the run; PE 0 tells the others.
    pub(super) fn ends(&mut self, end: End) -> Activity {
        if self.me == FIRST {
            if matches!(end, End::Interrupted(_)) {
                self.gather(Gathering::Interrupted);
            } else {
                self.finish(end);
            }
            return if self.end.is_some() { Activity::Ended } else { Activity::Resting };
        }
        if !std::mem::replace(&mut self.end_announced, true) {
            let mut packet = self.control_packet(FIRST, control::STOP);
            end.write(&mut packet);
            self.control.push((FIRST, packet));
        }
        Activity::Resting
    }

    /// On PE 0: the run is over.
    pub(super) fn finish(&mut self, end: End) {
        if self.end.is_some() {
            return;
        }
        let mut packet = Vec::new();
        end.write(&mut packet);
        self.end = Some(end);
        self.tell_all_others(control::END, &packet);
    }

    /// On PE 0: the run ends once all PEs have said what is left on them.
    pub(super) fn gather(&mut self, why: Gathering) {
        if self.end.is_some() || self.gathering.is_some() {
            return;
        }
        self.gathering = Some(why);
        self.states = vec![None; self.pes];
        self.states[FIRST] = Some(self.state());
        self.tell_all_others(control::WHAT_IS_LEFT, &[]);
        self.all_have_said();
    }

    pub(super) fn all_have_said(&mut self) {
        let said: Option<Vec<State>> = self.states.iter().cloned().collect();
        let Some(states) = said else { return };
        match self.gathering {
            Some(Gathering::Suspended) => self.finish(End::Suspended(State::waiting(&states))),
            Some(Gathering::Interrupted) => {
                let waiting = State::waiting(&states);
                self.finish(End::Interrupted(Interrupted { ready: State::ready(&states), waiting }));
            }
            None => {}
        }
    }

    pub(super) fn state(&mut self) -> State {
        self.start_all_unread();
        let goals: Vec<_> = self
            .engine
            .waiting()
            .into_iter()
            .map(|goal| WaitingGoal { goal: goal.goal, variables: goal.variables })
            .collect();
        // The names of the variables that these goals wait for, and of those that others may.
        let wanted: FxHashSet<&str> = goals.iter().flat_map(|goal| goal.variables.iter().map(String::as_str)).collect();
        let name = |value| self.engine.name_of_variable(value);
        let imports = self
            .imports
            .iter()
            .filter_map(|(number, import)| {
                let name = name(self.engine.external_value(number)?)?;
                wanted.contains(name.as_str()).then_some((name, import.pe, import.index))
            })
            .collect();
        let exports = self
            .exports
            .iter()
            .filter_map(|(index, entry)| Some((index, name(self.engine.held(entry.root))?)))
            .collect();
        let ready = self.engine.ready_goals(SHOWN_GOALS);
        State { pe: self.me, waiting: self.engine.waiting_count(), goals, ready, imports, exports }
    }

    pub(super) fn controlled(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        match reader.byte()? {
            control::TOKEN => {
                let token = Token { count: reader.signed()?, black: reader.byte()? != 0 };
                self.quiescence.take(token);
            }
            control::STOP => {
                let end = End::read(reader)?;
                if self.me != FIRST {
                    return Err(Malformed("only PE 0 ends the run"));
                }
                self.ends(end);
            }
            control::WHAT_IS_LEFT if self.me != FIRST => {
                let state = self.state();
                let mut packet = self.control_packet(FIRST, control::LEFT);
                state.write(&mut packet);
                self.control.push((FIRST, packet));
            }
            control::LEFT if self.gathering.is_some() => {
                let state = State::read(reader)?;
                let pe = state.pe;
                *self.states.get_mut(pe).ok_or(Malformed("a report of an unknown PE"))? = Some(state);
                self.all_have_said();
            }
            control::END => self.end = Some(End::read(reader)?),
            control::COUNTS => {
                let counts = Counts::read(reader)?;
                self.counts.push(Some(counts));
            }
            _ => return Err(Malformed("an unknown message of control")),
        }
        Ok(())
    }

    /// A packet for PE 0 with what this PE counted, at the end of the run.
    pub fn counts_packet(&self, counts: &Counts) -> Vec<u8> {
        let mut packet = vec![Kind::Control as u8, control::COUNTS];
        counts.write(&mut packet);
        packet
    }

    /// On PE 0, at the end of the run: the counts that have come in.
    pub fn others_counts(&self) -> impl Iterator<Item = &Counts> {
        self.counts.iter().flatten()
    }
}
