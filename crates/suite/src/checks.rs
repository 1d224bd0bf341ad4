//! Requests are checked by the table of parameters and by what their benchmark takes.

use serde_json::Value;

use crate::catalogue::BuiltIn;
use crate::description::{Description, Takes};
use crate::parameters::{Kind, Parameter};
use crate::registry::Registry;
use crate::request::Request;
use crate::usage::{UsageError, refuse_if};

impl Request {
    /// Reads a request and checks all that can be checked before a launch.
    ///
    /// # Errors
    /// [`UsageError`] for malformed JSON, unknown fields and everything [`validate`](Request::validate) refuses.
    pub fn from_json(text: &str) -> Result<Request, UsageError> {
        let request: Request =
            serde_json::from_str(text).map_err(|error| UsageError(format!("the request is malformed: {error}")))?;
        request.validate()?;
        Ok(request)
    }

    /// Checks all that can be checked without knowing the machine, and finds the benchmark.
    ///
    /// # Errors
    /// [`UsageError`] that says which field is wrong and what would be right.
    pub fn validate(&self) -> Result<&'static Description, UsageError> {
        self.validate_in::<BuiltIn>()
    }

    /// As [`validate`](Request::validate), with the benchmarks and parameters of another registry.
    ///
    /// # Errors
    /// As there.
    pub fn validate_in<R: Registry>(&self) -> Result<&'static Description, UsageError> {
        let benchmark = R::find(&self.benchmark)?;
        let parameters = R::parameters();
        if let Some(name) = self.more.keys().find(|name| !parameters.iter().any(|row| row.name == *name)) {
            let known: Vec<&str> = parameters.iter().map(|row| row.name).collect();
            return Err(UsageError(format!(
                "the request is malformed: unknown field `{name}`, expected one of benchmark, seed, keep_samples, {}",
                known.join(", ")
            )));
        }
        if let Some(ranks) = self.ranks {
            too_few(benchmark, ranks)?;
        }
        (benchmark.check)(self)?;
        for (name, value) in self.non_defaults() {
            // What no row declares is no parameter: `more` has been looked at.
            let Some(parameter) = parameters.iter().find(|row| row.name == name) else { continue };
            match benchmark.takes(&name) {
                Some(takes) => check_value(benchmark, parameter, takes, &value)?,
                None => return Err(UsageError(not_taken(benchmark, parameter, &R::takers(&name)))),
            }
        }
        Ok(benchmark)
    }
}

/// What is said of a parameter that a benchmark does not take.
fn not_taken(benchmark: &Description, parameter: &Parameter, takers: &[&str]) -> String {
    let (name, what) = (benchmark.name, parameter.name);
    match (what, takers) {
        ("bytes", _) if benchmark.takes("extent").is_some() => {
            format!("{name} takes no bytes; its extent decides how long messages are")
        }
        ("bytes", _) if benchmark.takes("shape").is_none() => format!("{name} sends no data, so it takes no bytes"),
        (_, []) => format!("{name} takes no {what}, nor does any other benchmark of messages"),
        (_, [one]) => format!("{name} takes no {what}; {one} does"),
        (_, [first, second, third, others @ ..]) if others.len() > 3 => {
            format!("{name} takes no {what}; {first}, {second}, {third} and {} others do", others.len())
        }
        (_, several) => format!("{name} takes no {what}; {} do", several.join(" and ")),
    }
}

/// Checks the values of one parameter, as JSON has them.
fn check_value(benchmark: &Description, parameter: &Parameter, takes: &Takes, value: &Value) -> Result<(), UsageError> {
    match parameter.kind {
        Kind::Counts | Kind::Doublings | Kind::Count => {
            let one = std::slice::from_ref(value);
            let numbers = value.as_array().map_or(one, Vec::as_slice);
            numbers.iter().try_for_each(|number| check_number(benchmark, parameter, takes, number))
        }
        Kind::Real => {
            // JSON has no word for what is no number.
            let number = value.as_f64().unwrap_or(f64::NAN);
            refuse_if(!(number.is_finite() && number > 0.0), || {
                format!("{} must be a positive number, not {number}", parameter.name)
            })
        }
        Kind::Reals => Ok(()), // Of what is no benchmark of messages.
        Kind::Name | Kind::Names => {
            let one = std::slice::from_ref(value);
            let names = value.as_array().map_or(one, Vec::as_slice);
            names.iter().try_for_each(|name| check_name(benchmark, parameter, takes, name))
        }
        Kind::Shapes | Kind::Pair | Kind::Flag => Ok(()),
    }
}

fn check_number(
    benchmark: &Description,
    parameter: &Parameter,
    takes: &Takes,
    value: &Value,
) -> Result<(), UsageError> {
    let (name, what) = (benchmark.name, parameter.name);
    let number = value.as_u64().ok_or_else(|| UsageError(format!("{what} must be whole numbers, not {value}")))?;
    let least = benchmark.least(parameter);
    refuse_if(number < least, || match (takes.of, parameter.below) {
        (Some(of), _) if number == 0 && parameter.unit == Some("B") => {
            format!("{name} with a {of} of zero bytes means nothing; ask for 1 byte or more")
        }
        (_, Some(text)) => text.replace("{benchmark}", name),
        _ => format!("{what} must be {least} or more"),
    })?;
    refuse_if(parameter.greatest.is_some_and(|greatest| number > greatest), || {
        format!("{what} must be at most {}", parameter.greatest.unwrap_or(u64::MAX))
    })?;
    let multiple = takes.multiple_of;
    refuse_if(!number.is_multiple_of(multiple), || {
        format!("{name} combines elements of {multiple} bytes; {number} bytes is not a multiple of {multiple}")
    })
}

fn check_name(benchmark: &Description, parameter: &Parameter, takes: &Takes, value: &Value) -> Result<(), UsageError> {
    let name = value.as_str().unwrap_or_default();
    refuse_if(!takes.choices.is_empty() && !takes.choices.contains(&name), || {
        format!("{} has no {} '{name}'; it has {}", benchmark.name, parameter.words(), takes.choices.join(", "))
    })
}

/// Refuses `ranks` ranks if the benchmark needs more.
pub(crate) fn too_few(benchmark: &Description, ranks: usize) -> Result<(), UsageError> {
    let (name, least, why) = (benchmark.name, benchmark.min_ranks, benchmark.why_ranks);
    refuse_if(ranks < least, || {
        let ranks = if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") };
        format!("{name} needs at least {least} rank{}, not {ranks}{why}", if least == 1 { "" } else { "s" })
    })
}
