//! The verifier: what breaks a rule is refused, and a schedule is read back as it was written.

mod common;

use common::{compiled, iwarp, pattern, weft};
use proptest::prelude::*;
use weft_conset::{Certificate, Fault, Schedule, verify};

/// A schedule of a few phases with everything in it, and its set.
fn good() -> (Schedule, weft_conset::ConnectionSet) {
    let resources = iwarp(&[4, 4], 6);
    let set = pattern("all-to-all", &resources, 8);
    (compiled(&set, &resources, &weft(0.0)).unwrap(), set)
}

fn refused(change: impl FnOnce(&mut Schedule)) -> String {
    let (mut schedule, set) = good();
    change(&mut schedule);
    verify(&schedule.sealed(), Some(&set)).unwrap_err().to_string()
}

#[test]
fn a_good_schedule_is_accepted_and_read_back() {
    let (schedule, set) = good();
    verify(&schedule, Some(&set)).unwrap();
    let again = Schedule::from_json(&schedule.to_json(), "again.json").unwrap();
    assert_eq!(again, schedule);
    verify(&again, None).unwrap();
}

type Change = Box<dyn FnOnce(&mut Schedule)>;

#[test]
fn every_rule_has_its_message() {
    let checks: [(&str, Change); 21] = [
        (
            "is in no phase",
            Box::new(|s| {
                s.phases[0].connections.pop();
            }),
        ),
        (
            "appears twice in it",
            Box::new(|s| {
                let first = s.phases[0].connections[0].clone();
                s.phases[0].connections.push(first);
            }),
        ),
        (
            "does not exist; the schedule has 240 connections",
            Box::new(|s| s.phases[0].connections[0].connection = 9999),
        ),
        (
            "which are not linked",
            Box::new(|s| {
                let transfer =
                    s.phases.iter_mut().flat_map(|p| &mut p.connections).find(|t| t.route.len() > 3).unwrap();
                transfer.route.remove(1);
            }),
        ),
        (
            "the route goes from",
            Box::new(|s| {
                s.phases[0].connections[0].route.pop();
            }),
        ),
        ("names vertex 77", Box::new(|s| s.phases[0].connections[0].route.insert(1, 77))),
        (
            "it can hold 6",
            Box::new(|s| {
                let more = s.phases.remove(1);
                s.phases[0].connections.extend(more.connections);
            }),
        ),
        ("words take at least", Box::new(|s| s.phases[0].connections[0].duration /= 64.0)),
        (
            "times what it can do",
            Box::new(|s| {
                let word = s.resources.word_seconds();
                let longest = s.phases.iter_mut().max_by(|a, b| a.predicted_seconds.total_cmp(&b.predicted_seconds));
                for transfer in &mut longest.unwrap().connections {
                    transfer.duration = transfer.words as f64 * word;
                }
            }),
        ),
        ("predicted_seconds is given as", Box::new(|s| s.phases[0].predicted_seconds *= 0.5)),
        ("largest_link_load is given as", Box::new(|s| s.phases[0].largest_link_load += 1)),
        ("the phases and leaving the last add up to", Box::new(|s| s.predicted_seconds *= 0.9)),
        ("its certificate proves", Box::new(|s| s.lower_bounds[0].value += 1.0)),
        (
            "a phase gets more than it takes",
            Box::new(|s| {
                for bound in &mut s.lower_bounds {
                    if let Certificate::PhasesAndLoad { hop, .. } = &mut bound.certificate {
                        *hop *= 1.01;
                    }
                }
            }),
        ),
        (
            "it names a bound of the transfers that is not there",
            Box::new(|s| {
                for bound in &mut s.lower_bounds {
                    if let Certificate::OpenAtOnce { transfers } = &mut bound.certificate {
                        *transfers = Some("open at once".to_owned());
                    }
                }
            }),
        ),
        (
            "it adds a bound that is not there",
            Box::new(|s| {
                for bound in &mut s.lower_bounds {
                    if let Certificate::Longest { phases, .. } = &mut bound.certificate {
                        *phases = "phases that nobody counted".to_owned();
                    }
                }
            }),
        ),
        ("predicted_seconds is given as", Box::new(|s| s.resources.hop_seconds = 1e-6)),
        ("the phases and leaving the last add up to", Box::new(|s| s.resources.leaving_seconds = 1e-6)),
        ("times must be finite and not negative", Box::new(|s| s.resources.hop_seconds = -1e-9)),
        ("message_seconds is given as -1, which is no time", Box::new(|s| s.message_seconds = Some(-1.0))),
        ("nothing could be open", Box::new(|s| s.resources.node_channels = Some(0))),
    ];
    for (expected, change) in checks {
        let fault = refused(change);
        assert!(fault.contains(expected), "expected {expected:?}, fault {fault:?}");
    }
}

#[test]
fn a_schedule_of_another_set_is_refused() {
    let (schedule, set) = good();
    let more = set.clone().with_words(9).unwrap();
    let message = verify(&schedule, Some(&more)).unwrap_err().to_string();
    assert_eq!(message, "connection 0: 8 words are scheduled, 9 are to be transferred");
    let mut fewer = set;
    fewer.connections.pop();
    let message = verify(&schedule, Some(&fewer)).unwrap_err().to_string();
    assert_eq!(message, "the schedule is not of this connection set: it has 240 connections, the set 239");
}

#[test]
fn an_edited_file_is_refused() {
    let (schedule, _) = good();
    let text = schedule.to_json().replace("\"pattern\":\"all-to-all\"", "\"pattern\":\"all-to-none\"");
    let edited = Schedule::from_json(&text, "edited.json").unwrap();
    let fault = verify(&edited, None).unwrap_err();
    assert!(matches!(fault, Fault::Digest { .. }), "{fault}");
    assert!(fault.to_string().starts_with("the file was changed after it was written"));
    let short = &schedule.to_json()[..1000];
    let message = Schedule::from_json(short, "short.json").unwrap_err().to_string();
    assert!(message.starts_with("short.json: the file ends in the middle of a schedule"), "{message}");
    let message = Schedule::from_json("{\"phases\": 3}", "other.json").unwrap_err().to_string();
    assert!(message.starts_with("other.json: expected a schedule as weft writes it: "), "{message}");
}

/// A change of one place that breaks a rule whatever the place; `None` where the place has nothing to break.
fn break_something(schedule: &mut Schedule, kind: usize, phase: usize, index: usize, by: u32) -> Option<()> {
    let nodes = 16;
    let phases = schedule.phases.len();
    let phase = phase % phases;
    let count = schedule.phases[phase].connections.len();
    let transfer = schedule.phases[phase].connections.get_mut(index % count)?;
    match kind {
        0 => {
            schedule.phases[phase].connections.remove(index % count);
        }
        1 => transfer.source = (transfer.source + 1 + by % (nodes - 1)) % nodes,
        2 => transfer.destination = (transfer.destination + 1 + by % (nodes - 1)) % nodes,
        3 => transfer.words += 1 + u64::from(by),
        4 => transfer.words = transfer.words.checked_sub(1)?,
        5 => {
            let at = index % transfer.route.len();
            transfer.route[at] = (transfer.route[at] + 1 + by % (nodes - 1)) % nodes;
            // Another shortest way may be as good: only what is no way at all, or the wrong one, breaks a rule.
            if at > 0 && at + 1 < transfer.route.len() {
                transfer.route[at] = transfer.route[at - 1];
            }
        }
        6 => transfer.duration *= 0.2,
        7 => transfer.start = -1.0 - f64::from(by),
        8 => transfer.connection = (transfer.connection + 1 + by % 239) % 240,
        9 => {
            let copy = transfer.clone();
            schedule.phases[(phase + 1) % phases].connections.push(copy);
        }
        10 => schedule.phases[phase].predicted_seconds *= 1.0 + f64::from(1 + by) * 1e-6,
        11 => schedule.phases[phase].largest_link_load += 1 + by % 5,
        12 => schedule.predicted_seconds *= 1.0 - 1e-6 * f64::from(1 + by % 1000),
        13 => {
            schedule.phases.remove(phase);
        }
        14 => {
            let bounds = schedule.lower_bounds.len();
            schedule.lower_bounds[index % bounds].value *= 1.0 + 1e-6 * f64::from(1 + by);
        }
        15 => schedule.resources.node_channels = Some(1 + by % 5),
        16 => schedule.resources.link_seconds *= 1.5 + f64::from(by),
        17 => schedule.connections += 1 + u64::from(by % 1000),
        18 => transfer.route.reverse(),
        19 => transfer.duration = f64::NAN,
        _ => {
            let other = schedule.phases.remove(phase);
            let last = phases - 2;
            schedule.phases[index % (last + 1)].connections.extend(other.connections);
        }
    }
    Some(())
}

proptest! {
    #[test]
    fn a_mutated_schedule_is_refused(kind in 0usize..21, phase in 0usize..100, index in 0usize..1000, by in 0u32..100_000) {
        let (mut schedule, set) = good();
        if break_something(&mut schedule, kind, phase, index, by).is_some() {
            // Sealed again: the digest is not what finds it.
            prop_assert!(verify(&schedule.sealed(), Some(&set)).is_err());
        }
    }

    #[test]
    fn a_changed_text_is_refused_or_says_the_same(at in any::<prop::sample::Index>(), byte in 0x20u8..0x7f) {
        let (schedule, _) = good();
        let mut text = schedule.to_json().into_bytes();
        let index = at.index(text.len());
        text[index] = byte;
        let text = String::from_utf8(text).unwrap();
        if let Ok(read) = Schedule::from_json(&text, "changed.json") {
            prop_assert!(read == schedule || verify(&read, None).is_err());
        }
    }

    #[test]
    fn the_digest_sees_every_figure(by in 1e-12f64..1.0, which in 0usize..3) {
        let (mut schedule, _) = good();
        let before = schedule.computed_digest();
        let figure = match which {
            0 => &mut schedule.predicted_seconds,
            1 => &mut schedule.resources.phase_seconds,
            _ => &mut schedule.phases[0].connections[0].start,
        };
        *figure += by;
        prop_assert_ne!(before, schedule.computed_digest());
    }
}
