"""Benchmarks of weft beside baselines, and campaigns that look for faults; `python -m benches` lists and runs them."""
