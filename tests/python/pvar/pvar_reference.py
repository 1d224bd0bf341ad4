"""Parallel variables element by element: what every execution is compared with."""

import numpy as np

COMBINE = {
    "add": lambda a, b: a + b,
    "max": max,
    "min": min,
    "logand": lambda a, b: a & b,
    "logior": lambda a, b: a | b,
    "logxor": lambda a, b: a ^ b,
    "xor": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "copy": lambda a, b: a,
    "overwrite": lambda a, b: b,
}


def reduced(x, operator, mask):
    values = [value for value, chosen in zip(x.ravel().tolist(), mask.ravel(), strict=True) if chosen]
    result = values[0]
    for value in values[1:]:
        result = COMBINE[operator](result, value)
    return result


def shifted(x, distance, axis, boundary=None):
    result = np.empty_like(x)
    for place in np.ndindex(x.shape):
        source = list(place)
        source[axis] += distance
        if boundary is None:
            source[axis] %= x.shape[axis]
        result[place] = x[tuple(source)] if 0 <= source[axis] < x.shape[axis] else boundary
    return result


def stored(x, distance, axis, boundary, mask, into):
    result = into.copy()
    for place in np.ndindex(x.shape):
        target = list(place)
        target[axis] += distance
        if boundary is None:
            target[axis] %= x.shape[axis]
        if mask[place] and 0 <= target[axis] < x.shape[axis]:
            result[tuple(target)] = x[place]
    return result


def scanned(x, operator, axis, mask, segments, exclusive, down, neutral):
    """Line by line; a segment's start belongs to it in both directions."""
    result = np.zeros_like(x)
    rest = tuple(n for a, n in enumerate(x.shape) if a != axis)
    for line in np.ndindex(rest):
        at = (*line[:axis], slice(None), *line[axis:])
        values, chosen, starts, out = x[at].tolist(), mask[at], segments[at], result[at]
        number = np.cumsum(starts)
        order = range(len(values))
        current, so_far = None, None
        for i in reversed(order) if down else order:
            if current != number[i]:
                current, so_far = number[i], None
            if not chosen[i]:
                continue
            before = so_far
            so_far = values[i] if so_far is None else COMBINE[operator](so_far, values[i])
            now = before if exclusive else so_far
            out[i] = wrapped(neutral if now is None else now, x.dtype)
    return result


def got(x, addresses, mask):
    result = np.zeros_like(x)
    result[mask] = x.ravel()[addresses[mask]]
    return result


def sent(x, addresses, operator, mask, into=None):
    result = np.zeros_like(x).ravel() if into is None else into.copy().ravel()
    arrived = {} if into is None else dict(enumerate(result.tolist()))
    for value, to, chosen in zip(x.ravel().tolist(), addresses.ravel().tolist(), mask.ravel(), strict=True):
        if chosen:
            arrived[to] = value if to not in arrived else COMBINE[operator](arrived[to], value)
    for to, value in arrived.items():
        result[to] = wrapped(value, x.dtype)
    return result.reshape(x.shape)


def wrapped(value, dtype):
    if dtype.kind not in "iu":
        return value
    bits = dtype.itemsize * 8
    value %= 1 << bits
    return value - (1 << bits) if dtype.kind == "i" and value >= 1 << (bits - 1) else value
