"""Threads that share calls stay with their process: a forked one begins with its own."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from weft import _core

LENGTH = 100_003


def test_calls_by_any_number_of_threads_are_the_same():
    x = np.random.default_rng(1).random(LENGTH)
    sums = {_core.array_reduce(x, "add", None, threads) for threads in (1, 2, 3, 7, 64)}
    assert len(sums) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_shares_calls_too():
    # While another thread of the parent calls, so that the fork may meet a lock of the pool's that is held.
    program = textwrap.dedent(
        f"""
        import os, threading
        import numpy as np
        from weft import _core

        x = np.arange({LENGTH}.0)
        expected = _core.array_reduce(x, "add", None, 2)
        done = threading.Event()
        def call():
            while not done.is_set():
                _core.array_reduce(x, "add", None, 2)
        other = threading.Thread(target=call)
        other.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if _core.array_reduce(x, "add", None, 2) == expected else 3)
            assert os.waitpid(child, 0)[1] == 0
        done.set()
        other.join()
        print("equal")
        """
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "equal\n", "")
