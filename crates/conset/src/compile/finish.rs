//! From a plan to a schedule: times, bounds, a digest.

use crate::bounds::{Demand, lower_bounds_until};
use crate::schedule::{Phase, Schedule};

use super::candidates::Compilation;
use super::plan::{Load, Plan};
use super::{CompileError, Compiler, Options, staged, timetable};

impl Compilation<'_> {
    /// The schedule of a plan: its times, its bounds, its digest.
    pub fn schedule(&self, plan: Plan, machine: &str) -> Result<Schedule, CompileError> {
        let Demand { set, resources, network, .. } = self.demand;
        self.report("timetables", &None);
        let stop: &dyn Fn() -> bool = &|| self.control.must_end();
        let orders = timetable::by_connection(&set.orders);
        let mut split = false;
        let mut seen = vec![false; set.connections.len()];
        let mut phases = Vec::with_capacity(plan.len());
        for placed in plan {
            for part in &placed {
                split |= std::mem::replace(&mut seen[part.connection as usize], true);
            }
            let load = Load::of_until(&placed, network, stop).ok_or(CompileError::Interrupted)?;
            let times = match self.options.compiler {
                Compiler::Apr if set.orders.is_empty() => {
                    timetable::greedy(&placed, resources, network, stop).ok_or(CompileError::Interrupted)?
                }
                _ => {
                    let soonest = staged::soonest(&placed, &orders, resources, network);
                    let arrival = timetable::arrival(&placed, &soonest, resources);
                    timetable::shorter(&placed, arrival, set, resources, network, stop).unwrap_or(soonest)
                }
            };
            let largest_link_load = load.largest_link_load(network);
            let transfers = timetable::transfers(placed, times, set, stop);
            let connections = transfers.ok_or(CompileError::Interrupted)?;
            let last = connections.iter().map(|transfer| transfer.arrival(resources)).fold(0.0, f64::max);
            let predicted_seconds = resources.switch_seconds() + last;
            phases.push(Phase { connections, orbits: Vec::new(), largest_link_load, predicted_seconds });
        }
        self.sealed(phases, split, machine)
    }

    /// The schedule of phases that have their times; `split` says whether words of a connection are in several.
    pub fn sealed(&self, phases: Vec<Phase>, split: bool, machine: &str) -> Result<Schedule, CompileError> {
        let Demand { set, resources, .. } = self.demand;
        let stop: &dyn Fn() -> bool = &|| self.control.must_end();
        self.report("lower bounds", &None);
        let Options { compiler, effort, seed, .. } = self.options;
        let bounds = lower_bounds_until(&self.demand, !split, stop);
        let lower_bounds = bounds.ok_or(CompileError::Interrupted)?;
        let predicted_seconds = resources.exchange_seconds(phases.iter().map(|phase: &Phase| phase.predicted_seconds));
        let schedule = Schedule {
            machine: machine.to_owned(),
            pattern: set.name.clone(),
            compiler: format!("{}, effort {effort} s, seed {seed}", compiler.name()),
            resources: resources.clone(),
            connections: set.connections.len() as u64,
            orders: set.orders.clone(),
            phases,
            lower_bounds,
            predicted_seconds,
            message_seconds: None,
            by_messages: false,
            message_seed: None,
            digest: String::new(),
        };
        schedule.sealed_until(stop).ok_or(CompileError::Interrupted)
    }
}
