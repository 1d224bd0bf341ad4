//! The representation `external32`, which is the same on all machines (MPI 4.1, section 14.5.2): the highest byte first,
//! integers in two's complement, floating-point numbers as IEEE 754 has them.

use super::{Basic, Class, Datatype};

/// Bytes of one number of `basic`, of which complex ones have two.
fn number(basic: Basic, bytes: u8) -> usize {
    match basic.class {
        Class::Complex | Class::LongDoubleComplex => usize::from(bytes) / 2,
        _ => usize::from(bytes),
    }
}

/// Whether numbers have the 80 bits of x87 in memory, and not IEEE's 128.
fn is_extended(basic: Basic) -> bool {
    cfg!(target_arch = "x86_64") && matches!(basic.class, Class::LongDouble | Class::LongDoubleComplex)
}

/// Sign and exponent are alike in both; the 128 bits leave out the first bit of the significand, which x87 writes.
const FRACTION_BITS: u32 = 63;

/// A number of x87 as one of 128 bits, exactly.
fn widen(extended: u128) -> u128 {
    let fraction = extended & ((1 << FRACTION_BITS) - 1);
    let sign_and_exponent = (extended >> 64) & 0xffff;
    (sign_and_exponent << 112) | (fraction << (112 - FRACTION_BITS))
}

/// A number of 128 bits as one of x87; what does not fit is cut off.
fn narrow(double: u128) -> u128 {
    let sign_and_exponent = double >> 112;
    let fraction = (double >> (112 - FRACTION_BITS)) & ((1 << FRACTION_BITS) - 1);
    let first = u128::from(sign_and_exponent & 0x7fff != 0) << FRACTION_BITS;
    (sign_and_exponent << 64) | first | fraction
}

/// One number as it lies in memory, low byte first, to the representation.
fn write(basic: Basic, memory: &[u8], out: &mut [u8]) {
    if is_extended(basic) {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(memory);
        out.copy_from_slice(&widen(u128::from_le_bytes(bytes)).to_be_bytes());
        return;
    }
    for (to, from) in out.iter_mut().rev().zip(memory) {
        *to = *from;
    }
}

/// The reverse of [`write`]; numbers that are longer in memory keep their sign.
fn read(basic: Basic, data: &[u8], memory: &mut [u8]) {
    if is_extended(basic) {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(data);
        memory.copy_from_slice(&narrow(u128::from_be_bytes(bytes)).to_le_bytes());
        return;
    }
    let is_negative = basic.class == Class::Signed && data.first().is_some_and(|&byte| byte >= 0x80);
    memory.fill(if is_negative { 0xff } else { 0 });
    for (to, from) in memory.iter_mut().zip(data.iter().rev()) {
        *to = *from;
    }
}

impl Datatype {
    /// Bytes of one in the representation.
    pub fn external_size(&self) -> usize {
        self.pieces.sum(|run| run.count * usize::from(run.basic.external))
    }

    /// Packed bytes of `count` of them in the representation; data that end early end early there.
    pub fn to_external(&self, packed: &[u8], count: usize) -> Vec<u8> {
        let mut external = vec![0; self.external_size() * count];
        let written = self.each_number(count, packed.len(), |basic, memory, offset| {
            write(basic, &packed[memory], &mut external[offset]);
        });
        external.truncate(written);
        external
    }

    /// The reverse of [`Datatype::to_external`]: packed bytes.
    pub fn from_external(&self, external: &[u8], count: usize) -> Vec<u8> {
        let mut packed = vec![0; self.size * count];
        self.each_number(count, packed.len(), |basic, memory, offset| {
            if let Some(data) = external.get(offset) {
                read(basic, data, &mut packed[memory]);
            }
        });
        packed
    }

    /// Calls `act` for every number in the first `bytes` packed bytes with where it lies there and in the representation;
    /// the bytes in the representation.
    fn each_number(
        &self,
        count: usize,
        bytes: usize,
        mut act: impl FnMut(Basic, std::ops::Range<usize>, std::ops::Range<usize>),
    ) -> usize {
        let (mut at, mut offset) = (0, 0);
        self.each_run(count, |_, run| {
            let (in_memory, outside) = (number(run.basic, run.basic.size), number(run.basic, run.basic.external));
            for _ in 0..run.bytes() / in_memory {
                if at + in_memory > bytes {
                    return;
                }
                act(run.basic, at..at + in_memory, offset..offset + outside);
                (at, offset) = (at + in_memory, offset + outside);
            }
        });
        offset
    }
}

#[cfg(test)]
mod tests {
    use crate::datatype::predefined;

    fn external(handle: i32, packed: &[u8]) -> Vec<u8> {
        let datatype = &predefined()[&handle];
        let count = packed.len() / datatype.size;
        let external = datatype.to_external(packed, count);
        assert_eq!(datatype.from_external(&external, count), packed);
        external
    }

    #[test]
    fn a_long_has_four_bytes() {
        assert_eq!(external(0x4c00_0807, &(-2_i64).to_le_bytes()), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(external(0x4c00_0808, &0xffff_fffe_u64.to_le_bytes()), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(external(0x4c00_0809, &1_i64.to_le_bytes()), [0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(external(0x4c00_040e, &[0x42, 0x26, 0, 0]), [0x26, 0x42]);
    }

    #[test]
    fn both_parts_of_a_complex_number_are_turned() {
        let packed = [1.0_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat();
        assert_eq!(external(0x4c00_081e, &packed), [1.0_f32.to_be_bytes(), (-2.0_f32).to_be_bytes()].concat());
    }

    /// One and a half is 0x3fff with the fraction's first bit in IEEE 754-2019's binary128 (section 3.6).
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_long_double_is_one_of_128_bits() {
        let extended = [0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x3f, 0, 0, 0, 0, 0, 0];
        let expected = [0x3f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(external(0x4c00_100c, &extended), expected);
        assert_eq!(external(0x4c00_100c, &[0; 16]), [0; 16]);
    }
}
