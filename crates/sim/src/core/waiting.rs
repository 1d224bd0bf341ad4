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
        self.receives.remove(key as usize);
        let Message { envelope, from, bytes, data, receive_time, .. } = self.messages.remove(message as usize);
        let state = &mut self.ranks[rank as usize];
        let waited_from = state.clock;
        let start = waited_from.max(complete);
        let end = start + receive_time;
        state.clock = end;
        if self.trace.is_some() {
            if start > waited_from {
                self.record(rank, waited_from, start, TraceKind::Wait);
            }
            self.record(rank, start, end, TraceKind::Receive { from, bytes });
        }
        Some(Taken { pattern, capacity, envelope, bytes, data })
    }

    /// Whether a send is complete; the rank's clock then moves to that time.
    pub fn take_send(&mut self, key: SendKey) -> bool {
        let send = &mut self.sends[key as usize];
        let Some(complete) = send.complete else {
            send.awaited = true;
            return false;
        };
        let rank = &mut self.ranks[send.rank as usize];
        rank.clock = rank.clock.max(complete);
        self.sends.remove(key as usize);
        true
    }

    /// The program has dropped a receive: its message will be thrown away.
    pub fn drop_receive(&mut self, key: ReceiveKey) {
        match self.receives[key as usize].complete {
            Some((message, _)) => {
                self.receives.remove(key as usize);
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
