"""Ctrl-C ends long calls. Without it none of these would end within hours."""

import signal
import subprocess
import sys
import time

import pytest

# The first call is short. It imports whatever there is to import: where KeyboardInterrupt comes from within `exec`, as
# those of dataclasses while a module is imported, Python ends by the signal though the program has caught it.
STENCIL = "weft.arrays.stencil({(0, 1): 0.5, (1, 0): 0.5})"
CALLS = {
    "stencil": f"{STENCIL}(np.ones((600, 600)), steps=steps)",
    "stencil on two threads": f"{STENCIL}(np.ones((600, 600)), steps=steps, threads=2)",
    "varying coefficients": "weft.arrays.stencil({0: np.full(90_000, 0.5)})(np.ones(90_000), steps=steps)",
    "distributed": f"{STENCIL}(weft.arrays.Geometry((600, 600)).scatter(np.ones((600, 600))), steps=steps)",
}
SCRIPT = """
import numpy as np
import weft

steps = 2
{call}
steps = 100_000_000
print("begins", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_interrupt_ends_a_long_call(call):
    script = SCRIPT.format(call=call)
    command, pipe = [sys.executable, "-c", script], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout.readline() == "begins\n"
            time.sleep(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "interrupted\n", "")
