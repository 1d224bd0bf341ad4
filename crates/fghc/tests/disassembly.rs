//! The code of programs as text.

use weft_fghc::check::check;
use weft_fghc::disassembly::disassemble;
use weft_fghc::engine::Loaded;
use weft_fghc::ir::{PredicateId, Source};

fn disassembled(text: &str, library: bool) -> (Loaded, String) {
    let checked = check(vec![Source { name: "test.fghc".into(), text: text.into() }], None);
    assert!(checked.program.is_some(), "{}", checked.render(false));
    let program = checked.program.expect("no errors");
    let loaded = Loaded::new(program, false).expect("a small program");
    let code = disassemble(&loaded, library);
    (loaded, code)
}

#[test]
fn append_in_instructions() {
    let text = "append([], Right, Whole) :- Whole = Right.\n\
                append([First|Left], Right, Whole) :- Whole = [First|Rest], append(Left, Right, Rest).\n";
    assert_eq!(disassembled(text, false).1, include_str!("disassembly/append.txt"));
}

#[test]
fn operands_of_every_kind() {
    let text = include_str!("disassembly/operands.fghc");
    assert_eq!(disassembled(text, false).1, include_str!("disassembly/operands.txt"));
}

#[test]
fn every_instruction_of_a_program_has_a_line() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/fghc");
    let mut programs = 0;
    for entry in std::fs::read_dir(folder).expect("programs") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "fghc") {
            continue;
        }
        let (loaded, text) = disassembled(&std::fs::read_to_string(&path).expect("a program"), true);
        let instructions: usize = loaded.program.iter().map(|(id, _)| length(&loaded, id)).sum();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(' ')).collect();
        assert_eq!(lines.len(), instructions, "{}", path.display());
        programs += 1;
    }
    assert!(programs >= 10, "{programs} programs");
}

fn length(loaded: &Loaded, id: PredicateId) -> usize {
    let of = &loaded.code.predicates[id.0 as usize];
    (of.end - of.entry) as usize
}
