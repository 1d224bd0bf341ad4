//! Planned exchanges: the machine's model of connections or of messages runs when all ranks take part.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use weft_comm::{ExchangeMethod, ExchangePlan, Numbered, Payload, Sharing};
use weft_network::{
    Arbitration, ConnectionCost, ConnectionPhase, ConnectionTransfer, LogicalChannels, PooledCost, PooledMessage,
    pass_messages_until,
};

use super::*;

/// The exchange that ranks are in, and how long the last one took.
#[derive(Debug, Default)]
pub(crate) struct Exchanging {
    plan: Option<Arc<ExchangePlan>>,
    /// Of every rank that takes part, the payloads of its sends,
    outgoing: Vec<Option<Vec<Payload>>>,
    there: usize,
    /// and of every rank that has not yet taken them, those of its receives.
    incoming: Vec<Option<Vec<Payload>>>,
    /// Over connections an exchange lasts equally long every time.
    last: Option<(Arc<ExchangePlan>, Picos)>,
    /// Whether every rank is on the node of its number, which each rank asks.
    identity: OnceCell<bool>,
}

/// Why an exchange has no end.
const INTERRUPTED: &str = "it was interrupted";

impl Core {
    /// Whether the machine has a model for `method`: every rank on the node of its number.
    pub fn carries(&self, method: ExchangeMethod) -> bool {
        *self.exchanging.identity.get_or_init(|| self.is_placed_in_order())
            && match method {
                ExchangeMethod::Connections => ConnectionCost::of(&self.machine).is_some(),
                ExchangeMethod::Messages => PooledCost::of(&self.machine).is_some(),
            }
    }

    fn is_placed_in_order(&self) -> bool {
        self.size() <= self.machine.nodes()
            && self.placement.host_rank().is_none()
            && (0..self.size()).all(|rank| self.placement.node(rank) == rank)
    }

    /// A rank takes part in an exchange; the last one makes it happen.
    ///
    /// # Errors
    /// What is wrong with the plan or with the payloads.
    pub fn join_exchange(&mut self, rank: u32, plan: &Arc<ExchangePlan>, outgoing: Vec<Payload>) -> Result<(), String> {
        if plan.ranks() != self.size() {
            return Err(format!("a plan of {} ranks on a communicator of {}", plan.ranks(), self.size()));
        }
        self.check_outgoing(rank, plan, &outgoing)?;
        let size = self.size();
        let exchanging = &mut self.exchanging;
        exchanging.outgoing.resize(size, None);
        exchanging.incoming.resize(size, None);
        match &exchanging.plan {
            Some(other) if !Arc::ptr_eq(other, plan) && other != plan => {
                return Err("ranks take part in different exchanges at the same time".to_owned());
            }
            Some(_) => {}
            None => exchanging.plan = Some(plan.clone()),
        }
        exchanging.outgoing[rank as usize] = Some(outgoing);
        exchanging.there += 1;
        if exchanging.there == size {
            self.carry_exchange(plan)?;
        }
        Ok(())
    }

    /// What the rank has received, once the exchange has happened.
    pub fn take_exchanged(&mut self, rank: u32) -> Option<Vec<Payload>> {
        self.exchanging.incoming.get_mut(rank as usize)?.take()
    }

    /// How many ranks take part, where `rank` is one of them and waits for the others.
    pub fn waits_in_exchange(&self, rank: usize) -> Option<usize> {
        self.exchanging.outgoing.get(rank)?.as_ref().map(|_| self.exchanging.there)
    }

    fn check_outgoing(&self, rank: u32, plan: &ExchangePlan, outgoing: &[Payload]) -> Result<(), String> {
        let mut payloads = outgoing.iter();
        for Numbered { transfer, .. } in plan.sends(rank as usize) {
            match payloads.next() {
                Some(payload) if payload.len() as u64 == transfer.bytes => {}
                Some(payload) => {
                    return Err(format!(
                        "a payload of {} bytes for a transfer of {} bytes to rank {}",
                        payload.len(),
                        transfer.bytes,
                        transfer.to
                    ));
                }
                None => return Err(format!("no payload for the transfer to rank {}", transfer.to)),
            }
        }
        match payloads.count() {
            0 => Ok(()),
            more => Err(format!("{more} payloads more than the plan has sends")),
        }
    }

    fn carry_exchange(&mut self, plan: &Arc<ExchangePlan>) -> Result<(), String> {
        let ready: Vec<Picos> = self.ranks.iter().map(|rank| rank.clock).collect();
        let finished = match plan.method() {
            ExchangeMethod::Connections => self.over_connections(plan, &ready)?,
            ExchangeMethod::Messages => self.by_messages(plan, &ready)?,
        };
        let mut queues: Vec<std::vec::IntoIter<Payload>> = self
            .exchanging
            .outgoing
            .iter_mut()
            .map(|payloads| payloads.take().unwrap_or_default().into_iter())
            .collect();
        let mut incoming: Vec<Vec<Payload>> = vec![Vec::new(); plan.ranks()];
        for (_, transfer) in plan.transfers() {
            let payload = queues[transfer.from as usize].next().expect("checked when the rank joined");
            incoming[transfer.to as usize].push(payload);
        }
        self.exchanging.plan = None;
        self.exchanging.there = 0;
        self.exchanging.incoming = incoming.into_iter().map(Some).collect();
        for (rank, finished) in finished.into_iter().enumerate() {
            self.record(rank as u32, ready[rank], finished, TraceKind::Wait);
            self.ranks[rank].clock = finished;
            self.make_ready(rank as u32);
        }
        Ok(())
    }

    /// All leave together: a phase is switched when all are through with the one before.
    fn over_connections(&mut self, plan: &Arc<ExchangePlan>, ready: &[Picos]) -> Result<Vec<Picos>, String> {
        let duration = match &self.exchanging.last {
            Some((last, duration)) if Arc::ptr_eq(last, plan) => *duration,
            _ => {
                let cost = ConnectionCost::of(&self.machine).ok_or("the machine has no connections")?;
                let cost = plan
                    .elements()
                    .map_or(cost, |element| cost.by_element(element.gather_byte_time, element.scatter_byte_time));
                let phases = self.connection_phases(plan)?;
                let topology = &self.machine.topology;
                let mut channels = LogicalChannels::of(topology, cost);
                channels.exchange_until(&phases, &self.interrupt).ok_or(INTERRUPTED)?.end
            }
        };
        self.exchanging.last = Some((plan.clone(), duration));
        let start = ready.iter().copied().max().unwrap_or(Picos::ZERO);
        Ok(vec![start + duration; ready.len()])
    }

    fn connection_phases<'a>(&self, plan: &'a ExchangePlan) -> Result<Vec<ConnectionPhase<'a>>, String> {
        let topology = &self.machine.topology;
        let links = topology.links();
        let transfer = |planned: &'a weft_comm::PlannedTransfer| {
            let (from, to) = (planned.from as usize, planned.to as usize);
            if from >= plan.ranks() || to >= plan.ranks() || from == to {
                return Err(format!("a transfer from rank {from} to rank {to} of {} ranks", plan.ranks()));
            }
            if let Some(link) = planned.route.iter().find(|&&link| link as usize >= links) {
                return Err(format!("link {link}, but the machine has links 0 to {}", links - 1));
            }
            let mut route = Cow::Borrowed(&planned.route[..]);
            if route.is_empty() {
                topology.route(from, to, |link| route.to_mut().push(link as u32));
            }
            Ok(ConnectionTransfer { from, to, bytes: planned.bytes, route })
        };
        plan.phases()
            .iter()
            .map(|phase| {
                let transfers = phase.transfers.iter().map(transfer).collect::<Result<_, _>>()?;
                let arbitration = match phase.sharing {
                    Sharing::InOrder => Arbitration::InOrder,
                    Sharing::ThroughTogether => Arbitration::Proportional,
                    Sharing::ArrivingTogether => Arbitration::Punctual,
                };
                Ok(ConnectionPhase { transfers, arbitration, begins: phase.begins })
            })
            .collect()
    }

    /// Every rank goes on when it has received what is sent to it.
    fn by_messages(&mut self, plan: &ExchangePlan, ready: &[Picos]) -> Result<Vec<Picos>, String> {
        let cost = PooledCost::of(&self.machine).ok_or("the machine passes no messages over logical channels")?;
        let cost = plan
            .elements()
            .map_or(cost, |element| cost.by_element(element.gather_byte_time, element.scatter_byte_time));
        let message = |(round, planned): (usize, &weft_comm::PlannedTransfer)| {
            let (from, to) = (planned.from as usize, planned.to as usize);
            if from >= plan.ranks() || to >= plan.ranks() || from == to {
                return Err(format!("a message from rank {from} to rank {to} of {} ranks", plan.ranks()));
            }
            Ok(PooledMessage { from, to, bytes: planned.bytes, round: round as u32 })
        };
        let messages = plan.transfers().map(message).collect::<Result<Vec<_>, String>>()?;
        let times = pass_messages_until(&self.machine.topology, &cost, &messages, ready, &self.interrupt);
        let mut finished = times.ok_or(INTERRUPTED)?.finished;
        finished.truncate(ready.len());
        Ok(finished)
    }
}
