//! Runs a program on one processing element and prints what was counted and how long it took: for benchmarks.
//!
//! `cargo run --release -p weft-fghc --example fghc -- FILE GOAL [--seed N] [--collect-every N] [--heap BYTES] [--quiet] [--counts]
//! [--repeat N] [--json] [--native [--without-counters] [--placement SEED]]`

use std::io::Write as _;
use std::time::Instant;

use weft_fghc::check::check;
use weft_fghc::engine::{Engine, Loaded, Options, Stop, Translation};
use weft_fghc::ir::Source;

struct Arguments {
    file: String,
    goal: String,
    seed: Option<u64>,
    collect_every: Option<u64>,
    heap: usize,
    quiet: bool,
    counts: bool,
    repeat: usize,
    json: bool,
    native: bool,
    translation: Translation,
}

fn arguments() -> Result<Arguments, String> {
    let mut words = std::env::args().skip(1);
    let mut positional = Vec::new();
    let mut chosen = Arguments {
        file: String::new(),
        goal: String::new(),
        seed: None,
        collect_every: None,
        heap: weft_fghc::engine::DEFAULT_HEAP,
        quiet: false,
        counts: false,
        repeat: 1,
        json: false,
        native: false,
        translation: Translation::default(),
    };
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            words.next().and_then(|word| word.parse().ok()).ok_or(format!("{word} needs a number"))
        };
        match word.as_str() {
            "--seed" => chosen.seed = Some(number()?),
            "--collect-every" => chosen.collect_every = Some(number()?),
            "--heap" => chosen.heap = number()? as usize,
            "--repeat" => chosen.repeat = number()? as usize,
            "--quiet" => chosen.quiet = true,
            "--counts" => chosen.counts = true,
            "--json" => chosen.json = true,
            "--native" => chosen.native = true,
            "--without-counters" => chosen.translation.counters = false,
            "--placement" => chosen.translation.placement = Some(number()?),
            _ => positional.push(word),
        }
    }
    let [file, goal] = <[String; 2]>::try_from(positional).map_err(|_| "give a file and a goal".to_string())?;
    Ok(Arguments { file, goal, ..chosen })
}

fn main() -> Result<(), String> {
    let chosen = arguments()?;
    let text = std::fs::read_to_string(&chosen.file).map_err(|error| format!("{}: {error}", chosen.file))?;
    let checked = check(vec![Source { name: chosen.file.clone(), text }], Some(&chosen.goal));
    let Some(program) = checked.program.clone() else { return Err(checked.render(false)) };
    let loaded = Loaded::new(program, chosen.counts).map_err(|error| error.to_string())?;
    let loaded = if chosen.native { loaded.translate_as(&chosen.translation) } else { loaded };
    if chosen.native && !loaded.is_translated() {
        return Err("no native code for this processor".to_string());
    }
    for _ in 0..chosen.repeat {
        let output: Box<dyn std::io::Write + Send> =
            if chosen.quiet { Box::new(std::io::sink()) } else { Box::new(std::io::stdout()) };
        let options = Options {
            heap: chosen.heap,
            seed: chosen.seed,
            collect_every: chosen.collect_every,
            output,
            ..Options::default()
        };
        let mut engine = Engine::new(&loaded, options).ok_or("no memory")?;
        engine.start();
        let begin = Instant::now();
        let stop = engine.run(u64::MAX);
        let seconds = begin.elapsed().as_secs_f64();
        engine.flush();
        let counters = engine.counters();
        if chosen.json {
            println!(
                "{{\"reductions\": {}, \"seconds\": {seconds}, \"suspensions\": {}, \"collections\": {}}}",
                counters.reductions, counters.suspensions, counters.collections
            );
        } else {
            for (name, value) in engine.answers() {
                println!("{name} = {value}");
            }
            let rate = counters.reductions as f64 / seconds / 1e6;
            println!("{counters:?} {seconds:.4} s {rate:.1} M/s");
        }
        match stop {
            Stop::Idle if engine.finished() => {}
            Stop::Idle => {
                for waiting in engine.waiting() {
                    println!("suspended for ever: {waiting}");
                }
            }
            Stop::Problem(problem) => println!("{problem}"),
            other => println!("{other:?}"),
        }
        if chosen.counts {
            for (name, count) in engine.counts() {
                println!("{name} {count}");
            }
        }
        std::io::stdout().flush().map_err(|error| error.to_string())?;
    }
    Ok(())
}
