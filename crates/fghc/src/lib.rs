//! Flat GHC as in KL1: the language, its engine, and its execution on many processing elements (PEs).
