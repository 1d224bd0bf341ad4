//! Shared by the tests.
#![allow(dead_code)]

use weft_conset::{CompileError, Compiler, ConnectionSet, Options, Resources, Schedule, compile, named};
use weft_machine::Topology;

/// The iWarp with other extents and channels, in the model of the paper: the way of words and leaving the last phase
/// take no time.
pub fn iwarp(extents: &[usize], channels: u32) -> Resources {
    let machine = weft_machine::find("iwarp64").unwrap();
    let mut resources = Resources { hop_seconds: 0.0, leaving_seconds: 0.0, ..Resources::of(&machine).unwrap() };
    resources.topology = Topology::Torus { extents: extents.to_vec() };
    resources.node_channels = Some(channels);
    resources
}

pub fn resources(machine: &str) -> Resources {
    Resources::of(&weft_machine::find(machine).unwrap()).unwrap()
}

pub fn pattern(name: &str, resources: &Resources, words: u64) -> ConnectionSet {
    named(name, &resources.topology, words, 0).unwrap()
}

pub fn weft(effort: f64) -> Options {
    Options { compiler: Compiler::Weft, effort, ..Options::default() }
}

pub fn compiled(set: &ConnectionSet, resources: &Resources, options: &Options) -> Result<Schedule, CompileError> {
    compile(set, resources, "test", options, &|| false, &|_| ())
}
