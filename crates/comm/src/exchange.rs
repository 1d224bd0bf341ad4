//! Exchanges that are known beforehand: what every rank sends to whom, in which phases, over which links.
//!
//! A program that repeats an exchange plans it once. Worlds that can do more with the plan than pass messages say so by
//! [`Communicator::exchanges`](crate::Communicator::exchanges): virtual time runs it over the logical channels of the
//! machine, or by its message passing, with contention; elsewhere a program sends and receives as the plan says.

use std::pin::Pin;
use std::sync::Arc;

use weft_base::Begins;

use crate::error::CommError;
use crate::payload::Payload;

/// One transfer of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTransfer {
    /// The sending rank,
    pub from: u32,
    /// the receiving one,
    pub to: u32,
    /// and how much.
    pub bytes: u64,
    /// The links of its connection, as the machine's topology numbers them; empty where the machine is to choose.
    pub route: Vec<u32>,
}

/// How a rank shares its time among the transfers of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// One after another, in the order of the list.
    #[default]
    InOrder,
    /// It alternates among all, element by element, so that all are through together.
    ThroughTogether,
    /// It alternates among all, so that the last words of all arrive together, however far they go.
    ArrivingTogether,
}

/// Transfers whose connections are held at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedPhase {
    pub transfers: Vec<PlannedTransfer>,
    /// How every rank does its transfers.
    pub sharing: Sharing,
    pub begins: Begins,
}

/// How a machine that can do both carries a plan out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExchangeMethod {
    /// Phases of connections (ConSet).
    Connections,
    /// Messages: every rank sends those of its own in a phase when it has received those of the phases before. Routes are
    /// the machine's.
    Messages,
}

impl ExchangeMethod {
    /// The name of the benchmark that measures it.
    pub fn name(self) -> &'static str {
        match self {
            ExchangeMethod::Connections => "conset",
            ExchangeMethod::Messages => "messages",
        }
    }
}

/// What getting at single elements costs a program, where they are gathered from and scattered into sparse structures
/// instead of streamed from memory.
///
/// Connections take elements as they are computed (systolic transfer, section 5 of Feldmann, Stricker and Warfel 1993);
/// messages need them copied to a buffer first. Either way the receiver takes them from the network one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElementCost {
    /// Seconds of the program for each byte it gathers,
    pub gather_byte_time: f64,
    /// and for each that it scatters. A program gathers or scatters, not both at once.
    pub scatter_byte_time: f64,
}

/// An exchange between all ranks of a communicator.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangePlan {
    ranks: usize,
    method: ExchangeMethod,
    phases: Vec<PlannedPhase>,
    elements: Option<ElementCost>,
    /// What each rank sends and receives, so that ranks need not read the whole plan.
    sends: ByRank,
    receives: ByRank,
}

/// A transfer of a plan, and where it stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered<'a> {
    pub phase: usize,
    /// Its index in [`ExchangePlan::transfers`].
    pub index: usize,
    pub transfer: &'a PlannedTransfer,
}

impl ExchangePlan {
    /// A plan of `ranks` ranks; with `elements` it is done element by element.
    ///
    /// # Examples
    /// ```
    /// use weft_comm::{Begins, ExchangeMethod, ExchangePlan, PlannedPhase, PlannedTransfer, Sharing};
    ///
    /// let transfer = |from, to| PlannedTransfer { from, to, bytes: 8, route: Vec::new() };
    /// let phase = |transfers| PlannedPhase { transfers, sharing: Sharing::InOrder, begins: Begins::Switched };
    /// let phases = vec![phase(vec![transfer(0, 1), transfer(2, 0)]), phase(vec![transfer(0, 2)])];
    /// let plan = ExchangePlan::new(3, ExchangeMethod::Connections, phases, None);
    /// assert_eq!(plan.sends(0).map(|sent| (sent.phase, sent.index)).collect::<Vec<_>>(), [(0, 0), (1, 2)]);
    /// assert_eq!(plan.of_rank(0).count(), 3);
    /// ```
    pub fn new(
        ranks: usize,
        method: ExchangeMethod,
        phases: Vec<PlannedPhase>,
        elements: Option<ElementCost>,
    ) -> ExchangePlan {
        let sends = ByRank::new(ranks, &phases, |transfer| transfer.from);
        let receives = ByRank::new(ranks, &phases, |transfer| transfer.to);
        ExchangePlan { ranks, method, phases, elements, sends, receives }
    }

    pub fn ranks(&self) -> usize {
        self.ranks
    }

    pub fn method(&self) -> ExchangeMethod {
        self.method
    }

    pub fn phases(&self) -> &[PlannedPhase] {
        &self.phases
    }

    /// What single elements cost, if the exchange is done element by element.
    pub fn elements(&self) -> Option<ElementCost> {
        self.elements
    }

    /// The transfers with their phases, in the order in which payloads are given and returned.
    pub fn transfers(&self) -> impl Iterator<Item = (usize, &PlannedTransfer)> {
        let phases = self.phases.iter().enumerate();
        phases.flat_map(|(number, phase)| phase.transfers.iter().map(move |transfer| (number, transfer)))
    }

    /// What `rank` sends, in the order of the plan.
    pub fn sends(&self, rank: usize) -> impl Iterator<Item = Numbered<'_>> {
        self.sends.of(rank).iter().map(|entry| self.numbered(entry))
    }

    /// What `rank` receives, in the order of the plan.
    pub fn receives(&self, rank: usize) -> impl Iterator<Item = Numbered<'_>> {
        self.receives.of(rank).iter().map(|entry| self.numbered(entry))
    }

    /// What `rank` sends or receives, in the order of the plan.
    pub fn of_rank(&self, rank: usize) -> impl Iterator<Item = Numbered<'_>> {
        let mut entries: Vec<&Entry> = self.sends.of(rank).iter().chain(self.receives.of(rank)).collect();
        entries.sort_unstable_by_key(|entry| entry.index);
        entries.dedup_by_key(|entry| entry.index);
        entries.into_iter().map(|entry| self.numbered(entry))
    }

    fn numbered(&self, entry: &Entry) -> Numbered<'_> {
        let Entry { phase, within, index } = *entry;
        let transfer = &self.phases[phase as usize].transfers[within as usize];
        Numbered { phase: phase as usize, index: index as usize, transfer }
    }
}

/// The transfers at one of whose ends each rank is.
#[derive(Clone, Debug, PartialEq)]
struct ByRank {
    /// The entries of rank r are `first[r]..first[r + 1]`.
    first: Vec<u32>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Entry {
    phase: u32,
    within: u32,
    index: u32,
}

impl ByRank {
    /// Transfers whose end is none of the ranks belong to nobody: whoever carries the plan out refuses them.
    fn new(ranks: usize, phases: &[PlannedPhase], end: impl Fn(&PlannedTransfer) -> u32) -> ByRank {
        let ends = || phases.iter().flat_map(|phase| &phase.transfers).map(|transfer| end(transfer) as usize);
        let mut first = vec![0u32; ranks + 1];
        ends().filter(|&rank| rank < ranks).for_each(|rank| first[rank + 1] += 1);
        for rank in 0..ranks {
            first[rank + 1] += first[rank];
        }
        let mut next = first.clone();
        let mut entries = vec![Entry::default(); first[ranks] as usize];
        let mut index = 0;
        for (phase, planned) in phases.iter().enumerate() {
            for (within, transfer) in planned.transfers.iter().enumerate() {
                if let Some(next) = next[..ranks].get_mut(end(transfer) as usize) {
                    entries[*next as usize] = Entry { phase: phase as u32, within: within as u32, index };
                    *next += 1;
                }
                index += 1;
            }
        }
        ByRank { first, entries }
    }

    fn of(&self, rank: usize) -> &[Entry] {
        &self.entries[self.first[rank] as usize..self.first[rank + 1] as usize]
    }
}

/// What a planned exchange gives: the payloads of the rank's receives, in the order of the plan.
pub type Exchanged<'a> = Pin<Box<dyn Future<Output = Result<Vec<Payload>, CommError>> + 'a>>;

/// A backend that carries plans out itself.
pub trait Exchanges {
    /// Whether it carries plans out in this way; a program sends messages itself where it does not.
    fn carries(&self, method: ExchangeMethod) -> bool;

    /// Takes part in an exchange. All ranks of the communicator call it with the same plan; `outgoing` has the payloads
    /// of this rank's sends in the order of the plan.
    ///
    /// # Errors
    /// [`crate::Failure::Program`] for a plan or payloads that do not fit, [`crate::Failure::Aborted`].
    fn exchange<'a>(&'a self, plan: &'a Arc<ExchangePlan>, outgoing: Vec<Payload>) -> Exchanged<'a>;
}
