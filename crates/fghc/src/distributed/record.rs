//! What every PE did when: the timeline of a run, in any backend.

use std::io::{self, Write};
use std::sync::Mutex;

use super::message::Kind;

/// One stretch or moment of a PE. Times are seconds of the run's own clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Which PE, from 0.
    pub pe: usize,
    /// When it begins.
    pub start: f64,
    /// When it ends.
    pub end: f64,
    /// What it is.
    pub kind: EventKind,
}

/// The kind of an [`Event`].
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// Goals are reduced: how many times, and what became of messages meanwhile.
    Work { reductions: u64, sent: u64, received: u64 },
    /// Nothing can go on.
    Idle,
    /// A packet leaves: to whom, the kind of its first message, its length.
    Sent { to: usize, first: Option<Kind>, bytes: usize },
    /// A packet has come: from whom.
    Received { from: usize },
}

/// Collects the events of all PEs of this process.
#[derive(Debug, Default)]
pub struct Recorder {
    events: Mutex<Vec<Event>>,
}

impl Recorder {
    pub(super) fn add(&self, event: Event) {
        self.events.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(event);
    }

    /// The events, by PE and time. Stretches of work that follow each other without a pause are one.
    pub fn events(&self) -> Vec<Event> {
        let mut events = self.events.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        events.sort_by(|a, b| a.pe.cmp(&b.pe).then(a.start.total_cmp(&b.start)));
        let mut joined: Vec<Event> = Vec::with_capacity(events.len());
        // The last stretch of work of the PE at hand, while nothing but messages has come after it.
        let mut last: Option<usize> = None;
        for event in events {
            match (&event.kind, last) {
                (EventKind::Work { reductions, sent, received }, Some(at))
                    if joined[at].pe == event.pe && joined[at].end >= event.start =>
                {
                    let (reductions, sent, received) = (*reductions, *sent, *received);
                    joined[at].end = event.end;
                    if let EventKind::Work { reductions: all, sent: left, received: came } = &mut joined[at].kind {
                        (*all, *left, *came) = (*all + reductions, *left + sent, *came + received);
                    }
                }
                (EventKind::Work { .. }, _) => {
                    last = Some(joined.len());
                    joined.push(event);
                }
                (EventKind::Idle, _) => {
                    last = None;
                    joined.push(event);
                }
                _ => joined.push(event),
            }
        }
        joined
    }

    /// Writes the events as Chrome trace JSON, which Perfetto and Chrome's tracing page open: one row per PE, packets as
    /// arrows. Times there are microseconds.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_chrome(&self, name: &str, out: &mut impl Write) -> io::Result<()> {
        let events = self.events();
        writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        write!(out, "{{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{name:?}}}}}")?;
        let pes = events.iter().map(|event| event.pe + 1).max().unwrap_or(0);
        for pe in 0..pes {
            write!(
                out,
                ",\n{{\"ph\":\"M\",\"pid\":0,\"tid\":{pe},\"name\":\"thread_name\",\"args\":{{\"name\":\"PE {pe}\"}}}}"
            )?;
        }
        // Packets of one PE to another keep their order.
        let mut left = rustc_hash::FxHashMap::<(usize, usize), u64>::default();
        let mut came = rustc_hash::FxHashMap::<(usize, usize), u64>::default();
        for event in &events {
            let (pe, start) = (event.pe, event.start * 1e6);
            let duration = (event.end - event.start).max(0.0) * 1e6;
            match &event.kind {
                EventKind::Work { reductions, sent, received } => write!(
                    out,
                    ",\n{{\"ph\":\"X\",\"pid\":0,\"tid\":{pe},\"ts\":{start},\"dur\":{duration},\"name\":\"goals\",\"args\":\
                     {{\"reductions\":{reductions},\"sent\":{sent},\"received\":{received}}}}}"
                )?,
                EventKind::Idle => write!(
                    out,
                    ",\n{{\"ph\":\"X\",\"pid\":0,\"tid\":{pe},\"ts\":{start},\"dur\":{duration},\"name\":\"idle\",\"args\":{{}}}}"
                )?,
                EventKind::Sent { to, first, bytes } => {
                    let number = next(&mut left, (pe, *to));
                    let what = first.map_or("message", Kind::name);
                    write!(
                        out,
                        ",\n{{\"ph\":\"s\",\"pid\":0,\"tid\":{pe},\"ts\":{start},\"id\":\"{pe}-{to}-{number}\",\"cat\":\"message\",\"name\":\"{what}\",\"args\":{{\"bytes\":{bytes}}}}}"
                    )?;
                }
                EventKind::Received { from } => {
                    let number = next(&mut came, (*from, pe));
                    write!(
                        out,
                        ",\n{{\"ph\":\"f\",\"bp\":\"e\",\"pid\":0,\"tid\":{pe},\"ts\":{start},\"id\":\"{from}-{pe}-{number}\",\"cat\":\"message\",\"name\":\"message\"}}"
                    )?;
                }
            }
        }
        writeln!(out, "\n]}}")
    }
}

fn next(numbers: &mut rustc_hash::FxHashMap<(usize, usize), u64>, pair: (usize, usize)) -> u64 {
    let number = numbers.entry(pair).or_default();
    *number += 1;
    *number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(pe: usize, start: f64, end: f64, reductions: u64) -> Event {
        Event { pe, start, end, kind: EventKind::Work { reductions, sent: 0, received: 0 } }
    }

    #[test]
    fn stretches_of_work_are_joined_until_the_pe_is_idle() {
        let recorder = Recorder::default();
        recorder.add(work(0, 0.0, 1.0, 3));
        recorder.add(Event { pe: 0, start: 1.0, end: 1.0, kind: EventKind::Sent { to: 1, first: None, bytes: 3 } });
        recorder.add(work(0, 1.0, 2.0, 4));
        recorder.add(Event { pe: 0, start: 2.0, end: 3.0, kind: EventKind::Idle });
        recorder.add(work(0, 3.0, 4.0, 5));
        recorder.add(work(1, 0.0, 1.0, 6));
        let events = recorder.events();
        let works: Vec<(usize, f64, f64)> = events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Work { .. }))
            .map(|event| (event.pe, event.start, event.end))
            .collect();
        assert_eq!(works, [(0, 0.0, 2.0), (0, 3.0, 4.0), (1, 0.0, 1.0)]);
        assert_eq!(events[0].kind, EventKind::Work { reductions: 7, sent: 0, received: 0 });
        let mut text = Vec::new();
        recorder.write_chrome("a \"name\"", &mut text).expect("memory");
        let read: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(read["traceEvents"].as_array().map(Vec::len), Some(1 + 2 + 5));
    }
}
