use super::*;
use proptest::prelude::*;

/// A byte a nanosecond everywhere.
const COST: PooledCost = PooledCost {
    send_overhead: 400e-9,
    receive_overhead: 300e-9,
    envelope_bytes: 10,
    link_byte_time: 1e-9,
    send_byte_time: 1e-9,
    receive_byte_time: 1e-9,
    copy_byte_time: 0.0,
    hop_time: 5e-9,
    channels: 1,
    channel_bytes: 16,
};

fn message(from: usize, to: usize, bytes: u64) -> PooledMessage {
    PooledMessage { from, to, bytes, round: 0 }
}

fn torus(extents: &[usize]) -> Topology {
    Topology::Torus { extents: extents.to_vec() }
}

fn received(topology: &Topology, messages: &[PooledMessage]) -> Vec<u64> {
    pass_messages(topology, &COST, messages, &[]).received.iter().map(|time| time.0 / 1000).collect()
}

#[test]
fn a_message_costs_both_processors_its_hops_and_its_words() {
    let copied = PooledCost { copy_byte_time: 2e-9, ..COST };
    assert_eq!(received(&torus(&[8]), &[message(0, 2, 100)]), [400 + 2 * 5 + 300 + 110]);
    let times = pass_messages(&torus(&[8]), &copied, &[message(0, 2, 100)], &[]);
    assert_eq!(times.end.0, 1000 * (400 + 200 + 2 * 5 + 300 + 110));
    assert_eq!(times.blocked, Picos::ZERO);
}

#[test]
fn a_receiver_takes_one_message_after_another() {
    let times = received(&torus(&[8]), &[message(0, 1, 100), message(2, 1, 100)]);
    assert_eq!(times, [400 + 5 + 300 + 110, 400 + 5 + 2 * (300 + 110)]);
}

#[test]
fn a_message_that_is_not_taken_blocks_others() {
    // Both cross the link to node 2; the one from node 0 gets it when that from node 1 has been taken.
    let both = [message(1, 2, 1000), message(0, 2, 1000)];
    let first = 400 + 5 + 300 + 1010;
    assert_eq!(received(&torus(&[8]), &both), [first, first + 5 + 300 + 1010]);
    assert_eq!(pass_messages(&torus(&[8]), &COST, &both, &[]).blocked.0 / 1000, first - 405);
}

#[test]
fn a_node_transmits_one_message_at_a_time() {
    // The second goes the other way round, and waits all the same.
    let times = received(&torus(&[8]), &[message(0, 1, 1000), message(0, 7, 10)]);
    assert_eq!(times, [400 + 5 + 300 + 1010, 400 + 5 + 300 + 1010 + 5 + 300 + 20]);
}

#[test]
fn a_short_message_that_waits_leaves_the_links_behind_it() {
    // Node 3 is busy with a long message; the short one for it lies in one channel and lets the third pass behind it.
    let long = [message(4, 3, 5000), message(0, 3, 6), message(0, 1, 6)];
    let times = received(&torus(&[8]), &long);
    assert!(times[2] < times[0], "{times:?}");
    let filling = [message(4, 3, 5000), message(0, 3, 60), message(0, 1, 6)];
    assert!(received(&torus(&[8]), &filling)[2] > times[0], "it lies in all channels up to node 0");
}

#[test]
fn a_round_begins_when_the_one_before_has_come() {
    let answer = PooledMessage { round: 1, ..message(1, 0, 100) };
    let times = received(&torus(&[8]), &[message(0, 1, 1000), answer]);
    let first = 400 + 5 + 300 + 1010;
    assert_eq!(times, [first, first + 400 + 5 + 300 + 110]);
}

#[test]
fn everyone_to_everyone_ends() {
    // Rings of every direction are full of messages at once: without the second pool this stops for ever.
    let messages: Vec<PooledMessage> =
        (0..64).flat_map(|from| (1..64).map(move |step| message(from, (from + step) % 64, 500))).collect();
    let times = pass_messages(&torus(&[8, 8]), &COST, &messages, &[]);
    assert!(times.received.iter().all(|time| *time > Picos::ZERO));
    assert!(times.end.0 / 1000 >= 63 * (400 + 300 + 510));
}

fn messages() -> impl Strategy<Value = Vec<PooledMessage>> {
    let one = (0usize..20, 0usize..20, 0u64..2000)
        .prop_filter_map("to itself", |(from, to, bytes)| (from != to).then(|| message(from, to, bytes)));
    proptest::collection::vec(one, 1..80)
}

proptest! {
    /// Every message is received, none sooner than alone, and a receiver pays for all that it gets.
    #[test]
    fn every_message_is_received(messages in messages(), slots in 1u32..3) {
        let topology = torus(&[4, 5]);
        let cost = PooledCost { channels: slots, ..COST };
        let times = pass_messages(&topology, &cost, &messages, &[]);
        for (message, received) in messages.iter().zip(&times.received) {
            let hops = topology.hops(message.from, message.to) as u64;
            let alone = 400 + 5 * hops + 300 + 10 + message.bytes;
            prop_assert!(received.0 + 1000 >= 1000 * alone);
        }
        for node in 0..20 {
            let sends = messages.iter().filter(|message| message.from == node).count() as u64;
            let gets: u64 = messages.iter().filter(|message| message.to == node).map(|m| 310 + m.bytes).sum();
            prop_assert!(times.finished[node].0 + 100_000 >= 1000 * (400 * sends + gets));
        }
        prop_assert_eq!(&times, &pass_messages(&topology, &cost, &messages, &[]));
    }
}
