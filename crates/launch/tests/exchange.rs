//! Exchanges of distributed arrays on every backend: every byte is what it must be.

mod common;

use std::process::{Command, Output};

use common::{mpiexec, rank_program};
use weft_polyshift::program::Check;
use weft_sim::Placement;

fn on_machine(name: &str, ranks: usize) {
    let machine = weft_machine::find(name).expect("a machine of the catalogue");
    let check = Check { seeds: (0..40).collect(), rounds: 2, plain: false };
    let outcome = weft_sim::run(&machine, &Placement::identity(ranks), &check, &weft_sim::Options::default());
    outcome.unwrap_or_else(|error| panic!("{name}, {ranks} ranks: {error}"));
}

#[test]
fn exchanges_are_right_in_virtual_time() {
    for ranks in [1, 2, 5, 8] {
        on_machine("ipsc860", ranks);
        on_machine("tpu-v4", ranks);
    }
}

/// `shared`: whether ranks of one node may exchange through memory.
fn launch(ranks: usize, words: &[&str], shared: bool) -> Option<Output> {
    let mut command = Command::new(mpiexec()?);
    command.args(["-n", &ranks.to_string()]).arg(rank_program("exchange_rank")).args(words);
    command
        .env("WEFT_SHARED_MEMORY", if shared { "1" } else { "0" })
        .env("WEFT_BLOCKED_LIMIT", "20")
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
        .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    Some(command.output().expect("the launcher starts"))
}

#[test]
fn exchanges_are_right_over_mpi() {
    for shared in [true, false] {
        for ranks in if shared { [1, 2, 4, 7] } else { [1, 2, 3, 5] } {
            let Some(output) = launch(ranks, &["0", "25", "2"], shared) else { return };
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{ranks} ranks, shared memory {shared}: {text}");
        }
    }
}

#[test]
fn messages_go_by_shared_memory_where_they_may() {
    let says =
        |shared| launch(2, &["describe"], shared).map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let Some(shared) = says(true) else { return };
    assert_eq!(shared, "shared memory of the node\n");
    assert_eq!(says(false).as_deref(), Some("persistent requests of MPI\n"));
}

#[test]
fn a_rank_lost_in_an_exchange_ends_the_run() {
    for shared in [true, false] {
        let Some(output) = launch(3, &["lost"], shared) else { return };
        assert!(!output.status.success(), "shared memory {shared}");
    }
}
