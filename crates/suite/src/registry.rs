//! The benchmarks that there are: one list, and the loop over it.

use weft_comm::{CommError, Communicator};

use crate::description::Description;
use crate::parameters::Parameter;
use crate::row::Row;
use crate::session::Session;
use crate::usage::UsageError;

/// A list of benchmarks with the parameters that they take; [`registry!`](crate::registry) makes one.
#[allow(async_fn_in_trait)] // Programs are generic over the communicator, which decides about Send.
pub trait Registry {
    /// Every benchmark, in the order of lists.
    fn benchmarks() -> Vec<&'static Description>;

    /// Every parameter, in the order of lists.
    fn parameters() -> Vec<&'static Parameter>;

    /// Measures the session's benchmark; `None` if the list does not have it. Rank 0 has the rows.
    async fn measure<C: Communicator>(
        session: &Session<'_, C>,
    ) -> Option<Result<Result<Vec<Row>, UsageError>, CommError>>;

    /// The benchmark of this name or alias.
    ///
    /// # Errors
    /// [`UsageError`] that suggests the nearest name, or the nearest benchmark to one that only others have.
    fn find(name: &str) -> Result<&'static Description, UsageError> {
        let all = Self::benchmarks();
        let is_it = |benchmark: &&&Description| benchmark.name == name || benchmark.aliases.contains(&name);
        match all.iter().find(is_it) {
            Some(benchmark) => Ok(benchmark),
            None => Err(unknown(name, &all)),
        }
    }

    /// The benchmarks that take a parameter.
    fn takers(parameter: &str) -> Vec<&'static str> {
        let takers = Self::benchmarks().into_iter().filter(|benchmark| benchmark.takes(parameter).is_some());
        takers.map(|benchmark| benchmark.name).collect()
    }
}

fn unknown(name: &str, all: &[&'static Description]) -> UsageError {
    if let Some(near) = all.iter().find(|benchmark| benchmark.nearest_of.contains(&name)) {
        return UsageError(format!("weft has no {name}; nearest to it is {}: {}", near.name, near.summary));
    }
    let nearest = all
        .iter()
        .map(|benchmark| (strsim::jaro_winkler(name, benchmark.name), benchmark.name))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((similarity, nearest)) if similarity > 0.7 => {
            UsageError(format!("there is no benchmark '{name}'; did you mean '{nearest}'?"))
        }
        _ => {
            let names: Vec<&str> = all.iter().map(|benchmark| benchmark.name).collect();
            UsageError(format!("there is no benchmark '{name}'; there are {}", names.join(", ")))
        }
    }
}

/// Declares a [`Registry`] of benchmarks, after those of another one if it `extends` it.
#[macro_export]
macro_rules! registry {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident $(extends $base:ty)?;
        parameters: $table:expr;
        benchmarks: $($benchmark:ty),* $(,)?
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        $visibility struct $name;

        impl $crate::Registry for $name {
            fn benchmarks() -> Vec<&'static $crate::Description> {
                static OWN: &[$crate::Description] = &[$($crate::Description::new::<$benchmark>()),*];
                let all: Vec<&'static $crate::Description> = Vec::new();
                $(let all = [all, <$base as $crate::Registry>::benchmarks()].concat();)?
                all.into_iter().chain(OWN).collect()
            }

            fn parameters() -> Vec<&'static $crate::parameters::Parameter> {
                let own: &'static [$crate::parameters::Parameter] = $table;
                let all: Vec<&'static $crate::parameters::Parameter> = Vec::new();
                $(let all = [all, <$base as $crate::Registry>::parameters()].concat();)?
                all.into_iter().chain(own).collect()
            }

            async fn measure<C: $crate::Communicator>(
                session: &$crate::Session<'_, C>,
            ) -> Option<Result<Result<Vec<$crate::Row>, $crate::UsageError>, $crate::CommError>> {
                let name = session.benchmark.name;
                $(
                    if name == <$benchmark as $crate::Benchmark>::NAME {
                        return Some($crate::measure_points::<$benchmark, C>(session).await);
                    }
                )*
                $(
                    if let Some(rows) = <$base as $crate::Registry>::measure(session).await {
                        return Some(rows);
                    }
                )?
                None
            }
        }
    };
}
