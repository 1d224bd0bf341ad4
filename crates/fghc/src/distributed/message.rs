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
    /// A value to be unified with an exported reference, and weight of the node that it is unified for.
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
            Kind::Unify => 6,
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
    /// A byte and a number with a sign.
    fn byte_and_signed(&mut self, byte: u8, number: i64);
    /// Bytes with their length.
    fn bytes(&mut self, bytes: &[u8]);
}

/// Bytes of the largest number.
pub(super) const MAX_NUMBER: usize = 10;
/// Bits of a number whose groups fit into a word.
const GROUPED_BITS: u32 = 56;
/// The bit of every byte of a word that says that another follows.
const CONTINUES: u64 = 0x8080_8080_8080_8080;

/// A number below 2^56 in groups of seven bits, each in a byte of its own.
#[inline]
fn spread(number: u64) -> u64 {
    let number = number & 0x0fff_ffff | (number << 4) & 0x0fff_ffff_0000_0000;
    let number = number & 0x0000_3fff_0000_3fff | (number << 2) & 0x3fff_0000_3fff_0000;
    number & 0x007f_007f_007f_007f | (number << 1) & 0x7f00_7f00_7f00_7f00
}

/// Groups of a number.
#[inline]
fn groups_of(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

/// A number below 2^56 as it travels, in this many bytes: every group but the last says that another follows.
#[inline]
fn with_ends(number: u64, length: usize) -> u64 {
    spread(number) | CONTINUES & ((1 << (8 * (length - 1))) - 1)
}

/// The number that a word begins with, and how many bytes it takes; `None` where it does not end among the bytes whose bit in
/// `continues` is set.
#[inline(always)]
fn first_number(groups: u64, continues: u64) -> Option<(u64, usize)> {
    // The first byte after which none follows.
    let end = !groups & continues;
    if end == 0 {
        return None;
    }
    let bits = end.trailing_zeros() + 1;
    Some((gather(groups & (u64::MAX >> (64 - bits))), bits as usize / 8))
}

/// Appends the first bytes of a word.
///
/// # Safety
///
/// The packet has room for eight bytes.
#[inline(always)]
unsafe fn push_word(packet: &mut Vec<u8>, word: u64, length: usize) {
    // SAFETY: the packet has capacity for eight bytes more (this function's condition), of which the first `length` are
    // bytes of the word.
    unsafe {
        let end = packet.as_mut_ptr().add(packet.len());
        end.cast::<[u8; 8]>().write_unaligned(word.to_le_bytes());
        packet.set_len(packet.len() + length);
    }
}

/// A number with a sign without: small ones of either sign stay small.
#[inline]
fn unsigned(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

/// A byte and a number with a sign as one word, and how many bytes of it count; `None` where they are more.
#[inline(always)]
pub(super) fn word_of(byte: u8, number: i64) -> Option<(u64, usize)> {
    let number = unsigned(number);
    if number >> (GROUPED_BITS - 7) != 0 {
        return None;
    }
    let length = groups_of(number);
    Some((with_ends(number, length) << 8 | u64::from(byte), length + 1))
}

/// The number that [`unsigned`] was made of.
#[inline]
fn with_sign(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// As it was before [`spread`]; the highest bit of every byte is not looked at.
#[inline]
fn gather(groups: u64) -> u64 {
    let number = groups & 0x007f_007f_007f_007f | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
    let number = number & 0x0000_3fff_0000_3fff | (number & 0x3fff_0000_3fff_0000) >> 2;
    number & 0x0fff_ffff | (number & 0x0fff_ffff_0000_0000) >> 4
}

impl Write for Vec<u8> {
    #[inline]
    fn byte(&mut self, byte: u8) {
        self.push(byte);
    }

    #[inline]
    fn number(&mut self, mut number: u64) {
        if number < 0x80 {
            return self.push(number as u8);
        }
        // Room for all of it is asked for once.
        self.reserve(MAX_NUMBER);
        if number >> GROUPED_BITS != 0 {
            while number >= 0x80 {
                self.push(number as u8 | 0x80);
                number >>= 7;
            }
            return self.push(number as u8);
        }
        let length = groups_of(number);
        // SAFETY: capacity for MAX_NUMBER bytes, which are more than eight, was reserved above.
        unsafe {
            push_word(self, with_ends(number, length), length);
        }
    }

    #[inline]
    fn signed(&mut self, number: i64) {
        self.number(unsigned(number));
    }

    #[inline(always)]
    fn byte_and_signed(&mut self, byte: u8, number: i64) {
        match word_of(byte, number) {
            Some((word, length)) => {
                self.reserve(MAX_NUMBER);
                // SAFETY: capacity for MAX_NUMBER bytes, which are more than eight, was reserved above.
                unsafe { push_word(self, word, length) }
            }
            None => {
                self.push(byte);
                self.signed(number);
            }
        }
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

    /// Passes over bytes.
    ///
    /// # Panics
    /// When fewer are left.
    #[inline]
    pub fn pass(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
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
        // Most are small.
        match self.rest.split_first() {
            Some((&first, rest)) if first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(first))
            }
            _ => self.large_number(),
        }
    }

    #[inline]
    fn large_number(&mut self) -> Result<u64, Malformed> {
        if let Some(groups) = self.rest.first_chunk()
            && let Some((number, length)) = first_number(u64::from_le_bytes(*groups), CONTINUES)
        {
            self.rest = &self.rest[length..];
            return Ok(number);
        }
        self.number_by_bytes()
    }

    fn number_by_bytes(&mut self) -> Result<u64, Malformed> {
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
        Ok(with_sign(self.number()?))
    }

    /// A number with a sign that comes after this byte; `None`, and nothing read, where another byte comes.
    #[inline(always)]
    pub fn signed_after(&mut self, byte: u8) -> Option<Result<i64, Malformed>> {
        if let Some(word) = self.rest.first_chunk() {
            let word = u64::from_le_bytes(*word);
            if word as u8 != byte {
                return None;
            }
            if let Some((number, length)) = first_number(word >> 8, CONTINUES >> 8) {
                self.rest = &self.rest[length + 1..];
                return Some(Ok(with_sign(number)));
            }
        }
        if self.rest.first() != Some(&byte) {
            return None;
        }
        self.rest = &self.rest[1..];
        Some(self.signed())
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
            byte in any::<u8>(), number in (any::<u64>(), 0u32..64).prop_map(|(number, bits)| number >> bits),
            signed in (any::<i64>(), 0u32..64).prop_map(|(number, bits)| number >> bits), bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut packet = Vec::new();
            packet.byte(byte);
            packet.number(number);
            // Groups of seven bits, smallest first, and no more than are needed.
            let groups = (0..10).map(|group| (number >> (7 * group)) as u8 & 0x7f);
            let many = (1..10).rev().find(|group| number >> (7 * group) != 0).unwrap_or(0);
            let wanted: Vec<u8> =
                groups.take(many + 1).enumerate().map(|(at, group)| group | u8::from(at < many) << 7).collect();
            prop_assert_eq!(&packet[1..], &wanted[..]);
            packet.signed(signed);
            let before = packet.len();
            packet.byte_and_signed(byte, signed);
            let mut both = vec![byte];
            both.signed(signed);
            prop_assert_eq!(&packet[before..], &both[..]);
            // Alone at the end of a packet, too.
            let mut alone = Reader::new(&both);
            prop_assert_eq!(alone.signed_after(byte ^ 1), None);
            prop_assert_eq!(alone.signed_after(byte), Some(Ok(signed)));
            prop_assert!(alone.is_empty());
            prop_assert_eq!(Reader::new(&both[..both.len() - 1]).signed_after(byte), Some(Err(Malformed("it ends too early"))));
            Write::bytes(&mut packet, &bytes);
            let mut reader = Reader::new(&packet);
            prop_assert_eq!(reader.byte(), Ok(byte));
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert_eq!(reader.signed(), Ok(signed));
            prop_assert_eq!(reader.signed_after(byte ^ 1), None);
            prop_assert_eq!(reader.signed_after(byte), Some(Ok(signed)));
            prop_assert_eq!(reader.bytes(), Ok(&bytes[..]));
            prop_assert!(reader.is_empty());
            for cut in 0..packet.len().min(40) {
                let mut reader = Reader::new(&packet[..cut]);
                let read = || -> Result<(), Malformed> {
                    reader.byte()?;
                    reader.number()?;
                    reader.signed()?;
                    reader.signed_after(byte).ok_or(Malformed("another byte"))??;
                    reader.bytes().map(drop)
                };
                let mut read = read;
                prop_assert!(read().is_err());
            }
        }
    }
}
