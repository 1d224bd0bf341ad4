//! Communicators (MPI 4.1, sections 7.4 to 7.6 and 7.8).

use std::ffi::{c_char, c_int};
use std::rc::Rc;

use weft_comm::collective::{Choice, allgather, broadcast};
use weft_comm::{Buffer, Communicator as _, Payload, Source, Tag};

use crate::abi::{self, Comm, Group as GroupHandle, Info as InfoHandle, Request as RequestHandle};
use crate::communicator::{Caller, Communicator, Group, Purpose};
use crate::fault::{Answer, Fault, class, require};
use crate::info;
use crate::link::Link;
use crate::rank::Rank;
use crate::request::{Completed, Request, State};
use crate::session;

use super::{at, put, put_text, text};

pub fn comm_size(rank: &Rank, comm: Comm, size: *mut c_int) -> Answer {
    put(size, rank.comm(comm)?.size() as c_int);
    Ok(())
}

pub fn comm_rank(rank: &Rank, comm: Comm, result: *mut c_int) -> Answer {
    put(result, rank.comm(comm)?.rank() as c_int);
    Ok(())
}

pub fn comm_remote_size(rank: &Rank, comm: Comm, size: *mut c_int) -> Answer {
    let comm = rank.comm(comm)?;
    require(comm.is_inter(), class::ERR_COMM, || "the communicator has one group only".to_owned())?;
    put(size, comm.peers() as c_int);
    Ok(())
}

pub fn comm_test_inter(rank: &Rank, comm: Comm, flag: *mut c_int) -> Answer {
    put(flag, c_int::from(rank.comm(comm)?.is_inter()));
    Ok(())
}

pub fn comm_compare(rank: &Rank, comm1: Comm, comm2: Comm, result: *mut c_int) -> Answer {
    let (one, two) = (rank.comm(comm1)?, rank.comm(comm2)?);
    session::check_communicators(&one, &two.group)?;
    if comm1 == comm2 {
        put(result, abi::IDENT);
        return Ok(());
    }
    let compared = match (&one.remote, &two.remote) {
        (None, None) => super::compare(&one.group, &two.group),
        (Some(a), Some(b)) => super::compare(&one.group, &two.group).max(super::compare(a, b)),
        _ => abi::UNEQUAL,
    };
    put(result, if compared == abi::IDENT { abi::CONGRUENT } else { compared });
    Ok(())
}

/// Hands a communicator to the program.
pub(crate) fn hand_out(rank: &Rank, comm: Communicator, newcomm: *mut Comm) {
    put(newcomm, rank.comms.insert(comm));
}

/// The same group, or groups, with contexts of their own.
fn duplicate(rank: &Rank, comm: &Communicator, contexts: (u32, u32)) -> Communicator {
    let link = comm.link.clone();
    let copy = match &comm.remote {
        None => Communicator::new(&link, comm.rank(), comm.group.clone(), contexts.0),
        Some(remote) => Communicator::between(&link, comm.rank(), comm.group.clone(), remote.clone(), contexts),
    };
    copy.errhandler.set(crate::errors::inherited(rank, comm));
    copy
}

/// Copies what the program has attached, and the topology.
fn copy_attached(rank: &Rank, handle: Comm, from: &Communicator, to: &Communicator) -> Answer {
    to.topology.replace(from.topology.borrow().clone());
    super::copy_all(rank, handle, &from.attributes, &to.attributes)
}

/// Waits for all ranks of a communicator, of both groups where there are two, in calls of one kind.
pub(crate) fn synchronize(rank: &Rank, comm: &Communicator, purpose: Purpose) -> Answer {
    rank.block(crate::collective::barrier(comm.private(purpose, rank.caller())))
}

pub fn comm_dup(rank: &Rank, comm: Comm, newcomm: *mut Comm) -> Answer {
    comm_dup_with_info(rank, comm, abi::INFO_NULL, newcomm)
}

pub fn comm_dup_with_info(rank: &Rank, comm: Comm, info: InfoHandle, newcomm: *mut Comm) -> Answer {
    let from = rank.comm(comm)?;
    let info = rank.info(info)?;
    put(newcomm, abi::COMM_NULL);
    let copy = duplicate(rank, &from, from.derived_contexts(Purpose::Duplicate));
    copy_attached(rank, comm, &from, &copy)?;
    copy.info.replace(info.hints(info::OF_COMMUNICATORS));
    synchronize(rank, &copy, Purpose::Duplicate)?;
    hand_out(rank, copy, newcomm);
    Ok(())
}

pub fn comm_idup(rank: &Rank, comm: Comm, newcomm: *mut Comm, request: *mut RequestHandle) -> Answer {
    comm_idup_with_info(rank, comm, abi::INFO_NULL, newcomm, request)
}

pub fn comm_idup_with_info(
    rank: &Rank,
    comm: Comm,
    info: InfoHandle,
    newcomm: *mut Comm,
    request: *mut RequestHandle,
) -> Answer {
    let from = rank.comm(comm)?;
    let info = rank.info(info)?;
    let copy = duplicate(rank, &from, from.derived_contexts(Purpose::Duplicate));
    copy_attached(rank, comm, &from, &copy)?;
    copy.info.replace(info.hints(info::OF_COMMUNICATORS));
    let links = copy.private(Purpose::Overlapped, Caller::Elsewhere);
    hand_out(rank, copy, newcomm);
    let work = async move { crate::collective::barrier(links).await.map(|()| Completed::EMPTY) };
    let started = Rc::new(Request::new(State::Work(Box::pin(work)), comm));
    rank.launch(&started);
    put(request, rank.requests.insert_shared(started));
    Ok(())
}

pub fn comm_create(rank: &Rank, comm: Comm, group: GroupHandle, newcomm: *mut Comm) -> Answer {
    let (from, group) = (rank.comm(comm)?, rank.group(group)?);
    session::check_communicators(&from, &group)?;
    let own = rank.number() as u32;
    let within = group.members.iter().all(|&member| from.group.rank_of(member).is_some());
    require(within, class::ERR_GROUP, || "the group is no part of the communicator's".to_owned())?;
    if from.is_inter() {
        return create_between(rank, &from, &group, newcomm);
    }
    let call = from.next_call();
    synchronize(rank, &from, Purpose::Create)?;
    let Some(number) = group.rank_of(own) else {
        put(newcomm, abi::COMM_NULL);
        return Ok(());
    };
    // Groups that were named at once and share no rank are told apart by their first.
    let context = from.link.context_of((from.context, call, (1 << 30) | group.members[0]));
    let created = Communicator::new(&from.link, number, (*group).clone(), context);
    created.errhandler.set(crate::errors::inherited(rank, &from));
    hand_out(rank, created, newcomm);
    Ok(())
}

/// Parts of both groups of a communicator between two.
fn create_between(rank: &Rank, from: &Communicator, group: &Group, newcomm: *mut Comm) -> Answer {
    let contexts = from.derived_contexts(Purpose::Create);
    let mine = Buffer::of(&group.members);
    let links = from.private(Purpose::Create, rank.caller());
    let theirs = rank.block(crate::collective::exchange_between(links, mine))?;
    let remote = group.derive(theirs.values::<u32>().to_vec());
    let number = group.rank_of(rank.number() as u32).filter(|_| !remote.is_empty());
    let Some(number) = number else {
        put(newcomm, abi::COMM_NULL);
        return Ok(());
    };
    let created = Communicator::between(&from.link, number, group.clone(), remote, contexts);
    created.errhandler.set(crate::errors::inherited(rank, from));
    hand_out(rank, created, newcomm);
    Ok(())
}

pub fn comm_create_group(rank: &Rank, comm: Comm, group: GroupHandle, tag: c_int, newcomm: *mut Comm) -> Answer {
    let (from, group) = (rank.comm(comm)?, rank.group(group)?);
    session::check_communicators(&from, &group)?;
    let Some(number) = group.rank_of(rank.number() as u32) else {
        put(newcomm, abi::COMM_NULL);
        return Ok(());
    };
    let created = agree(rank, &from.link, from.context, number, &group, tag)?;
    created.errhandler.set(crate::errors::inherited(rank, &from));
    hand_out(rank, created, newcomm);
    Ok(())
}

/// A communicator of a group, of which only that group knows: its first rank chooses the context.
fn agree(rank: &Rank, link: &Link, base: u32, number: usize, group: &Group, tag: c_int) -> Result<Communicator, Fault> {
    let meeting = link.context_of((base, (1 << 29) | tag as u32, group.members[0]));
    let members = link.regroup(number, group.members.clone(), meeting);
    let proposed = if number == 0 { link.new_context() } else { 0 };
    let payload = rank.block(broadcast(&members, 0, Payload::of(&[proposed]), Choice::Auto))?;
    let context = payload.values::<u32>().map_or(0, |values| values[0]);
    Ok(Communicator::new(link, number, group.clone(), context))
}

pub fn comm_create_from_group(
    rank: &Rank,
    group: GroupHandle,
    stringtag: *const c_char,
    info: InfoHandle,
    errhandler: abi::Errhandler,
    newcomm: *mut Comm,
) -> Answer {
    let group = rank.group(group)?;
    rank.info(info)?;
    let Some(number) = group.rank_of(rank.number() as u32) else {
        put(newcomm, abi::COMM_NULL);
        return Ok(());
    };
    // Calls are told apart by their tags; equal numbers of different tags would only make them wait for each other.
    let tag = text(stringtag).iter().fold(7_u32, |hash, &byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let created = agree(rank, &rank.endpoint, u32::MAX, number, &group, (tag & 0x0fff_ffff) as c_int)?;
    created.errhandler.set(errhandler);
    hand_out(rank, created, newcomm);
    Ok(())
}

/// All ranks' colors and keys, in the order of ranks.
fn all_colors(rank: &Rank, link: &Link, color: c_int, key: c_int) -> Result<Vec<[c_int; 2]>, Fault> {
    let own = Payload::of(&[color, key]);
    let all = rank.block(allgather(link, &own, None, Choice::Auto))?;
    let values = all.values::<c_int>().unwrap_or_default();
    Ok(values.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
}

/// The members of one color, by key and then by rank.
fn members_of(colors: &[[c_int; 2]], color: c_int) -> Vec<usize> {
    let mut members: Vec<usize> = (0..colors.len()).filter(|&index| colors[index][0] == color).collect();
    members.sort_by_key(|&index| colors[index][1]);
    members
}

pub fn comm_split(rank: &Rank, comm: Comm, color: c_int, key: c_int, newcomm: *mut Comm) -> Answer {
    let from = rank.comm(comm)?;
    let fits = color >= 0 || color == abi::UNDEFINED;
    require(fits, class::ERR_ARG, || format!("color {color} is negative"))?;
    if from.is_inter() {
        return split_between(rank, &from, color, key, newcomm);
    }
    let call = from.next_call();
    let colors = all_colors(rank, &from.private(Purpose::Split, rank.caller()).link, color, key)?;
    if color == abi::UNDEFINED {
        put(newcomm, abi::COMM_NULL);
        return Ok(());
    }
    let members = members_of(&colors, color);
    let group = from.group.derive(members.iter().map(|&index| from.group.members[index]).collect());
    let number = group.rank_of(rank.number() as u32).expect("a rank has its own color");
    let context = from.link.context_of((from.context, call, (1 << 30) | group.members[0]));
    let created = Communicator::new(&from.link, number, group, context);
    created.errhandler.set(crate::errors::inherited(rank, &from));
    hand_out(rank, created, newcomm);
    Ok(())
}

/// Divides both groups of a communicator; those of one color on both sides stay together.
fn split_between(rank: &Rank, from: &Communicator, color: c_int, key: c_int, newcomm: *mut Comm) -> Answer {
    let call = from.next_call();
    let links = from.private(Purpose::Split, rank.caller());
    let own_link = links.own.as_ref().expect("a communicator between groups has one of its own");
    let colors = all_colors(rank, own_link, color, key)?;
    let flat: Vec<c_int> = colors.iter().flatten().copied().collect();
    let theirs = rank.block(crate::collective::exchange_between(links, Buffer::of(&flat)))?;
    let theirs: Vec<[c_int; 2]> = theirs.values::<c_int>().chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    let remote = from.remote.as_ref().expect("a communicator between groups has another one");
    let pick = |colors: &[[c_int; 2]], group: &Group| {
        group.derive(members_of(colors, color).into_iter().map(|index| group.members[index]).collect())
    };
    let (group, remote) = (pick(&colors, &from.group), pick(&theirs, remote));
    if color == abi::UNDEFINED || remote.is_empty() {
        put(newcomm, abi::COMM_NULL);
        return Ok(());
    }
    let number = group.rank_of(rank.number() as u32).expect("a rank has its own color");
    let first = group.members[0].min(remote.members[0]);
    let side = u32::from(group.members[0] > remote.members[0]);
    let both = from.link.context_of((from.context, call, (1 << 30) | first));
    let own = from.link.context_of((from.context, call, (1 << 29) | (side << 28) | first));
    let created = Communicator::between(&from.link, number, group, remote, (both, own));
    created.errhandler.set(crate::errors::inherited(rank, from));
    hand_out(rank, created, newcomm);
    Ok(())
}

/// One color of all ranks that name the same folder, none where they name different ones or none.
fn folder_color(rank: &Rank, comm: &Communicator, folder: Option<Vec<u8>>) -> Result<c_int, Fault> {
    let hash =
        |name: &Vec<u8>| name.iter().fold(0, |hash: c_int, &byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let own = folder.as_ref().map_or(0, hash);
    let links = comm.private(Purpose::CommonFolder, rank.caller());
    let all = all_colors(rank, &links.link, own, c_int::from(folder.is_some()))?;
    Ok(if all.iter().all(|other| *other == [own, 1]) { 0 } else { abi::UNDEFINED })
}

pub fn comm_split_type(
    rank: &Rank,
    comm: Comm,
    split_type: c_int,
    key: c_int,
    info: InfoHandle,
    newcomm: *mut Comm,
) -> Answer {
    let info = rank.info(info)?;
    rank.comm(comm)?;
    let resource = info.get(b"mpi_hw_resource_type").or_else(|| info.get(b"mpi_pset_name"));
    let color = match split_type {
        // Resources of a node that its ranks may share, each the whole node here.
        abi::COMM_TYPE_HW_GUIDED | abi::COMM_TYPE_RESOURCE_GUIDED
            if resource.as_deref() == Some(b"mpi_shared_memory") =>
        {
            rank.node_of(rank.number()) as c_int
        }
        // Ranks on one node.
        abi::COMM_TYPE_SHARED => rank.node_of(rank.number()) as c_int,
        // Ranks that reach a folder: files are everybody's.
        abi::COMM_TYPE_NEIGHBORHOOD => folder_color(rank, &*rank.comm(comm)?, info.get(b"nbhd_common_dirname"))?,
        abi::COMM_TYPE_HW_GUIDED | abi::COMM_TYPE_HW_UNGUIDED | abi::COMM_TYPE_RESOURCE_GUIDED | abi::UNDEFINED => {
            abi::UNDEFINED
        }
        _ => return Err(Fault::new(class::ERR_ARG, format!("split type {split_type}"))),
    };
    comm_split(rank, comm, color, key, newcomm)
}

/// Messages of leaders who make a communicator between their groups have tags of the program.
pub fn intercomm_create(
    rank: &Rank,
    local_comm: Comm,
    local_leader: c_int,
    peer_comm: Comm,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: *mut Comm,
) -> Answer {
    let local = rank.comm(local_comm)?;
    let leads = local.rank() as c_int == local_leader;
    let inside = local_leader >= 0 && (local_leader as usize) < local.size();
    require(inside, class::ERR_RANK, || format!("leader {local_leader} of {} ranks", local.size()))?;
    let private = |comm: &Communicator| comm.private(Purpose::Connect, rank.caller()).link;
    let peer = if leads { Some(rank.comm(peer_comm)?) } else { None };
    if let Some(peer) = &peer {
        session::check_communicators(&local, &peer.group)?;
    }
    let peer = peer.map(|peer| private(&peer));
    let link = private(&local);
    let members = local.group.members.clone();
    let exchange = async move {
        let mut known = Payload::EMPTY;
        let mut lengths = Payload::of(&[0_u32; 3]);
        if let Some(peer) = peer {
            let tag = Tag::User(tag as u32);
            let mut mine = vec![link.new_context(), link.new_context()];
            mine.extend(&*members);
            let (other, sent) = (remote_leader as usize, Buffer::of(&mine));
            let receive = peer.irecv(Source::Rank(other), tag.into(), Payload::Phantom(usize::MAX >> 1));
            let send = peer.isend_owned(other, tag, sent, false);
            let received = receive.await?;
            send.await?;
            let theirs = received.payload.values::<u32>().unwrap_or_default().to_vec();
            // The leader whose first member comes first in the run has chosen the context of both.
            let both = if members[0] < theirs[2] { mine[0] } else { theirs[0] };
            lengths = Payload::of(&[theirs.len() as u32 - 2, both, mine[1]]);
            known = Payload::of(&theirs[2..]);
        }
        let root = local_leader as usize;
        let lengths = broadcast(&link, root, lengths, Choice::Auto).await?;
        let [count, both, own] = lengths.values::<u32>().and_then(|values| values.try_into().ok()).unwrap_or([0; 3]);
        if known.is_empty() {
            known = Payload::Data(Buffer::zeroed(4 * count as usize));
        }
        let known = broadcast(&link, root, known, Choice::Auto).await?;
        Ok::<_, Fault>((known.values::<u32>().unwrap_or_default().to_vec(), both, own))
    };
    let (remote, both, own) = rank.block(exchange)?;
    let disjoint = remote.iter().all(|&member| local.group.rank_of(member).is_none());
    require(disjoint, class::ERR_COMM, || "the groups have ranks in common".to_owned())?;
    let (group, remote) = (local.group.clone(), local.group.derive(remote));
    let created = Communicator::between(&rank.endpoint, local.rank(), group, remote, (both, own));
    created.errhandler.set(crate::errors::inherited(rank, &local));
    hand_out(rank, created, newintercomm);
    Ok(())
}

pub fn intercomm_create_from_groups(
    rank: &Rank,
    local_group: GroupHandle,
    local_leader: c_int,
    remote_group: GroupHandle,
    _remote_leader: c_int,
    stringtag: *const c_char,
    _info: InfoHandle,
    errhandler: abi::Errhandler,
    newintercomm: *mut Comm,
) -> Answer {
    let (group, remote) = (rank.group(local_group)?, rank.group(remote_group)?);
    session::check_groups(&group, &remote)?;
    let outside = || Fault::new(class::ERR_GROUP, "this process is not in the group");
    let number = group.rank_of(rank.number() as u32).ok_or_else(outside)?;
    require((local_leader as usize) < group.len(), class::ERR_RANK, || format!("leader {local_leader}"))?;
    let hash = text(stringtag).iter().fold(11_u32, |hash, &byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let (first, second) = (group.members[0].min(remote.members[0]), group.members[0].max(remote.members[0]));
    let side = u32::from(group.members[0] > remote.members[0]);
    let both = rank.endpoint.context_of((u32::MAX - 1, hash, (first << 16) | second));
    let own = rank.endpoint.context_of((u32::MAX - 2 - side, hash, (first << 16) | second));
    let created = Communicator::between(&rank.endpoint, number, (*group).clone(), (*remote).clone(), (both, own));
    created.errhandler.set(errhandler);
    synchronize(rank, &created, Purpose::Connect)?;
    hand_out(rank, created, newintercomm);
    Ok(())
}

pub fn intercomm_merge(rank: &Rank, intercomm: Comm, high: c_int, newintracomm: *mut Comm) -> Answer {
    let from = rank.comm(intercomm)?;
    let two = || Fault::new(class::ERR_COMM, "the communicator has one group only");
    let remote = from.remote.clone().ok_or_else(two)?;
    let contexts = from.derived_contexts(Purpose::Merge);
    let links = from.private(Purpose::Merge, rank.caller());
    let theirs = rank.block(crate::collective::exchange_between(links, Buffer::of(&[high != 0].map(u32::from))))?;
    let theirs = theirs.values::<u32>().first().is_some_and(|&high| high != 0);
    let goes_first = match (high != 0, theirs) {
        (false, true) => true,
        (true, false) => false,
        _ => from.group.members.first() < remote.members.first(),
    };
    let (first, second) = if goes_first { (&from.group, &remote) } else { (&remote, &from.group) };
    let group = from.group.derive(first.members.iter().chain(second.members.iter()).copied().collect());
    let number = group.rank_of(rank.number() as u32).expect("a rank is in its own group");
    let merged = Communicator::new(&rank.endpoint, number, group, contexts.0);
    merged.errhandler.set(crate::errors::inherited(rank, &from));
    synchronize(rank, &merged, Purpose::Merge)?;
    hand_out(rank, merged, newintracomm);
    Ok(())
}

/// Whether a communicator may go.
fn may_go(comm: Comm) -> Answer {
    let own = comm != abi::COMM_WORLD && comm != abi::COMM_SELF;
    require(own, class::ERR_COMM, || "communicators of the standard stay".to_owned())
}

pub fn comm_free(rank: &Rank, comm: *mut Comm) -> Answer {
    let handle = at(comm, 0);
    may_go(handle)?;
    let object = rank.comm(handle)?;
    super::delete_all_attributes(rank, handle, &object)?;
    rank.comms.remove(handle);
    put(comm, abi::COMM_NULL);
    Ok(())
}

pub fn comm_disconnect(rank: &Rank, comm: *mut Comm) -> Answer {
    let object = rank.comm(at(comm, 0))?;
    may_go(at(comm, 0))?;
    synchronize(rank, &object, Purpose::Disconnect)?;
    comm_free(rank, comm)
}

pub fn comm_set_name(rank: &Rank, comm: Comm, comm_name: *const c_char) -> Answer {
    super::is_named(comm_name)?;
    rank.comm(comm)?.name.replace(text(comm_name));
    Ok(())
}

pub fn comm_get_name(rank: &Rank, comm: Comm, comm_name: *mut c_char, resultlen: *mut c_int) -> Answer {
    if comm == abi::COMM_NULL {
        put(resultlen, put_text(comm_name, b"MPI_COMM_NULL", abi::MAX_OBJECT_NAME) as c_int);
        return Ok(());
    }
    let comm = rank.comm(comm)?;
    put(resultlen, put_text(comm_name, &comm.name.borrow(), abi::MAX_OBJECT_NAME) as c_int);
    Ok(())
}

pub fn comm_set_info(rank: &Rank, comm: Comm, info: InfoHandle) -> Answer {
    let (comm, info) = (rank.comm(comm)?, rank.info(info)?.hints(info::OF_COMMUNICATORS));
    let kept = comm.info.borrow();
    for (key, value) in info.pairs.borrow().iter() {
        kept.set(key, value);
    }
    Ok(())
}

pub fn comm_get_info(rank: &Rank, comm: Comm, info_used: *mut InfoHandle) -> Answer {
    let info = rank.comm(comm)?.info.borrow().clone();
    put(info_used, rank.shared.infos.insert(info));
    Ok(())
}

pub fn comm_get_parent(_rank: &Rank, parent: *mut Comm) -> Answer {
    put(parent, abi::COMM_NULL);
    Ok(())
}
