//! Which receive gets which message: ahead of arrival where nothing later can change that, else in order of arrival.

use super::*;

impl Core {
    /// Offers a message that has entered the network to the receives of its rank.
    pub(super) fn deliver(&mut self, now: Picos, key: MessageKey) {
        let message = &self.messages[key as usize];
        let (to, envelope, visible) = (message.to, message.envelope, message.visible.get());
        let rank = &mut self.ranks[to as usize];
        if rank.wildcards == 0 {
            match rank.queues.deliver(envelope, key) {
                Some((receive, message)) => self.matched(receive, message),
                None => self.keep_order_of_source(to, key),
            }
        } else {
            rank.queues.keep(envelope, key);
            self.keep_order_of_source(to, key);
            if let Some(visible) = self.messages[key as usize].visible.get() {
                self.queue.push(visible.max(now), Event::Settle(to));
            }
        }
        if let Some(visible) = visible {
            self.wake_probe(to, visible.max(now));
        }
    }

    /// A message that overtook an earlier one of its sender is not seen before that one.
    pub(super) fn keep_order_of_source(&mut self, to: u32, key: MessageKey) {
        let message = &self.messages[key as usize];
        let (from, Some(visible)) = (message.from, message.visible.get()) else {
            return;
        };
        let unexpected = self.ranks[to as usize].queues.unexpected();
        let others = unexpected.map(|&(_, other)| &self.messages[other as usize]);
        let latest = others.filter(|other| other.from == from).filter_map(|other| other.visible.get()).max();
        self.messages[key as usize].visible = latest.map_or(visible, |latest| latest.max(visible)).into();
    }

    pub(super) fn wake_probe(&mut self, rank: u32, time: Picos) {
        if !self.probing.is_empty() && self.probing.contains_key(&rank) {
            self.wake_at(rank, time);
        }
        self.notice(rank, time);
    }

    /// Sets what `rank` waits for in a probe, or that it does not wait.
    pub fn set_probing(&mut self, rank: u32, pattern: Option<Pattern>) {
        match pattern {
            Some(pattern) => self.probing.insert(rank, pattern),
            None => self.probing.remove(&rank),
        };
    }

    /// Posts a receive; it completes when [`Core::take_receive`] says so.
    pub fn post(&mut self, rank: u32, pattern: Pattern, capacity: u64) -> ReceiveKey {
        let posted = self.ranks[rank as usize].clock;
        if let Some(caching) = &mut self.caching {
            caching.post(rank, capacity);
        }
        let receive = Receive { rank, pattern, capacity, posted, complete: None, awaited: false, dropped: false };
        let key = self.receives.insert(receive) as ReceiveKey;
        let is_wildcard = pattern.is_wildcard();
        let state = &mut self.ranks[rank as usize];
        if state.wildcards == 0 && !is_wildcard {
            if let Some((_, message, receive)) = state.queues.post(pattern, key) {
                self.matched(receive, message);
            }
            return key;
        }
        self.post_by_arrival(rank, pattern, key);
        key
    }

    /// Posts a wildcard receive, or one behind a wildcard: it gets what has arrived, or waits for the next arrival.
    pub(super) fn post_by_arrival(&mut self, rank: u32, pattern: Pattern, key: ReceiveKey) {
        let now = self.queue.now();
        let first = self.first_visible(rank, &pattern);
        let state = &mut self.ranks[rank as usize];
        if let Some((visible, index)) = first {
            if visible <= now {
                let (_, message) = state.queues.take_unexpected(index);
                self.matched(key, message);
                return;
            }
            self.queue.push(visible, Event::Settle(rank));
        }
        let state = &mut self.ranks[rank as usize];
        state.wildcards += u32::from(pattern.is_wildcard());
        state.queues.keep_posted(pattern, key);
    }

    /// Of the messages at `rank` that `pattern` accepts, the one that is visible first: when, and its index in the
    /// queue.
    pub fn first_visible(&self, rank: u32, pattern: &Pattern) -> Option<(Picos, usize)> {
        let unexpected = self.ranks[rank as usize].queues.unexpected().enumerate();
        let accepted = unexpected.filter(|(_, (envelope, _))| pattern.accepts(envelope));
        accepted
            .filter_map(|(index, &(_, message))| Some((self.messages[message as usize].visible.get()?, index)))
            .min_by_key(|&(visible, index)| (visible, index))
    }

    /// What a probe tells of the message at `index` of `rank`'s queue.
    pub fn unexpected(&self, rank: u32, index: usize) -> (Envelope, u64) {
        let &(envelope, message) =
            self.ranks[rank as usize].queues.unexpected().nth(index).expect("a place in the queue");
        (envelope, self.messages[message as usize].bytes)
    }

    /// Matches what has arrived at a rank with wildcard receives, in order of arrival.
    pub(super) fn settle(&mut self, now: Picos, rank: u32) {
        while self.ranks[rank as usize].wildcards > 0 {
            let Some((receive_index, message_index)) = self.next_arrival(now, rank) else {
                return;
            };
            let state = &mut self.ranks[rank as usize];
            let (pattern, receive) = state.queues.take_posted(receive_index);
            let (_, message) = state.queues.take_unexpected(message_index);
            state.wildcards -= u32::from(pattern.is_wildcard());
            self.matched(receive, message);
        }
        self.match_ahead(rank);
    }

    /// The earliest arrival that a posted receive accepts: indices of both in their queues.
    pub(super) fn next_arrival(&self, now: Picos, rank: u32) -> Option<(usize, usize)> {
        let queues = &self.ranks[rank as usize].queues;
        let acceptor = |envelope: &Envelope| queues.posted().position(|(pattern, _)| pattern.accepts(envelope));
        let arrived = queues.unexpected().enumerate().filter_map(|(index, &(envelope, message))| {
            let visible = self.messages[message as usize].visible.get().filter(|&visible| visible <= now)?;
            Some((visible, index, acceptor(&envelope)?))
        });
        arrived.min().map(|(_, message, receive)| (receive, message))
    }

    /// With no wildcard left, receives are matched with messages that have not arrived yet.
    pub(super) fn match_ahead(&mut self, rank: u32) {
        let mut receive_index = 0;
        loop {
            let queues = &mut self.ranks[rank as usize].queues;
            let Some(pattern) = queues.posted().nth(receive_index).map(|&(pattern, _)| pattern) else { return };
            let message_index = queues.unexpected().position(|(envelope, _)| pattern.accepts(envelope));
            match message_index {
                None => receive_index += 1,
                Some(message_index) => {
                    let (_, receive) = queues.take_posted(receive_index);
                    let (_, message) = queues.take_unexpected(message_index);
                    self.matched(receive, message);
                }
            }
        }
    }

    /// A receive and a message have found each other.
    pub(super) fn matched(&mut self, receive: ReceiveKey, key: MessageKey) {
        let message = &mut self.messages[key as usize];
        message.receive = receive.into();
        if message.arrived.get().is_some() {
            self.complete_receive(receive, key);
        } else if message.completion == Completion::Rendezvous {
            let visible = message.visible.get().expect("the request of a rendezvous is known when it is matched");
            let time = visible.max(self.receives[receive as usize].posted).max(self.queue.now());
            self.queue.push(time, Event::Clear(key));
        }
    }

    pub(super) fn complete_receive(&mut self, key: ReceiveKey, message: MessageKey) {
        let arrived =
            self.messages[message as usize].arrived.get().expect("a message completes a receive when it arrives");
        let receive = &mut self.receives[key as usize];
        if receive.dropped {
            self.forget_receive(key);
            self.messages.remove(message as usize);
            return;
        }
        let complete = arrived.max(receive.posted);
        receive.complete = Some((message, complete));
        let (rank, awaited) = (receive.rank, receive.awaited);
        if awaited {
            self.make_ready(rank);
        }
        self.notice(rank, complete);
    }
}
