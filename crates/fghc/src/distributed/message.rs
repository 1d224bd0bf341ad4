//! Messages between processing elements, and the bytes they travel as.
//!
//! Messages for one PE travel together in one packet. A packet is a row of messages: a kind, then its fields. Numbers are
//! written in groups of seven bits, smallest first, values as in [`super::value`].

use std::fmt;

use serde::Serialize;

/// The kinds of messages: those of the paper's section 3.4, with failure and the control of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// A goal to be run, and weight of its node of the AND-tree.
    ThrowGoal = 0,
    /// The value of an exported reference is wanted.
    ReadValue = 1,
    /// A value that was wanted.
    ReturnValue = 2,
    /// A value to be unified with an exported reference.
    Unify = 3,
    /// Weight of an exported reference that is needed no more.
    Release = 4,
    /// All goals of a foster parent have ended: its weight.
    Terminated = 5,
    /// A goal of a foster parent has failed: its weight.
    Failed = 6,
    /// A node of the AND-tree is suspended, resumed or stopped.
    Status = 7,
    /// Control of the run: the token of [`super::quiescence`], reports and the end.
    Control = 8,
}

/// How many kinds there are.
pub const KINDS: usize = 9;

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Kind; KINDS] = [
        Kind::ThrowGoal,
        Kind::ReadValue,
        Kind::ReturnValue,
        Kind::Unify,
        Kind::Release,
        Kind::Terminated,
        Kind::Failed,
        Kind::Status,
        Kind::Control,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::ThrowGoal => "throw_goal",
            Kind::ReadValue => "read_value",
            Kind::ReturnValue => "return_value",
            Kind::Unify => "unify",
            Kind::Release => "release",
            Kind::Terminated => "terminated",
            Kind::Failed => "failed",
            Kind::Status => "status",
            Kind::Control => "control",
        }
    }

    /// Words of a message of this kind without its values: the kind itself, names of nodes and references, weights.
    pub fn fields(self) -> u64 {
        match self {
            Kind::ThrowGoal => 7,
            Kind::ReadValue | Kind::Failed | Kind::Status => 4,
            Kind::ReturnValue => 2,
            Kind::Unify => 5,
            Kind::Release | Kind::Terminated => 3,
            Kind::Control => 2,
        }
    }

    /// The kind of the first message in a packet.
    pub(super) fn first_of(packet: &[u8]) -> Option<Kind> {
        Kind::of(*packet.first()?).ok()
    }

    pub(super) fn of(number: u8) -> Result<Kind, Malformed> {
        Kind::ALL.get(usize::from(number)).copied().ok_or(Malformed("an unknown kind of message"))
    }
}

/// A packet that cannot be read: it was not written by the same program of the same version of weft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a packet from another PE cannot be read ({}); do all ranks run the same program and weft?", self.0)
    }
}

/// Appends to a packet.
pub(super) trait Write {
    /// One byte.
    fn byte(&mut self, byte: u8);
    /// A number.
    fn number(&mut self, number: u64);
    /// A number with a sign.
    fn signed(&mut self, number: i64);
    /// Bytes with their length.
    fn bytes(&mut self, bytes: &[u8]);
}

impl Write for Vec<u8> {
    fn byte(&mut self, byte: u8) {
        self.push(byte);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.push(number as u8);
    }

    fn signed(&mut self, number: i64) {
        // Small numbers of either sign stay short.
        self.number((number << 1 ^ number >> 63) as u64);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

/// Reads a packet.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(packet: &'a [u8]) -> Self {
        Reader { rest: packet }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether this byte comes next.
    pub fn next_is(&self, byte: u8) -> bool {
        self.rest.first() == Some(&byte)
    }

    /// All that is left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let (&first, rest) = self.rest.split_first().ok_or(Malformed("it ends too early"))?;
        self.rest = rest;
        Ok(first)
    }

    #[inline]
    pub fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed("a number has too many digits"))
    }

    #[inline]
    pub fn index(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.number()?).map_err(|_| Malformed("a number is too large"))
    }

    #[inline]
    pub fn small(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed("a number is too large"))
    }

    #[inline]
    pub fn signed(&mut self) -> Result<i64, Malformed> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.index()?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Malformed("it ends too early"))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub fn text(&mut self) -> Result<String, Malformed> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            byte in any::<u8>(), number in any::<u64>(), signed in any::<i64>(), bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut packet = Vec::new();
            packet.byte(byte);
            packet.number(number);
            packet.signed(signed);
            Write::bytes(&mut packet, &bytes);
            let mut reader = Reader::new(&packet);
            prop_assert_eq!(reader.byte(), Ok(byte));
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert_eq!(reader.signed(), Ok(signed));
            prop_assert_eq!(reader.bytes(), Ok(&bytes[..]));
            prop_assert!(reader.is_empty());
            for cut in 0..packet.len().min(40) {
                let mut reader = Reader::new(&packet[..cut]);
                let read = || -> Result<(), Malformed> {
                    reader.byte()?;
                    reader.number()?;
                    reader.signed()?;
                    reader.bytes().map(drop)
                };
                let mut read = read;
                prop_assert!(read().is_err());
            }
        }
    }
}
