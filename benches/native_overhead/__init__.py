"""The benchmarks of the suite beside plain C."""
