//! All-to-all, with equal and with differing parts.

use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::blocks::doublings;
use super::gather::rotate;
use super::scope::{Engine, Scope};

/// Gives every rank one part of every rank: `whole` has one part for each rank in rank order, and so has the result,
/// from each rank. All parts have one length. `into` is space for the result; `None` allocates it.
///
/// | algorithm | time on p ranks, n bytes on each, startup a, byte time b | messages in all |
/// |---|---|---|
/// | bruck | ceil(log2 p) (a + n/2 b) | p ceil(log2 p) |
/// | spread | (p - 1) (a + n/p b), or as much less as the machine does at once | p (p - 1) |
/// | pairwise | (p - 1) (a + n/p b) | p (p - 1) |
///
/// Bruck et al. 1997, section 3 (see [`allgather`](super::allgather())); Thakur, Rabenseifner, Gropp 2005, section 4.3.
/// Spread posts everything at once, the messages in the order of the partners after this rank; pairwise has one partner
/// at a time, in step s rank r sends to r + s.
///
/// # Errors
/// [`crate::Failure::MismatchedArguments`] where lengths differ or do not divide.
pub async fn alltoall<C: Communicator>(
    comm: &C,
    whole: &Payload,
    into: Option<Payload>,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Alltoall);
    let (size, bytes) = (scope.size, whole.len());
    if bytes % size != 0 {
        return Err(scope.mismatch(format!("{bytes} bytes are not {size} equal parts")));
    }
    let block = bytes / size;
    let parts = || Parts::equal(size, block);
    let mut result = scope.space(into, whole, bytes)?;
    match scope.engine(choice, block)? {
        Engine::Native(native) => native.alltoall_into(whole, &mut result)?,
        Engine::Own(Algorithm::Bruck) => bruck(&scope, whole, block, &mut result).await?,
        Engine::Own(Algorithm::Spread) => spread(&scope, whole, &parts(), &parts(), &mut result).await?,
        Engine::Own(Algorithm::Pairwise) => pairwise(&scope, whole, &parts(), &parts(), &mut result).await?,
        Engine::Own(other) => scope.impossible(other),
    }
    Ok(result)
}

/// As [`alltoall`], with parts of differing lengths: `send_bytes[r]` bytes of `whole` go to rank `r`, `recv_bytes[r]`
/// bytes come from it.
///
/// | algorithm | messages in all |
/// |---|---|
/// | spread | p (p - 1), all posted at once |
/// | pairwise | p (p - 1), one partner at a time |
///
/// A part of no bytes is a message too. The choice by default goes by the mean part sent, which may differ from rank to
/// rank: spread and pairwise send the same messages and may meet.
///
/// # Errors
/// [`crate::Failure::MismatchedArguments`] where a part is longer or shorter than its receiver expects, or where the
/// lengths are not those of `size` parts or do not add up to that of `whole`.
pub async fn alltoallv<C: Communicator>(
    comm: &C,
    whole: &Payload,
    send_bytes: &[usize],
    recv_bytes: &[usize],
    into: Option<Payload>,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Alltoallv);
    check_parts(&scope, whole.len(), send_bytes, recv_bytes)?;
    let mut result = scope.space(into, whole, recv_bytes.iter().sum())?;
    let (out, back) = (|| Parts::of(send_bytes), || Parts::of(recv_bytes));
    match scope.engine(choice, whole.len() / scope.size)? {
        Engine::Native(native) => native.alltoallv_into(whole, send_bytes, recv_bytes, &mut result)?,
        Engine::Own(Algorithm::Spread) => spread(&scope, whole, &out(), &back(), &mut result).await?,
        Engine::Own(Algorithm::Pairwise) => pairwise(&scope, whole, &out(), &back(), &mut result).await?,
        Engine::Own(other) => scope.impossible(other),
    }
    Ok(result)
}

/// Where the parts of a payload start; the last entry is where they end.
struct Parts(Vec<usize>);

impl Parts {
    fn of(bytes: &[usize]) -> Parts {
        let mut starts = Vec::with_capacity(bytes.len() + 1);
        starts.push(0);
        starts.extend(bytes.iter().scan(0, |end, bytes| {
            *end += bytes;
            Some(*end)
        }));
        Parts(starts)
    }

    fn equal(size: usize, block: usize) -> Parts {
        Parts((0..=size).map(|rank| rank * block).collect())
    }

    fn start(&self, rank: usize) -> usize {
        self.0[rank]
    }

    fn bytes(&self, rank: usize) -> usize {
        self.0[rank + 1] - self.0[rank]
    }

    fn cut(&self, whole: &Payload, rank: usize) -> Payload {
        whole.part(self.0[rank], self.0[rank + 1])
    }
}

fn check_parts<C: Communicator>(
    scope: &Scope<'_, C>,
    bytes: usize,
    out: &[usize],
    into: &[usize],
) -> Result<(), CommError> {
    let (rank, size) = (scope.rank, scope.size);
    if out.len() != size || into.len() != size {
        let (sends, receives) = (out.len(), into.len());
        return Err(scope.mismatch(format!("{sends} lengths to send and {receives} to receive for {size} ranks")));
    }
    let total: usize = out.iter().sum();
    if total != bytes {
        return Err(scope.mismatch(format!("parts of {total} bytes in all for a payload of {bytes}")));
    }
    if out[rank] != into[rank] {
        let (sent, expected) = (out[rank], into[rank]);
        return Err(scope.mismatch(format!("this rank sends itself {sent} bytes and expects {expected}")));
    }
    Ok(())
}

async fn spread<C: Communicator>(
    scope: &Scope<'_, C>,
    whole: &Payload,
    out: &Parts,
    into: &Parts,
    result: &mut Payload,
) -> Result<(), CommError> {
    result.put(into.start(scope.rank), &out.cut(whole, scope.rank));
    let post = |rank: usize| (rank, scope.post(rank, whole.same_sort(into.bytes(rank))));
    let posted: Vec<_> = (1..scope.size).map(|distance| post(scope.before(distance))).collect();
    let send = |rank: usize| scope.isend(rank, out.cut(whole, rank));
    let sent: Vec<_> = (1..scope.size).map(|distance| send(scope.after(distance))).collect();
    for (rank, posted) in posted {
        result.put(into.start(rank), &scope.take(posted).await?);
    }
    for sent in sent {
        sent.await?;
    }
    Ok(())
}

async fn pairwise<C: Communicator>(
    scope: &Scope<'_, C>,
    whole: &Payload,
    out: &Parts,
    into: &Parts,
    result: &mut Payload,
) -> Result<(), CommError> {
    result.put(into.start(scope.rank), &out.cut(whole, scope.rank));
    for distance in 1..scope.size {
        let (to, from) = (scope.after(distance), scope.before(distance));
        let space = whole.same_sort(into.bytes(from));
        let received = scope.exchange(to, out.cut(whole, to), from, space).await?;
        result.put(into.start(from), &received);
    }
    Ok(())
}

/// Part `i`, counted from the receiver's distance, travels the distances of which `i` is the sum.
async fn bruck<C: Communicator>(
    scope: &Scope<'_, C>,
    whole: &Payload,
    block: usize,
    result: &mut Payload,
) -> Result<(), CommError> {
    let (rank, size) = (scope.rank, scope.size);
    let mut by_distance = whole.same_sort(whole.len());
    rotate(whole, (size - rank) % size * block, &mut by_distance);
    for distance in doublings(size) {
        let travelling: Vec<usize> = (0..size).filter(|index| index & distance != 0).collect();
        let mut out = whole.same_sort(travelling.len() * block);
        for (slot, index) in travelling.iter().enumerate() {
            out.put(slot * block, &by_distance.part(index * block, (index + 1) * block));
        }
        let into = whole.same_sort(out.len());
        let received = scope.exchange(scope.after(distance), out, scope.before(distance), into).await?;
        for (slot, index) in travelling.iter().enumerate() {
            by_distance.put(index * block, &received.part(slot * block, (slot + 1) * block));
        }
    }
    for index in 0..size {
        result.put(scope.before(index) * block, &by_distance.part(index * block, (index + 1) * block));
    }
    Ok(())
}
