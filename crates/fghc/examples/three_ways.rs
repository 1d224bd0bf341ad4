//! Random programs by evaluator, interpreter and native code: chunk after chunk, one line of JSON for each. For
//! `benches/fghc/three_ways.py`.
//!
//! `cargo run --release -p weft-fghc --example three_ways -- FIRST CHUNKS SIZE PES [THREADS]`, or `program SEED GOAL PES` to show
//! the program of a seed and what it must give.

#[path = "../tests/oracle/mod.rs"]
mod oracle;

use std::sync::atomic::{AtomicU64, Ordering};

use oracle::campaign::{Chunk, chunk};
use oracle::compare::{expected, refusal};
use oracle::generate;

fn line(number: u64, pes: usize, chunk: &Chunk) -> String {
    let unfit: serde_json::Map<String, serde_json::Value> =
        chunk.unfit.iter().map(|(why, count)| (format!("{why:?}"), (*count).into())).collect();
    let failures: Vec<serde_json::Value> = chunk
        .failures
        .iter()
        .map(|failure| {
            serde_json::json!({
                "seed": format!("{:#x}", failure.seed), "goal": failure.goal, "pes": failure.pes, "differences": failure.differences,
                "program": failure.text,
            })
        })
        .collect();
    serde_json::json!({
        "chunk": number, "pes": pes, "compared": chunk.compared, "sets": chunk.sets, "native": chunk.native, "finished": chunk.finished,
        "suspended": chunk.suspended, "failed": chunk.failed, "reductions": chunk.reductions, "unfit": unfit,
        "failures": failures,
    })
    .to_string()
}

fn show(seed: &str, goal: u64, pes: usize) -> Result<(), String> {
    let seed = u64::from_str_radix(seed.trim_start_matches("0x"), 16).map_err(|_| "a seed is a hexadecimal number")?;
    let program = generate::program(seed, goal, "0", pes);
    println!("{}", program.text());
    match expected(&program, pes) {
        Ok(case) => println!("{:#?}\n{:?}", case.outcome, case.counts),
        Err(unfit) => println!("{unfit:?}\n{}", refusal(&program).unwrap_or_default()),
    }
    Ok(())
}

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |word: &String| word.parse::<u64>().map_err(|_| format!("{word} is no number"));
    if let [what, seed, goal, pes] = words.as_slice()
        && what == "program"
    {
        return show(seed, number(goal)?, number(pes)? as usize);
    }
    let [first, chunks, size, pes, rest @ ..] = words.as_slice() else {
        return Err("give the first chunk, how many, programs in each, and PEs".into());
    };
    let (first, chunks, size, pes) = (number(first)?, number(chunks)?, number(size)? as usize, number(pes)? as usize);
    let threads = rest.first().map_or(Ok(1), number)?;
    let next = AtomicU64::new(first);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + chunks {
                        return;
                    }
                    println!("{}", line(number, pes, &chunk(number, size, pes)));
                }
            });
        }
    });
    Ok(())
}
