//! One request in virtual time: `simulate ipsc860 '{"benchmark": "cholesky"}'`. Prints the rows as JSON, one on a line.

use std::process::ExitCode;

use weft_launch::SimulateOptions;
use weft_suite::Request;

fn simulate() -> Result<(), String> {
    let usage = "say which machine and request: simulate ipsc860 '{\"benchmark\": \"echo\"}'";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [machine, request] = arguments.as_slice() else { return Err(usage.to_owned()) };
    let machine = weft_machine::find(machine).map_err(|error| error.to_string())?;
    let request = Request::from_json(request).map_err(|error| error.to_string())?;
    let simulated =
        weft_launch::simulate(&machine, &request, &SimulateOptions::default()).map_err(|error| error.to_string())?;
    for row in simulated.rows {
        println!("{}", serde_json::to_string(&row).map_err(|error| error.to_string())?);
    }
    Ok(())
}

fn main() -> ExitCode {
    match simulate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("simulate: {error}");
            ExitCode::FAILURE
        }
    }
}
