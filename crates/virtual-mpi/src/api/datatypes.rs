//! Datatypes and packing (MPI 4.1, chapter 5).

use std::ffi::{c_char, c_int};
use std::rc::Rc;

use crate::abi::{self, Aint, CountOut, Counts, Datatype as Handle};
use crate::datatype::{Block, Class, Contents, Datatype, MAX_RUNS, combiner};
use crate::fault::{Answer, Fault, class, require};
use crate::rank::Rank;

use super::{at, list, positive, put, put_at, put_text, text};

/// Hands a datatype to the program.
fn hand_out(rank: &Rank, datatype: Datatype, newtype: *mut Handle) -> Answer {
    let fits = !datatype.pieces.is_too_long();
    require(fits, class::ERR_NO_MEM, || format!("a datatype of more than {MAX_RUNS} irregular pieces of memory"))?;
    put(newtype, rank.shared.datatypes.insert(datatype));
    Ok(())
}

/// The numbers of the call that made a datatype: as integers, or as wide counts where one does not fit.
fn contents(combiner: c_int, integers: &[Aint], addresses: &[Aint], datatypes: Vec<Rc<Datatype>>) -> Contents {
    let narrow: Result<Vec<c_int>, _> = integers.iter().map(|&value| c_int::try_from(value)).collect();
    let (integers, counts) = match narrow {
        Ok(narrow) => (narrow, Vec::new()),
        Err(_) => (Vec::new(), integers.to_vec()),
    };
    Contents { combiner, integers, addresses: addresses.to_vec(), counts, datatypes }
}

pub(crate) fn count_of(count: Aint) -> Result<usize, Fault> {
    require(count >= 0, class::ERR_COUNT, || format!("a count of {count}"))?;
    Ok(count as usize)
}

/// Block lengths, of which none may be negative.
fn lengths(counts: Counts, count: usize) -> Result<Vec<Aint>, Fault> {
    let lengths = counts.list(count);
    let wrong = lengths.iter().copied().find(|&length| length < 0);
    require(wrong.is_none(), class::ERR_ARG, || format!("a block of {} elements", wrong.unwrap_or(0)))?;
    Ok(lengths)
}

pub fn type_contiguous(rank: &Rank, count: Aint, oldtype: Handle, newtype: *mut Handle) -> Answer {
    let (old, number) = (rank.datatype(oldtype)?, count_of(count)?);
    let recipe = contents(combiner::CONTIGUOUS, &[count], &[], vec![old.clone()]);
    let block = Block { displacement: 0, count: number, datatype: &old };
    hand_out(rank, Datatype::of_blocks([block], recipe), newtype)
}

/// Equal blocks at equal distances in bytes.
fn strided(old: &Datatype, count: usize, length: usize, stride: Aint, recipe: Contents) -> Datatype {
    if count == 0 || length == 0 {
        return Datatype::of_blocks([], recipe);
    }
    let block = Datatype::of_blocks([Block { displacement: 0, count: length, datatype: old }], Contents::default());
    Datatype::repeated(&block, count, stride, recipe)
}

pub fn type_vector(
    rank: &Rank,
    count: Aint,
    blocklength: Aint,
    stride: Aint,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    let (old, number, length) = (rank.datatype(oldtype)?, count_of(count)?, count_of(blocklength)?);
    let recipe = contents(combiner::VECTOR, &[count, blocklength, stride], &[], vec![old.clone()]);
    hand_out(rank, strided(&old, number, length, stride * old.extent, recipe), newtype)
}

pub fn type_create_hvector(
    rank: &Rank,
    count: Aint,
    blocklength: Aint,
    stride: Aint,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    let (old, number, length) = (rank.datatype(oldtype)?, count_of(count)?, count_of(blocklength)?);
    let recipe = contents(combiner::HVECTOR, &[count, blocklength], &[stride], vec![old.clone()]);
    hand_out(rank, strided(&old, number, length, stride, recipe), newtype)
}

pub fn type_hvector(
    rank: &Rank,
    count: c_int,
    blocklength: c_int,
    stride: Aint,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    type_create_hvector(rank, count as Aint, blocklength as Aint, stride, oldtype, newtype)
}

/// Blocks of given lengths at given displacements in bytes.
fn indexed(old: &Datatype, lengths: &[Aint], displacements: &[Aint], recipe: Contents) -> Datatype {
    let blocks = lengths.iter().zip(displacements);
    let blocks = blocks.map(|(&length, &displacement)| Block { displacement, count: length as usize, datatype: old });
    Datatype::of_blocks(blocks, recipe)
}

pub fn type_indexed(
    rank: &Rank,
    count: Aint,
    blocklengths: Counts,
    displacements: Counts,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    let (old, number) = (rank.datatype(oldtype)?, count_of(count)?);
    let (lengths, displacements) = (lengths(blocklengths, number)?, displacements.list(number));
    let integers = [&[count], &lengths[..], &displacements[..]].concat();
    let bytes: Vec<Aint> = displacements.iter().map(|displacement| displacement * old.extent).collect();
    let recipe = contents(combiner::INDEXED, &integers, &[], vec![old.clone()]);
    hand_out(rank, indexed(&old, &lengths, &bytes, recipe), newtype)
}

pub fn type_create_hindexed(
    rank: &Rank,
    count: Aint,
    blocklengths: Counts,
    displacements: *const Aint,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    let (old, number) = (rank.datatype(oldtype)?, count_of(count)?);
    let (lengths, displacements) = (lengths(blocklengths, number)?, list(displacements, number));
    let integers = [&[count], &lengths[..]].concat();
    let recipe = contents(combiner::HINDEXED, &integers, &displacements, vec![old.clone()]);
    hand_out(rank, indexed(&old, &lengths, &displacements, recipe), newtype)
}

pub fn type_hindexed(
    rank: &Rank,
    count: c_int,
    blocklengths: *mut c_int,
    displacements: *mut Aint,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    type_create_hindexed(rank, count as Aint, Counts::small(blocklengths), displacements, oldtype, newtype)
}

pub fn type_create_indexed_block(
    rank: &Rank,
    count: Aint,
    blocklength: Aint,
    displacements: Counts,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    let (old, number) = (rank.datatype(oldtype)?, count_of(count)?);
    count_of(blocklength)?;
    let displacements = displacements.list(number);
    let integers = [&[count, blocklength], &displacements[..]].concat();
    let bytes: Vec<Aint> = displacements.iter().map(|displacement| displacement * old.extent).collect();
    let recipe = contents(combiner::INDEXED_BLOCK, &integers, &[], vec![old.clone()]);
    hand_out(rank, indexed(&old, &vec![blocklength; number], &bytes, recipe), newtype)
}

pub fn type_create_hindexed_block(
    rank: &Rank,
    count: Aint,
    blocklength: Aint,
    displacements: *const Aint,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    let (old, number) = (rank.datatype(oldtype)?, count_of(count)?);
    count_of(blocklength)?;
    let displacements = list(displacements, number);
    let recipe = contents(combiner::HINDEXED_BLOCK, &[count, blocklength], &displacements, vec![old.clone()]);
    hand_out(rank, indexed(&old, &vec![blocklength; number], &displacements, recipe), newtype)
}

pub fn type_create_struct(
    rank: &Rank,
    count: Aint,
    blocklengths: Counts,
    displacements: *const Aint,
    types: *const Handle,
    newtype: *mut Handle,
) -> Answer {
    let number = count_of(count)?;
    let (lengths, displacements) = (lengths(blocklengths, number)?, list(displacements, number));
    let olds = list(types, number).into_iter().map(|handle| rank.datatype(handle)).collect::<Result<Vec<_>, _>>()?;
    let integers = [&[count], &lengths[..]].concat();
    let recipe = contents(combiner::STRUCT, &integers, &displacements, olds.clone());
    let blocks = olds.iter().zip(&lengths).zip(&displacements);
    let blocks =
        blocks.map(|((old, &length), &displacement)| Block { displacement, count: length as usize, datatype: old });
    hand_out(rank, Datatype::structure(blocks, recipe), newtype)
}

pub fn type_struct(
    rank: &Rank,
    count: c_int,
    blocklengths: *mut c_int,
    displacements: *mut Aint,
    types: *mut Handle,
    newtype: *mut Handle,
) -> Answer {
    type_create_struct(rank, count as Aint, Counts::small(blocklengths), displacements, types, newtype)
}

const ORDER_C: c_int = 56;
const ORDER_FORTRAN: c_int = 57;

/// A part of an array: for each axis, from the fastest on, its extent and the indices in the part.
fn array_part(old: &Datatype, axes: &[(Aint, Vec<Aint>)], recipe: Contents) -> Datatype {
    let plain = Contents::default;
    let mut whole = old.extent;
    let mut part = Datatype::duplicate(old, plain());
    for (extent, indices) in axes {
        // Neighbouring indices are one block, or a part of many would be many runs.
        let mut blocks: Vec<(Aint, Aint)> = Vec::new();
        for &index in indices {
            match blocks.last_mut() {
                Some((first, length)) if *first + *length == index => *length += 1,
                _ => blocks.push((index, 1)),
            }
        }
        let inner = Datatype::resized(&part, 0, whole, plain());
        let lengths: Vec<Aint> = blocks.iter().map(|block| block.1).collect();
        let displacements: Vec<Aint> = blocks.iter().map(|block| block.0 * whole).collect();
        part = indexed(&inner, &lengths, &displacements, plain());
        whole *= extent;
    }
    Datatype::resized(&part, 0, whole, recipe)
}

pub fn type_create_subarray(
    rank: &Rank,
    ndims: c_int,
    sizes: Counts,
    subsizes: Counts,
    starts: Counts,
    order: c_int,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    let (old, axes) = (rank.datatype(oldtype)?, positive(ndims, "the number of dimensions")?);
    let (sizes, subsizes, starts) = (sizes.list(axes), subsizes.list(axes), starts.list(axes));
    for axis in 0..axes {
        let within = subsizes[axis] >= 1 && starts[axis] >= 0 && starts[axis] + subsizes[axis] <= sizes[axis];
        require(within, class::ERR_ARG, || {
            format!("{} from {} on, of {} along axis {axis}", subsizes[axis], starts[axis], sizes[axis])
        })?;
    }
    require(order == ORDER_C || order == ORDER_FORTRAN, class::ERR_ARG, || format!("order {order}"))?;
    let integers = [&[ndims as Aint], &sizes[..], &subsizes[..], &starts[..], &[order as Aint]].concat();
    let recipe = contents(combiner::SUBARRAY, &integers, &[], vec![old.clone()]);
    let axis = |axis: usize| (sizes[axis], (starts[axis]..starts[axis] + subsizes[axis]).collect());
    let mut parts: Vec<_> = (0..axes).map(axis).collect();
    if order == ORDER_C {
        parts.reverse();
    }
    hand_out(rank, array_part(&old, &parts, recipe), newtype)
}

const DISTRIBUTE_BLOCK: c_int = 121;
const DISTRIBUTE_CYCLIC: c_int = 122;
const DISTRIBUTE_NONE: c_int = 123;
const DISTRIBUTE_DFLT_DARG: c_int = -49767;

/// The indices of an axis that a process has (MPI 4.1, section 5.1.4).
fn distributed(kind: c_int, argument: c_int, extent: Aint, processes: Aint, own: Aint) -> Result<Vec<Aint>, Fault> {
    let is_set = argument != DISTRIBUTE_DFLT_DARG;
    match kind {
        DISTRIBUTE_NONE => Ok((0..extent).collect()),
        DISTRIBUTE_BLOCK => {
            let block = if is_set { argument as Aint } else { (extent + processes - 1) / processes };
            require(block * processes >= extent, class::ERR_ARG, || format!("blocks of {block} for {extent}"))?;
            Ok((own * block..extent.min((own + 1) * block)).collect())
        }
        DISTRIBUTE_CYCLIC => {
            let block = if is_set { argument as Aint } else { 1 };
            require(block > 0, class::ERR_ARG, || format!("blocks of {block}"))?;
            Ok((0..extent).filter(|index| (index / block) % processes == own).collect())
        }
        _ => Err(Fault::new(class::ERR_ARG, format!("distribution {kind}"))),
    }
}

pub fn type_create_darray(
    rank: &Rank,
    size: c_int,
    number: c_int,
    ndims: c_int,
    gsizes: Counts,
    distribs: *const c_int,
    dargs: *const c_int,
    psizes: *const c_int,
    order: c_int,
    oldtype: Handle,
    newtype: *mut Handle,
) -> Answer {
    let (old, axes) = (rank.datatype(oldtype)?, positive(ndims, "the number of dimensions")?);
    let (kinds, arguments, processes) = (list(distribs, axes), list(dargs, axes), list(psizes, axes));
    let extents = gsizes.list(axes);
    let product: c_int = processes.iter().product();
    require(product == size && (0..size).contains(&number), class::ERR_ARG, || {
        format!("process {number} of {size} in a grid of {product}")
    })?;
    // Processes are numbered in the order of C, whatever the order of the array.
    let (mut rest, mut left, mut parts) = (number, size, Vec::with_capacity(axes));
    for axis in 0..axes {
        left /= processes[axis];
        let own = rest / left;
        rest %= left;
        let (extent, count) = (extents[axis], processes[axis] as Aint);
        parts.push((extent, distributed(kinds[axis], arguments[axis], extent, count, own as Aint)?));
    }
    if order == ORDER_C {
        parts.reverse();
    }
    let counts_of = |values: &[c_int]| values.iter().map(|&value| value as Aint).collect::<Vec<_>>();
    let integers = [
        &[size as Aint, number as Aint, ndims as Aint],
        &extents[..],
        &counts_of(&kinds)[..],
        &counts_of(&arguments)[..],
        &counts_of(&processes)[..],
        &[order as Aint],
    ];
    let recipe = contents(combiner::DARRAY, &integers.concat(), &[], vec![old.clone()]);
    hand_out(rank, array_part(&old, &parts, recipe), newtype)
}

pub fn type_create_resized(rank: &Rank, oldtype: Handle, lb: Aint, extent: Aint, newtype: *mut Handle) -> Answer {
    let old = rank.datatype(oldtype)?;
    let recipe = contents(combiner::RESIZED, &[], &[lb, extent], vec![old.clone()]);
    hand_out(rank, Datatype::resized(&old, lb, extent, recipe), newtype)
}

pub fn type_dup(rank: &Rank, oldtype: Handle, newtype: *mut Handle) -> Answer {
    let old = rank.datatype(oldtype)?;
    put(newtype, abi::DATATYPE_NULL);
    let copy = Datatype::duplicate(&old, contents(combiner::DUP, &[], &[], vec![old.clone()]));
    super::copy_all(rank, oldtype, &old.attributes, &copy.attributes)?;
    hand_out(rank, copy, newtype)
}

/// Hands out a datatype that is in use: a predefined one by its handle, another as a copy.
pub(crate) fn hand_out_same(rank: &Rank, datatype: &Rc<Datatype>, newtype: *mut Handle) {
    let handle = datatype.predefined.unwrap_or_else(|| {
        let recipe = contents(combiner::DUP, &[], &[], vec![datatype.clone()]);
        rank.shared.datatypes.insert(Datatype::duplicate(datatype, recipe))
    });
    put(newtype, handle);
}

pub fn type_commit(rank: &Rank, datatype: *mut Handle) -> Answer {
    rank.datatype(at(datatype, 0))?.committed.set(true);
    Ok(())
}

pub fn type_free(rank: &Rank, datatype: *mut Handle) -> Answer {
    let handle = at(datatype, 0);
    let object = rank.datatype(handle)?;
    require(object.predefined.is_none(), class::ERR_TYPE, || "datatypes of the standard stay".to_owned())?;
    super::delete_all(rank, handle, &object.attributes)?;
    rank.release_datatype(handle);
    put(datatype, abi::DATATYPE_NULL);
    Ok(())
}

pub fn type_size(rank: &Rank, datatype: Handle, size: CountOut) -> Answer {
    size.set(rank.datatype(datatype)?.size as Aint);
    Ok(())
}

pub fn type_size_x(rank: &Rank, datatype: Handle, size: *mut Aint) -> Answer {
    type_size(rank, datatype, CountOut::large(size))
}

pub fn type_get_extent(rank: &Rank, datatype: Handle, lb: *mut Aint, extent: *mut Aint) -> Answer {
    let datatype = rank.datatype(datatype)?;
    put(lb, datatype.lb);
    put(extent, datatype.extent);
    Ok(())
}

pub fn type_get_extent_x(rank: &Rank, datatype: Handle, lb: *mut Aint, extent: *mut Aint) -> Answer {
    type_get_extent(rank, datatype, lb, extent)
}

pub fn type_get_true_extent(rank: &Rank, datatype: Handle, true_lb: *mut Aint, true_extent: *mut Aint) -> Answer {
    let datatype = rank.datatype(datatype)?;
    put(true_lb, datatype.true_lb());
    put(true_extent, datatype.true_extent());
    Ok(())
}

pub fn type_get_true_extent_x(rank: &Rank, datatype: Handle, true_lb: *mut Aint, true_extent: *mut Aint) -> Answer {
    type_get_true_extent(rank, datatype, true_lb, true_extent)
}

pub fn type_extent(rank: &Rank, datatype: Handle, extent: *mut Aint) -> Answer {
    put(extent, rank.datatype(datatype)?.extent);
    Ok(())
}

pub fn type_lb(rank: &Rank, datatype: Handle, displacement: *mut Aint) -> Answer {
    put(displacement, rank.datatype(datatype)?.lb);
    Ok(())
}

pub fn type_ub(rank: &Rank, datatype: Handle, displacement: *mut Aint) -> Answer {
    put(displacement, rank.datatype(datatype)?.ub());
    Ok(())
}

pub fn type_get_envelope(
    rank: &Rank,
    datatype: Handle,
    num_integers: *mut c_int,
    num_addresses: *mut c_int,
    num_datatypes: *mut c_int,
    kind: *mut c_int,
) -> Answer {
    let datatype = rank.datatype(datatype)?;
    let recipe = &datatype.contents;
    put(num_integers, recipe.integers.len() as c_int);
    put(num_addresses, recipe.addresses.len() as c_int);
    put(num_datatypes, recipe.datatypes.len() as c_int);
    put(kind, recipe.combiner);
    Ok(())
}

pub fn type_get_envelope_c(
    rank: &Rank,
    datatype: Handle,
    num_integers: *mut Aint,
    num_addresses: *mut Aint,
    num_large_counts: *mut Aint,
    num_datatypes: *mut Aint,
    kind: *mut c_int,
) -> Answer {
    let datatype = rank.datatype(datatype)?;
    let recipe = &datatype.contents;
    put(num_integers, recipe.integers.len() as Aint);
    put(num_addresses, recipe.addresses.len() as Aint);
    put(num_large_counts, recipe.counts.len() as Aint);
    put(num_datatypes, recipe.datatypes.len() as Aint);
    put(kind, recipe.combiner);
    Ok(())
}

fn write_contents(
    rank: &Rank,
    recipe: &Contents,
    limits: [usize; 3],
    integers: *mut c_int,
    addresses: *mut Aint,
    datatypes: *mut Handle,
) -> Answer {
    require(recipe.combiner != combiner::NAMED, class::ERR_TYPE, || "the datatype is predefined".to_owned())?;
    let needed = [recipe.integers.len(), recipe.addresses.len(), recipe.datatypes.len()];
    let fits = needed.iter().zip(limits).all(|(&needed, limit)| needed <= limit);
    require(fits, class::ERR_ARG, || "the arrays are too short".to_owned())?;
    recipe.integers.iter().enumerate().for_each(|(index, &value)| put_at(integers, index, value));
    recipe.addresses.iter().enumerate().for_each(|(index, &value)| put_at(addresses, index, value));
    for (index, datatype) in recipe.datatypes.iter().enumerate() {
        let handle = datatype.predefined.unwrap_or_else(|| rank.shared.datatypes.insert_shared(datatype.clone()));
        put_at(datatypes, index, handle);
    }
    Ok(())
}

pub fn type_get_contents(
    rank: &Rank,
    datatype: Handle,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    integers: *mut c_int,
    addresses: *mut Aint,
    datatypes: *mut Handle,
) -> Answer {
    let datatype = rank.datatype(datatype)?;
    let limits = [max_integers, max_addresses, max_datatypes].map(|limit| limit.max(0) as usize);
    write_contents(rank, &datatype.contents, limits, integers, addresses, datatypes)
}

pub fn type_get_contents_c(
    rank: &Rank,
    datatype: Handle,
    max_integers: Aint,
    max_addresses: Aint,
    max_large_counts: Aint,
    max_datatypes: Aint,
    integers: *mut c_int,
    addresses: *mut Aint,
    large_counts: *mut Aint,
    datatypes: *mut Handle,
) -> Answer {
    let datatype = rank.datatype(datatype)?;
    let limits = [max_integers, max_addresses, max_datatypes].map(|limit| limit.max(0) as usize);
    for (index, &count) in datatype.contents.counts.iter().enumerate().take(max_large_counts.max(0) as usize) {
        put_at(large_counts, index, count);
    }
    write_contents(rank, &datatype.contents, limits, integers, addresses, datatypes)
}

pub fn type_set_name(rank: &Rank, datatype: Handle, type_name: *const c_char) -> Answer {
    super::is_named(type_name)?;
    rank.datatype(datatype)?.name.replace(text(type_name));
    Ok(())
}

pub fn type_get_name(rank: &Rank, datatype: Handle, type_name: *mut c_char, resultlen: *mut c_int) -> Answer {
    if datatype == abi::DATATYPE_NULL {
        put(resultlen, put_text(type_name, b"MPI_DATATYPE_NULL", abi::MAX_OBJECT_NAME) as c_int);
        return Ok(());
    }
    let datatype = rank.datatype(datatype)?;
    put(resultlen, put_text(type_name, &datatype.name.borrow(), abi::MAX_OBJECT_NAME) as c_int);
    Ok(())
}

/// A predefined datatype under another combiner, as the functions of Fortran's kinds give it.
fn of_kind(rank: &Rank, size: u8, of: Class, recipe: Contents, newtype: *mut Handle) -> Answer {
    let element = crate::datatype::Basic { class: of, size, external: size };
    let mut datatype = Datatype::named(0, "", &[(0, element)], size.into());
    datatype.predefined = None;
    datatype.contents = recipe;
    hand_out(rank, datatype, newtype)
}

pub fn type_create_f90_integer(rank: &Rank, r: c_int, newtype: *mut Handle) -> Answer {
    let size = match r {
        ..=2 => 1,
        3..=4 => 2,
        5..=9 => 4,
        10..=18 => 8,
        _ => return Err(Fault::new(class::ERR_ARG, format!("no integer of {r} digits"))),
    };
    let recipe = contents(combiner::F90_INTEGER, &[r as Aint], &[], Vec::new());
    of_kind(rank, size, Class::Signed, recipe, newtype)
}

/// Bytes of a real number of so many digits and such a range.
fn real_size(p: c_int, r: c_int) -> Result<u8, Fault> {
    let (p, r) = (if p == abi::UNDEFINED { 0 } else { p }, if r == abi::UNDEFINED { 0 } else { r });
    match (p, r) {
        (..=6, ..=37) => Ok(4),
        (..=15, ..=307) => Ok(8),
        _ => Err(Fault::new(class::ERR_ARG, format!("no real number of {p} digits and range {r}"))),
    }
}

pub fn type_create_f90_real(rank: &Rank, p: c_int, r: c_int, newtype: *mut Handle) -> Answer {
    let recipe = contents(combiner::F90_REAL, &[p as Aint, r as Aint], &[], Vec::new());
    of_kind(rank, real_size(p, r)?, Class::Float, recipe, newtype)
}

pub fn type_create_f90_complex(rank: &Rank, p: c_int, r: c_int, newtype: *mut Handle) -> Answer {
    let recipe = contents(combiner::F90_COMPLEX, &[p as Aint, r as Aint], &[], Vec::new());
    of_kind(rank, 2 * real_size(p, r)?, Class::Complex, recipe, newtype)
}

pub fn type_match_size(_rank: &Rank, typeclass: c_int, size: c_int, datatype: *mut Handle) -> Answer {
    let handle = match (typeclass, size) {
        (1, 4) => 0x4c00_0427,
        (1, 8) => 0x4c00_0829,
        (1, 16) => 0x4c00_102b,
        (2, 1) => 0x4c00_012d,
        (2, 2) => 0x4c00_022f,
        (2, 4) => 0x4c00_0430,
        (2, 8) => 0x4c00_0831,
        (3, 8) => 0x4c00_0828,
        (3, 16) => 0x4c00_102a,
        (3, 32) => 0x4c00_202c,
        _ => return Err(Fault::new(class::ERR_ARG, format!("no datatype of class {typeclass} and {size} bytes"))),
    };
    put(datatype, handle);
    Ok(())
}

pub fn type_get_value_index(rank: &Rank, value_type: Handle, index_type: Handle, pair_type: *mut Handle) -> Answer {
    rank.datatype(value_type)?;
    rank.datatype(index_type)?;
    let int = index_type == 0x4c00_0405;
    let pair = match value_type {
        0x4c00_040a if int => crate::datatype::FLOAT_INT,
        0x4c00_080b if int => crate::datatype::DOUBLE_INT,
        0x4c00_0807 if int => crate::datatype::LONG_INT,
        0x4c00_0203 if int => crate::datatype::SHORT_INT,
        0x4c00_0405 if int => crate::datatype::TWO_INT,
        0x4c00_100c if int => crate::datatype::LONG_DOUBLE_INT,
        _ => abi::DATATYPE_NULL,
    };
    put(pair_type, pair);
    Ok(())
}
