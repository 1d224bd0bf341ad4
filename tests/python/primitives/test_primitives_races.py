"""Arrays that another thread writes or wants to resize while a call uses them: any values, but no access outside."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from weft import UsageError, _core

RACE = """
import sys, threading
import numpy as np
from weft import UsageError, _core

LENGTH = {length}
chance = np.random.default_rng(1)
x = np.arange(float(LENGTH))
good = chance.permutation(LENGTH)
index = good.copy()
mask = np.ones(LENGTH, bool)
out = np.zeros(LENGTH)
room = _core.SendWorkspace(max(1, _core.array_send_workspace_bytes(x, out)))
running = True

def write():
    bad = (2**62, -1, -(2**63), LENGTH, 2**40)
    turn = 0
    while running:
        place = slice(turn * 7919 % LENGTH, None, 97)
        index[place] = bad[turn % 5]
        mask[place] = turn % 2
        index[place] = good[place]
        turn += 1

threads = [threading.Thread(target=write, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
through = 0
for turn in range({calls}):
    selection = mask if turn % 2 else None
    for call in (
        lambda: _core.array_gather(x, index, out, selection),
        lambda: _core.array_send(x, index, out, "add", selection, 1 + turn % 2, room),
        lambda: _core.array_send(x, index, out, None, selection),
        lambda: _core.array_scan(x, out, "add", 0, mask, selection),
        lambda: _core.array_elementwise("add", (x, x), out, selection),
    ):
        try:
            call()
            through += 1
        except UsageError:
            pass
running = False
for thread in threads:
    thread.join()
print(through)
"""


@pytest.mark.parametrize(("length", "calls"), [(50_000, 60), (2_200_000, 2)])
def test_indices_written_meanwhile_lead_nowhere(length, calls):
    script = textwrap.dedent(RACE).format(length=length, calls=calls)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert int(done.stdout) > 0


def test_bound_arrays_cannot_be_resized():
    x, out = np.arange(1000.0), np.zeros(1000)
    shifts = _core.ShiftPlan([1000], x.dtype, [(0, 1, None, 0)]).bind(x, out=out)
    stencil = _core.StencilPlan([1000], False, [([1], 1.0)], [None]).bind(x, out)
    for array in (x, out):
        with pytest.raises(ValueError, match="cannot resize"):
            array.resize(10, refcheck=False)
    shifts()
    np.testing.assert_array_equal(out, np.roll(x, -1))
    stencil()
    np.testing.assert_array_equal(out, np.roll(x, -1))


def test_the_owner_of_a_bound_view_cannot_be_resized():
    owner = np.arange(1000.0)
    x = owner[10:30]
    memory = _core.Memory(x)
    with pytest.raises(ValueError, match="cannot resize"):
        owner.resize(5, refcheck=False)
    del memory
    owner.resize(5, refcheck=False)


def test_a_boundary_array_that_changes_its_shape_is_refused():
    x, edge = np.arange(12.0).reshape(3, 4), np.ones(4)
    plan = _core.ShiftPlan([3, 4], x.dtype, [(0, 1, edge, 0)])
    plan(x)
    edge.resize(2, refcheck=False)
    with pytest.raises(UsageError, match=r"boundary array 0 has shape \(2,\), expected \(4,\)"):
        plan(x)


def test_memory_knows_its_bytes():
    ranks, blocks = _core.Ranks.alone(), _core.Blocks([4], 1, [], [], [], None)
    exchange = _core.ArrayExchange(
        ranks, blocks, [(8, [8], 0, [(0, 0)])] * 2, [(0, 1, 0, 1, "circular", b"")], [], 0, 7
    )
    whole, short = _core.Memory(np.zeros(4)), _core.Memory(np.zeros(3))
    with pytest.raises(UsageError, match="an array has the bytes 0 to 24 of its memory, but 0 to 32 are needed"):
        exchange.begin([whole, short])
    with pytest.raises(UsageError, match="is read-only"):
        exchange.begin([whole, _core.Memory(np.frombuffer(bytes(32)))])


@pytest.mark.parametrize("threads", [0, 10**6, 2**62])
def test_absurd_numbers_of_threads_are_refused(threads):
    x = np.zeros(4)
    for call in (
        lambda: _core.array_elementwise("add", (x, x), np.zeros(4), None, threads),
        lambda: _core.array_gather(x, np.arange(4), np.zeros(4), None, threads),
        lambda: _core.ShiftPlan([4], x.dtype, [(0, 1, None, 0)], threads),
        lambda: _core.StencilPlan([4], False, [([1], 1.0)], [None], 1, 1, threads),
    ):
        with pytest.raises(UsageError, match=f"threads is {threads}: expected 1 to 1024"):
            call()
