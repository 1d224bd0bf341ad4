//! What happened in a run, event by event.

use std::collections::BTreeSet;
use std::io::{self, Write};

use weft_base::Picos;

/// One thing a rank did or one message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceEvent {
    pub start: Picos,
    pub end: Picos,
    pub rank: u32,
    pub kind: TraceKind,
}

/// The kind of a [`TraceEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceKind {
    /// The processor works on sending.
    Send { to: u32, bytes: u64 },
    /// The processor works on receiving.
    Receive { from: u32, bytes: u64 },
    /// The message is on its way; the rank is the sender's.
    Message { to: u32, bytes: u64 },
    /// The program computes.
    Compute,
    /// The rank waits for a message.
    Wait,
}

/// The events of one run, in the order in which they became known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trace {
    pub events: Vec<TraceEvent>,
}

impl Trace {
    /// Writes the trace as Chrome trace JSON, which Perfetto and Chrome's tracing page open: one row per rank, named
    /// after it, messages as arrows. Times there are microseconds.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_chrome(&self, name: &str, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        write!(out, "{{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{name:?}}}}}")?;
        for rank in self.ranks() {
            write!(
                out,
                ",\n{{\"ph\":\"M\",\"pid\":0,\"tid\":{rank},\"name\":\"thread_name\",\"args\":{{\"name\":\"rank {rank}\"}}}}"
            )?;
        }
        for (index, event) in self.events.iter().enumerate() {
            write_event(index, event, out)?;
        }
        writeln!(out, "\n]}}")
    }

    /// The length in bytes of what [`Trace::write_chrome`] writes under this name.
    pub fn chrome_bytes(&self, name: &str) -> u64 {
        let mut counter = Counter(0);
        self.write_chrome(name, &mut counter).expect("a counter takes every byte");
        counter.0
    }

    /// The ranks of the events, those that messages go to included, in their order.
    fn ranks(&self) -> BTreeSet<u32> {
        let receivers = self.events.iter().filter_map(|event| match event.kind {
            TraceKind::Message { to, .. } => Some(to),
            _ => None,
        });
        self.events.iter().map(|event| event.rank).chain(receivers).collect()
    }
}

/// Counts the bytes that are written to it.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_event(index: usize, event: &TraceEvent, out: &mut impl Write) -> io::Result<()> {
    let start = event.start.0 as f64 * 1e-6;
    let duration = event.end.saturating_sub(event.start).0 as f64 * 1e-6;
    let rank = event.rank;
    let mut span = |name: &str, args: String| {
        write!(
            out,
            ",\n{{\"ph\":\"X\",\"pid\":0,\"tid\":{rank},\"ts\":{start},\"dur\":{duration},\"name\":\"{name}\",\"args\":{{{args}}}}}"
        )
    };
    match event.kind {
        TraceKind::Send { to, bytes } => span("send", format!("\"to\":{to},\"bytes\":{bytes}")),
        TraceKind::Receive { from, bytes } => span("receive", format!("\"from\":{from},\"bytes\":{bytes}")),
        TraceKind::Compute => span("compute", String::new()),
        TraceKind::Wait => span("wait", String::new()),
        TraceKind::Message { to, bytes } => {
            let common = format!("\"pid\":0,\"id\":{index},\"cat\":\"message\",\"name\":\"{bytes} bytes\"");
            write!(out, ",\n{{\"ph\":\"s\",\"tid\":{rank},\"ts\":{start},{common}}}")?;
            write!(out, ",\n{{\"ph\":\"f\",\"bp\":\"e\",\"tid\":{to},\"ts\":{end},{common}}}", end = start + duration)
        }
    }
}
