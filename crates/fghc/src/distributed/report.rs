//! What a run tells: how it ended, and what every PE counted.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::message::{KINDS, Malformed, Reader, Write};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "end", content = "detail")]
pub enum End {
    /// All goals have ended.
    Finished,
    /// A goal outside all metacalls failed, or a PE cannot go on.
    Problem {
        /// Where.
        pe: usize,
        /// What, where in the program, and what to do.
        message: String,
    },
    /// Perpetual suspension: goals are left, and nothing will ever wake them.
    Suspended(Stuck),
    /// The program called `exit` with this code.
    Exit(i64),
    /// Ctrl-C.
    Interrupted(Interrupted),
}

/// What was left of a run that was interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interrupted {
    /// The next goals of each PE.
    pub ready: Vec<String>,
    /// The goals that waited.
    pub waiting: Stuck,
}

/// Goals that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stuck {
    /// The first of each PE.
    pub goals: Vec<StuckGoal>,
    /// How many there are.
    pub count: u64,
}

/// A goal that nothing will wake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StuckGoal {
    /// Where it waits.
    pub pe: usize,
    /// The goal with its arguments.
    pub goal: String,
    /// The variables of which any would wake it; those that live elsewhere with their place.
    pub variables: Vec<String>,
}

impl std::fmt::Display for StuckGoal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PE {}: {}", self.pe, self.goal)?;
        if !self.variables.is_empty() {
            write!(f, " waits for {}", self.variables.join(", "))?;
        }
        Ok(())
    }
}

/// What one PE counted (paper, section 7.2).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// Which PE, from 0.
    pub pe: usize,
    /// Commitments to clauses of predicates.
    pub reductions: u64,
    /// Times that a goal suspended.
    pub suspensions: u64,
    /// Times that a goal woke.
    pub resumptions: u64,
    /// Collections of garbage.
    pub collections: u64,
    /// Seconds of work, reductions and messages.
    pub work: f64,
    /// Seconds without anything to do.
    pub idle: f64,
    /// Messages sent, by the number of their kind.
    pub sent: [u64; KINDS],
    /// Messages received, by the number of their kind.
    pub received: [u64; KINDS],
    /// Seconds of work that messages took, software and protocols; only virtual time knows them.
    pub communication: f64,
    /// What each goal with a pragma has sent, by its number in the code.
    pub sites: Vec<SiteCounts>,
}

/// What a goal with a pragma has sent from one PE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SiteCounts {
    /// Goals thrown.
    pub throws: u64,
    /// Constants, cells and references in their arguments.
    pub words: u64,
    /// References in their arguments.
    pub references: u64,
    /// Values that others asked for by these references; each question has an answer.
    pub reads: u64,
    /// Values that others sent for these references.
    pub unifications: u64,
}

impl SiteCounts {
    /// Messages that there would not be without it: goals, questions with their answers, values.
    pub fn messages(&self) -> u64 {
        self.throws + 2 * self.reads + self.unifications
    }

    fn numbers(&self) -> [u64; 5] {
        [self.throws, self.words, self.references, self.reads, self.unifications]
    }
}

impl Counts {
    /// Messages sent, of all kinds but the control of the run.
    pub fn messages(&self) -> u64 {
        self.sent[..KINDS - 1].iter().sum()
    }

    pub(super) fn write(&self, packet: &mut Vec<u8>) {
        for number in [self.pe as u64, self.reductions, self.suspensions, self.resumptions, self.collections] {
            packet.number(number);
        }
        packet.number(self.work.to_bits());
        packet.number(self.idle.to_bits());
        self.sent.iter().chain(&self.received).for_each(|&count| packet.number(count));
        packet.number(self.communication.to_bits());
        packet.number(self.sites.len() as u64);
        self.sites.iter().flat_map(SiteCounts::numbers).for_each(|count| packet.number(count));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Counts, Malformed> {
        let mut counts = Counts {
            pe: reader.index()?,
            reductions: reader.number()?,
            suspensions: reader.number()?,
            resumptions: reader.number()?,
            collections: reader.number()?,
            work: f64::from_bits(reader.number()?),
            idle: f64::from_bits(reader.number()?),
            sent: [0; KINDS],
            received: [0; KINDS],
            communication: 0.0,
            sites: Vec::new(),
        };
        for count in counts.sent.iter_mut().chain(&mut counts.received) {
            *count = reader.number()?;
        }
        counts.communication = f64::from_bits(reader.number()?);
        for _ in 0..reader.index()? {
            let mut numbers = [0; 5];
            for number in &mut numbers {
                *number = reader.number()?;
            }
            let [throws, words, references, reads, unifications] = numbers;
            counts.sites.push(SiteCounts { throws, words, references, reads, unifications });
        }
        Ok(counts)
    }
}

impl End {
    pub(super) fn write(&self, packet: &mut Vec<u8>) {
        match self {
            End::Finished => packet.byte(0),
            End::Problem { pe, message } => {
                packet.byte(1);
                packet.number(*pe as u64);
                Write::bytes(packet, message.as_bytes());
            }
            // Only PE 0 shows them.
            End::Suspended(_) => packet.byte(2),
            End::Exit(code) => {
                packet.byte(3);
                packet.signed(*code);
            }
            // Here too.
            End::Interrupted(_) => packet.byte(4),
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<End, Malformed> {
        Ok(match reader.byte()? {
            0 => End::Finished,
            1 => End::Problem { pe: reader.index()?, message: reader.text()? },
            2 => End::Suspended(Stuck::default()),
            3 => End::Exit(reader.signed()?),
            4 => End::Interrupted(Interrupted::default()),
            _ => return Err(Malformed("an unknown end")),
        })
    }
}

/// A goal that waits, in the words of its PE.
#[derive(Clone, Debug)]
pub(super) struct WaitingGoal {
    pub goal: String,
    pub variables: Vec<String>,
}

/// What is left on a PE, and how its variables are called elsewhere.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub pe: usize,
    /// How many goals wait.
    pub waiting: u64,
    /// The first of them.
    pub goals: Vec<WaitingGoal>,
    /// Goals that could go on.
    pub ready: Vec<String>,
    /// Name here, PE and index there.
    pub imports: Vec<(String, usize, usize)>,
    /// Index and name here.
    pub exports: Vec<(usize, String)>,
}

impl State {
    /// The goals of all PEs; variables that live elsewhere with their name there.
    pub fn waiting(all: &[State]) -> Stuck {
        let exports: FxHashMap<(usize, usize), &String> =
            all.iter().flat_map(|state| state.exports.iter().map(|(index, name)| ((state.pe, *index), name))).collect();
        let mut stuck = Stuck { goals: Vec::new(), count: all.iter().map(|state| state.waiting).sum() };
        for state in all {
            let imports: FxHashMap<&String, (usize, usize)> =
                state.imports.iter().map(|(name, pe, index)| (name, (*pe, *index))).collect();
            for goal in &state.goals {
                let variables = goal.variables.iter().map(|name| {
                    let import = imports.get(name);
                    match import.and_then(|key| Some((key.0, exports.get(key)?))) {
                        Some((pe, other)) => format!("{name}, which is {other} of PE {pe}"),
                        None => name.clone(),
                    }
                });
                let variables = variables.collect();
                stuck.goals.push(StuckGoal { pe: state.pe, goal: goal.goal.clone(), variables });
            }
        }
        stuck
    }

    /// The next goals of all PEs.
    pub fn ready(all: &[State]) -> Vec<String> {
        let of = |state: &State| state.ready.iter().map(|goal| format!("PE {}: {goal}", state.pe)).collect::<Vec<_>>();
        all.iter().flat_map(of).collect()
    }

    pub fn write(&self, packet: &mut Vec<u8>) {
        packet.number(self.pe as u64);
        packet.number(self.ready.len() as u64);
        self.ready.iter().for_each(|goal| Write::bytes(packet, goal.as_bytes()));
        packet.number(self.waiting);
        packet.number(self.goals.len() as u64);
        for goal in &self.goals {
            Write::bytes(packet, goal.goal.as_bytes());
            packet.number(goal.variables.len() as u64);
            goal.variables.iter().for_each(|name| Write::bytes(packet, name.as_bytes()));
        }
        packet.number(self.imports.len() as u64);
        for (name, pe, index) in &self.imports {
            Write::bytes(packet, name.as_bytes());
            packet.number(*pe as u64);
            packet.number(*index as u64);
        }
        packet.number(self.exports.len() as u64);
        for (index, name) in &self.exports {
            packet.number(*index as u64);
            Write::bytes(packet, name.as_bytes());
        }
    }

    pub fn read(reader: &mut Reader<'_>) -> Result<State, Malformed> {
        let mut state = State {
            pe: reader.index()?,
            waiting: 0,
            goals: Vec::new(),
            ready: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
        };
        for _ in 0..reader.index()? {
            state.ready.push(reader.text()?);
        }
        state.waiting = reader.number()?;
        for _ in 0..reader.index()? {
            let goal = reader.text()?;
            let mut variables = Vec::new();
            for _ in 0..reader.index()? {
                variables.push(reader.text()?);
            }
            state.goals.push(WaitingGoal { goal, variables });
        }
        for _ in 0..reader.index()? {
            state.imports.push((reader.text()?, reader.index()?, reader.index()?));
        }
        for _ in 0..reader.index()? {
            state.exports.push((reader.index()?, reader.text()?));
        }
        Ok(state)
    }
}
