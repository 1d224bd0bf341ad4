//! Exchanges with a datatype for each peer: how many there are, only the communicator says.

use std::ffi::{c_int, c_void};

use crate::passing::{Function, handles_in};
use crate::translation::{Handle, comm_in, datatype_in};

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

/// What a call with a datatype for each peer sends or receives; nothing where the buffer stands for the other one.
///
/// # Safety
/// There are so many datatypes, unless the buffer stands for the other one.
pub unsafe fn peer_types(
    buffer: *const c_void,
    types: *const Handle,
    comm: Handle,
    neighbors: bool,
    sends: bool,
) -> Vec<c_int> {
    if buffer.addr() == 1 {
        return Vec::new();
    }
    // SAFETY: the communicator says how many peers there are, and the array has a datatype for each.
    unsafe {
        let (sources, destinations) = rank_counts(comm, neighbors);
        handles_in(types, if sends { destinations } else { sources }, true, datatype_in)
    }
}
