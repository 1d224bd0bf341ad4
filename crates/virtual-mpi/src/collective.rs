//! Collectives on bytes: weft's own where they fit, and what MPI has besides them.

use std::ffi::c_int;
use std::rc::Rc;

use weft_base::Operation as NodeOperation;
use weft_comm::collective::{self, Choice, Reduction, Rounds};
use weft_comm::{Buffer, CollectiveKind, Communicator as _, Payload, Source, Tag, Work};
use weft_sim::{Part, SimComm};

use crate::apart::home;
use crate::communicator::{Caller, Links};
use crate::datatype::Datatype;
use crate::fault::{Fault, class};
use crate::link::{self, Link};
use crate::meter;
use crate::operation::Operation;

/// One call of a collective on a link: its messages match among themselves only.
struct Call<'a> {
    link: &'a Link,
    tag: Tag,
}

impl<'a> Call<'a> {
    fn enter(link: &'a Link, kind: CollectiveKind) -> Call<'a> {
        let sequence = link.enter_collective(kind);
        Call { link, tag: Tag::Collective { kind, sequence } }
    }

    fn isend(&self, to: usize, data: Buffer) -> link::Send {
        self.link.isend_owned(to, self.tag, data, false)
    }

    fn irecv(&self, from: usize) -> link::Receive {
        self.link.irecv(Source::Rank(from), self.tag.into(), Payload::Phantom(usize::MAX >> 1))
    }

    async fn send(&self, to: usize, data: Buffer) -> Result<(), Fault> {
        self.isend(to, data).await?;
        Ok(())
    }

    async fn receive(&self, from: usize) -> Result<Buffer, Fault> {
        Ok(into_buffer(self.irecv(from).await?.payload))
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.link.leave_collective();
    }
}

/// The bytes of a payload.
pub fn into_buffer(payload: Payload) -> Buffer {
    match payload {
        Payload::Data(data) => data,
        Payload::Phantom(bytes) => Buffer::zeroed(bytes),
    }
}

/// The bytes of a payload, where it has any.
pub fn bytes_of(payload: &Payload) -> &[u8] {
    match payload {
        Payload::Data(data) => data,
        Payload::Phantom(_) => &[],
    }
}

/// A collective that the simulator carries out for all ranks together, as one of them sees it.
struct Joint<'a> {
    comm: &'a SimComm,
    rounds: Rounds,
    kind: CollectiveKind,
    is_polled: bool,
}

impl Joint<'_> {
    async fn join(self, vector: Payload, reduction: Option<Reduction>) -> Result<Rc<Payload>, Fault> {
        let Joint { comm, rounds, kind, is_polled } = self;
        Ok(comm.join_rounds(rounds, Part { kind, vector, reduction, is_polled }).await?)
    }
}

/// The collective, if the simulator is in this process and carries it out, and the caller waits for it.
fn carried_out<'a>(links: &'a Links, kind: CollectiveKind, vector: &Payload) -> Option<Joint<'a>> {
    let is_polled = match links.caller {
        Caller::Elsewhere => return None,
        caller => caller == Caller::WaitsBesideOthers,
    };
    let comm = links.link.simulated()?;
    Some(Joint { comm, rounds: comm.rounds(kind, vector.len())?, kind, is_polled })
}

/// Whose data a collective with a root is about, between two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A rank of the own group, or the root of the other one.
    Rank(usize),
    /// This rank is the root; the other group takes part.
    Here,
    /// Another rank of this rank's group is.
    Elsewhere,
}

/// Both groups' first ranks swap what they have; all get what the other group's first rank had.
pub async fn exchange_between(links: Links, mine: Buffer) -> Result<Buffer, Fault> {
    let own = links.own.as_ref().ok_or_else(one_group)?;
    let call = Call::enter(&links.link, CollectiveKind::Allgather);
    let theirs = if own.rank() == 0 {
        let receive = call.irecv(0);
        call.send(0, mine).await?;
        into_buffer(receive.await?.payload)
    } else {
        Buffer::zeroed(0)
    };
    broadcast_unknown(own, 0, theirs).await
}

/// A broadcast of which only the root knows the length.
async fn broadcast_unknown(link: &Link, root: usize, data: Buffer) -> Result<Buffer, Fault> {
    let len = Payload::of(&[data.len() as u64]);
    let len = collective::broadcast(link, root, len, Choice::Auto).await?;
    let len = len.values::<u64>().map_or(0, |values| values[0]) as usize;
    let data = if link.rank() == root { data } else { Buffer::zeroed(len) };
    Ok(into_buffer(collective::broadcast(link, root, Payload::Data(data), Choice::Auto).await?))
}

/// Links among one group.
fn within(link: &Link) -> Links {
    Links { link: link.clone(), own: None, caller: Caller::Elsewhere }
}

fn one_group() -> Fault {
    Fault::new(class::ERR_COMM, "the communicator has one group only")
}

pub async fn barrier(links: Links) -> Result<(), Fault> {
    if links.own.is_some() {
        Box::pin(exchange_between(links, Buffer::zeroed(0))).await?;
        return Ok(());
    }
    if let Some(joined) = carried_out(&links, CollectiveKind::Barrier, &Payload::EMPTY) {
        joined.join(Payload::EMPTY, None).await?;
        return Ok(());
    }
    Ok(Box::pin(collective::barrier(&links.link, Choice::Auto)).await?)
}

/// What the root has; nothing on ranks beside a root between two groups.
pub async fn broadcast(links: Links, root: Root, data: Buffer) -> Result<Option<Buffer>, Fault> {
    match (&links.own, root) {
        (None, Root::Rank(root)) => {
            let payload = collective::broadcast(&links.link, root, Payload::Data(data), Choice::Auto).await?;
            Ok(Some(into_buffer(payload)))
        }
        (Some(_), Root::Here) => {
            Call::enter(&links.link, CollectiveKind::Broadcast).send(0, data).await?;
            Ok(None)
        }
        (Some(own), Root::Rank(root)) => {
            let call = Call::enter(&links.link, CollectiveKind::Broadcast);
            let data = if own.rank() == 0 { call.receive(root).await? } else { data };
            let payload = collective::broadcast(own, 0, Payload::Data(data), Choice::Auto).await?;
            Ok(Some(into_buffer(payload)))
        }
        _ => {
            drop(Call::enter(&links.link, CollectiveKind::Broadcast));
            Ok(None)
        }
    }
}

/// Each rank's part at the root, in the order of ranks. Only the root knows whether parts are equal: where all ranks
/// say that they are, weft's own gather is taken.
pub async fn gather(links: Links, root: Root, part: Buffer, equal: bool) -> Result<Option<Vec<Buffer>>, Fault> {
    if let (None, Root::Rank(root), true) = (&links.own, root, equal) {
        let part = Payload::Data(part);
        let whole = collective::gather(&links.link, root, &part, None, Choice::Auto).await?;
        return Ok(whole.map(|whole| cut(&into_buffer(whole), links.link.size())));
    }
    let call = Call::enter(&links.link, CollectiveKind::Gather);
    match root {
        Root::Rank(root) if links.own.is_some() || links.link.rank() != root => {
            call.send(root, part).await?;
            Ok(None)
        }
        Root::Rank(root) => {
            let mut own = Some(part);
            let receives: Vec<_> =
                (0..links.link.size()).map(|from| (from != root).then(|| call.irecv(from))).collect();
            let mut parts = Vec::with_capacity(receives.len());
            for receive in receives {
                parts.push(match receive {
                    Some(receive) => into_buffer(receive.await?.payload),
                    None => own.take().unwrap_or_else(|| Buffer::zeroed(0)),
                });
            }
            Ok(Some(parts))
        }
        Root::Here => {
            let receives: Vec<_> = (0..links.link.size()).map(|from| call.irecv(from)).collect();
            let mut parts = Vec::with_capacity(receives.len());
            for receive in receives {
                parts.push(into_buffer(receive.await?.payload));
            }
            Ok(Some(parts))
        }
        Root::Elsewhere => Ok(None),
    }
}

/// Equal parts of a whole.
fn cut(whole: &Buffer, parts: usize) -> Vec<Buffer> {
    let bytes = whole.len() / parts.max(1);
    (0..parts).map(|index| Buffer::of(&whole[index * bytes..(index + 1) * bytes])).collect()
}

/// This rank's part of what the root has, in the order of ranks.
pub async fn scatter(
    links: Links,
    root: Root,
    parts: Option<Vec<Buffer>>,
    equal: Option<usize>,
) -> Result<Option<Buffer>, Fault> {
    if let (None, Root::Rank(root), Some(bytes)) = (&links.own, root, equal) {
        let whole = parts
            .map(|parts| Payload::Data(Buffer::of(&parts.iter().flat_map(|part| part.to_vec()).collect::<Vec<u8>>())));
        let into = Payload::Data(Buffer::zeroed(bytes));
        let part = collective::scatter(&links.link, root, whole.as_ref(), into, Choice::Auto).await?;
        return Ok(Some(into_buffer(part)));
    }
    let call = Call::enter(&links.link, CollectiveKind::Scatter);
    match (root, parts) {
        (Root::Rank(root), Some(parts)) if links.own.is_none() && links.link.rank() == root => {
            let mut own = None;
            let mut sends = Vec::with_capacity(parts.len());
            for (to, part) in parts.into_iter().enumerate() {
                if to == root { own = Some(part) } else { sends.push(call.isend(to, part)) }
            }
            for send in sends {
                send.await?;
            }
            Ok(own)
        }
        (Root::Here, Some(parts)) => {
            let sends: Vec<_> = parts.into_iter().enumerate().map(|(to, part)| call.isend(to, part)).collect();
            for send in sends {
                send.await?;
            }
            Ok(None)
        }
        (Root::Rank(root), _) => Ok(Some(call.receive(root).await?)),
        _ => Ok(None),
    }
}

/// Every rank's part, in the order of ranks (of the other group, where there are two). `lens` are the lengths, which
/// all ranks know.
pub async fn allgather(links: Links, part: Buffer, lens: &[usize]) -> Result<Vec<Buffer>, Fault> {
    if let Some(own) = &links.own {
        let parts = gather(within(own), Root::Rank(0), part, false).await?;
        let whole = parts.map_or_else(|| Buffer::zeroed(0), |parts| join(&parts));
        let theirs = exchange_between(links.clone(), whole).await?;
        return Ok(divide(&theirs, lens));
    }
    if lens.iter().all(|&len| len == lens[0]) {
        let whole = collective::allgather(&links.link, &Payload::Data(part), None, Choice::Auto).await?;
        return Ok(cut(&into_buffer(whole), lens.len()));
    }
    // A ring: every part goes once around.
    let call = Call::enter(&links.link, CollectiveKind::Allgather);
    let (rank, size) = (links.link.rank(), links.link.size());
    let mut parts: Vec<Option<Buffer>> = vec![None; size];
    parts[rank] = Some(part);
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    for step in 0..size - 1 {
        let out = parts[(rank + size - step) % size].clone().expect("a part that came in the step before");
        let receive = call.irecv(previous);
        let send = call.isend(next, out);
        parts[(previous + size - step) % size] = Some(into_buffer(receive.await?.payload));
        send.await?;
    }
    Ok(parts.into_iter().flatten().collect())
}

fn join(parts: &[Buffer]) -> Buffer {
    let mut whole = Buffer::zeroed(parts.iter().map(|part| part.len()).sum());
    let mut at = 0;
    for part in parts {
        whole[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    whole
}

fn divide(whole: &Buffer, lens: &[usize]) -> Vec<Buffer> {
    let mut at = 0;
    lens.iter()
        .map(|&len| {
            let part = Buffer::of(&whole[at.min(whole.len())..(at + len).min(whole.len())]);
            at += len;
            part
        })
        .collect()
}

/// A part to every rank and one from every rank (of the other group, where there are two); `lens` are those that come.
pub async fn alltoall(links: Links, parts: Vec<Buffer>, lens: &[usize]) -> Result<Vec<Buffer>, Fault> {
    if links.own.is_none() {
        let out: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let whole = Payload::Data(join(&parts));
        let result = collective::alltoallv(&links.link, &whole, &out, lens, None, Choice::Auto).await?;
        return Ok(divide(&into_buffer(result), lens));
    }
    let call = Call::enter(&links.link, CollectiveKind::Alltoall);
    let receives: Vec<_> = (0..lens.len()).map(|from| call.irecv(from)).collect();
    let sends: Vec<_> = parts.into_iter().enumerate().map(|(to, part)| call.isend(to, part)).collect();
    let mut result = Vec::with_capacity(lens.len());
    for receive in receives {
        result.push(into_buffer(receive.await?.payload));
    }
    for send in sends {
        send.await?;
    }
    Ok(result)
}

/// As [`alltoall`], where all parts of all ranks are equal.
pub async fn alltoall_equal(links: Links, parts: Vec<Buffer>) -> Result<Vec<Buffer>, Fault> {
    let lens: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    if links.own.is_some() {
        return alltoall(links, parts, &lens).await;
    }
    let whole = Payload::Data(join(&parts));
    let result = collective::alltoall(&links.link, &whole, None, Choice::Auto).await?;
    Ok(divide(&into_buffer(result), &lens))
}

/// What combines vectors of a call.
#[derive(Clone)]
pub struct Reducer {
    pub operation: Operation,
    pub datatype: Rc<Datatype>,
    pub handle: c_int,
}

impl Reducer {
    /// `left ∘ right` for vectors of `count` elements.
    async fn combine(&self, link: &Link, left: &Buffer, mut right: Buffer, count: usize) -> Buffer {
        if !matches!(self.operation, Operation::Predefined(_)) {
            // A function of the program runs where its rank does.
            home().await;
        }
        let shift = self.datatype.true_lb();
        let (input, inout) = (left.as_ptr().wrapping_offset(-shift), right.as_mut_ptr().wrapping_offset(-shift));
        // SAFETY: both hold `count` elements, as they lie in memory, from the first byte in use on.
        unsafe { self.operation.combine(input.cast(), inout.cast(), count, &self.datatype, self.handle) };
        if matches!(self.operation, Operation::Predefined(_)) {
            let elements = (count * self.datatype.elements()) as u64;
            link.compute(Work::Operations { operation: NodeOperation::Int32Add, count: elements }).await;
        }
        right
    }

    /// Bytes of a vector of `count` elements as it lies in memory.
    pub fn span(&self, count: usize) -> usize {
        if count == 0 {
            return 0;
        }
        (self.datatype.true_extent() + (count as isize - 1) * self.datatype.extent).max(0) as usize
    }

    /// A vector of the program.
    pub fn load(&self, address: *const std::ffi::c_void, count: usize) -> Buffer {
        let mut data = Buffer::zeroed(self.span(count));
        let from = address.cast::<u8>().wrapping_offset(self.datatype.true_lb());
        // SAFETY: the program hands in so many elements, and they span so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(from, data.as_mut_ptr(), data.len()) };
        data
    }

    /// Writes a vector to the program's memory.
    pub fn store(&self, data: &[u8], address: *mut std::ffi::c_void, count: usize) {
        let to = address.cast::<u8>().wrapping_offset(self.datatype.true_lb());
        if self.datatype.is_dense() {
            let bytes = data.len().min(self.span(count));
            // SAFETY: the program hands in memory for so many elements, and they span so many bytes.
            unsafe {
                meter::write_pages(&self.datatype, to.cast(), bytes);
                std::ptr::copy_nonoverlapping(data.as_ptr(), to, bytes);
            }
            return;
        }
        let mut packed = Buffer::zeroed(count * self.datatype.size);
        let from = data.as_ptr().wrapping_offset(-self.datatype.true_lb());
        // SAFETY: the data are so many elements as they lie in memory; gaps between them are not the library's to write.
        unsafe {
            self.datatype.pack(from.cast(), count, &mut packed);
            self.datatype.unpack(&packed, address, count);
        }
    }
}

/// All vectors combined in the order of ranks, at the root.
pub async fn reduce(
    link: &Link,
    root: usize,
    data: Buffer,
    count: usize,
    reducer: &Reducer,
) -> Result<Option<Buffer>, Fault> {
    if let Some(reduction) = reducer.operation.reduction(&reducer.datatype) {
        let result = collective::reduce(link, root, Payload::Data(data), reduction, Choice::Auto).await?;
        return Ok((link.rank() == root).then(|| into_buffer(result)));
    }
    let call = Call::enter(link, CollectiveKind::Reduce);
    let (rank, size) = (link.rank(), link.size());
    let (mut data, mut distance) = (Some(data), 1);
    while distance < size {
        if rank & distance != 0 {
            if let Some(data) = data.take() {
                call.send(rank - distance, data).await?;
            }
            break;
        }
        if rank + distance < size {
            let right = call.receive(rank + distance).await?;
            if let Some(left) = data.take() {
                data = Some(reducer.combine(link, &left, right, count).await);
            }
        }
        distance *= 2;
    }
    match (rank, root) {
        (0, 0) => Ok(data),
        (0, _) => {
            if let Some(data) = data {
                call.send(root, data).await?;
            }
            Ok(None)
        }
        _ if rank == root => Ok(Some(call.receive(0).await?)),
        _ => Ok(None),
    }
}

/// A reduction to another rank of this rank's group, between two: it is counted, and nothing is sent.
pub async fn reduce_elsewhere(links: Links) -> Result<(), Fault> {
    drop(Call::enter(&links.link, CollectiveKind::Reduce));
    Ok(())
}

/// As [`reduce`], where the root may be in another group than those whose vectors are combined.
pub async fn reduce_to(
    links: Links,
    root: Root,
    data: Buffer,
    count: usize,
    reducer: Reducer,
) -> Result<Option<Buffer>, Fault> {
    let Some(own) = &links.own else {
        let Root::Rank(root) = root else { return Ok(None) };
        return reduce(&links.link, root, data, count, &reducer).await;
    };
    let call = Call::enter(&links.link, CollectiveKind::Reduce);
    match root {
        Root::Here => Ok(Some(call.receive(0).await?)),
        Root::Elsewhere => Ok(None),
        Root::Rank(root) => {
            if let Some(result) = reduce(own, 0, data, count, &reducer).await? {
                call.send(root, result).await?;
            }
            Ok(None)
        }
    }
}

/// All vectors combined (those of the other group, where there are two).
pub async fn allreduce(links: Links, data: Buffer, count: usize, reducer: Reducer) -> Result<Rc<Payload>, Fault> {
    let Some(reduction) = reducer.operation.reduction(&reducer.datatype).filter(|_| links.own.is_none()) else {
        return Box::pin(allreduce_by_parts(links, data, count, reducer)).await;
    };
    let data = Payload::Data(data);
    if let Some(joined) = carried_out(&links, CollectiveKind::Allreduce, &data) {
        return joined.join(data, Some(reduction)).await;
    }
    // Every rank has one of these while it waits: what is only needed elsewhere is not in it.
    let result = Box::pin(collective::allreduce(&links.link, data, reduction, Choice::Auto)).await?;
    Ok(Rc::new(result))
}

/// An all-reduce that is made of other collectives.
async fn allreduce_by_parts(links: Links, data: Buffer, count: usize, reducer: Reducer) -> Result<Rc<Payload>, Fault> {
    if let Some(own) = &links.own {
        let result = reduce(own, 0, data, count, &reducer).await?;
        let result = exchange_between(links.clone(), result.unwrap_or_else(|| Buffer::zeroed(0))).await?;
        return Ok(Rc::new(Payload::Data(result)));
    }
    let link = &links.link;
    let result = reduce(link, 0, data, count, &reducer).await?;
    let result = result.unwrap_or_else(|| Buffer::zeroed(reducer.span(count)));
    Ok(Rc::new(collective::broadcast(link, 0, Payload::Data(result), Choice::Auto).await?))
}

/// The vectors of this rank and those before it combined; if `exclusive`, without its own, and nothing on rank 0.
pub async fn scan(
    link: Link,
    data: Buffer,
    count: usize,
    reducer: Reducer,
    exclusive: bool,
) -> Result<Option<Buffer>, Fault> {
    if let Some(reduction) = reducer.operation.reduction(&reducer.datatype) {
        let data = Payload::Data(data);
        if exclusive {
            let result = collective::exscan(&link, data, reduction, Choice::Auto).await?;
            return Ok((link.rank() > 0).then(|| into_buffer(result)));
        }
        return Ok(Some(into_buffer(collective::scan(&link, data, reduction, Choice::Auto).await?)));
    }
    let call = Call::enter(&link, CollectiveKind::Scan);
    let (rank, size) = (link.rank(), link.size());
    let before = if rank > 0 { Some(call.receive(rank - 1).await?) } else { None };
    let with = match &before {
        Some(before) => reducer.combine(&link, before, data, count).await,
        None => data,
    };
    if rank + 1 < size {
        call.send(rank + 1, with.clone()).await?;
    }
    Ok(if exclusive { before } else { Some(with) })
}

/// This rank's part of all vectors combined; `counts` are the elements of every rank's part.
pub async fn reduce_scatter(links: Links, data: Buffer, counts: Vec<usize>, reducer: Reducer) -> Result<Buffer, Fault> {
    let count: usize = counts.iter().sum();
    if let (None, Some(reduction)) = (&links.own, reducer.operation.reduction(&reducer.datatype))
        && counts.iter().all(|&part| part == counts[0])
    {
        let result =
            collective::reduce_scatter(&links.link, &Payload::Data(data), None, reduction, Choice::Auto).await?;
        return Ok(into_buffer(result));
    }
    let link = match &links.own {
        None => links.link.clone(),
        Some(own) => own.clone(),
    };
    let whole = match &links.own {
        None => reduce(&link, 0, data, count, &reducer).await?,
        Some(own) => {
            let result = reduce(own, 0, data, count, &reducer).await?;
            let theirs = exchange_between(links.clone(), result.unwrap_or_else(|| Buffer::zeroed(0))).await?;
            (own.rank() == 0).then_some(theirs)
        }
    };
    let parts = whole.map(|whole| {
        let mut first = 0;
        let parts = counts.iter().map(|&count| {
            let from = (first as isize * reducer.datatype.extent) as usize;
            first += count;
            let to = (from + reducer.span(count)).min(whole.len());
            Buffer::of(&whole[from.min(to)..to])
        });
        parts.collect::<Vec<_>>()
    });
    let part = scatter(within(&link), Root::Rank(0), parts, None).await?;
    Ok(part.unwrap_or_else(|| Buffer::zeroed(0)))
}

/// A part to each of some ranks and one from each of others; a rank may be none, and come more than once.
pub async fn neighbors(
    link: Link,
    to: Vec<Option<usize>>,
    parts: Vec<Buffer>,
    from: Vec<Option<usize>>,
) -> Result<Vec<Option<Buffer>>, Fault> {
    let call = Call::enter(&link, CollectiveKind::Alltoallv);
    let receives: Vec<_> = from.into_iter().map(|from| from.map(|from| call.irecv(from))).collect();
    let pairs = to.into_iter().zip(parts);
    let sends: Vec<_> = pairs.filter_map(|(to, part)| to.map(|to| call.isend(to, part))).collect();
    let mut result = Vec::with_capacity(receives.len());
    for receive in receives {
        result.push(match receive {
            Some(receive) => Some(into_buffer(receive.await?.payload)),
            None => None,
        });
    }
    for send in sends {
        send.await?;
    }
    Ok(result)
}
