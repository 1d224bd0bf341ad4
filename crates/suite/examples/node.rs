//! Runs node benchmarks and prints their rows, as JSON for programs or as text.
//!
//! ```text
//! cargo run --release -p weft-suite --example node -- [--json] [--linearity] [--seconds S]
//!     [--extent A,B] [--bytes A,B] [--threads A,B] [--variant A,B] [NAME…]
//! ```
//!
//! Without a name all benchmarks run.

use std::process::ExitCode;
use std::str::FromStr;

use weft_suite::node::{self, NodeError, NodeRequest, NodeRow};

#[derive(Default)]
struct Options {
    json: bool,
    linearity: bool,
    request: NodeRequest,
    names: Vec<String>,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    for name in &options.names {
        let result = if options.linearity { print_linearity(name, &options) } else { print_rows(name, &options) };
        if let Err(error) = result {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--json" => options.json = true,
            "--linearity" => options.linearity = true,
            "--seconds" => options.request.seconds_per_point = parsed(&value()?)?,
            "--extent" => options.request.extent = list(&value()?)?,
            "--bytes" => options.request.bytes = list(&value()?)?,
            "--threads" => options.request.threads = list(&value()?)?,
            "--variant" => options.request.variant = list(&value()?)?,
            _ if argument.starts_with("--") => return Err(format!("unknown option {argument}")),
            _ => options.names.push(argument),
        }
    }
    if options.names.is_empty() {
        options.names = node::catalogue().iter().map(|benchmark| benchmark.name.to_owned()).collect();
    }
    Ok(options)
}

fn parsed<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is not a value of the expected kind"))
}

fn list<T: FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(parsed).collect()
}

fn print_rows(name: &str, options: &Options) -> Result<(), NodeError> {
    let rows = node::run(name, &options.request, &mut |_| {})?;
    if options.json {
        println!("{}", serde_json::to_string(&rows).expect("rows are plain data"));
    } else {
        rows.iter().for_each(print_row);
    }
    Ok(())
}

fn print_row(row: &NodeRow) {
    let length = row.extent.or(row.bytes).map(|length| length.to_string()).unwrap_or_default();
    let rate = row.rate.map(|rate| format!("{rate:.1} {}", row.rate_unit.as_deref().unwrap_or(""))).unwrap_or_default();
    println!(
        "{:<15} {:<24} {:>12} {:>2} {:>12.4e} {:>12.4e} s {:<22} {:>6} {:.2} {rate} {}",
        row.benchmark,
        row.variant,
        length,
        row.threads,
        row.seconds,
        row.seconds_p10,
        row.unit,
        row.iterations,
        row.share_above_3x,
        row.note.as_deref().unwrap_or("")
    );
}

fn print_linearity(name: &str, options: &Options) -> Result<(), NodeError> {
    for line in node::linearity(name, &options.request)? {
        let length = line.extent.or(line.bytes).map(|length| length.to_string()).unwrap_or_default();
        println!(
            "{name:<15} {:<24} {length:>12} slope {:.3}  {:.3e} s at {}",
            line.variant, line.slope, line.seconds[0], line.counts[0]
        );
    }
    Ok(())
}
