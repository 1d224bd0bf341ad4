//! Exchanges that are known beforehand: what every rank sends to whom, in which phases, over which links.
//!
//! A program that repeats an exchange plans it once. Worlds that can do more with the plan than pass messages say so by
//! [`Communicator::exchanges`](crate::Communicator::exchanges): virtual time runs it over the logical channels of the
//! machine, or by its message passing, with contention; elsewhere a program sends and receives as the plan says.

use std::pin::Pin;
use std::sync::Arc;

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

/// Transfers whose connections are held at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedPhase {
    /// Every rank does its transfers in this order.
    pub transfers: Vec<PlannedTransfer>,
    /// Whether ranks instead alternate among all of theirs, element by element, so that all are through together.
    pub interleaved: bool,
    /// Whether its connections are open since the phase before it: it begins when that is through, and nothing is
    /// switched. So transfers wait for others of their phase.
    pub continues: bool,
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
    pub ranks: usize,
    pub method: ExchangeMethod,
    pub phases: Vec<PlannedPhase>,
    /// Element by element, if it is.
    pub elements: Option<ElementCost>,
}

impl ExchangePlan {
    /// The transfers with their phases, in the order in which payloads are given and returned.
    pub fn transfers(&self) -> impl Iterator<Item = (usize, &PlannedTransfer)> {
        let phases = self.phases.iter().enumerate();
        phases.flat_map(|(number, phase)| phase.transfers.iter().map(move |transfer| (number, transfer)))
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
