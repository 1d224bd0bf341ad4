//! Whether the whole run has come to rest: no PE has a goal that can go on, and no message is under way.
//!
//! The termination of nodes is counted by weight and needs nothing else. A run whose root has not ended but in which
//! nothing moves any more is perpetually suspended; that is found by a token that goes round the PEs that are at rest
//! (Dijkstra, Feijen, van Gasteren and Safra: Safra's version counts messages, so that none can hide on its way).

/// What travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Packets sent less packets received, of all PEs it has visited.
    pub count: i64,
    /// A PE it visited has received a packet since the round before.
    pub black: bool,
}

/// One PE's part in the round.
#[derive(Clone, Debug, Default)]
pub struct Quiescence {
    /// Packets sent less packets received.
    count: i64,
    /// A packet has come since the token last left.
    black: bool,
    token: Option<Token>,
    /// Only on PE 0: a round is on its way.
    started: bool,
}

/// What a PE that rests does with the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: the token is elsewhere.
    Wait,
    /// Sends it on to this PE.
    Pass(usize, Token),
    /// Only on PE 0: the run rests.
    Rest,
}

impl Quiescence {
    /// A packet of messages leaves.
    pub fn sent(&mut self) {
        self.count += 1;
    }

    /// A packet of messages has come.
    pub fn received(&mut self) {
        self.count -= 1;
        self.black = true;
    }

    /// The token has come.
    pub fn take(&mut self, token: Token) {
        self.token = Some(token);
    }

    /// Whether [`Quiescence::act`] would do something.
    pub fn is_next(&self, me: usize, pes: usize) -> bool {
        pes == 1 || self.token.is_some() || me == 0 && !self.started
    }

    /// After [`Action::Rest`]: something moves again, and another round is wanted when it rests.
    pub fn begin_again(&mut self) {
        self.started = false;
    }

    /// Called whenever the PE rests and there is no packet for it.
    pub fn act(&mut self, me: usize, pes: usize) -> Action {
        if pes == 1 {
            return if self.count == 0 { Action::Rest } else { Action::Wait };
        }
        if me != 0 {
            let Some(token) = self.token.take() else { return Action::Wait };
            let passed = Token { count: token.count + self.count, black: token.black || self.black };
            self.black = false;
            return Action::Pass((me + 1) % pes, passed);
        }
        if self.started {
            let Some(token) = self.token.take() else { return Action::Wait };
            if !token.black && !self.black && token.count + self.count == 0 {
                return Action::Rest;
            }
        }
        self.started = true;
        self.black = false;
        Action::Pass(1, Token { count: 0, black: false })
    }
}
