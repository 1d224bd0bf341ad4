"""Ranks that do not make the same calls: `mismatch_program.py SCENARIO`. The call of the first rank is marked `# one`,
that of the others `# other`; what they are in is to be named by file and line on every rank."""

import sys

import numpy as np
import pytest

import weft

vp = weft.pvar.VPSet((8, 3))
x = vp.coordinate(0)
one = vp.execution.geometry.rank == 0
geometry = weft.arrays.Geometry((9, 4))
a, b = geometry.distribute(np.ones((9, 4)), halo=1), geometry.zeros(halo=1)
line, columns = weft.arrays.Geometry(4).zeros(), weft.arrays.Geometry((9, 4), grid=(1, geometry.ranks))
fill = geometry.halo_exchange()
plan = geometry.polyshift(shifts=[(1, 0)], halo=1)
bound = plan.bind(a, out=[b])
mean = weft.arrays.stencil({(1, 0): 0.5, (-1, 0): 0.5})
step = geometry.stencil(mean, halo=1)


def either(first, other):
    return first() if one else other()


def operators():
    either(
        lambda: weft.pvar.reduce(x, "max"),  # one
        lambda: weft.pvar.reduce(x, "add"),  # other
    )


def dtypes():
    y = vp.zeros("float32" if one else "float64")
    either(
        lambda: weft.pvar.scan(y, "add"),  # one
        lambda: weft.pvar.scan(y, "add"),  # other
    )


def kinds():
    either(
        lambda: weft.pvar.reduce(x, "max"),  # one
        lambda: (bound(), None),  # other
    )


def plans():
    either(
        lambda: fill(a),  # one
        lambda: plan(a),  # other
    )


def steps():
    either(
        lambda: step(a, steps=1),  # one
        lambda: step(a, steps=3),  # other
    )


def routers():
    either(
        lambda: weft.pvar.send(x, vp.address(), combine="add"),  # one
        lambda: weft.pvar.get(x, vp.address()),  # other
    )


def selections():
    if one:
        with vp.where(x > 2):
            weft.pvar.reduce(x, "sum")  # one
    else:
        weft.pvar.reduce(x, "sum")  # other


def shapes():
    either(
        lambda: weft.pvar.VPSet(8),  # one
        lambda: weft.pvar.VPSet(9),  # other
    )


def cold_and_warm():
    weft.pvar.shift(x, 1)
    either(
        lambda: weft.pvar.shift(x, 1),  # one
        lambda: weft.pvar.shift(x, 2),  # other
    )


def reads():
    either(
        lambda: x[0, 0],  # one
        lambda: x[1, 1],  # other
    )


def gathers():
    either(
        lambda: (a.gather(), None),  # one
        lambda: (x.numpy(), None),  # other
    )


def array_reductions():
    either(
        lambda: a.sum(None),  # one
        lambda: a.prod(None),  # other
    )


def array_axes():
    either(
        lambda: a.sum(axis=0),  # one
        lambda: a.sum(axis=1),  # other
    )


def array_rows():
    either(
        lambda: a[0],  # one
        lambda: a[1],  # other
    )


def array_functions():
    either(
        lambda: np.sort(a, axis=0),  # one
        lambda: np.cumsum(a, axis=0),  # other
    )


def array_percentiles():
    either(
        lambda: np.percentile(a, 20, axis=0),  # one
        lambda: np.percentile(a, 30, axis=0),  # other
    )


def array_broadcasts():
    either(
        lambda: a + line,  # one
        lambda: a * line,  # other
    )


def array_products():
    either(
        lambda: a.dot(b),  # one
        lambda: a.vdot(b),  # other
    )


def array_divisions():
    either(
        lambda: a.redistribute(geometry),  # one
        lambda: a.redistribute(columns),  # other
    )


def more():
    if one:
        weft.pvar.reduce(x, "sum")  # one


def fewer():
    if not one:
        bound()


def matching():
    for _ in range(3):
        (
            weft.pvar.reduce(x, "max"),
            bound(),
            fill(a),
            step(a, steps=2),
            weft.pvar.get(x, vp.address()),
            weft.pvar.shift(x, 1),
            x[1, 1],
        )
    print("matching: ok", flush=True)


def again():
    """Ranks that have met in calls that are not the same go on together."""
    for _ in range(3):
        with pytest.raises(weft.UsageError, match="(?s)reduce max.*reduce add"):
            operators()
        matching()
    print("again: ok", flush=True)


globals()[sys.argv[1]]()
