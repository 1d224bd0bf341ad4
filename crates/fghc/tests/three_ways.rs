//! Random programs, three ways: an evaluator straight over the normal form, the interpreter, native code. The long form is
//! `benches/fghc/three_ways.py`.

mod oracle;

use oracle::campaign::{Chunk, chunk};

fn description(chunk: &Chunk) -> String {
    let mut text = String::new();
    for failure in &chunk.failures {
        text.push_str(&format!(
            "seed {:#x}, goal {}, on {} PEs:\n{}\n{}\n",
            failure.seed,
            failure.goal,
            failure.pes,
            failure.differences.join("\n"),
            failure.text
        ));
    }
    text
}

#[test]
fn interpreter_and_native_code_give_what_the_evaluator_gives() {
    let chunk = chunk(0, 40, 1);
    assert!(chunk.failures.is_empty(), "{}", description(&chunk));
    assert!(chunk.finished > 10 && chunk.finished < 40, "the programs are not what they should be");
}

#[test]
fn so_do_two_and_four_pes() {
    for pes in [2, 4] {
        let chunk = chunk(1, 10, pes);
        assert!(chunk.failures.is_empty(), "{}", description(&chunk));
    }
}
