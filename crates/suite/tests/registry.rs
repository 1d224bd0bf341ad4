//! A benchmark and a parameter of a crate of its own: both are listed, checked and measured like those of the suite.

use serde_json::{Value, json};
use weft_comm::{CommError, Communicator, Program};
use weft_suite::parameters::{Kind, Parameter};
use weft_suite::{
    Benchmark, BuiltIn, Group, Point, Prepared, Registry, Request, Row, Session, Takes, UsageError, registry, takes,
};
use weft_threads::{Options, run};

static BEATS: &[Parameter] = &[Parameter::new("beats", Kind::Count, "How often the clock is read").least(1)];

/// How long it takes to read the clock.
struct Pulse {
    beats: u64,
}

impl Benchmark for Pulse {
    const NAME: &'static str = "pulse";
    const SUMMARY: &'static str = "readings of the clock: time of one";
    const GROUP: Group = Group::PointToPoint;
    const ALIASES: &'static [&'static str] = &["tick"];
    const NEAREST_OF: &'static [&'static str] = &["osu-tock"];
    const TAKES: &'static [Takes] = &[takes("bytes").of("message").default(&[8, 16]), takes("beats")];
    const EXAMPLE: &'static str = "weft measure pulse --beats 3";

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<Pulse> {
        let beats = session.request.more.get("beats").and_then(Value::as_u64).unwrap_or(1);
        Ok(Ok(Some(Pulse { beats })))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        let times = (0..self.beats).map(|_| 1e-9).collect();
        Ok((session.comm.rank() == 0).then(|| session.row(times, session.comm.size(), point.size)))
    }
}

registry! {
    /// What weft has, and one more.
    struct Extended extends BuiltIn;
    parameters: BEATS;
    benchmarks: Pulse,
}

#[derive(Clone)]
struct Suite(Request);

impl Program for Suite {
    type Output = Result<Vec<Row>, UsageError>;

    async fn run<C: Communicator>(self, comm: C) -> Result<Self::Output, CommError> {
        weft_suite::measure::<Extended, C>(&self.0, comm).await
    }
}

fn request(fields: &Value) -> Request {
    serde_json::from_value(fields.clone()).expect("a request")
}

fn rows(fields: &Value) -> Result<Vec<Row>, UsageError> {
    let outputs = run(2, &Suite(request(fields)), &Options::default()).expect("it runs");
    outputs.into_iter().next().expect("a run has a rank 0")
}

fn refusal(fields: &Value) -> String {
    request(fields).validate_in::<Extended>().expect_err("it is refused").to_string()
}

#[test]
fn an_added_benchmark_is_measured_with_its_parameter() {
    for name in ["pulse", "tick"] {
        let rows = rows(&json!({"benchmark": name, "beats": 3, "bytes": [8, 64, 512]})).expect("it is measured");
        assert_eq!(rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), [Some(8), Some(64), Some(512)]);
        assert!(rows.iter().all(|row| row.benchmark == "pulse" && row.iterations == 3));
    }
}

#[test]
fn those_of_the_suite_are_measured_as_before() {
    let rows = rows(&json!({"benchmark": "osu-latency", "bytes": [8], "iterations": 2})).expect("it is measured");
    assert_eq!((rows.len(), rows[0].benchmark.as_str()), (1, "echo"));
}

#[test]
fn an_added_parameter_is_listed_and_checked() {
    assert_eq!(Extended::parameters().last().map(|parameter| parameter.name), Some("beats"));
    assert_eq!(Extended::benchmarks().last().map(|benchmark| benchmark.name), Some("pulse"));
    assert_eq!(Extended::takers("beats"), ["pulse"]);
    assert_eq!(refusal(&json!({"benchmark": "pulse", "beats": 0})), "beats must be 1 or more");
    assert_eq!(refusal(&json!({"benchmark": "echo", "beats": 3})), "echo takes no beats; pulse does");
    assert_eq!(
        refusal(&json!({"benchmark": "osu-tock"})),
        "weft has no osu-tock; nearest to it is pulse: readings of the clock: time of one"
    );
    let unknown = request(&json!({"benchmark": "echo", "beats": 3})).validate().expect_err("not of the suite");
    assert!(unknown.to_string().starts_with("the request is malformed: unknown field `beats`"), "{unknown}");
}

#[test]
fn the_greatest_number_of_a_parameter_fits_its_field() {
    let is_read = |name: &str, value: Value| serde_json::from_value::<Request>(json!({ name: value })).is_ok();
    for parameter in BuiltIn::parameters() {
        if matches!(parameter.kind, Kind::Count | Kind::Counts | Kind::Doublings) {
            let (name, greatest) = (parameter.name, parameter.greatest.unwrap_or(u64::MAX));
            assert!(is_read(name, json!(greatest)) || is_read(name, json!([greatest])), "{name}: {greatest}");
        }
    }
}

#[test]
fn every_benchmark_takes_parameters_of_the_table_and_names_no_other_twice() {
    let parameters: Vec<&str> = BuiltIn::parameters().iter().map(|parameter| parameter.name).collect();
    let mut names: Vec<&str> = Vec::new();
    for benchmark in BuiltIn::benchmarks() {
        for takes in benchmark.own {
            assert!(parameters.contains(&takes.name), "{} takes {}", benchmark.name, takes.name);
        }
        assert!(benchmark.example.starts_with(&format!("weft measure {}", benchmark.name.split('-').next().unwrap())));
        names.push(benchmark.name);
        names.extend(benchmark.aliases);
        names.extend(benchmark.nearest_of);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name is of one benchmark");
}
