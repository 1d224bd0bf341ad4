//! Communicators that wrap another: what they leave to it.

/// Writes methods of a [`Communicator`](crate::Communicator) that call those of the field `inner`, by their names: for
/// wrappers that change a few methods only. The wrapper declares the types `Send` and `Receive` of the one within.
#[macro_export]
macro_rules! forward_to_inner {
    ($($method:ident),* $(,)?) => { $($crate::forward_to_inner!(@ $method);)* };
    (@ rank) => { fn rank(&self) -> usize { self.inner.rank() } };
    (@ size) => { fn size(&self) -> usize { self.inner.size() } };
    (@ wtime) => { fn wtime(&self) -> f64 { self.inner.wtime() } };
    (@ isend) => {
        fn isend(&self, to: usize, tag: $crate::Tag, payload: $crate::Payload) -> Self::Send {
            self.inner.isend(to, tag, payload)
        }
    };
    (@ irecv) => {
        fn irecv(&self, from: $crate::Source, tag: $crate::TagSelector, into: $crate::Payload) -> Self::Receive {
            self.inner.irecv(from, tag, into)
        }
    };
    (@ probe) => {
        async fn probe(
            &self,
            from: $crate::Source,
            tag: $crate::TagSelector,
        ) -> Result<$crate::Status, $crate::CommError> {
            self.inner.probe(from, tag).await
        }
    };
    (@ iprobe) => {
        async fn iprobe(
            &self,
            from: $crate::Source,
            tag: $crate::TagSelector,
        ) -> Result<Option<$crate::Status>, $crate::CommError> {
            self.inner.iprobe(from, tag).await
        }
    };
    (@ compute) => { async fn compute(&self, work: $crate::Work) { self.inner.compute(work).await; } };
    (@ world_rank) => { fn world_rank(&self) -> usize { self.inner.world_rank() } };
    (@ hops_to) => { fn hops_to(&self, rank: usize) -> Option<usize> { self.inner.hops_to(rank) } };
    (@ host) => { fn host(&self) -> Option<usize> { self.inner.host() } };
    (@ enter_collective) => {
        fn enter_collective(&self, kind: $crate::CollectiveKind) -> u32 { self.inner.enter_collective(kind) }
    };
    (@ leave_collective) => { fn leave_collective(&self) { self.inner.leave_collective(); } };
    (@ operations) => { fn operations(&self) -> Option<&dyn $crate::Operations> { self.inner.operations() } };
    (@ native) => { fn native(&self) -> Option<&dyn $crate::NativeCollectives> { self.inner.native() } };
}
