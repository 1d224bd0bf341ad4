//! Stencils over arrays: weighted sums of neighbours, without moving anything first.
