"""What lies beyond the ends of an array, one element at a time: what boundaries are compared with."""

import itertools

import numpy as np

MAPS = ("circular", "antiperiodic", "reflect", "symmetric")


def walk(kind, index, extent):
    """The element at an index and its sign, found by walking there from the array step by step."""
    step = -1 if index < 0 else 1
    at, sign = (0, 1) if index < 0 else (extent - 1, 1)
    for _ in range(-index if index < 0 else index - extent + 1):
        if 0 <= at + step < extent:
            at += step
        elif kind in ("circular", "antiperiodic"):
            at = extent - 1 if step < 0 else 0
            sign = -sign if kind == "antiperiodic" else sign
        else:
            step = -step
            if kind == "reflect" and extent > 1:
                at += step
    return at, sign


def element(x, boundary, index, site_rank=0):
    """The element at an index of the grid that may lie beyond the ends, by a boundary with a pair for each axis.

    None beyond an end without a boundary.
    """
    rank = x.ndim - site_rank
    index, sign = list(index), 1
    if any(
        boundary[axis][i >= x.shape[axis]] in ("none", "keep")
        for axis, i in enumerate(index)
        if not 0 <= i < x.shape[axis] and isinstance(boundary[axis][i >= x.shape[axis]], str)
    ):
        return None
    values = None
    for axis in reversed(range(rank)):
        extent, i = x.shape[axis], index[axis]
        if 0 <= i < extent:
            continue
        kind = boundary[axis][0 if i < 0 else 1]
        if isinstance(kind, str):
            index[axis], turned = walk(kind, i, extent)
            sign *= turned if values is None else 1
        elif values is None:
            values = axis, kind
    if values is None:
        return sign * x[tuple(index)]
    axis, kind = values
    if callable(kind):
        return sign * kind(*index)
    kind = np.asarray(kind)
    nearest = tuple(min(max(i, 0), n - 1) for i, n in zip(index, x.shape, strict=False))
    return sign * kind[nearest[:axis] + nearest[axis + 1 :]] if kind.ndim else sign * kind[()]


def apply(points, x, boundary, site_rank=0):
    """A stencil, by its definition, at one site after another."""
    rank = x.ndim - site_rank
    result = np.empty_like(x)
    for site in itertools.product(*map(range, x.shape[:rank])):
        neighbours = {
            offset: element(x, boundary, [i + d for i, d in zip(site, offset, strict=True)], site_rank)
            for offset in points
        }
        if any(value is None for value in neighbours.values()):
            result[site] = x[site]
            continue
        result[site] = sum(
            np.broadcast_to(points[offset], x.shape[:rank])[site] * value for offset, value in neighbours.items()
        )
    return result
