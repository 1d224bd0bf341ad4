//! Data-parallel (SIMD) machines: what their nodes do in step under one front end.
//!
//! Such a machine passes no messages between programs, so its file may leave out `[[protocols]]` and `[self_message]`; it
//! has the costs of what all nodes do at once instead.

use crate::read::Diagnostic;
use crate::read::table::Table;
use crate::sheet::table::{Table as SheetTable, Value};
use crate::sources::Sources;

/// Defines a table of figures: a struct with a field a key and the source of each, how it is read, how it is written. A
/// cost `as positive` may not be zero.
macro_rules! figures {
    (@read $from:ident, $key:expr, $unit:literal, $sources:expr) => {
        $from.cost($key, $unit, $sources)
    };
    (@read $from:ident, $key:expr, $unit:literal, $sources:expr, positive) => {
        $from.positive_cost($key, $unit, $sources)
    };
    (
        $(#[$meta:meta])* $name:ident = $table:literal {
            counts { $($(#[$count_meta:meta])* $count:ident: $count_unit:literal,)* }
            costs { $($(#[$cost_meta:meta])* $cost:ident: $cost_unit:literal $(as $positive:ident)?,)* }
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$count_meta])* pub $count: u64,)*
            $($(#[$cost_meta])* pub $cost: f64,)*
            /// Where each of the figures above comes from, by key.
            pub sources: Sources,
        }

        impl $name {
            const KEYS: &'static [&'static str] =
                &["source", $(stringify!($count),)* $(stringify!($cost),)*];

            /// The table of a machine file, if it has one: every key is required.
            pub(crate) fn read(root: &Table) -> Result<Option<$name>, Diagnostic> {
                let Some(table) = root.table($table, Some(Self::KEYS))? else { return Ok(None) };
                let mut sources = Sources::new();
                Ok(Some($name {
                    $($count: table.required_count(stringify!($count), 1, $count_unit, &mut sources),)*
                    $($cost: figures!(@read table, stringify!($cost), $cost_unit, &mut sources $(, $positive)?),)*
                    sources,
                }))
            }

            pub(crate) fn sheet(&self) -> SheetTable {
                let sources = &self.sources;
                SheetTable::new($table)
                    $(.entry(stringify!($count), Value::Count(self.$count), $count_unit, sources))*
                    $(.entry(stringify!($cost), Value::Number(self.$cost), $cost_unit, sources))*
            }
        }
    };
}

pub(crate) use figures;

figures! {
    /// Shifts of arrays whose subgrids lie in the nodes' memories: exchanges over wires, transposers at both ends, moves
    /// within the memory, and a front end that issues the calls (George, Brickner and Johnsson 1994, sections 2 and 6).
    ///
    /// A *slice* is a word of a node's memory. In an exchange a node swaps `slices_per_exchange` slices with a neighbour
    /// along every dimension at once. The crate of distributed arrays says how these figures make the time of a call.
    Shifts = "shifts" {
        counts {
            /// Bytes of a slice.
            slice_bytes: "B",
            /// Slices that go each way over the wires to one neighbour in an exchange.
            slices_per_exchange: "",
            /// Shifts along one axis that one plan makes by exchanges.
            shifts_per_axis: "",
            /// Consecutive slices that the memory reaches without a stall.
            row_slices: "",
            /// Slices of the longest row that is moved without a further stall, where a subgrid has several rows.
            short_row_slices: "",
        }
        costs {
            /// Planned shifts (PSHIFT): CM time to start a call, s.
            plan_startup: "s",
            /// Single shifts (CSHIFT): CM time to start a call, s.
            call_startup: "s",
            /// One exchange over the wires, s.
            exchange_time: "s",
            /// From memory into a transposer at one end and from a transposer to memory at the other, s a slice.
            transposer_time: "s",
            /// From memory to memory within a row, s a slice.
            move_time: "s",
            /// What a load or store costs more that leaves its row or page, s.
            page_stall: "s",
            /// Where the front end takes longer for a call than the nodes work: the share of the difference, for each
            /// exchange of the call, in which the nodes have an instruction that waits for its operands, and count as busy.
            wait_share: "",
            /// Planned shifts: front-end time, s a shift of a call.
            plan_front_end: "s",
            /// Single shifts: front-end time, s a call.
            call_front_end: "s",
        }
    }
}

figures! {
    /// What operations on parallel variables cost on a node that streams them through its memory: a GPU, a vector
    /// processor, a core of a TPU, or all nodes of a SIMD machine together. Rates are those of the whole device.
    ///
    /// `weft.estimation` says how these figures make the time of an operation by what it reads, writes and computes.
    Parallel = "parallel" {
        counts {}
        costs {
            /// Start of an operation where another follows it, s: no element is computed faster than that.
            launch: "s",
            /// From the end of an operation to its result on the front end, s.
            result: "s",
            /// Consecutive bytes of memory, read or written, s a byte.
            byte_time: "s/B" as positive,
            /// Bytes of the cache that all elements share; 0 where there is none.
            cache_bytes: "B",
            /// Consecutive bytes that the cache holds, s a byte.
            cache_byte_time: "s/B",
            /// An element of up to eight bytes at a scattered address, s.
            scattered_time: "s",
            /// An update of an address that follows another update of it, s.
            collision_time: "s",
            /// An addition, comparison or logical operation of 32-bit integers, s an element; as many times that as a
            /// word has 32 bits.
            integer_time: "s" as positive,
            /// An addition or multiplication in single precision, s an element.
            float32_time: "s" as positive,
            /// An addition or multiplication in double precision, s an element.
            float64_time: "s" as positive,
            /// A division or square root in single precision, s an element; in double precision as much longer as an
            /// addition.
            divide_time: "s" as positive,
            /// An elementary function in single precision, s an element; in double precision as much longer as an
            /// addition.
            function_time: "s" as positive,
        }
    }
}

impl Parallel {
    /// As [`Parallel::read`]; a cache that is slower than the memory behind it is a fault.
    pub(crate) fn read_checked(root: &Table) -> Result<Option<Parallel>, Diagnostic> {
        let before = root.fault_count();
        let parallel = Parallel::read(root)?;
        if let Some(read) = &parallel
            && root.fault_count() == before
            && read.cache_bytes > 0.0
            && read.cache_byte_time > read.byte_time
            && let Some(table) = root.table("parallel", None)?
        {
            table.note(table.value_fault(
                "cache_byte_time",
                format!(
                    "expected at most the {:e} of byte_time, since no cache is slower than its memory; a device without \
                     a cache has cache_bytes = 0",
                    read.byte_time
                ),
            ));
        }
        Ok(parallel)
    }
}

figures! {
    /// The primitives of a data-parallel machine of bit-serial processors, as Wu and Shu 1989 measured them: what the
    /// sequencer executes (CM time) and what the front end takes to issue it (a part of real time).
    ///
    /// `weft.data_parallel` says how these figures make the time of an operation by its kind, word length and VP ratio.
    Primitives = "primitives" {
        counts {
            /// Data processors.
            processors: "",
            /// Processors of a chip; chips are a hypercube.
            processors_per_chip: "",
            /// Messages that a chip's router takes from its processors in a cycle.
            router_injects: "",
            /// Messages that a chip's router delivers in a cycle.
            router_delivers: "",
            /// Messages that a chip's router holds besides those in memory.
            router_buffers: "",
        }
        costs {
            /// Start of an instruction on the sequencer, shared by all virtual processors, s.
            issue: "s",
            /// Integer addition, s a bit.
            add_bit: "s",
            /// Integer multiplication, s a pair of bits.
            multiply_bit: "s",
            /// Single precision, through the floating-point chip of 32 processors, s.
            float_add: "s",
            /// As `float_add`.
            float_multiply: "s",
            /// As `float_add`.
            float_divide: "s",
            /// Between integer and floating point, s.
            convert: "s",
            /// From the front end over a bus, s a bit.
            bus_bit: "s",
            /// To the front end over the global-or wire as an instruction, s a bit.
            wire_bit: "s",
            /// One bit of the global-or wire read directly, s.
            wire: "s",
            /// A boolean inverted for it, s.
            invert: "s",
            /// Maximum over the wire, a bit at a time, s a bit.
            compare_bit: "s",
            /// Choosing processors by a condition, s.
            select: "s",
            /// Maximum of a grid: within a processor, s a virtual processor.
            reduce_within: "s",
            /// Maximum of a grid: over processors, s.
            reduce_across: "s",
            /// Store: start, s.
            store_startup: "s",
            /// Store: time in the router as a share of that with combining.
            store_share: "",
            /// Fetch: start, s.
            fetch_startup: "s",
            /// As `store_share`.
            fetch_share: "",
            /// Store with combining: start, s.
            combine_startup: "s",
            /// A cycle of the router, s.
            router_cycle: "s",
            /// The round of a dimension in which messages cross, s.
            router_step: "s",
            /// A message in memory of the fullest chip for a cycle, s.
            router_overflow: "s",
            /// Backward routing: start, s.
            backward_startup: "s",
            /// Backward routing: there and back, as a share of storing with combining.
            backward_share: "",
            /// Collisions allowed: a round where destinations are scattered, s.
            round_scattered: "s",
            /// Collisions allowed: a round where destinations share chips, s.
            round_clustered: "s",
            /// Collisions allowed: what each message still waiting adds to a round on shared chips, s.
            round_backlog: "s",
            /// Many collisions: sorting and scanning besides a store for each bit of the number of groups, s.
            sort_startup: "s",
            /// NEWS store: start, s.
            news_store_startup: "s",
            /// NEWS store, s a hop.
            news_store_hop: "s",
            /// NEWS fetch: start, s.
            news_fetch_startup: "s",
            /// NEWS fetch, s a hop.
            news_fetch_hop: "s",
            /// Spread along an axis: start, s.
            spread_startup: "s",
            /// Spread, s a dimension of the axis.
            spread_dimension: "s",
            /// Spread, s a doubling of the VP ratio.
            spread_within: "s",
            /// Scan: start, s.
            scan_startup: "s",
            /// Scan, s a bit.
            scan_bit: "s",
            /// Copy-scan: more than another, s.
            scan_copy: "s",
            /// Front end: an instruction on integers, s.
            front_end_integer: "s",
            /// Front end: an instruction on floating-point numbers, s.
            front_end_float: "s",
            /// Front end: an instruction on booleans, s.
            front_end_boolean: "s",
            /// Front end: waiting for a result, s.
            front_end_result: "s",
            /// Front end: a temporary parallel variable, s.
            front_end_temporary: "s",
            /// Front end: a step of the maximum over the wire, s a bit.
            front_end_compare_bit: "s",
            /// Front end: choosing processors, s.
            front_end_select: "s",
            /// Front end: store, s.
            front_end_store: "s",
            /// Front end: fetch, s.
            front_end_fetch: "s",
            /// Front end: store with combining, s.
            front_end_combine: "s",
            /// Front end: backward routing, s.
            front_end_backward: "s",
            /// Front end: a round of collisions, s.
            front_end_round: "s",
            /// Front end: many collisions, s.
            front_end_sort: "s",
            /// Front end: NEWS store, s.
            front_end_news_store: "s",
            /// Front end: NEWS fetch, s.
            front_end_news_fetch: "s",
            /// Front end: NEWS fetch, s a hop.
            front_end_news_hop: "s",
            /// Front end: NEWS transfer of all processors, more than of one, s.
            front_end_news_all: "s",
            /// Front end: spread, s.
            front_end_spread: "s",
            /// Front end: spread, s a dimension of the axis.
            front_end_spread_dimension: "s",
            /// Front end: scan, s.
            front_end_scan: "s",
        }
    }
}
