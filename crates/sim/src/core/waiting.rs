//! What ranks find when they wait for a request, and what they are blocked in.

use super::*;

impl Core {
    /// Takes a receive and its message, when it is complete; the rank's clock moves to when it has the message.
    #[inline]
    pub fn take_receive(&mut self, key: ReceiveKey) -> Option<Taken> {
        let receive = &mut self.receives[key as usize];
        let Some((message, complete)) = receive.complete else {
            receive.awaited = true;
            return None;
        };
        let (rank, pattern, capacity) = (receive.rank, receive.pattern, receive.capacity);
        if self.looks_only && self.is_later(rank, complete) {
            return None;
        }
        self.receives.remove(key as usize);
        let Message { envelope, from, bytes, data, receive_time, .. } = self.messages.remove(message as usize);
        if envelope.elements() != pattern.elements() {
            self.compare_elements((from, rank), envelope, pattern, bytes, capacity);
        }
        let misses = self.caching.as_mut().map_or(Picos::ZERO, |caching| caching.take(rank, capacity, bytes));
        let state = &mut self.ranks[rank as usize];
        let waited_from = state.clock;
        let start = waited_from.max(complete);
        let end = start + receive_time + misses;
        state.clock = end;
        if self.trace.is_some() {
            if start > waited_from {
                self.record(rank, waited_from, start, TraceKind::Wait);
            }
            self.record(rank, start, end, TraceKind::Receive { from, bytes });
        }
        Some(Taken { pattern, capacity, envelope, bytes, data })
    }

    /// Notes a message whose elements are none of its receive's. One that is too long is an error of its own.
    #[cold]
    fn compare_elements(
        &mut self,
        (from, to): (u32, u32),
        envelope: Envelope,
        pattern: Pattern,
        bytes: u64,
        capacity: u64,
    ) {
        let (sent, received) = (envelope.elements(), pattern.elements());
        if bytes > 0 && bytes <= capacity && !sent.agree_with(received, bytes == capacity) {
            let (from, to, tag) = (from as usize, to as usize, envelope.tag());
            self.mismatches.note(MismatchedElements { from, to, tag, sent, received });
        }
    }

    /// Whether a send is complete; the rank's clock then moves to that time.
    pub fn take_send(&mut self, key: SendKey) -> bool {
        let send = &mut self.sends[key as usize];
        let Some(complete) = send.complete else {
            send.awaited = true;
            return false;
        };
        let rank = send.rank;
        if self.looks_only && self.is_later(rank, complete) {
            return false;
        }
        let rank = &mut self.ranks[rank as usize];
        rank.clock = rank.clock.max(complete);
        self.sends.remove(key as usize);
        true
    }

    /// Whether `time` is after the clock of `rank`, which then only looks and is told when to look again.
    #[cold]
    fn is_later(&mut self, rank: u32, time: Picos) -> bool {
        let later = time > self.clock(rank);
        if later {
            self.next_known = self.next_known.min(time);
        }
        later
    }

    /// Whether requests are only looked at and what is complete at `time` is not yet complete for `rank`.
    pub fn is_beyond_look(&mut self, rank: u32, time: Picos) -> bool {
        self.looks_only && self.is_later(rank, time)
    }

    /// From now on requests are only looked at: those complete after their rank's clock stay as they are.
    pub fn begin_look(&mut self) {
        self.looks_only = true;
        self.next_known = Picos::MAX;
    }

    /// Requests are waited for again; when the first of those looked at will be complete, as far as that is known.
    pub fn end_look(&mut self) -> Option<Picos> {
        self.looks_only = false;
        (self.next_known != Picos::MAX).then_some(self.next_known)
    }

    /// Takes a receive back that has got no message; false where it has.
    pub fn cancel_receive(&mut self, key: ReceiveKey) -> bool {
        let rank = self.receives[key as usize].rank;
        let queues = &mut self.ranks[rank as usize].queues;
        let Some(index) = queues.posted().position(|&(_, receive)| receive == key) else { return false };
        let (pattern, _) = queues.take_posted(index);
        self.forget_receive(key);
        let state = &mut self.ranks[rank as usize];
        if pattern.is_wildcard() {
            state.wildcards -= 1;
            if state.wildcards == 0 {
                self.match_ahead(rank);
            }
        }
        true
    }

    /// Takes the message out that `pattern` would get at this moment and gives it to a receive of its own.
    pub fn take_arrived(&mut self, rank: u32, pattern: Pattern) -> Option<(Envelope, u64, ReceiveKey)> {
        let now = self.queue.now();
        let (_, index) = self.first_visible(rank, &pattern).filter(|&(visible, _)| visible <= now)?;
        let state = &mut self.ranks[rank as usize];
        let (envelope, message) = state.queues.take_unexpected(index);
        let (posted, bytes) = (state.clock, self.messages[message as usize].bytes);
        let receive =
            Receive { rank, pattern, capacity: u64::MAX, posted, complete: None, awaited: false, dropped: false };
        let key = self.receives.insert(receive) as ReceiveKey;
        self.matched(key, message);
        Some((envelope, bytes, key))
    }

    /// A receive that nobody will take is no longer there.
    pub(super) fn forget_receive(&mut self, key: ReceiveKey) {
        let Receive { rank, capacity, .. } = self.receives.remove(key as usize);
        if let Some(caching) = &mut self.caching {
            caching.withdraw(rank, capacity);
        }
    }

    /// The program has dropped a receive: its message will be thrown away.
    pub fn drop_receive(&mut self, key: ReceiveKey) {
        match self.receives[key as usize].complete {
            Some((message, _)) => {
                self.forget_receive(key);
                self.messages.remove(message as usize);
            }
            None => self.receives[key as usize].dropped = true,
        }
    }

    /// The program has dropped a send; the message goes its way.
    pub fn drop_send(&mut self, key: SendKey) {
        match self.sends[key as usize].complete {
            Some(_) => drop(self.sends.remove(key as usize)),
            None => self.sends[key as usize].dropped = true,
        }
    }
}
