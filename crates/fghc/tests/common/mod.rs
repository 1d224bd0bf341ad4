//! Running programs from text, for tests.

// Every test program has this module, and none needs all of it.
#![allow(dead_code)]

use std::io::Write;
use std::sync::{Arc, Mutex};

use weft_fghc::check::check;
use weft_fghc::engine::{Counters, Engine, Loaded, Options, Rounds, Stop};
use weft_fghc::ir::Source;

#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub struct Outcome {
    pub engine: Engine,
    pub stop: Stop,
    pub output: String,
}

impl Outcome {
    pub fn counters(&self) -> Counters {
        self.engine.counters()
    }

    pub fn answer(&self, name: &str) -> String {
        let answers = self.engine.answers();
        answers
            .iter()
            .find(|(outcome, _)| outcome == name)
            .unwrap_or_else(|| panic!("no {name} in {answers:?}"))
            .1
            .clone()
    }

    pub fn done(self) -> Outcome {
        assert!(
            matches!(self.stop, Stop::Idle) && self.engine.finished(),
            "{:?}, waiting: {:?}",
            self.stop,
            self.engine.waiting()
        );
        self
    }

    pub fn problem(&self) -> String {
        match &self.stop {
            Stop::Problem(problem) => problem.to_string(),
            other => panic!("no problem but {other:?}"),
        }
    }
}

pub fn load(text: &str, goal: &str, counting: bool) -> Loaded {
    let checked = check(vec![Source { name: "test.fghc".to_string(), text: text.to_string() }], Some(goal));
    let rendered = checked.render(false);
    Loaded::new(checked.program.unwrap_or_else(|| panic!("{rendered}")), counting).unwrap()
}

pub fn run_loaded(loaded: &Loaded, options: Options) -> Outcome {
    let kept = Kept::default();
    let options = Options { output: Box::new(kept.clone()), ..options };
    let mut engine = Engine::new(loaded, options).unwrap();
    assert!(engine.start());
    // A test that goes on for ever must not.
    let stop = engine.run(200_000_000);
    engine.flush();
    let output = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    Outcome { engine, stop, output }
}

pub fn run_with(text: &str, goal: &str, options: Options) -> Outcome {
    run_loaded(&load(text, goal, false), options)
}

pub fn run(text: &str, goal: &str) -> Outcome {
    run_with(text, goal, Options::default())
}

/// In order, with collections all the time, in random orders, and breadth first: all must agree.
pub fn under_every_option(text: &str, goal: &str, look: impl Fn(&Outcome) -> String) -> String {
    let loaded = load(text, goal, false);
    let plain = look(&run_loaded(&loaded, Options::default()));
    let native = loaded.clone().translate();
    let counted = load(text, goal, true);
    let counted_natively = counted.clone().translate();
    for (seed, collect_every, breadth_first) in [
        (None, Some(1), false),
        (None, Some(7), false),
        (Some(1), None, false),
        (Some(2), Some(3), false),
        (Some(3), Some(50), false),
        (None, None, true),
        (None, Some(1), true),
        (None, Some(3), true),
        (Some(4), Some(3), true),
    ] {
        let rounds = Rounds { breadth_first, counts_arguments: breadth_first };
        let options = Options { seed, collect_every, rounds, ..Options::default() };
        let description =
            format!("seed {seed:?}, a collection every {collect_every:?}, breadth first: {breadth_first}");
        let outcome = run_loaded(&loaded, options);
        assert_eq!(look(&outcome), plain, "{description}");
        let options = Options { seed, collect_every, rounds, ..Options::default() };
        let natively = run_loaded(&native, options);
        assert_eq!(look(&natively), plain, "native, {description}");
        assert_eq!(natively.counters(), outcome.counters(), "native, {description}");
        assert_eq!(natively.output, outcome.output, "native, {description}");
        if seed.is_some() {
            continue;
        }
        let options = || Options { seed, collect_every, rounds, ..Options::default() };
        let [counted, natively] = [&counted, &counted_natively].map(|loaded| run_loaded(loaded, options()));
        assert_eq!(counted.counters(), outcome.counters(), "counted, {description}");
        assert_eq!(natively.counters(), outcome.counters(), "counted, native, {description}");
        assert_eq!(natively.engine.counts(), counted.engine.counts(), "native, {description}");
    }
    plain
}
