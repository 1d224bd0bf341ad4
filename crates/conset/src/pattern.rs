//! Connection sets: what is to be communicated.

use serde::{Deserialize, Serialize};
use weft_base::quoting::{is_plain, shown};

/// A connection from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Connection {
    pub source: u32,
    pub destination: u32,
    /// Words to be transferred, at least one. A machine's `connections.word_bytes` says what a word is.
    pub words: u64,
}

/// That one connection must be finished before another starts; both by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Order {
    pub before: u32,
    pub after: u32,
}

/// A set of connections between `nodes` nodes, with ordering constraints where there are any.
///
/// A connection is known by its index. Several may join the same two nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionSet {
    /// What people call it: `all-to-all`, or the file it came from.
    pub name: String,
    pub nodes: u32,
    pub connections: Vec<Connection>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<Order>,
}

/// Why something is no connection set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("connection {index} goes from node {node} to itself; data that stays on a node needs no connection")]
    SelfConnection { index: usize, node: u32 },
    #[error(
        "connection {index} ({source_node} to {destination}) names node {missing}, but there are nodes 0 to {last}"
    )]
    MissingNode { index: usize, source_node: u32, destination: u32, missing: u32, last: i64 },
    #[error("connection {index} ({source_node} to {destination}) has no words; it must have at least one")]
    NoWords { index: usize, source_node: u32, destination: u32 },
    #[error("the set has {words} words in all, more than {limit}: times could not be told apart", limit = MAX_WORDS)]
    TooManyWords { words: u128 },
    #[error("an order names connection {index}, but there are connections 0 to {last}")]
    MissingConnection { index: u32, last: i64 },
    #[error("the orders form a cycle, so none of these connections could start: {}", chain(.connections))]
    Cycle { connections: Vec<u32> },
    #[error("{0}")]
    Name(String),
    #[error(transparent)]
    Memory(#[from] weft_base::memory::MemoryError),
}

/// The most characters of the name of a set: it is in tables, messages and drawings.
const MAX_NAME: usize = 300;

/// Words of a whole set are counted exactly in floating point.
pub const MAX_WORDS: u64 = 1 << 52;

fn chain(connections: &[u32]) -> String {
    let mut words: Vec<String> = connections.iter().take(12).map(u32::to_string).collect();
    if connections.len() > 12 {
        words.push(format!("… ({} in all)", connections.len()));
    } else if let Some(first) = words.first().cloned() {
        words.push(first);
    }
    words.join(" before ")
}

impl ConnectionSet {
    /// A checked set without ordering constraints.
    pub fn new(
        name: impl Into<String>,
        nodes: u32,
        connections: Vec<Connection>,
    ) -> Result<ConnectionSet, PatternError> {
        let set = ConnectionSet { name: name.into(), nodes, connections, orders: Vec::new() };
        set.check()?;
        Ok(set)
    }

    /// The same with ordering constraints.
    ///
    /// # Errors
    /// [`PatternError::Cycle`] where the orders contradict each other, and for connections that there are not.
    ///
    /// # Examples
    /// ```
    /// use weft_conset::{Connection, ConnectionSet, Order};
    ///
    /// let connection = |source| Connection { source, destination: source + 1, words: 8 };
    /// let connections = vec![connection(0), connection(1)];
    /// let set = ConnectionSet::new("relay", 3, connections).unwrap();
    /// let ordered = set.clone().with_orders(vec![Order { before: 0, after: 1 }]).unwrap();
    /// assert_eq!(ordered.ranks().unwrap(), [0, 1]);
    /// let both = vec![Order { before: 0, after: 1 }, Order { before: 1, after: 0 }];
    /// let error = set.with_orders(both).unwrap_err().to_string();
    /// assert!(error.starts_with("the orders form a cycle, so none of these connections could start: "));
    /// ```
    pub fn with_orders(mut self, orders: Vec<Order>) -> Result<ConnectionSet, PatternError> {
        self.orders = orders;
        self.check()?;
        Ok(self)
    }

    /// Checks that every connection joins two different nodes of the set and has words, and that orders can be kept.
    pub fn check(&self) -> Result<(), PatternError> {
        if !is_plain(&self.name) || self.name.chars().count() > MAX_NAME {
            let shown_name = shown(&self.name);
            return Err(PatternError::Name(format!(
                "the name of the set is '{shown_name}'; expected at most {MAX_NAME} characters, none of them a control character"
            )));
        }
        let last = i64::from(self.nodes) - 1;
        let mut words = 0u128;
        for (index, &Connection { source, destination, words: own }) in self.connections.iter().enumerate() {
            for missing in [source, destination] {
                if missing >= self.nodes {
                    return Err(PatternError::MissingNode { index, source_node: source, destination, missing, last });
                }
            }
            if source == destination {
                return Err(PatternError::SelfConnection { index, node: source });
            }
            if own == 0 {
                return Err(PatternError::NoWords { index, source_node: source, destination });
            }
            words += u128::from(own);
        }
        if words > u128::from(MAX_WORDS) {
            return Err(PatternError::TooManyWords { words });
        }
        let count = self.connections.len();
        for order in &self.orders {
            for index in [order.before, order.after] {
                if index as usize >= count {
                    return Err(PatternError::MissingConnection { index, last: count as i64 - 1 });
                }
            }
        }
        self.ranks().map(drop)
    }

    /// For each connection the most connections that must come one after the other before it; all 0 without orders.
    ///
    /// # Errors
    /// [`PatternError::Cycle`] with the connections of one cycle, each before the next.
    pub fn ranks(&self) -> Result<Vec<u32>, PatternError> {
        let count = self.connections.len();
        let mut ranks = vec![0u32; count];
        if self.orders.is_empty() {
            return Ok(ranks);
        }
        let mut waits = vec![0u32; count];
        let mut after: Vec<Vec<u32>> = vec![Vec::new(); count];
        for order in &self.orders {
            after[order.before as usize].push(order.after);
            waits[order.after as usize] += 1;
        }
        let mut ready: Vec<u32> = (0..count as u32).filter(|&c| waits[c as usize] == 0).collect();
        let mut done = 0;
        while let Some(connection) = ready.pop() {
            done += 1;
            for &next in &after[connection as usize] {
                let next = next as usize;
                ranks[next] = ranks[next].max(ranks[connection as usize] + 1);
                waits[next] -= 1;
                if waits[next] == 0 {
                    ready.push(next as u32);
                }
            }
        }
        if done == count { Ok(ranks) } else { Err(PatternError::Cycle { connections: self.cycle(&waits) }) }
    }

    /// A cycle among the connections that still wait.
    fn cycle(&self, waits: &[u32]) -> Vec<u32> {
        let mut before = vec![u32::MAX; waits.len()];
        for order in &self.orders {
            if waits[order.before as usize] > 0 {
                before[order.after as usize] = order.before;
            }
        }
        let mut at = waits.iter().position(|&waits| waits > 0).unwrap_or(0);
        // After as many steps as there are connections, the walk is on the cycle.
        for _ in 0..waits.len() {
            at = before[at] as usize;
        }
        let (start, mut cycle) = (at, vec![at as u32]);
        while before[at] as usize != start {
            at = before[at] as usize;
            cycle.push(at as u32);
        }
        cycle.reverse();
        cycle
    }

    /// The set with `words` words on every connection.
    pub fn with_words(mut self, words: u64) -> Result<ConnectionSet, PatternError> {
        for connection in &mut self.connections {
            connection.words = words;
        }
        self.check()?;
        Ok(self)
    }

    /// The words of every connection, if all have as many.
    pub fn uniform_words(&self) -> Option<u64> {
        let words = self.connections.first()?.words;
        self.connections.iter().all(|connection| connection.words == words).then_some(words)
    }
}
