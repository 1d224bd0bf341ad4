//! Machine files with two estimates of what messages cost.

use weft_machine::{Estimand, Machine, find};

const ALTERNATIVE: &str = r#"
[alternative]
estimand = "typical"

[[alternative.protocols]]
send_overhead = 2e-6
receive_overhead = 3e-6
hop_time = 1e-6
byte_time = 1e-9
completion = "buffered"
source = "medians"

[alternative.self_message]
startup = 1e-6
byte_time = 2e-10
source = "medians"
"#;

/// The iPSC/860 with `own` as the estimand of its file and further tables.
fn parsed(own: &str, tables: &str) -> Result<Machine, String> {
    let text = find("ipsc860").unwrap().to_toml().replacen("\n[topology]", &format!("{own}\n[topology]"), 1);
    Machine::parse(&format!("{text}{tables}"), "m.toml")
        .map_err(|fault| fault.to_string().lines().next().unwrap().to_owned())
}

#[test]
fn either_estimand_is_chosen_and_chosen_back() {
    let machine = parsed("estimand = \"undisturbed\"\n", ALTERNATIVE).unwrap();
    assert_eq!(machine.estimands(), [Estimand::Undisturbed, Estimand::Typical]);
    assert_eq!(machine.message_time(0, 1), find("ipsc860").unwrap().message_time(0, 1));
    let typical = machine.with_estimand(Estimand::Typical).unwrap();
    assert!((typical.message_time(1000, 2) - 8e-6).abs() < 1e-12, "{}", typical.message_time(1000, 2));
    assert!((typical.self_time(1000) - 1.2e-6).abs() < 1e-12);
    assert!(typical.host == machine.host && machine.host.is_some());
    assert_eq!(typical.with_estimand(Estimand::Undisturbed).unwrap(), machine);
    assert_eq!(Machine::parse(&typical.to_toml(), "m.toml").unwrap(), typical);
    let json = typical.to_json();
    assert_eq!((&json["estimand"], &json["alternative"]["estimand"]), (&"typical".into(), &"undisturbed".into()));
    assert!(json["alternative"]["protocols"].as_array().unwrap().len() == machine.protocols.len());
}

#[test]
fn what_a_file_does_not_estimate_is_refused() {
    let asked = |own| parsed(own, "").unwrap().with_estimand(Estimand::Typical).unwrap_err().to_string();
    assert!(asked("").ends_with("and it can be used without choosing"));
    assert!(asked("estimand = \"undisturbed\"\n").ends_with("are estimates of undisturbed times alone"));
    assert!(parsed("estimand = \"typical\"\n", "").unwrap().with_estimand(Estimand::Typical).is_ok());
}

#[test]
fn each_fault_says_what_was_expected() {
    let own = "estimand = \"undisturbed\"\n";
    let cases = [
        ("", ALTERNATIVE.to_owned(), "estimand: expected \"undisturbed\" or \"typical\", since [alternative] has"),
        ("estimand = \"mean\"\n", String::new(), "estimand: expected one of \"undisturbed\", \"typical\", found"),
        (own, ALTERNATIVE.replace("\"typical\"", "\"undisturbed\""), "alternative.estimand: expected other times than"),
        (
            own,
            ALTERNATIVE.replace("estimand = \"typical\"\n", ""),
            "alternative.estimand: expected one of \"undisturbed\"",
        ),
        (own, ALTERNATIVE.replace("hop_time", "hop_tme"), "alternative.protocols[0].hop_tme: expected one of the keys"),
        (own, ALTERNATIVE.replace("byte_time = 2e-10\n", ""), "alternative.self_message.byte_time: expected"),
        (own, "\n[alternative]\nestimand = \"typical\"\n".to_owned(), "alternative.protocols: expected at least one"),
        (own, ALTERNATIVE.replace("startup", "start"), "alternative.self_message.start: expected one of the keys"),
    ];
    for (own, tables, expected) in cases {
        let fault = parsed(own, &tables).unwrap_err();
        assert!(fault.contains(expected), "{fault}\n{expected}");
    }
}
