"""Kernels of parallel variables, and the estimator of programs."""
