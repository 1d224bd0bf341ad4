//! Datatypes: which bytes of memory a message is made of.

mod external;
mod kinds;
mod pieces;
mod predefined;

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use weft_comm::ElementKinds;

use crate::abi::Aint;
use crate::attribute::Attributes;

pub use kinds::names;
pub use pieces::Pieces;
pub use predefined::{
    DOUBLE_INT, FLOAT_INT, LONG_DOUBLE_INT, LONG_INT, PREDEFINED_PAIRS, SHORT_INT, TWO_INT, predefined,
};
use predefined::{LOWER_BOUND, UPPER_BOUND};

/// What an element is, besides its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    Signed,
    Unsigned,
    Float,
    /// The 80 bits of x87 in 16 bytes.
    LongDouble,
    Complex,
    LongDoubleComplex,
    Logical,
    /// Bytes without a meaning, of which only bits can be combined.
    Byte,
    /// Characters, which cannot be combined.
    Character,
}

/// An element that is part of no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basic {
    pub class: Class,
    pub size: u8,
    /// Bytes in the representation `external32`.
    pub external: u8,
}

impl Basic {
    /// Whether two that are equal are equal bit by bit.
    pub fn is_exact(self) -> bool {
        use Class::*;
        matches!(self.class, Signed | Unsigned | Logical | Byte | Character)
    }
}

/// `count` elements one after another, from `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub offset: Aint,
    pub basic: Basic,
    pub count: usize,
}

impl Run {
    pub fn bytes(&self) -> usize {
        self.count * usize::from(self.basic.size)
    }

    pub fn end(&self) -> Aint {
        self.offset + self.bytes() as Aint
    }
}

/// How a datatype was made, as `MPI_Type_get_envelope` tells.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub combiner: c_int,
    pub integers: Vec<c_int>,
    pub addresses: Vec<Aint>,
    pub counts: Vec<Aint>,
    pub datatypes: Vec<Rc<Datatype>>,
}

/// Numbers of the ways to make a datatype.
pub mod combiner {
    use std::ffi::c_int;
    pub const NAMED: c_int = 1;
    pub const DUP: c_int = 2;
    pub const CONTIGUOUS: c_int = 3;
    pub const VECTOR: c_int = 4;
    pub const HVECTOR: c_int = 6;
    pub const INDEXED: c_int = 7;
    pub const HINDEXED: c_int = 9;
    pub const INDEXED_BLOCK: c_int = 10;
    pub const STRUCT: c_int = 12;
    pub const SUBARRAY: c_int = 13;
    pub const DARRAY: c_int = 14;
    pub const F90_REAL: c_int = 15;
    pub const F90_COMPLEX: c_int = 16;
    pub const F90_INTEGER: c_int = 17;
    pub const RESIZED: c_int = 18;
    pub const HINDEXED_BLOCK: c_int = 19;
}

/// A datatype.
#[derive(Debug)]
pub struct Datatype {
    /// Bytes of a message of one.
    pub size: usize,
    pub lb: Aint,
    pub extent: Aint,
    /// What it is made of.
    pub pieces: Pieces,
    /// What its elements are.
    pub kinds: ElementKinds,
    /// What the extent of a structure of it is a multiple of.
    alignment: Aint,
    /// Bounds that the program has set stay as they are.
    has_own_bounds: bool,
    /// The handle, where it is predefined.
    pub predefined: Option<c_int>,
    pub contents: Contents,
    pub name: RefCell<Vec<u8>>,
    pub attributes: Attributes,
    pub committed: Cell<bool>,
}

/// One part of a datatype: so many of another, from a displacement on.
pub struct Block<'a> {
    pub displacement: Aint,
    pub count: usize,
    pub datatype: &'a Datatype,
}

impl Datatype {
    fn of_pieces(pieces: Pieces, lb: Aint, ub: Aint, alignment: Aint, contents: Contents) -> Datatype {
        Datatype {
            size: pieces.bytes(),
            kinds: kinds::kinds_of(pieces.list()),
            lb,
            extent: ub - lb,
            pieces,
            alignment,
            has_own_bounds: false,
            predefined: None,
            contents,
            name: RefCell::default(),
            attributes: Attributes::default(),
            committed: Cell::new(false),
        }
    }

    /// What another process describes by its elements and its bounds.
    pub fn of_elements(pieces: Pieces, (lb, ub): (Aint, Aint), predefined: Option<c_int>) -> Datatype {
        Datatype { predefined, ..Datatype::of_pieces(pieces, lb, ub, 1, Contents::default()) }
    }

    /// One of the standard's own: elements at offsets, and its extent.
    pub fn named(handle: c_int, name: &str, elements: &[(Aint, Basic)], extent: Aint) -> Datatype {
        let mut pieces = Pieces::default();
        for &(offset, basic) in elements {
            pieces.push(Run { offset, basic, count: 1 });
        }
        let alignment = elements.iter().map(|(_, basic)| alignment(*basic)).max().unwrap_or(1);
        let contents = Contents { combiner: combiner::NAMED, ..Contents::default() };
        Datatype {
            predefined: Some(handle),
            name: RefCell::new(name.as_bytes().to_vec()),
            committed: Cell::new(true),
            ..Datatype::of_pieces(pieces, 0, extent, alignment, contents)
        }
    }

    /// Blocks one after another.
    pub fn of_blocks<'a>(blocks: impl IntoIterator<Item = Block<'a>>, contents: Contents) -> Datatype {
        let (mut pieces, mut lb, mut ub) = (Pieces::default(), Aint::MAX, Aint::MIN);
        let (mut alignment, mut has_own_bounds) = (1, false);
        let (mut own_lb, mut own_ub): (Option<Aint>, Option<Aint>) = (None, None);
        for block in blocks {
            if pieces.is_too_long() {
                break;
            }
            let old = block.datatype;
            match old.predefined {
                Some(LOWER_BOUND) => {
                    own_lb = Some(own_lb.map_or(block.displacement, |lb: Aint| lb.min(block.displacement)))
                }
                Some(UPPER_BOUND) => {
                    own_ub = Some(own_ub.map_or(block.displacement, |ub: Aint| ub.max(block.displacement)))
                }
                _ => {}
            }
            alignment = alignment.max(old.alignment);
            has_own_bounds |= old.has_own_bounds;
            if block.count == 0 || matches!(old.predefined, Some(LOWER_BOUND | UPPER_BOUND)) {
                continue;
            }
            let last = block.displacement + (block.count as Aint - 1) * old.extent;
            let (low, high) = (block.displacement.min(last), block.displacement.max(last));
            lb = lb.min(low + old.lb);
            ub = ub.max(high + old.lb + old.extent);
            if pieces.is_empty() {
                pieces = old.pieces.repeated(block.count, old.extent, block.displacement);
                continue;
            }
            pieces = pieces.listed();
            match old.pieces.only() {
                Some(&run) if old.is_dense() => {
                    pieces.push(Run { offset: block.displacement, count: run.count * block.count, ..run });
                }
                _ => pieces.extend(&old.pieces.repeated(block.count, old.extent, block.displacement), 0),
            }
        }
        if lb > ub {
            (lb, ub) = (0, 0);
        }
        has_own_bounds |= own_lb.is_some() || own_ub.is_some();
        let (lb, ub) = (own_lb.unwrap_or(lb), own_ub.unwrap_or(ub));
        Datatype { has_own_bounds, ..Datatype::of_pieces(pieces, lb, ub, alignment, contents) }
    }

    /// One at equal distances in bytes.
    pub fn repeated(old: &Datatype, count: usize, stride: Aint, contents: Contents) -> Datatype {
        let last = (count.max(1) as Aint - 1) * stride;
        let (lb, ub) = (old.lb + last.min(0), old.ub() + last.max(0));
        let pieces = old.pieces.repeated(count, stride, 0);
        let has_own_bounds = old.has_own_bounds;
        Datatype { has_own_bounds, ..Datatype::of_pieces(pieces, lb, ub, old.alignment, contents) }
    }

    /// Blocks as the members of a structure: its extent is padded as a compiler pads it.
    pub fn structure<'a>(blocks: impl IntoIterator<Item = Block<'a>>, contents: Contents) -> Datatype {
        let mut datatype = Datatype::of_blocks(blocks, contents);
        if !datatype.has_own_bounds && datatype.extent > 0 {
            let rest = datatype.extent.rem_euclid(datatype.alignment);
            datatype.extent += if rest > 0 { datatype.alignment - rest } else { 0 };
        }
        datatype
    }

    /// The same bytes with other bounds.
    pub fn resized(old: &Datatype, lb: Aint, extent: Aint, contents: Contents) -> Datatype {
        let resized = Datatype::of_pieces(old.pieces.clone(), lb, lb + extent, old.alignment, contents);
        Datatype { has_own_bounds: true, ..resized }
    }

    /// The same once more.
    pub fn duplicate(old: &Datatype, contents: Contents) -> Datatype {
        let copy = Datatype::of_pieces(old.pieces.clone(), old.lb, old.lb + old.extent, old.alignment, contents);
        copy.committed.set(old.committed.get());
        Datatype { has_own_bounds: old.has_own_bounds, ..copy }
    }

    /// Whether it is one that the standard's functions for kinds of Fortran give, which no program frees.
    pub fn is_of_kind(&self) -> bool {
        matches!(self.contents.combiner, combiner::F90_REAL | combiner::F90_COMPLEX | combiner::F90_INTEGER)
    }

    /// Whether any number of them is one stretch of equal elements.
    pub fn is_dense(&self) -> bool {
        match self.pieces.only() {
            Some(run) => run.offset == 0 && self.lb == 0 && self.extent == run.bytes() as Aint,
            None => self.pieces.is_empty() && self.extent == 0,
        }
    }

    pub fn ub(&self) -> Aint {
        self.lb + self.extent
    }

    /// The first byte that is used.
    pub fn true_lb(&self) -> Aint {
        self.pieces.bounds().map_or(0, |(low, _)| low)
    }

    /// From the first byte that is used to behind the last.
    pub fn true_extent(&self) -> Aint {
        self.pieces.bounds().map_or(0, |(low, high)| high - low)
    }

    /// What all elements are, if they are all alike.
    pub fn only_basic(&self) -> Option<Basic> {
        let first = self.pieces.list().first()?.basic;
        self.pieces.list().iter().all(|run| run.basic == first).then_some(first)
    }

    /// The standard's own datatype that all elements are, where there is one such.
    pub fn unit(self: &Rc<Datatype>) -> Option<Rc<Datatype>> {
        if self.predefined.is_some() {
            return Some(self.clone());
        }
        let mut units = self.contents.datatypes.iter().map(Datatype::unit);
        let first = units.next()??;
        let alike = |unit: Option<Rc<Datatype>>| unit.is_some_and(|unit| unit.predefined == first.predefined);
        units.all(alike).then_some(first)
    }

    /// Elements of one.
    pub fn elements(&self) -> usize {
        self.pieces.elements()
    }

    /// How many elements `bytes` bytes are; none where they end within one.
    pub fn elements_of(&self, bytes: usize) -> Option<usize> {
        if self.size == 0 {
            return Some(0);
        }
        let mut count = bytes / self.size * self.elements();
        let mut rest = bytes % self.size;
        for run in (0..self.pieces.len()).map(|index| self.pieces.at(index)) {
            let whole = (rest / usize::from(run.basic.size)).min(run.count);
            count += whole;
            rest -= whole * usize::from(run.basic.size);
            if whole < run.count {
                break;
            }
        }
        (rest == 0).then_some(count)
    }

    /// Appends the bytes of `count` of them at `address`.
    ///
    /// # Safety
    /// There are so many at the address.
    pub unsafe fn pack(&self, address: *const c_void, count: usize, out: &mut [u8]) {
        let address = address.cast::<u8>();
        let mut at = 0;
        self.each_run(count, |offset, run| {
            let bytes = run.bytes();
            // SAFETY: `count` elements lie at the address, which is what the function asks for, and `out` has their size.
            unsafe { std::ptr::copy_nonoverlapping(address.offset(offset), out.as_mut_ptr().add(at), bytes) };
            at += bytes;
        });
    }

    /// Writes bytes of `count` of them to `address`; they may end early.
    ///
    /// # Safety
    /// There are so many at the address.
    pub unsafe fn unpack(&self, data: &[u8], address: *mut c_void, count: usize) {
        let address = address.cast::<u8>();
        let mut at = 0;
        self.each_run(count, |offset, run| {
            let bytes = run.bytes().min(data.len() - at);
            // SAFETY: there is memory for `count` elements at the address, which is what the function asks for; no more bytes
            // than the data has are read.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr().add(at), address.offset(offset), bytes) };
            at += bytes;
        });
    }

    /// Every stretch of `count` of them, in order.
    pub fn each_run(&self, count: usize, mut act: impl FnMut(Aint, &Run)) {
        if self.is_dense() {
            if let Some(run) = self.pieces.only() {
                act(run.offset, &Run { count: run.count * count, ..*run });
            }
            return;
        }
        for index in 0..count as Aint {
            self.pieces.each(index * self.extent, &mut act);
        }
    }
}

fn alignment(basic: Basic) -> Aint {
    match basic.class {
        Class::Complex | Class::LongDoubleComplex => Aint::from(basic.size) / 2,
        _ => Aint::from(basic.size),
    }
}

/// No datatype lists more runs; what repeats at regular distances is not listed.
pub const MAX_RUNS: usize = 1 << 24;

#[cfg(test)]
mod tests {
    use super::predefined::basic;
    use super::*;
    use proptest::prelude::*;

    /// How a datatype is made, for the standard's definition and for the library.
    #[derive(Clone, Debug)]
    enum Shape {
        Int,
        Double,
        Blocks(Vec<(usize, i8)>, Box<Shape>),
        Resized(i8, u8, Box<Shape>),
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        let leaf = prop_oneof![Just(Shape::Int), Just(Shape::Double)];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let blocks = proptest::collection::vec((0..4_usize, -20..20_i8), 0..4);
            prop_oneof![
                (blocks, inner.clone()).prop_map(|(blocks, old)| Shape::Blocks(blocks, Box::new(old))),
                (-20..20_i8, 0..60_u8, inner).prop_map(|(lb, extent, old)| Shape::Resized(lb, extent, Box::new(old))),
            ]
        })
    }

    /// The type map as the standard defines it, byte by byte, with both bounds (MPI 4.1, section 5.1).
    fn type_map(shape: &Shape) -> (Vec<Aint>, Aint, Aint) {
        match shape {
            Shape::Int => ((0..4).collect(), 0, 4),
            Shape::Double => ((0..8).collect(), 0, 8),
            Shape::Resized(lb, extent, old) => {
                (type_map(old).0, Aint::from(*lb), Aint::from(*lb) + Aint::from(*extent))
            }
            Shape::Blocks(blocks, old) => {
                let (bytes, lb, ub) = type_map(old);
                let mut all = Vec::new();
                let mut bounds: Option<(Aint, Aint)> = None;
                for &(count, displacement) in blocks {
                    for index in 0..count as Aint {
                        let shift = Aint::from(displacement) + index * (ub - lb);
                        all.extend(bytes.iter().map(|byte| byte + shift));
                        let (low, high) = bounds.unwrap_or((Aint::MAX, Aint::MIN));
                        bounds = Some((low.min(lb + shift), high.max(ub + shift)));
                    }
                }
                let (lb, ub) = bounds.unwrap_or((0, 0));
                (all, lb, ub)
            }
        }
    }

    fn datatype(shape: &Shape) -> Datatype {
        let none = Contents::default;
        match shape {
            Shape::Int => Datatype::named(1, "int", &[(0, basic(Class::Signed, 4))], 4),
            Shape::Double => Datatype::named(2, "double", &[(0, basic(Class::Float, 8))], 8),
            Shape::Resized(lb, extent, old) => {
                Datatype::resized(&datatype(old), Aint::from(*lb), Aint::from(*extent), none())
            }
            Shape::Blocks(blocks, old) => {
                let old = datatype(old);
                let blocks = blocks.iter().map(|&(count, displacement)| Block {
                    displacement: Aint::from(displacement),
                    count,
                    datatype: &old,
                });
                Datatype::of_blocks(blocks, none())
            }
        }
    }

    proptest! {
        #[test]
        fn bytes_and_bounds_are_those_of_the_type_map(shape in shapes()) {
            let (bytes, lb, ub) = type_map(&shape);
            let tested = datatype(&shape);
            let mut listed: Vec<Aint> = Vec::new();
            tested.each_run(1, |offset, run| listed.extend(offset..offset + run.bytes() as Aint));
            prop_assert_eq!(listed, bytes.clone());
            prop_assert_eq!((tested.size, tested.lb, tested.ub()), (bytes.len(), lb, ub));
        }

        #[test]
        fn what_is_packed_is_unpacked(shape in shapes(), count in 0..4_usize) {
            let (bytes, lb, ub) = type_map(&shape);
            let tested = datatype(&shape);
            // Memory around an origin, far enough for all that the shapes reach.
            let origin = 1 << 13;
            let memory: Vec<u8> = (0..2 * origin).map(|index: usize| (index % 251) as u8).collect();
            let all = (0..count as Aint).flat_map(|index| bytes.iter().map(move |byte| byte + index * (ub - lb)));
            let expected: Vec<u8> = all.clone().map(|byte| memory[(origin as Aint + byte) as usize]).collect();
            let mut packed = vec![0; tested.size * count];
            // SAFETY: no shape reaches further than the memory around the origin.
            unsafe { tested.pack(memory.as_ptr().add(origin).cast(), count, &mut packed) };
            prop_assert_eq!(&packed, &expected);
            let mut written = vec![0xff_u8; 2 * origin];
            // SAFETY: the memory is as long as that which was packed.
            unsafe { tested.unpack(&packed, written.as_mut_ptr().add(origin).cast(), count) };
            for byte in all {
                let at = (origin as Aint + byte) as usize;
                prop_assert_eq!(written[at], memory[at]);
            }
        }
    }

    #[test]
    fn a_structure_is_padded_as_a_compiler_pads_it() {
        let (int, double) = (datatype(&Shape::Int), datatype(&Shape::Double));
        let blocks = [
            Block { displacement: 0, count: 1, datatype: &double },
            Block { displacement: 8, count: 1, datatype: &int },
        ];
        let tested = Datatype::structure(blocks, Contents::default());
        assert_eq!((tested.size, tested.extent, tested.true_extent()), (12, 16, 12));
    }

    #[test]
    fn elements_that_end_early_are_counted() {
        let pair = [(0, basic(Class::Float, 8)), (8, basic(Class::Signed, 4))];
        let pair = Datatype::named(3, "pair", &pair, 16);
        let counted = [0, 8, 12, 20, 24, 4].map(|bytes| pair.elements_of(bytes));
        assert_eq!(counted, [Some(0), Some(1), Some(2), Some(3), Some(4), None]);
    }
}
