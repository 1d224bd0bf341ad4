//! Groups (MPI 4.1, section 7.3).

use std::ffi::c_int;
use std::rc::Rc;

use crate::abi::{self, Group as Handle};
use crate::communicator::Group;
use crate::fault::{Answer, Fault, class, require};
use crate::rank::Rank;
use crate::session;

use super::{list, positive, put, put_at};

/// Hands a group to the program; the empty one has a handle of its own.
pub(crate) fn hand_out_group(rank: &Rank, group: Group, newgroup: *mut Handle) {
    put(newgroup, if group.is_empty() { abi::GROUP_EMPTY } else { rank.groups.insert(group) });
}

/// Two groups that one call may take.
fn pair(rank: &Rank, group1: Handle, group2: Handle) -> Result<(Rc<Group>, Rc<Group>), Fault> {
    let (one, two) = (rank.group(group1)?, rank.group(group2)?);
    session::check_groups(&one, &two)?;
    Ok((one, two))
}

pub fn group_size(rank: &Rank, group: Handle, size: *mut c_int) -> Answer {
    put(size, rank.group(group)?.len() as c_int);
    Ok(())
}

pub fn group_rank(rank: &Rank, group: Handle, result: *mut c_int) -> Answer {
    let own = rank.group(group)?.rank_of(rank.number() as u32);
    put(result, own.map_or(abi::UNDEFINED, |own| own as c_int));
    Ok(())
}

pub fn group_translate_ranks(
    rank: &Rank,
    group1: Handle,
    n: c_int,
    ranks1: *const c_int,
    group2: Handle,
    ranks2: *mut c_int,
) -> Answer {
    let (from, to) = pair(rank, group1, group2)?;
    let missing = n > 0 && (ranks1.is_null() || ranks2.is_null());
    require(!missing, class::ERR_ARG, || "the address of ranks is missing (NULL)".to_owned())?;
    for (index, number) in list(ranks1, positive(n, "the number of ranks")?).into_iter().enumerate() {
        if number == abi::PROC_NULL {
            put_at(ranks2, index, abi::PROC_NULL);
            continue;
        }
        check_ranks(&from, &[number])?;
        let other = to.rank_of(from.members[number as usize]);
        put_at(ranks2, index, other.map_or(abi::UNDEFINED, |other| other as c_int));
    }
    Ok(())
}

pub fn group_compare(rank: &Rank, group1: Handle, group2: Handle, result: *mut c_int) -> Answer {
    let (one, two) = pair(rank, group1, group2)?;
    put(result, compare(&one, &two));
    Ok(())
}

/// How alike two groups are.
pub(crate) fn compare(one: &Group, two: &Group) -> c_int {
    if one.members == two.members {
        return abi::IDENT;
    }
    let sorted = |group: &Group| {
        let mut members = group.members.to_vec();
        members.sort_unstable();
        members
    };
    if sorted(one) == sorted(two) { abi::SIMILAR } else { abi::UNEQUAL }
}

pub fn group_union(rank: &Rank, group1: Handle, group2: Handle, newgroup: *mut Handle) -> Answer {
    let (one, two) = pair(rank, group1, group2)?;
    let session = if one.is_empty() { two.session } else { one.session };
    let more = two.members.iter().filter(|&&member| one.rank_of(member).is_none());
    let members = one.members.iter().chain(more).copied().collect();
    hand_out_group(rank, Group { members, session }, newgroup);
    Ok(())
}

pub fn group_intersection(rank: &Rank, group1: Handle, group2: Handle, newgroup: *mut Handle) -> Answer {
    let (one, two) = pair(rank, group1, group2)?;
    let both = one.members.iter().filter(|&&member| two.rank_of(member).is_some());
    hand_out_group(rank, one.derive(both.copied().collect()), newgroup);
    Ok(())
}

pub fn group_difference(rank: &Rank, group1: Handle, group2: Handle, newgroup: *mut Handle) -> Answer {
    let (one, two) = pair(rank, group1, group2)?;
    let rest = one.members.iter().filter(|&&member| two.rank_of(member).is_none());
    hand_out_group(rank, one.derive(rest.copied().collect()), newgroup);
    Ok(())
}

/// Fails where a number is no rank of the group or comes twice.
fn check_ranks(group: &Group, ranks: &[c_int]) -> Answer {
    let mut seen = vec![false; group.len()];
    for &number in ranks {
        let known = number >= 0 && (number as usize) < group.len();
        require(known, class::ERR_RANK, || format!("rank {number} of a group of {}", group.len()))?;
        let twice = std::mem::replace(&mut seen[number as usize], true);
        require(!twice, class::ERR_RANK, || format!("rank {number} comes twice"))?;
    }
    Ok(())
}

pub fn group_incl(rank: &Rank, group: Handle, n: c_int, ranks: *const c_int, newgroup: *mut Handle) -> Answer {
    let group = rank.group(group)?;
    let ranks = list(ranks, positive(n, "the number of ranks")?);
    check_ranks(&group, &ranks)?;
    hand_out_group(rank, group.derive(ranks.iter().map(|&number| group.members[number as usize]).collect()), newgroup);
    Ok(())
}

pub fn group_excl(rank: &Rank, group: Handle, n: c_int, ranks: *const c_int, newgroup: *mut Handle) -> Answer {
    let group = rank.group(group)?;
    let ranks = list(ranks, positive(n, "the number of ranks")?);
    check_ranks(&group, &ranks)?;
    hand_out_group(rank, without(&group, &ranks), newgroup);
    Ok(())
}

fn without(group: &Group, ranks: &[c_int]) -> Group {
    let kept = group.members.iter().enumerate().filter(|(index, _)| !ranks.contains(&(*index as c_int)));
    group.derive(kept.map(|(_, &member)| member).collect())
}

/// The ranks that triples of first, last and stride stand for.
fn ranges(n: c_int, triples: *const c_int) -> Result<Vec<c_int>, Fault> {
    let mut ranks = Vec::new();
    for triple in list(triples, 3 * positive(n, "the number of ranges")?).chunks_exact(3) {
        let (first, last, stride) = (triple[0], triple[1], triple[2]);
        require(stride != 0, class::ERR_ARG, || "a range with stride 0".to_owned())?;
        let mut next = first;
        while if stride > 0 { next <= last } else { next >= last } {
            ranks.push(next);
            next += stride;
        }
    }
    Ok(ranks)
}

pub fn group_range_incl(rank: &Rank, group: Handle, n: c_int, triples: *mut c_int, newgroup: *mut Handle) -> Answer {
    let group = rank.group(group)?;
    let ranks = ranges(n, triples)?;
    check_ranks(&group, &ranks)?;
    hand_out_group(rank, group.derive(ranks.iter().map(|&number| group.members[number as usize]).collect()), newgroup);
    Ok(())
}

pub fn group_range_excl(rank: &Rank, group: Handle, n: c_int, triples: *mut c_int, newgroup: *mut Handle) -> Answer {
    let group = rank.group(group)?;
    let ranks = ranges(n, triples)?;
    check_ranks(&group, &ranks)?;
    hand_out_group(rank, without(&group, &ranks), newgroup);
    Ok(())
}

pub fn group_free(rank: &Rank, group: *mut Handle) -> Answer {
    let handle = super::at(group, 0);
    rank.group(handle)?;
    rank.groups.remove(handle);
    put(group, abi::GROUP_NULL);
    Ok(())
}

pub fn comm_group(rank: &Rank, comm: abi::Comm, group: *mut Handle) -> Answer {
    hand_out_group(rank, rank.comm(comm)?.group.clone(), group);
    Ok(())
}

pub fn comm_remote_group(rank: &Rank, comm: abi::Comm, group: *mut Handle) -> Answer {
    let comm = rank.comm(comm)?;
    let remote = comm.remote.clone();
    let missing = || Fault::new(class::ERR_COMM, "the communicator has one group only");
    hand_out_group(rank, remote.ok_or_else(missing)?, group);
    Ok(())
}
