"""Stencils as sums of shifted copies: ten lines that the real thing is compared with."""

import numpy as np


def shifted(x, by, axis, boundary, before):
    """CSHIFT or EOSHIFT along an axis of the grid, which begins `before` axes later in x."""
    at = before + axis
    if isinstance(boundary, str):
        return np.roll(x, -by, at)
    moved = np.empty_like(x)
    planes = np.asarray(boundary)
    if planes.ndim:
        site = x.ndim - before - planes.ndim - 1
        planes = np.expand_dims(planes.reshape(planes.shape + (1,) * max(0, site)), axis)
    moved[...] = planes
    extent = x.shape[at]
    kept = max(0, extent - abs(by))
    source, target = (
        (slice(extent - kept, None), slice(0, kept)) if by > 0 else (slice(0, kept), slice(extent - kept, None))
    )
    ahead = (slice(None),) * at
    moved[(*ahead, target)] = x[(*ahead, source)]
    return moved


def apply(points, x, boundary, site_rank=0, steps=1):
    """The sum over points of coefficient times shifted copy, `steps` times."""
    rank = len(next(iter(points)))
    before = x.ndim - rank - site_rank
    for _ in range(steps):
        total = np.zeros_like(x)
        for offset, coefficient in points.items():
            moved = x
            for axis, by in enumerate(offset):
                moved = shifted(moved, by, axis, boundary[axis], before) if by else moved
            factor = np.asarray(coefficient)
            total += factor.reshape(factor.shape + (1,) * site_rank if factor.ndim else ()) * moved
        x = total
    return x
