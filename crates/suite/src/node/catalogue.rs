//! The benchmarks by name.

use super::error::NodeError;
use super::measure::{Case, measure};
use super::request::NodeRequest;
use super::row::NodeRow;
use super::{
    arithmetic, dhrystone, dot, floatmath, fma, latency, linpack, livermore, memory, sieve, stream, whetstone,
};
use crate::description::{Takes, takes};

/// A benchmark of the node suite.
pub struct NodeBenchmark {
    /// As on the command line.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// The variants it reports; a processor may lack some of them.
    pub rows: &'static [&'static str],
    /// What it takes besides `variant` and `seconds_per_point`, which all take.
    pub takes: &'static [Takes],
    /// What others call it, in lower case with hyphens.
    pub aliases: &'static [&'static str],
    source: Source,
}

/// How the rows of a benchmark come about.
enum Source {
    /// Each is a repetition that is timed.
    Cases(fn(&NodeRequest) -> Result<Vec<Case>, NodeError>),
    /// The same, and a function that adds the rows whose names begin so, which summarise all others.
    Summarised(fn(&NodeRequest) -> Result<Vec<Case>, NodeError>, fn(&mut Vec<NodeRow>), &'static str),
    /// It asks the system.
    System(AskSystem),
}

type AskSystem = fn(&NodeRequest, &mut dyn FnMut(f64)) -> Result<Vec<NodeRow>, NodeError>;

static CATALOGUE: [NodeBenchmark; 12] = [
    NodeBenchmark {
        name: "arithmetic",
        summary: "Caltech tests: one add or multiply, integer and floating point, and a sum of three products",
        rows: &arithmetic::ROWS,
        takes: &[],
        aliases: &[],
        source: Source::Cases(arithmetic::cases),
    },
    NodeBenchmark {
        name: "sieve",
        summary: "primes by the sieve of Eratosthenes over 8190 flags, 100 times",
        rows: &sieve::ROWS,
        takes: &[],
        aliases: &[],
        source: Source::Cases(sieve::cases),
    },
    NodeBenchmark {
        name: "floatmath",
        summary: "256,000 dependent double precision operations",
        rows: &floatmath::ROWS,
        takes: &[],
        aliases: &[],
        source: Source::Cases(floatmath::cases),
    },
    NodeBenchmark {
        name: "dhrystone",
        summary: "Dhrystone 2.1 and 1: integers, strings, records and calls, 50,000 iterations",
        rows: &dhrystone::ROWS,
        takes: &[],
        aliases: &[],
        source: Source::Summarised(dhrystone::cases, dhrystone::add_dmips, dhrystone::DMIPS),
    },
    NodeBenchmark {
        name: "whetstone",
        summary: "Whetstone: floating point, conditionals, built-in functions, one million operations",
        rows: &whetstone::ROWS,
        takes: &[],
        aliases: &[],
        source: Source::Cases(whetstone::cases),
    },
    NodeBenchmark {
        name: "linpack",
        summary: "LINPACK: linear equations in double precision, n = 100 by columns and n = 1000 by blocks",
        rows: &linpack::ROWS,
        takes: &[],
        aliases: &[],
        source: Source::Cases(linpack::cases),
    },
    NodeBenchmark {
        name: "livermore",
        summary: "the 24 Livermore loops at their three lengths, and the harmonic mean of the 72 rates",
        rows: &livermore::ROWS,
        takes: &[],
        aliases: &[],
        source: Source::Summarised(livermore::cases, livermore::add_harmonic_mean, livermore::HARMONIC_MEAN),
    },
    NodeBenchmark {
        name: "dot_product",
        summary: "dot product by length, single and double precision",
        rows: &dot::ROWS,
        takes: &[takes("extent").of("vector")],
        aliases: &["dot", "ddot"],
        source: Source::Cases(dot::cases),
    },
    NodeBenchmark {
        name: "stream",
        summary: "STREAM copy, scale, add, triad; plain and non-temporal stores; one thread and all processors",
        rows: &stream::ROWS,
        takes: &[takes("bytes").of("array"), takes("threads")],
        aliases: &["stream-triad"],
        source: Source::Cases(stream::cases),
    },
    NodeBenchmark {
        name: "fma_peak",
        summary: "peak rate of fused multiply-adds by vector width",
        rows: &fma::ROWS,
        takes: &[],
        aliases: &[],
        source: Source::Cases(fma::cases),
    },
    NodeBenchmark {
        name: "memory_latency",
        summary: "time of one dependent load by working-set size (the cache staircase)",
        rows: &latency::ROWS,
        takes: &[takes("bytes").of("working set")],
        aliases: &["lat-mem-rd", "lmbench-lat-mem-rd"],
        source: Source::Cases(latency::cases),
    },
    NodeBenchmark {
        name: "memory",
        summary: "memory available to a rank, asked of the system and confirmed by touching it",
        rows: &memory::ROWS,
        takes: &[],
        aliases: &[],
        source: Source::System(memory::rows),
    },
];

/// All benchmarks, in the order of the paper and then weft's own.
pub fn catalogue() -> &'static [NodeBenchmark] {
    &CATALOGUE
}

/// Runs one benchmark; `progress` gets the share that is done, from 0 to 1, at least once for each sample.
///
/// # Errors
/// [`NodeError`]; above all [`NodeError::WrongResult`] where a computation gives another result than its reference.
pub fn run(name: &str, request: &NodeRequest, progress: &mut dyn FnMut(f64)) -> Result<Vec<NodeRow>, NodeError> {
    let benchmark = find(name)?;
    request.check()?;
    check_sizes(benchmark, request)?;
    if let Source::System(rows) = benchmark.source {
        return rows(request, progress);
    }
    let (name, cases) = cases(name, request)?;
    let total = cases.len() as f64;
    let mut rows = Vec::with_capacity(cases.len());
    for (done, case) in cases.into_iter().enumerate() {
        let mut within = |share: f64| progress((done as f64 + share) / total);
        rows.push(measure(name, case, request, &mut within)?);
    }
    if let Source::Summarised(_, summarise, _) = benchmark.source {
        summarise(&mut rows);
        rows.retain(|row| request.wants(&row.variant));
    }
    progress(1.0);
    Ok(rows)
}

/// The cases that a request asks for, with the name of the benchmark as the catalogue holds it.
pub(crate) fn cases(name: &str, request: &NodeRequest) -> Result<(&'static str, Vec<Case>), NodeError> {
    let benchmark = find(name)?;
    request.check()?;
    check_sizes(benchmark, request)?;
    let all = match benchmark.source {
        // A summary needs all rows.
        Source::Summarised(make, _, summary)
            if request.variant.iter().any(|name| name.starts_with(summary) && benchmark.rows.contains(&&**name)) =>
        {
            return Ok((benchmark.name, make(request)?));
        }
        Source::Cases(make) | Source::Summarised(make, _, _) => make(request)?,
        Source::System(_) => {
            let why = "its rows are no repetitions that could be counted".to_owned();
            return Err(NodeError::Unavailable { benchmark: benchmark.name, why });
        }
    };
    let unknown = request.variant.iter().find(|variant| !all.iter().any(|case| &case.variant == *variant));
    if let Some(variant) = unknown {
        let mut known: Vec<&str> = all.iter().map(|case| case.variant.as_str()).collect();
        known.dedup();
        let known = known.join(", ");
        return Err(NodeError::UnknownVariant { benchmark: benchmark.name, variant: variant.clone(), known });
    }
    Ok((benchmark.name, all.into_iter().filter(|case| request.wants(&case.variant)).collect()))
}

/// Refuses sizes that the benchmark does not take.
fn check_sizes(benchmark: &NodeBenchmark, request: &NodeRequest) -> Result<(), NodeError> {
    for name in ["extent", "bytes"] {
        let is_taken = benchmark.takes.iter().any(|takes| takes.name == name);
        if let (false, Some(&length)) = (is_taken, request.sizes(name).first()) {
            let expected = format!("no {name}: this benchmark takes none");
            return Err(NodeError::BadLength { benchmark: benchmark.name, length, expected });
        }
    }
    Ok(())
}

fn find(name: &str) -> Result<&'static NodeBenchmark, NodeError> {
    CATALOGUE.iter().find(|benchmark| benchmark.name == name).ok_or_else(|| {
        let names: Vec<&str> = catalogue().iter().map(|benchmark| benchmark.name).collect();
        NodeError::UnknownBenchmark { name: name.to_owned(), known: names.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short() -> NodeRequest {
        NodeRequest { seconds_per_point: 1e-6, ..NodeRequest::default() }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = run("dhrystones", &short(), &mut |_| {}).unwrap_err().to_string();
        assert!(
            error.starts_with("there is no node benchmark 'dhrystones'; the benchmarks are arithmetic, sieve,"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_row_lists_the_known_ones() {
        let request = NodeRequest { variant: vec!["int64_add".into()], ..short() };
        let error = run("arithmetic", &request, &mut |_| {}).unwrap_err().to_string();
        assert!(error.starts_with("arithmetic has no row 'int64_add' here; its rows are int16_add,"), "{error}");
    }

    #[test]
    fn a_length_where_there_is_none_is_refused() {
        let request = NodeRequest { extent: vec![7], ..short() };
        let error = run("sieve", &request, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("a length of 7 cannot be measured"), "{error}");
    }

    #[test]
    fn senseless_requests_are_refused() {
        for request in [
            NodeRequest { seconds_per_point: f64::NAN, ..short() },
            NodeRequest { memory_share: 1.5, ..short() },
            NodeRequest { threads: vec![0], ..short() },
        ] {
            assert!(matches!(run("sieve", &request, &mut |_| {}), Err(NodeError::BadRequest { .. })), "{request:?}");
        }
    }

    #[test]
    fn a_summary_that_is_asked_for_alone_needs_all_rows() {
        let with = |variants: &[&str]| NodeRequest {
            variant: variants.iter().map(|&variant| variant.to_owned()).collect(),
            ..short()
        };
        assert_eq!(cases("livermore", &with(&["harmonic_mean"])).unwrap().1.len(), 72);
        assert_eq!(cases("livermore", &with(&["kernel_1", "kernel_3"])).unwrap().1.len(), 6);
        assert_eq!(run("livermore", &with(&["kernel_1"]), &mut |_| {}).unwrap().len(), 3);
    }

    #[test]
    fn rows_are_those_of_the_catalogue_and_progress_reaches_the_end() {
        let mut last = 0.0;
        let rows = run("sieve", &short(), &mut |share| {
            assert!((0.0..=1.0).contains(&share) && share >= last);
            last = share;
        })
        .unwrap();
        assert_eq!(last, 1.0);
        let variants: Vec<&str> = rows.iter().map(|row| row.variant.as_str()).collect();
        assert_eq!(variants, find("sieve").unwrap().rows);
        let text = serde_json::to_string(&rows).unwrap();
        let mut read: Vec<NodeRow> = serde_json::from_str(&text).unwrap();
        for (read, row) in read.iter_mut().zip(&rows) {
            // The last digit of a number may change in JSON.
            assert!((read.seconds / row.seconds - 1.0).abs() < 1e-12);
            (read.seconds, read.seconds_p10, read.share_above_3x) = (row.seconds, row.seconds_p10, row.share_above_3x);
        }
        assert_eq!(read, rows);
    }
}
