"""Kernels for arrays on CUDA devices: their source, and their launches through CuPy."""
