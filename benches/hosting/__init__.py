"""Programs of MPI in virtual time."""
