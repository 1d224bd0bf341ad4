"""Random stencils on small grids, with blocks of one site and stencils that reach further than the grid: the bits of
one rank, of several, and of several steps per exchange."""

import numpy as np

import weft


def case(seed):
    """A stencil, an array for it, steps per exchange and steps."""
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 4))
    shape = tuple(int(extent) for extent in random.integers(1, 9, rank))
    dtype = np.dtype(random.choice(["f4", "f8", "c16"]))
    points = {}
    for _ in range(int(random.integers(1, 6))):
        offset = tuple(int(by) for by in random.integers(-2, 3, rank))
        points[offset] = float(random.standard_normal())
        if random.integers(3):
            array = random.standard_normal(tuple(extent if random.integers(3) else 1 for extent in shape))
            points[offset] = np.asfortranarray(array.astype(random.choice(["f4", "f8"])))
    boundary = []
    for axis in range(rank):
        kind = int(random.integers(3)) if rank > 1 else int(random.integers(2))
        face = random.standard_normal(shape[:axis] + shape[axis + 1 :])
        boundary.append(["circular", float(random.standard_normal()), face][kind])
    x = random.standard_normal(shape).astype(dtype)
    if dtype.kind == "c":
        x = x + 1j * random.standard_normal(shape)
    stencil = weft.arrays.stencil(points, boundary=tuple(boundary))
    return stencil, x, int(random.integers(1, 4)), int(random.integers(1, 5))


def differing(seed):
    """What does not give the bits of the local stencil; on every rank."""
    stencil, x, per_exchange, steps = case(seed)
    geometry = weft.arrays.Geometry(x.shape)
    local = stencil(x, steps=steps).tobytes()
    given = geometry.distribute(x)
    found = []
    for what, more in (
        ("distributed", {}),
        (f"{per_exchange} steps per exchange", {"steps_per_exchange": per_exchange}),
    ):
        with geometry.stencil(stencil, x.dtype, **more) as plan:
            if plan(given, steps=steps).gather(None).tobytes() != local:
                found.append(f"seed {seed}: {what}, {steps} steps of {x.dtype} {x.shape} over {geometry.grid}")
    return found
