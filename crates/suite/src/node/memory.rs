//! Memory available to a rank: table 5 of Dunigan 1991.
//!
//! The paper asks `malloc` for kilobyte after kilobyte until it fails. On a system that promises memory it does not
//! have this says nothing, and where it keeps its promises it takes the machine down. So weft asks the system
//! ([`system`]) and then confirms: it allocates step by step, writes a word into every page and reads all of them back,
//! up to a share of what was named available, never below a reserve that the system still reports as available, never
//! for long.
//!
//! Rows: `total` (of the machine or its control group), `available`, `confirmed`; `bytes` is the finding and `seconds`
//! the time to find it. Kept by: the words are read back. Checked by: every word must be the number that was written.

use std::hint::black_box;
use std::time::Instant;

use super::error::NodeError;
use super::measure::timed;
use super::request::NodeRequest;
use super::row::NodeRow;
use super::system;

pub(crate) const ROWS: [&str; 3] = ["total", "available", "confirmed"];

const BENCHMARK: &str = "memory";

/// Bytes of one step of confirming, and between two words written (no system has smaller pages).
const STEP: u64 = 64 << 20;
const PAGE: usize = 4096;

/// Confirming ends after this many times the request's seconds per row: touching costs about 0.3 s for each GB.
const PATIENCE: f64 = 20.0;

pub(crate) fn rows(request: &NodeRequest, progress: &mut dyn FnMut(f64)) -> Result<Vec<NodeRow>, NodeError> {
    if let Some(variant) = request.variant.iter().find(|variant| !ROWS.contains(&variant.as_str())) {
        let known = ROWS.join(", ");
        return Err(NodeError::UnknownVariant { benchmark: BENCHMARK, variant: variant.clone(), known });
    }
    let (seconds, memory) = timed(system::memory);
    let memory = memory.ok_or_else(|| NodeError::Unavailable {
        benchmark: BENCHMARK,
        why: "the system does not say how much memory is available (weft asks /proc/meminfo)".to_owned(),
    })?;
    let mut rows = vec![
        asked(ROWS[0], memory.total, seconds, None),
        asked(ROWS[1], memory.available, seconds, Some(format!("decided by {}", memory.decided_by))),
    ];
    if request.wants(ROWS[2]) {
        rows.push(confirm(memory.available, request, progress)?);
    }
    rows.retain(|row| request.wants(&row.variant));
    progress(1.0);
    Ok(rows)
}

fn asked(variant: &str, bytes: u64, seconds: f64, note: Option<String>) -> NodeRow {
    NodeRow {
        benchmark: BENCHMARK.to_owned(),
        variant: variant.to_owned(),
        extent: None,
        bytes: Some(bytes),
        threads: 1,
        seconds,
        seconds_p10: seconds,
        unit: "asking the system".to_owned(),
        iterations: 1,
        share_above_3x: 0.0,
        rate: None,
        rate_unit: None,
        checked: false,
        note,
    }
}

fn confirm(available: u64, request: &NodeRequest, progress: &mut dyn FnMut(f64)) -> Result<NodeRow, NodeError> {
    let share = (available as f64 * request.memory_share) as u64;
    let (limit, mut ended_by) = match request.memory_limit {
        Some(limit) if limit < share => (limit, "the requested limit".to_owned()),
        _ => (share, format!("the safety limit of {} of what is available", request.memory_share)),
    };
    let reserve = (available / 8).max(256 << 20);
    let start = Instant::now();
    let mut blocks: Vec<Vec<u64>> = Vec::new();
    let mut confirmed = 0;
    while confirmed < limit {
        let step = STEP.min(limit - confirmed);
        if start.elapsed().as_secs_f64() > PATIENCE * request.seconds_per_point {
            ended_by = format!("the time, {} s", PATIENCE * request.seconds_per_point);
            break;
        }
        if system::memory().is_none_or(|memory| memory.available < reserve + step) {
            ended_by = format!("the reserve of {reserve} bytes left to others");
            break;
        }
        let Some(block) = touched(step, confirmed) else {
            ended_by = "the system, which gave no more".to_owned();
            break;
        };
        blocks.push(block);
        confirmed += step;
        progress(confirmed as f64 / limit as f64);
    }
    check(&blocks)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut row = asked(ROWS[2], confirmed, seconds, Some(format!("ended by {ended_by}")));
    row.unit = "allocating, writing and reading all pages".to_owned();
    row.rate = Some(confirmed as f64 * 1e-6 / seconds);
    row.rate_unit = Some("MB/s".to_owned());
    row.checked = true;
    Ok(row)
}

/// A block with a word written to each of its pages, numbered from `first`; `None` where the system refuses.
fn touched(bytes: u64, first: u64) -> Option<Vec<u64>> {
    let words = (bytes as usize).div_ceil(size_of::<u64>());
    let mut block: Vec<u64> = Vec::new();
    block.try_reserve_exact(words).ok()?;
    // The zeros are written: every page is touched here, the marks below are for the check.
    block.resize(words, black_box(0));
    for (page, word) in block.iter_mut().step_by(PAGE / size_of::<u64>()).enumerate() {
        *word = mark(first, page);
    }
    Some(black_box(block))
}

fn mark(first: u64, page: usize) -> u64 {
    (first + (page * PAGE) as u64) ^ 0x5745_4654
}

fn check(blocks: &[Vec<u64>]) -> Result<(), NodeError> {
    let mut first = 0;
    for block in blocks {
        let words = block.iter().step_by(PAGE / size_of::<u64>());
        if let Some((page, _)) = words.enumerate().find(|&(page, &word)| word != mark(first, page)) {
            let what = format!("page {page} of the block at byte {first} does not hold what was written");
            return Err(NodeError::WrongResult { benchmark: BENCHMARK, variant: ROWS[2].to_owned(), what });
        }
        first += STEP;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_found_and_confirmed_up_to_the_limit() {
        let limit = (1 << 20) + 77;
        let request = NodeRequest { memory_limit: Some(limit), ..NodeRequest::default() };
        let rows = rows(&request, &mut |_| {}).unwrap();
        let bytes: Vec<u64> = rows.iter().map(|row| row.bytes.unwrap()).collect();
        assert!(bytes[0] >= bytes[1] && bytes[1] > 0);
        if rows[2].note.as_deref() == Some("ended by the requested limit") {
            assert_eq!(bytes[2], limit);
        }
        assert!(rows[2].checked && !rows[1].checked);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn rows_can_be_chosen() {
        let request = NodeRequest { variant: vec!["available".into()], ..NodeRequest::default() };
        assert_eq!(rows(&request, &mut |_| {}).unwrap().len(), 1);
        let request = NodeRequest { variant: vec!["swap".into()], ..NodeRequest::default() };
        assert!(
            rows(&request, &mut |_| {}).unwrap_err().to_string().contains("its rows are total, available, confirmed")
        );
    }

    #[test]
    fn a_lost_page_is_noticed() {
        let mut blocks = vec![touched(STEP / 64, 0).unwrap()];
        check(&blocks).unwrap();
        blocks[0][PAGE / 8 * 3] = 0;
        assert!(check(&blocks).unwrap_err().to_string().contains("page 3 of the block at byte 0"));
    }
}
