"""Shifts and ghosts of whole arrays, in a few lines of numpy: what distributed ones are compared with."""

import numpy as np


def shifted(x, by, axis, boundary=None):
    """Fortran's CSHIFT and, with a boundary, EOSHIFT."""
    if boundary is None:
        return np.roll(x, -by, axis)
    result = np.empty_like(x)
    moved, into = np.moveaxis(x, axis, 0), np.moveaxis(result, axis, 0)
    for i in range(len(moved)):
        into[i] = moved[i + by] if 0 <= i + by < len(moved) else boundary
    return result


def with_ghosts(x, halo, boundary, corners):
    """The whole array with ghosts; a ghost that is not filled is False in the mask."""
    padded, filled = x, np.ones(x.shape, dtype=bool)
    for axis, (before, after) in enumerate(halo):
        width = [(0, 0)] * x.ndim
        width[axis] = (before, after)
        if boundary is None:
            padded = np.pad(padded, width, mode="wrap")
        else:
            padded = np.pad(padded, width, constant_values=boundary)
        filled = np.pad(filled, width, constant_values=True)
    outside = sum(
        ((np.indices(padded.shape)[a] < b) | (np.indices(padded.shape)[a] >= b + n)).astype(int)
        for a, (n, (b, _)) in enumerate(zip(x.shape, halo, strict=True))
    )
    return padded, filled & (corners | (outside < 2))
