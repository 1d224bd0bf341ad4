#!/bin/sh
# Runs the models of crates/threads under loom, a model checker: lanes, mailboxes and fences in every order that the memory
# model allows. Whatever is given is passed on to the tests: ./scripts/loom.sh no_message_overtakes
#
# loom replaces the atomics of the crate, so everything is built again, with --cfg loom, in a target folder of its own.
set -eu
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${LOOM_TARGET_DIR:-target/loom}"
export RUSTFLAGS="${RUSTFLAGS:-} --cfg loom"
# Threads are preempted where they choose to be and so many times more: orders that need more are not looked at.
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}"
# Optimised, as a model is run some hundred thousand times; no more than is built quickly.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
exec cargo test --locked --release --package weft-threads --lib models:: -- "$@"
