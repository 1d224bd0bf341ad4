"""The same bits at every level of vector instructions, which WEFT_SIMD forces."""

import os
import subprocess
import sys

import pytest

from weft import _core
from weft.launch import environment

LEVELS = _core.simd()[1]

SCRIPT = """
import hashlib, sys
import numpy as np
import weft
from weft import _core

chance = np.random.default_rng(7)
bits, close = hashlib.sha256(), []
kinds = [np.dtype(code).type for code in "?bhilBHILfd"]
names = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "bitwise_and",
         "bitwise_left_shift", "bitwise_right_shift", "logical_xor", "less", "equal", "negative", "abs", "sqrt",
         "floor", "round", "isnan", "sign", "square", "sin", "cos", "remainder", "floor_divide", "hypot"]

def keep(what, *arrays):
    bits.update(what.encode())
    for array in arrays:
        array = np.array(array)
        if array.dtype.kind == "f":
            array[np.isnan(array)] = np.nan  # the sign and payload of NaN are nobody's
        bits.update(array.tobytes())

for kind in kinds:
    for length in (0, 1, 63, 64, 65, 1023, 5000, 70_001):
        with np.errstate(all="ignore"):
            x, y = ((chance.standard_normal(length) * 50).astype(kind) for _ in range(2))
        if np.dtype(kind).kind == "f" and length > 3:
            x[1], x[2], y[3] = np.nan, np.inf, 0
        mask, index = chance.random(length) < 0.6, chance.permutation(length)
        for name in names:
            one = name in ("negative", "abs", "sqrt", "floor", "round", "isnan", "sign", "square", "sin", "cos")
            for result in (kind, np.bool_):
                out = np.zeros(length, result)
                try:
                    _core.array_elementwise(name, (x,) if one else (x, y), out, mask)
                except weft.UsageError:
                    continue
                keep(name, out)
        for combination in ("add", "multiply", "max", "min", "logand", "logior", "logxor", "or"):
            try:
                found = _core.array_reduce(x, combination, mask)
                keep(combination, np.array([0 if found is None else found]))
                for down in (False, True):
                    out = np.zeros(length, kind)
                    _core.array_scan(x, out, combination, 0, mask, None, False, down)
                    keep("scan", out)
                out = x.copy()
                _core.array_send(y, index // 3, out, combination, mask)
                keep("send", out)
            except weft.UsageError:
                continue
        out = np.zeros(length, kind)
        _core.array_gather(x, index, out, mask)
        keep("gather", out)
for shape in ((700, 3), (513, 8), (120, 33), (67, 9, 8), (9, 31, 7), (65, 65)):
    for kind in kinds:
        x, mask = (chance.standard_normal(shape) * 50).astype(kind), chance.random(shape) < 0.6
        for axis in range(len(shape)):
            for combination in ("add", "max", "or"):
                wide = {"i": np.int64, "u": np.uint64}.get(np.dtype(kind).kind, kind) if combination == "add" else kind
                for selection in (None, mask):
                    out = np.zeros(shape, wide)
                    try:
                        _core.array_reduce_axis(x, out, combination, axis, selection)
                    except weft.UsageError:
                        continue
                    keep("reduce_axis", out)
for shape in ((7,), (70_000,), (33, 65), (9, 17, 31), (1200, 999)):
    for kind in (np.uint8, np.float64, np.complex128):
        x = (chance.standard_normal(shape) * 50).astype(kind)
        for axis in range(len(shape)):
            keep("shift", weft.arrays.cshift(x, 3, axis), weft.arrays.eoshift(x, -2, axis, 1))
for shape in ((50,), (33, 65), (17, 30, 41), (40, 64, 128)):
    for kind in (np.float32, np.float64):
        axes = range(len(shape))
        points = {tuple(int(a == axis) * by for a in axes): 0.1 + 0.2 * by for axis in axes for by in (-1, 0, 1)}
        x = chance.standard_normal(shape).astype(kind)
        close.append(weft.arrays.stencil(points)(x, steps=3).astype(float).sum())
        close.append(hashlib.sha256(weft.arrays.stencil(points)(x, steps=3).tobytes()).hexdigest())
print(_core.simd()[0], bits.hexdigest(), *close, sep="\\n")
"""


def run(level, script=SCRIPT):
    environment = {**os.environ, "WEFT_SIMD": level}
    words = [sys.executable, "-c", script]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def results():
    found = {level: run(level) for level in LEVELS}
    assert all(done.returncode == 0 for done in found.values()), [done.stderr[-2000:] for done in found.values()]
    return {level: done.stdout.split() for level, done in found.items()}


@pytest.mark.parametrize("level", LEVELS)
def test_the_level_is_the_one_that_was_forced(results, level):
    assert results[level][0] == level


def test_primitives_and_shifts_have_the_same_bits_at_every_level(results):
    assert len({words[1] for words in results.values()}) == 1


def test_stencils_differ_in_the_last_bits_of_portable_code_only(results):
    fused = [words[2:] for level, words in results.items() if level != "portable"]
    assert all(words == fused[0] for words in fused)
    for words in results.values():
        sums, expected = ([float(word) for word in found[2::2]] for found in (words, results["portable"]))
        assert sums == pytest.approx(expected, rel=1e-4, abs=1e-3)


REFUSED = """
import numpy as np
import weft
from weft import _core

try:
    {call}
except weft.UsageError as error:
    print(error)
"""


@pytest.mark.parametrize("word", ["avx1024", "AVX2"])
@pytest.mark.parametrize(
    "call", ["weft.arrays.cshift(np.arange(9), 1, 0)", "weft.arrays.stencil({1: 1.0})(np.ones(9))", "_core.simd()"]
)
def test_an_unknown_level_is_a_usage_error(word, call):
    done = run(word, REFUSED.replace("{call}", call))
    assert done.returncode == 0, done.stderr
    what_to_do = "set it to portable, avx2 or avx512, or unset it"
    assert done.stdout == f"WEFT_SIMD={word} is no level of vector instructions: {what_to_do}\n"


def test_what_is_forced_is_part_of_the_processor(monkeypatch):
    monkeypatch.delenv("WEFT_SIMD", raising=False)
    plain = environment.processor()
    monkeypatch.setenv("WEFT_SIMD", "portable")
    assert environment.processor() == f"{plain}, WEFT_SIMD=portable"
