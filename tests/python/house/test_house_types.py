"""What a type checker says of results: the type that a user goes on with, and not Any."""

import re
import subprocess
import sys

import pytest
from floors import ROOT

PROGRAM = """
import numpy as np
import weft

x = np.zeros((8, 8), np.float32)
heat = weft.arrays.stencil({(0, 0): -4.0, (0, 1): 1.0})
reveal_type(heat(x))
reveal_type(heat.plan(x.shape, x.dtype)(x))
reveal_type(weft.arrays.cshift(x, 1, 0))
reveal_type(weft.arrays.eoshift(x, 1, 0, boundary=2.0))
reveal_type(weft.arrays.cshift([1, 2, 3], 1, 0))
reveal_type(weft.arrays.polyshift((8, 8), np.float32, [(1, 0)])(x))
spread = weft.arrays.Geometry((8, 8)).distribute(x)
reveal_type(heat(spread))
reveal_type(weft.arrays.Geometry((8, 8)).polyshift(shifts=[(1, 0)])(spread))
reveal_type(weft.measure("echo"))
reveal_type(weft.simulate("ipsc860", "echo"))
reveal_type(weft.fit(weft.measure("echo")))
reveal_type(weft.machine("ipsc860"))
reveal_type(weft.conset.compile("torus", "iwarp64"))
reveal_type(weft.reproduce("dunigan-1991"))
reveal_type(weft.pvar.VPSet((4, 4)).zeros())
weft.fitt
weft.MOVED
"""

EXPECTED = [
    "ndarray[tuple[Any, ...], dtype[floating[_32Bit]]]",
    "ndarray[Any, Any]",
    "ndarray[tuple[Any, ...], dtype[floating[_32Bit]]]",
    "ndarray[tuple[Any, ...], dtype[floating[_32Bit]]]",
    "ndarray[tuple[Any, ...], dtype[Any]]",
    "tuple[ndarray[tuple[Any, ...], dtype[floating[_32Bit]]], ...]",
    "DistributedArray",
    "tuple[DistributedArray, ...]",
    "Samples",
    "Samples",
    "Fit",
    "Machine",
    "Schedule",
    "Reproduction",
    "ParallelVariable",
]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of a program of a user's; one run, with what `make lint` has cached."""
    pytest.importorskip("mypy")
    program = tmp_path_factory.mktemp("typed") / "program.py"
    program.write_text(PROGRAM.replace("MOVED", "compile"))
    words = [sys.executable, "-m", "mypy", str(program)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def shortened(kind):
    """A type without the modules of its names, which mypy's versions write differently."""
    plain = re.sub(r"\b[\w.]+\.(\w+)", r"\1", kind)
    return plain.replace("numpy.", "").replace("builtins.", "").replace("float32", "floating[_32Bit]")


def test_results_have_types(said):
    kinds = [shortened(kind) for kind in re.findall(r'Revealed type is "(.*)"', said)]
    assert kinds == EXPECTED


def test_a_name_that_is_not_there_is_an_error_and_nothing_else_is(said):
    assert re.findall(r'error: Module has no attribute "(\w+)"', said) == ["fitt", "compile"]
    assert said.count("error:") == 2
