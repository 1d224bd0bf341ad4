//! Exchanges with a datatype for each peer: how many there are, only the communicator says.
#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments, reason = "as the standard has them")]

use std::ffi::{c_int, c_void};

use crate::translation::{
    Address as _, Aint, Function, Handle, code_out, comm_in, datatype_in, handles_in, info_in, request_out,
};

/// How many ranks a call with a datatype for each is about: sources and destinations.
unsafe fn rank_counts(comm: Handle, neighbors: bool) -> (c_int, c_int) {
    type Two = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
    type Three = unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int;
    type Four = unsafe extern "C" fn(c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
    static INTER: Function = Function::new(c"MPI_Comm_test_inter");
    static SIZE: Function = Function::new(c"MPI_Comm_size");
    static REMOTE: Function = Function::new(c"MPI_Comm_remote_size");
    static TOPOLOGY: Function = Function::new(c"MPI_Topo_test");
    static EXTENTS: Function = Function::new(c"MPI_Cartdim_get");
    static RANK: Function = Function::new(c"MPI_Comm_rank");
    static GRAPH: Function = Function::new(c"MPI_Graph_neighbors_count");
    static DISTRIBUTED: Function = Function::new(c"MPI_Dist_graph_neighbors_count");
    // SAFETY: the functions have these parameters.
    unsafe {
        let comm = comm_in(comm);
        let ask = |function: &Function| {
            let (mut value, function) = (0, function.get::<Two>());
            function(comm, &raw mut value);
            value
        };
        if !neighbors {
            let size = ask(if ask(&INTER) == 0 { &SIZE } else { &REMOTE });
            return (size, size);
        }
        match ask(&TOPOLOGY) {
            2 => (2 * ask(&EXTENTS), 2 * ask(&EXTENTS)),
            1 => {
                let (mut count, function) = (0, GRAPH.get::<Three>());
                function(comm, ask(&RANK), &raw mut count);
                (count, count)
            }
            _ => {
                let (mut sources, mut destinations, mut weighted) = (0, 0, 0);
                DISTRIBUTED.get::<Four>()(comm, &raw mut sources, &raw mut destinations, &raw mut weighted);
                (sources, destinations)
            }
        }
    }
}

/// What a call with a datatype for each peer sends or receives.
struct Typed {
    types: Vec<c_int>,
}

impl Typed {
    /// # Safety
    /// There are so many datatypes, unless the buffer stands for the other one.
    unsafe fn new(buffer: *const c_void, types: *const Handle, count: c_int) -> Typed {
        let count = if buffer.addr() == 1 { 0 } else { count };
        // SAFETY: the array has a datatype for each peer, or is not read.
        Typed { types: unsafe { handles_in(types, count, true, datatype_in) } }
    }

    fn address(&self) -> *const c_int {
        self.types.as_ptr()
    }
}

pub unsafe extern "C" fn MPI_Alltoallw(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtypes: *const Handle,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtypes: *const Handle,
    comm: Handle,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Alltoallw");
    type Call = unsafe extern "C" fn(
        *const c_void,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut c_void,
        *const c_int,
        *const c_int,
        *const c_int,
        c_int,
    ) -> c_int;
    // SAFETY: the function has these parameters; the arrays have a datatype for each peer.
    unsafe {
        let (sources, destinations) = rank_counts(comm, false);
        let (sent, received) = (Typed::new(sendbuf, sendtypes, destinations), Typed::new(recvbuf, recvtypes, sources));
        let function: Call = FUNCTION.get();
        let result = function(
            sendbuf.in_place(),
            sendcounts,
            sdispls,
            sent.address(),
            recvbuf,
            recvcounts,
            rdispls,
            received.address(),
            comm_in(comm),
        );
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Ialltoallw(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtypes: *const Handle,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtypes: *const Handle,
    comm: Handle,
    request: *mut Handle,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Ialltoallw");
    type Call = unsafe extern "C" fn(
        *const c_void,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut c_void,
        *const c_int,
        *const c_int,
        *const c_int,
        c_int,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the function has these parameters; the arrays have a datatype for each peer.
    unsafe {
        let (sources, destinations) = rank_counts(comm, false);
        let (sent, received) = (Typed::new(sendbuf, sendtypes, destinations), Typed::new(recvbuf, recvtypes, sources));
        let function: Call = FUNCTION.get();
        let mut number = 0;
        let result = function(
            sendbuf.in_place(),
            sendcounts,
            sdispls,
            sent.address(),
            recvbuf,
            recvcounts,
            rdispls,
            received.address(),
            comm_in(comm),
            &raw mut number,
        );
        *request = request_out(number);
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Alltoallw_init(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtypes: *const Handle,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtypes: *const Handle,
    comm: Handle,
    info: Handle,
    request: *mut Handle,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Alltoallw_init");
    type Call = unsafe extern "C" fn(
        *const c_void,
        *const c_int,
        *const c_int,
        *const c_int,
        *mut c_void,
        *const c_int,
        *const c_int,
        *const c_int,
        c_int,
        c_int,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the function has these parameters; the arrays have a datatype for each peer.
    unsafe {
        let (sources, destinations) = rank_counts(comm, false);
        let (sent, received) = (Typed::new(sendbuf, sendtypes, destinations), Typed::new(recvbuf, recvtypes, sources));
        let function: Call = FUNCTION.get();
        let mut number = 0;
        let result = function(
            sendbuf.in_place(),
            sendcounts,
            sdispls,
            sent.address(),
            recvbuf,
            recvcounts,
            rdispls,
            received.address(),
            comm_in(comm),
            info_in(info),
            &raw mut number,
        );
        *request = request_out(number);
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Neighbor_alltoallw(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const Aint,
    sendtypes: *const Handle,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const Aint,
    recvtypes: *const Handle,
    comm: Handle,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Neighbor_alltoallw");
    type Call = unsafe extern "C" fn(
        *const c_void,
        *const c_int,
        *const Aint,
        *const c_int,
        *mut c_void,
        *const c_int,
        *const Aint,
        *const c_int,
        c_int,
    ) -> c_int;
    // SAFETY: the function has these parameters; the arrays have a datatype for each peer.
    unsafe {
        let (sources, destinations) = rank_counts(comm, true);
        let (sent, received) = (Typed::new(sendbuf, sendtypes, destinations), Typed::new(recvbuf, recvtypes, sources));
        let function: Call = FUNCTION.get();
        let result = function(
            sendbuf.in_place(),
            sendcounts,
            sdispls,
            sent.address(),
            recvbuf,
            recvcounts,
            rdispls,
            received.address(),
            comm_in(comm),
        );
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Ineighbor_alltoallw(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const Aint,
    sendtypes: *const Handle,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const Aint,
    recvtypes: *const Handle,
    comm: Handle,
    request: *mut Handle,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Ineighbor_alltoallw");
    type Call = unsafe extern "C" fn(
        *const c_void,
        *const c_int,
        *const Aint,
        *const c_int,
        *mut c_void,
        *const c_int,
        *const Aint,
        *const c_int,
        c_int,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the function has these parameters; the arrays have a datatype for each peer.
    unsafe {
        let (sources, destinations) = rank_counts(comm, true);
        let (sent, received) = (Typed::new(sendbuf, sendtypes, destinations), Typed::new(recvbuf, recvtypes, sources));
        let function: Call = FUNCTION.get();
        let mut number = 0;
        let result = function(
            sendbuf.in_place(),
            sendcounts,
            sdispls,
            sent.address(),
            recvbuf,
            recvcounts,
            rdispls,
            received.address(),
            comm_in(comm),
            &raw mut number,
        );
        *request = request_out(number);
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Neighbor_alltoallw_init(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const Aint,
    sendtypes: *const Handle,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const Aint,
    recvtypes: *const Handle,
    comm: Handle,
    info: Handle,
    request: *mut Handle,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Neighbor_alltoallw_init");
    type Call = unsafe extern "C" fn(
        *const c_void,
        *const c_int,
        *const Aint,
        *const c_int,
        *mut c_void,
        *const c_int,
        *const Aint,
        *const c_int,
        c_int,
        c_int,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the function has these parameters; the arrays have a datatype for each peer.
    unsafe {
        let (sources, destinations) = rank_counts(comm, true);
        let (sent, received) = (Typed::new(sendbuf, sendtypes, destinations), Typed::new(recvbuf, recvtypes, sources));
        let function: Call = FUNCTION.get();
        let mut number = 0;
        let result = function(
            sendbuf.in_place(),
            sendcounts,
            sdispls,
            sent.address(),
            recvbuf,
            recvcounts,
            rdispls,
            received.address(),
            comm_in(comm),
            info_in(info),
            &raw mut number,
        );
        *request = request_out(number);
        code_out(result)
    }
}
