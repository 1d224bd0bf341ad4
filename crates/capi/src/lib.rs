//! Shift plans and halo exchanges for programs in C, C++ and Fortran: the library behind `weft.h`.
//!
//! Every function returns a code, and `weft_message` says what was wrong; nothing unwinds into the caller. Objects are made
//! by a call that writes a pointer, and given back by a call that may be given NULL. `weft.h` documents every function;
//! here is what it does not say.
//!
//! | file | subject |
//! |---|---|
//! | `status` | codes, the message of the last failed call, panics |
//! | `shifts` | shifts of arrays in one process |
//! | `ranks` | this process alone, or the ranks of an MPI communicator |
//! | `geometry` | which rank has which elements |
//! | `exchange` | ghosts around blocks, and shifts of distributed arrays |

mod exchange;
mod geometry;
mod ranks;
mod shifts;
mod status;
