//! All PEs of a program in one thread, with packets delivered in random order.

// Every test program that has this module uses a part of it.
#![allow(dead_code)]

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, Mutex};

use weft_fghc::distributed::{Activity, CopyLimits, Counts, End, Kind, Pe};
use weft_fghc::engine::{Loaded, Options, Rounds};

/// What the program wrote.
#[derive(Clone, Default)]
pub struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Written {
    pub fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().expect("no panic").clone();
        let mut lines: Vec<String> = String::from_utf8(bytes).expect("text").lines().map(str::to_string).collect();
        lines.sort();
        lines
    }
}

#[derive(Clone, Copy, Debug)]
pub struct PeSchedule {
    pub pes: usize,
    pub seed: u64,
    pub random_goals: bool,
    pub breadth_first: bool,
    pub collect_every: Option<u64>,
    pub copy: CopyLimits,
    pub slice: u64,
}

impl PeSchedule {
    pub fn plain(pes: usize) -> PeSchedule {
        PeSchedule {
            pes,
            seed: 1,
            random_goals: false,
            breadth_first: false,
            collect_every: None,
            copy: CopyLimits::default(),
            slice: 100,
        }
    }
}

pub struct Ran {
    pub end: End,
    pub answers: Vec<(String, String)>,
    pub lines: Vec<String>,
    pub counts: Vec<Counts>,
    pub exported: usize,
}

impl Ran {
    pub fn reductions(&self) -> u64 {
        self.counts.iter().map(|counts| counts.reductions).sum()
    }

    pub fn sent(&self, kind: Kind) -> u64 {
        self.counts.iter().map(|counts| counts.sent[kind as usize]).sum()
    }
}

/// All PEs in turn in one thread: packets of a pair stay in order, everything else is chosen by a generator.
pub fn run(loaded: &Loaded, schedule: PeSchedule) -> Ran {
    let written = Written::default();
    let mut pes: Vec<Pe> = (0..schedule.pes)
        .map(|node| {
            let options = Options {
                node,
                nodes: schedule.pes,
                heap: 64 << 20,
                seed: schedule.random_goals.then_some(schedule.seed),
                collect_every: schedule.collect_every,
                rounds: Rounds { breadth_first: schedule.breadth_first, counts_arguments: false },
                output: Box::new(written.clone()),
                ..Options::default()
            };
            let mut pe = Pe::new(loaded, options, schedule.copy).expect("memory");
            // Some read thrown goals when they come, some when they have nothing else to do.
            pe.put_off_goals((schedule.seed + node as u64) % 2 == 1);
            pe
        })
        .collect();
    assert!(pes[0].start());
    let mut network: BTreeMap<(usize, usize), VecDeque<Vec<u8>>> = BTreeMap::new();
    let mut state = schedule.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    for _ in 0..20_000_000 {
        let in_flight: Vec<(usize, usize)> =
            network.iter().filter(|(_, queue)| !queue.is_empty()).map(|(pair, _)| *pair).collect();
        let choice = random(in_flight.len() + schedule.pes);
        let pe = if let Some(pair) = in_flight.get(choice) {
            let packet = network.get_mut(pair).and_then(VecDeque::pop_front).expect("not empty");
            pes[pair.1].receive(&packet).expect("a packet of this program");
            pair.1
        } else {
            choice - in_flight.len()
        };
        let activity = pes[pe].step(1 + random(schedule.slice as usize) as u64);
        let none_for_it = !network.iter().any(|((_, to), queue)| *to == pe && !queue.is_empty());
        let mut packets = pes[pe].take_packets();
        if activity == Activity::Resting && none_for_it && packets.is_empty() {
            pes[pe].rest();
            packets = pes[pe].take_packets();
        }
        for (to, packet) in packets {
            network.entry((pe, to)).or_default().push_back(packet);
        }
        if pes[0].end().is_some() {
            pes.iter_mut().for_each(Pe::flush);
        }
        if let Some(end) = pes[0].end() {
            return Ran {
                end: end.clone(),
                answers: pes[0].answers(),
                lines: written.lines(),
                counts: pes.iter().map(Pe::counted).collect(),
                exported: pes.iter().map(Pe::exported).sum(),
            };
        }
    }
    panic!("no end: {schedule:?}");
}
