//! What a message takes of either end is measured as the machine file says it.

use proptest::prelude::*;
use weft_launch::{SimulateOptions, simulate};
use weft_machine::{Completion, Machine, find};
use weft_suite::Request;

fn seconds(machine: &Machine, benchmark: &str, bytes: u64, window: usize) -> f64 {
    let (ranks, window) = (Some(2), Some(window));
    let request = Request { benchmark: benchmark.to_owned(), ranks, bytes: vec![bytes], window, ..Request::default() };
    simulate(machine, &request, &SimulateOptions::default()).unwrap_or_else(|error| panic!("{error}")).rows[0].seconds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn overheads_are_those_of_the_machine(
        send in 0.1f64..5.0, receive in 0.1f64..5.0, bytes in 1u64..100_000, window in 1usize..40,
        copies in (0.0f64..2.0, 0.0f64..2.0), hop in 0.0f64..5.0, injected: bool,
    ) {
        let mut machine = find("ipsc860").unwrap();
        for protocol in &mut machine.protocols {
            (protocol.send_overhead, protocol.receive_overhead) = (send * 1e-6, receive * 1e-6);
            (protocol.send_byte_time, protocol.receive_byte_time) = (copies.0 * 1e-9, copies.1 * 1e-9);
            protocol.hop_time = hop * 1e-6;
            protocol.completion = if injected { Completion::Injected } else { Completion::Buffered };
        }
        for (benchmark, overhead, copy) in
            [("send-overhead", send, copies.0), ("receive-overhead", receive, copies.1)]
        {
            let (expected, measured) =
                (overhead * 1e-6 + copy * 1e-9 * bytes as f64, seconds(&machine, benchmark, bytes, window));
            prop_assert!((measured - expected).abs() < 2e-12, "{benchmark} of {bytes} bytes: {measured} against {expected}");
        }
    }
}
