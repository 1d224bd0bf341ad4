//! Phases of connections beside what they are worked out to be.

use super::*;
use proptest::prelude::*;

/// A byte a nanosecond everywhere.
const COST: ConnectionCost = ConnectionCost {
    link_byte_time: 1e-9,
    send_byte_time: 1e-9,
    receive_byte_time: 1e-9,
    overlapped: true,
    hop_time: 0.0,
    synchronisation: 0.0,
    initialisation: 0.0,
};

fn transfer(from: usize, to: usize, bytes: u64, route: &[u32]) -> ConnectionTransfer<'static> {
    ConnectionTransfer { from, to, bytes, route: route.to_vec().into() }
}

fn ends(cost: ConnectionCost, arbitration: Arbitration, transfers: &[ConnectionTransfer]) -> Vec<u64> {
    let times = LogicalChannels::new(8, 8, cost).phase(transfers, arbitration, Picos::ZERO);
    times.transfers.iter().map(|span| span.end.0 / 1000).collect()
}

#[test]
fn channels_share_a_link_and_use_what_others_leave() {
    // Both cross link 0; the shorter ends when each has had half of the link, the longer then has all of it.
    let both = [transfer(0, 1, 100, &[0]), transfer(2, 3, 300, &[0])];
    assert_eq!(ends(COST, Arbitration::Interleaved, &both), [200, 400]);
    assert_eq!(ends(COST, Arbitration::InOrder, &both), [200, 400], "different nodes do not wait for each other");
}

#[test]
fn a_node_is_at_one_transfer_or_takes_turns() {
    let both = [transfer(0, 1, 100, &[0]), transfer(0, 2, 100, &[1])];
    assert_eq!(ends(COST, Arbitration::InOrder, &both), [100, 200]);
    assert_eq!(ends(COST, Arbitration::Interleaved, &both), [200, 200]);
}

#[test]
fn a_node_that_knows_lengths_is_through_with_all_together() {
    // Node 0 sends 300 and 100 bytes, node 2 another 100 to the receiver of the long one. By turns alone the long one
    // loses time to both; in proportion nothing is lost.
    let three = [transfer(0, 1, 300, &[0]), transfer(0, 3, 100, &[1]), transfer(2, 1, 100, &[2])];
    assert_eq!(ends(COST, Arbitration::Interleaved, &three), [400, 200, 200]);
    assert_eq!(ends(COST, Arbitration::Proportional, &three), [400, 400, 400]);
}

#[test]
fn last_words_arrive_together_however_far_they_go() {
    // Node 0 sends 300 bytes to its neighbour and 100 bytes over three links.
    let cost = ConnectionCost { hop_time: 100e-9, ..COST };
    let two = [transfer(0, 1, 300, &[0]), transfer(0, 3, 100, &[1, 2, 3])];
    assert_eq!(ends(cost, Arbitration::Proportional, &two), [500, 700]);
    // 300 / (T - 100) + 100 / (T - 300) = 1.
    assert_eq!(ends(cost, Arbitration::Punctual, &two), [573, 573]);
    assert_eq!(ends(COST, Arbitration::Punctual, &two), [400, 400]);
}

#[test]
fn a_node_sends_and_receives_at_once_or_either() {
    let both = [transfer(0, 1, 100, &[0]), transfer(1, 0, 100, &[1])];
    assert_eq!(ends(COST, Arbitration::InOrder, &both), [100, 100]);
    let either = ConnectionCost { overlapped: false, ..COST };
    assert_eq!(ends(either, Arbitration::InOrder, &both), [100, 200]);
    assert_eq!(ends(either, Arbitration::Interleaved, &both), [200, 200]);
}

#[test]
fn a_slow_program_leaves_the_link_to_others() {
    let slow = ConnectionCost { send_byte_time: 10e-9, ..COST };
    let three = [transfer(0, 4, 100, &[0]), transfer(1, 5, 100, &[0]), transfer(2, 6, 100, &[0])];
    assert_eq!(ends(slow, Arbitration::InOrder, &three), [1000, 1000, 1000], "congestion of three is invisible");
}

#[test]
fn phases_are_paid_for_and_left_together() {
    let cost = ConnectionCost { hop_time: 5e-9, synchronisation: 300e-9, initialisation: 200e-9, ..COST };
    let phase = |transfer| ConnectionPhase { transfers: vec![transfer], ..ConnectionPhase::default() };
    let mut phases = [phase(transfer(0, 1, 100, &[0])), phase(transfer(1, 2, 50, &[1, 2]))];
    let times = LogicalChannels::new(8, 8, cost).exchange(&phases);
    assert_eq!(times.phases[0].end.0, 605_000);
    assert_eq!(times.phases[1].instantiated.0, 1_105_000);
    assert_eq!(times.end.0, 1_465_000);
    phases[1].begins = Begins::Arrived;
    let times = LogicalChannels::new(8, 8, cost).exchange(&phases);
    assert_eq!((times.phases[1].instantiated.0, times.end.0), (605_000, 965_000));
    // The words of the first phase are on their way while those of the second are sent.
    phases[1].begins = Begins::Sent;
    let times = LogicalChannels::new(8, 8, cost).exchange(&phases);
    assert_eq!((times.phases[1].instantiated.0, times.end.0), (600_000, 960_000));
    // A phase that is through before the one before it does not end earlier.
    phases[0].transfers[0].route = vec![0; 40].into();
    let (sent, end) = (500_000 + 40 * 100_000, 500_000 + 40 * 105_000);
    let times = LogicalChannels::new(8, 8, cost).exchange(&phases);
    assert_eq!((times.phases[0].sent.0, times.phases[1].instantiated.0, times.end.0), (sent, sent, end + 300_000));
    assert_eq!(LogicalChannels::new(8, 8, cost).exchange(&[]).end, Picos::ZERO);
}

#[test]
fn nothing_to_send_takes_no_time() {
    assert_eq!(ends(COST, Arbitration::InOrder, &[transfer(0, 1, 0, &[0]), transfer(0, 2, 7, &[1])]), [0, 7]);
}

#[test]
fn parallel_links_are_shared_evenly_and_used_by_one_at_its_speed() {
    let topology = Topology::Torus { extents: vec![2, 4] };
    let cost = ConnectionCost { send_byte_time: 0.0, receive_byte_time: 0.0, ..COST };
    let route = |from, to| {
        let mut route = Vec::new();
        topology.route(from, to, |link| route.push(link as u32));
        transfer(from, to, 600, &route)
    };
    // Two links lead from node 0 to node 4: three transfers have two thirds of one each, one alone no more than one.
    for arbitration in [Arbitration::Interleaved, Arbitration::Proportional] {
        let mut channels = LogicalChannels::of(&topology, cost);
        let mut end = |transfers: &[_]| channels.phase(transfers, arbitration, Picos::ZERO).end.0 / 1000;
        assert_eq!((end(&[route(0, 4)]), end(&vec![route(0, 4); 3])), (600, 900), "{arbitration:?}");
    }
}

/// Fair rates of all computed anew whenever a transfer ends.
fn simple_ends(cost: ConnectionCost, arbitration: Arbitration, transfers: &[ConnectionTransfer]) -> Vec<f64> {
    let channels = LogicalChannels::new(8, 8, cost);
    let uses: Vec<Vec<Use>> = transfers.iter().map(|transfer| channels.uses(0, transfer)).collect();
    let mut queues = Queues::new(&channels, transfers, arbitration);
    let mut left: Vec<f64> = transfers.iter().map(|transfer| transfer.bytes as f64).collect();
    let (mut active, mut rates, mut now) = (queues.begin(), Vec::new(), 0.0);
    let mut ends = vec![0.0; transfers.len()];
    while !active.is_empty() {
        let flows: Vec<&[Use]> = active.iter().map(|&transfer| &uses[transfer][..]).collect();
        crate::fair::FairShares::new(24).rates(&flows, &mut rates);
        let step = active.iter().zip(&rates).map(|(&at, rate)| left[at] / rate).fold(f64::INFINITY, f64::min);
        now += step;
        let mut next = Vec::new();
        for (&transfer, rate) in active.iter().zip(&rates) {
            left[transfer] -= rate * step;
            if left[transfer] > 1e-7 {
                next.push(transfer);
                continue;
            }
            ends[transfer] = now * 1e9;
            queues.finish(transfer, |begun| next.push(begun));
        }
        active = next;
    }
    ends
}

fn transfers() -> impl Strategy<Value = Vec<ConnectionTransfer<'static>>> {
    let one = (0usize..8, 0usize..8, 0u64..500, proptest::collection::btree_set(0u32..8, 1..5));
    let between_nodes = one.prop_filter_map("to itself", |(from, to, bytes, route)| {
        (from != to).then(|| transfer(from, to, bytes, &route.into_iter().collect::<Vec<_>>()))
    });
    proptest::collection::vec(between_nodes, 1..25)
}

proptest! {
    /// Rates that are kept give the ends of rates that are computed anew.
    #[test]
    fn kept_rates_are_as_good_as_new_ones(
        transfers in transfers(), overlapped: bool, interleaved: bool,
    ) {
        let cost = ConnectionCost { overlapped, ..COST };
        let arbitration = if interleaved { Arbitration::Interleaved } else { Arbitration::InOrder };
        let times = LogicalChannels::new(8, 8, cost).phase(&transfers, arbitration, Picos::ZERO);
        for (span, end) in times.transfers.iter().zip(simple_ends(cost, arbitration, &transfers)) {
            prop_assert!((span.end.0 as f64 / 1000.0 - end).abs() < 0.01, "{span:?} {end}");
        }
    }

    /// Every transfer ends; none is faster than alone, and no resource is used more than all of the time.
    #[test]
    fn phases_end_within_their_bounds(
        transfers in transfers(), overlapped: bool,
        arbitration in proptest::sample::select(vec![
            Arbitration::InOrder, Arbitration::Interleaved, Arbitration::Proportional, Arbitration::Punctual,
        ]),
    ) {
        let cost = ConnectionCost { overlapped, ..COST };
        let times = LogicalChannels::new(8, 8, cost).phase(&transfers, arbitration, Picos(7000));
        let total: u64 = transfers.iter().map(|transfer| transfer.bytes).sum();
        let mut busy = [0u64; 24];
        for (transfer, span) in transfers.iter().zip(&times.transfers) {
            prop_assert!(span.end.0 + 10 >= span.start.0 + 1000 * transfer.bytes, "{span:?} {transfer:?}");
            prop_assert!(span.end <= times.end);
            transfer.route.iter().for_each(|&link| busy[link as usize] += transfer.bytes);
            busy[8 + transfer.from] += transfer.bytes;
            busy[8 + transfer.to + if overlapped { 8 } else { 0 }] += transfer.bytes;
        }
        let bound = 7000 + 1000 * busy.iter().max().copied().unwrap_or(0);
        let slack = 100;
        prop_assert!(times.end.0 + slack >= bound);
        // In proportion, whoever has most to do is busy all the time.
        let in_proportion = matches!(arbitration, Arbitration::Proportional | Arbitration::Punctual);
        prop_assert!(!in_proportion || times.end.0 <= bound + slack, "{times:?}");
        // Some resource is always exhausted while transfers are left, and each is so for what it carries.
        prop_assert!(times.end.0 <= 7000 + 1000 * total + slack);
        prop_assert_eq!(&times, &LogicalChannels::new(8, 8, cost).phase(&transfers, arbitration, Picos(7000)));
    }
}
