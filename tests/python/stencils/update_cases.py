"""Updates and the same by whole arrays of numpy, for one process and for ranks."""

import numpy as np

import weft

FIVE = {(0, 0): -4.0, (1, 0): 1.0, (-1, 0): 1.0, (0, 1): 1.0, (0, -1): 1.0}


def padded_laplacian(x, **how):
    p = np.pad(x, 1, **how)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x


def whole(shape, seed):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


def gray_scott(compiled=False):
    """Two coupled fields, a nonlinear function, results in others, and two reductions under a mask."""
    shape = (37, 23)
    u, v = whole(shape, 1), whole(shape, 2)
    mask = whole(shape, 3) > 0
    rate = np.arange(23.0)

    def react(u, v, du, dv, rate, k):
        uvv = u * v * v
        new = u + rate * du - uvv, v + 2 * dv + uvv - k * v
        return *new, new[0] - u, u * v

    update = weft.arrays.Update(
        react,
        {"du": (weft.arrays.stencil(FIVE), "u"), "dv": (weft.arrays.stencil(FIVE, boundary="reflect"), "v")},
        ("new_u", "new_v"),
        {"change": "max", "product": "sum"},
        compiled=compiled,
    )
    new_u, new_v, change, product = react(
        u, v, padded_laplacian(u, mode="wrap"), padded_laplacian(v, mode="reflect"), rate, 3
    )
    results = {"new_u": np.where(mask, new_u, 7.0), "new_v": np.where(mask, new_v, 7.0)}
    fields = {"u": u, "v": v, "new_u": np.full(shape, 7.0), "new_v": np.full(shape, 7.0)}
    reductions = {"change": change[mask].max(), "product": product[mask].sum()}
    return update, fields, {"rate": rate, "k": 3}, mask, results, reductions


def leapfrog(compiled=False):
    """A result that the function reads too."""
    u, before = whole((19, 30), 4), whole((19, 30), 5)
    sums = {"a": (weft.arrays.stencil(FIVE, boundary=0), "u")}
    update = weft.arrays.Update(lambda u, before, a: 2 * u - before + 0.5 * a, sums, "before", compiled=compiled)
    return update, {"u": u, "before": before}, {}, None, {"before": 2 * u - before + 0.5 * padded_laplacian(u)}, {}


def accumulate(compiled=False):
    """`y += A x`, with coefficients of each site and a boundary of each end."""
    x, y, c = whole((17, 8), 6), whole((17, 8), 7), whole((17, 8), 8)
    stencil = weft.arrays.stencil({(-2, 0): c, (1, 0): 2.0}, boundary=((3.0, "symmetric"), 0))
    p = np.pad(np.pad(x, ((2, 0), (0, 0)), constant_values=3), ((0, 1), (0, 0)), mode="symmetric")
    update = weft.arrays.Update(lambda y, s: y + s, {"s": (stencil, "x")}, "y", compiled=compiled)
    return update, {"x": x, "y": y}, {}, None, {"y": y + c * p[:-3] + 2.0 * p[3:]}, {}


def residual(compiled=False):
    """A reduction alone, of two sums of one field with different boundaries."""
    x = whole((50, 4), 9)
    sums = {
        "a": (weft.arrays.stencil(FIVE, boundary="antiperiodic"), "x"),
        "b": (weft.arrays.stencil(FIVE, boundary=1), "x"),
    }
    update = weft.arrays.Update(lambda a, b: (a - b) ** 2, sums, (), {"square": "sum"}, compiled=compiled)
    p = np.pad(x, 1, mode="wrap")
    p[0], p[-1] = -p[0], -p[-1]
    p[:, 0], p[:, -1] = -p[:, 0], -p[:, -1]
    a = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x
    b = padded_laplacian(x, constant_values=1)
    return update, {"x": x}, {}, None, {}, {"square": ((a - b) ** 2).sum()}


CASES = [gray_scott, leapfrog, accumulate, residual]
