"""Calibration: its programs, their kinds, going on after an interruption. No time is asserted."""

import contextlib
import inspect
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import pvar
from weft._core import UsageError
from weft.cli import estimating
from weft.estimation import calibrating, costs_file, kinds, random_programs, scenes, statements
from weft.estimation import pace as pace_module
from weft.estimation.curves import Work
from weft.estimation.estimates import record
from weft.estimation.here import Here
from weft.estimation.pace import FAR, Pace, Probe
from weft.estimation.random_programs import Timed
from weft.pvar.native import FEW
from weft.pvar.operations import FUNCTIONS
from weft.pvar.operators import UFUNCS


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(random_programs, "LARGEST", 256)
    monkeypatch.setattr(random_programs, "PASSES", {0: 2})


def test_every_statement_runs_and_counts_as_one_operation():
    made = random_programs.np.random.default_rng(1)
    for shape in ((40,), (5, 8), (3, 4, 5)):
        scene = scenes.scene(made, shape, scenes.DTYPES)
        for one in statements.menu():
            step = one.step(scene)
            (found,) = random_programs._kinds([scene.vp], [step])
            assert found is not None, one.label
            assert found.work.elements in (1, scene.vp.size) or found.name.startswith("rank")


@pytest.fixture(scope="module")
def calibrated():
    """Costs of every kind that random programs have, which are of equal time."""
    rng = random_programs.np.random.default_rng(2)
    there = set()
    for shape in ((300,), (20, 20), (3, 80), (6, 7, 8), (64, 80)):
        scene = scenes.scene(rng, shape, scenes.DTYPES)
        for one in statements.menu():
            for _ in range(12 if one.label.startswith(("scan", "get", "send", "bitwise")) else 8):
                step = one.step(scene)
                there |= {kind.name for kind in random_programs._kinds([scene.vp], [step]) if kind}
                with scene.vp.where(scenes.condition(scene)):
                    there |= {kind.name for kind in random_programs._kinds([scene.vp], [step]) if kind}
    return costs_file.MeasuredCosts(dict.fromkeys({*there, "select"}, calibrating.Curve((8,), (1e-9,))))


def test_the_programs_of_the_repository_are_priced_by_what_is_calibrated(calibrated):
    """They pass their checks, and the kinds that they use are those of the random programs."""
    here = Here(calibrated)
    programs = [path for path in sorted(Path("programs").glob("*.py")) if "arguments.parser(" in path.read_text()]
    assert len(programs) >= 100
    sizes = dict.fromkeys(("autocorrelation", "bitonic_sort", "fft", "histogram", "number_transform", "wavelet"), "256")
    sizes |= {"n_queens": "8", "endgame": "5", "asian_option": "128", "quantum_circuit": "8", "pig_game": "12"}
    for program in programs:
        for one in record(program, ["--size", sizes.get(program.stem, "40")]):
            assert here.time(*one).real > 0
    assert not here.stand_ins


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(40,), (5, 8)])
def test_every_operation_has_a_price(calibrated, dtype, shape):
    """Whatever parallel variables can do: of a kind that is calibrated, or one like it."""
    here = Here(calibrated)
    with pvar.metered() as meter, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vp = pvar.VPSet(shape)
        x = vp.array((np.arange(vp.size) % 5 + 1).astype(dtype).reshape(shape))
        for selecting in (False, True):
            with vp.where(vp.address() > 3) if selecting else contextlib.nullcontext():
                for step in every_operation(vp, x):
                    # What this dtype does not have is refused before it is recorded.
                    with contextlib.suppress(UsageError):
                        step()
    assert len(meter.sequence) > 150
    for one in dict.fromkeys(meter.sequence):
        assert here.time(one).real > 0


def every_operation(vp, x):
    """Steps of all functions, operators and primitives on a variable."""
    address = vp.address()
    for name, function in FUNCTIONS.items():
        of = getattr(pvar, name)
        yield from [lambda of=of: of(x)] if function.operands == 1 else [lambda of=of: of(x, x), lambda of=of: of(x, 2)]
    for operator in (*UFUNCS, "copy", "overwrite"):
        yield lambda operator=operator: pvar.reduce(x, operator)
        yield lambda operator=operator: pvar.reduce(x, operator, axis=0)
        yield lambda operator=operator: pvar.scan(x, operator)
        yield lambda operator=operator: pvar.scan(x, operator, segments=x.astype(bool))
        yield lambda operator=operator: pvar.send(x, address // 2, combine=operator)
        yield lambda operator=operator: pvar.send(x, vp.size - 1 - address, combine=operator)
    for name in ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "count", "argmax", "argmin"):
        yield getattr(x, name)
    rng = vp.rng(1)
    yield from (lambda: pvar.rank(x), lambda: pvar.sort(x), vp.enumerate, rng.random, lambda: rng.integers(0, 4))
    yield from (lambda: pvar.get(x, address), lambda: pvar.spread(x, 0, 1), lambda: pvar.shift(x, 1, axis=0))
    yield from (lambda: x[(1,) * len(vp.shape)], lambda: pvar.where(x == 1, x, 2), x.copy, lambda: x.astype("float32"))


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 5000))
def test_sizes_are_within_bounds_and_repeat(number):
    made = [random_programs.np.random.default_rng([3, number]) for _ in range(2)]
    first, second = (random_programs._shape(one, number) for one in made)
    assert first == second
    assert 1 <= len(first) <= 3
    assert min(first) >= 2
    assert random_programs.np.prod(first) <= 8 * random_programs.LARGEST


def test_a_program_is_timed(small):
    pace = Pace()
    found = random_programs.draw(0, 1, pace)
    assert len(found.operations) >= random_programs.LENGTHS[0]
    assert all(seconds > 0 for _, seconds in found.operations)
    again = random_programs.draw(0, 1, pace)
    # How far back an array was touched depends on where the allocator has it.
    drawn = [[(kind.name, kind.work.elements) for kind, _ in one.operations] for one in (again, found)]
    assert drawn[0] == drawn[1]
    assert calibrating._timed(json.loads(json.dumps(calibrating._record(3, found)))) == (3, found)


def test_what_is_kept_of_two_visits():
    kind = kinds.Kind("add float64", "fast", Work(8, 64))
    full, also, slow = (
        Timed((8,), ((kind, 1e-6 * (1 + at)), (kind, 3e-6 / (1 + at))), Probe(core, memory))
        for at, (core, memory) in enumerate(((20e-6, 50e-6), (21e-6, 50e-6), (20e-6, 100e-6)))
    )
    assert random_programs.better(full, slow) == random_programs.better(slow, full) == full
    assert random_programs.better(full, also) == random_programs.better(also, full) == also, "the lesser sum"


def test_what_was_timed_at_half_the_pace_counts_half():
    kind = kinds.Kind("add float64", "fast", Work(8, 64))
    far = kinds.Kind("add float32", "fast", Work(8, 64, reach=((FAR, 64), (2 * FAR, 64))))
    half = kinds.Kind("add int32", "fast", Work(8, 64, reach=((FAR, 64), (64, 64))))
    programs = [
        Timed(
            (8,),
            ((kind, 1e-6 * core), (far, 1e-6 * memory), (half, 1e-6 * (core + memory) / 2)),
            Probe(20e-6 * core, 50e-6 * memory),
        )
        for core, memory in ((1, 1.05), (1, 1), (2, 1), (1.05, 3)) * 8
    ]
    found = calibrating.costs_of(programs, {})
    assert found.about["slow"] == 0.5
    for one in (kind, far, half):
        assert found.curves[one.name].seconds(one.work) == pytest.approx(1e-6, rel=0.03)


def test_a_calibration_is_written_and_used(small, tmp_path):
    told = []
    found = calibrating.calibrate(tmp_path / "c.toml", programs=16, progress=lambda *of: told.append(of))
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert 16 * calibrating.VISITS <= len(told) <= 16 * calibrating.MORE_VISITS
    assert told[-1][0] == told[-1][1]
    assert len(found.held_out) == 2
    assert costs_file.read(tmp_path / "c.toml").curves.keys() == found.curves.keys()
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]


def test_an_interrupted_calibration_goes_on(small, tmp_path, monkeypatch):
    path = tmp_path / "c.toml"

    def interrupt(done, of):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibrating.calibrate(path, programs=16, progress=interrupt)
    assert not path.exists()
    (kept,) = tmp_path.iterdir()
    assert kept.name == "c.toml.journal"
    with kept.open("a") as file:
        file.write('12345678 {"shape": [1')  # the line that was being written
    drawn = []
    draw = random_programs.draw
    monkeypatch.setattr(random_programs, "draw", lambda number, *of: drawn.append(number) or draw(number, *of))
    calibrating.calibrate(path, programs=16, resume=True)
    assert drawn[: 16 * calibrating.VISITS - 5] == [*range(5, 16), *list(range(16)) * (calibrating.VISITS - 1)]
    assert [one.name for one in tmp_path.iterdir()] == ["c.toml"]


def test_another_seed_does_not_go_on(small, tmp_path):
    path = tmp_path / "c.toml"

    def interrupt(done, of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibrating.calibrate(path, programs=16, progress=interrupt)
    with pytest.raises(UsageError, match="belongs to another request .*: its seed is 1, that of this request is 2"):
        calibrating.calibrate(path, programs=16, seed=2, resume=True)
    with pytest.raises(UsageError, match=r"c\.toml\.journal has 1 record of an unfinished run"):
        calibrating.calibrate(path, programs=16, seed=2)
    told = []
    calibrating.calibrate(path, programs=16, seed=2, force=True, progress=lambda *of: told.append(of))
    assert told[0][0] == 1


def test_too_few_programs(tmp_path):
    with pytest.raises(UsageError, match="at least 16 programs, not 3"):
        calibrating.calibrate(tmp_path / "c.toml", programs=3)


def test_costs_follow_from_what_was_timed():
    """A machine whose additions take a microsecond and a nanosecond an element."""
    sizes = [2**k for k in range(5, 20)] * 4
    programs = [
        Timed((n,), ((kinds.Kind("add float64", "fast", Work(n, 8 * n)), 1e-6 + n * 1e-9),), Probe(20e-6, 50e-6))
        for n in sizes
    ]
    found = calibrating.costs_of(programs, {})
    assert max(abs(error) for error in found.held_out) < 0.02
    assert found.curves["add float64"].seconds(Work(3000, 24000)) == pytest.approx(4e-6, rel=0.02)


def test_a_dtype_of_small_programs_is_priced_by_those_of_all_sizes():
    """Elements of 16 bits were only seen in a few small programs; others of their family also in large ones."""

    def program(name, length, n):
        group = f"scan {length} bytes along the last axis"
        kind = kinds.Kind(name, group, Work(n, length * n, exclusive=n % 2 == 1))
        return Timed((n,), ((kind, 2e-6 + n * (0.5e-9 + 0.2e-9 * (n % 2))),), Probe(20e-6, 50e-6))

    sizes = [2**k + at % 2 for k in range(5, 20) for at in range(4)]
    others = [program(f"scan add int{8 * length}", length, n) for n in sizes for length in (4, 8)]
    few = [program("scan add int16", 2, n) for n in (60, 61, 101)]
    found = calibrating.curves_of([*others, *few])
    large = Work(300_001, 600_002, exclusive=True)
    assert found["scan add int16"].seconds(large) == pytest.approx(2e-6 + 300_001 * 0.7e-9, rel=0.25)
    assert kinds.family("scan 2 bytes along the last axis") == kinds.family("scan 8 bytes along the last axis")
    assert kinds.family("rank, selected") == "rank, selected"


def test_kinds_know_what_costs_depend_on():
    def kind(run, shape=(8, 8)):
        vp = weft.pvar.VPSet(shape)
        x = vp.zeros("float32")
        with weft.pvar.metered(vp) as meter:
            run(vp, x)
        return kinds.of(meter.sequence[-1])

    assert kind(lambda vp, x: x + x) == ("add float32", "silent elementwise 4 bytes", Work(64, 256))
    assert kind(lambda vp, x: x + 1).work == Work(64, 256, scalar=True)
    assert kind(lambda vp, x: weft.pvar.shift(x, 1, axis=1))[::2] == ("shift fetch 4 bytes", Work(64, 256, pieces=16))
    assert kind(lambda vp, x: weft.pvar.spread(x, axis=0, index=1))[::2] == ("spread 4 bytes", Work(64, 256, pieces=8))
    found = kind(lambda vp, x: weft.pvar.scan(x, "add", axis=0, exclusive=True, direction="down"))
    assert found.name == "scan add float32 along another axis, narrow"
    assert found.work == Work(64, 256, pieces=8, exclusive=True, down=True)
    row = kind(lambda vp, x: weft.pvar.scan(x, "add", axis=0), (2, 64))
    assert (row.name, row.work.pieces) == ("scan add float32 along another axis", 2)
    for extent, name in ((47, "the last axis, short"), (48, "the last axis")):
        along = kind(lambda vp, x: weft.pvar.scan(x, "max", axis=1), (2, extent))
        assert along.name == f"scan max float32 along {name}"
    line = kind(lambda vp, x: weft.pvar.scan(x, "max"), (8,))
    assert line.name == "scan max float32 along one line"
    assert kind(lambda vp, x: vp.full(1, "float32")).name == "broadcast 4 bytes, new"
    assert kind(lambda vp, x: x.fill(1)).name == "broadcast 4 bytes"
    assert kind(lambda vp, x: weft.pvar.send(1, vp.address(), combine="add", into=x)).work.scalar
    narrow = kind(lambda vp, x: weft.pvar.send(x, vp.address("int8"), combine="add", into=x))
    assert narrow.work.converted
    assert not kind(lambda vp, x: weft.pvar.send(x, vp.address("int32"), combine="add", into=x)).work.converted
    assert kind(lambda vp, x: weft.pvar.reduce(x, "max")).name == "reduce max float32"
    with weft.pvar.metered() as meter:
        weft.pvar.reduce(weft.pvar.VPSet((8, 8)).full(1, "int8"), "min", axis=1)
    _, along, spread = meter.sequence
    assert kinds.of(along).name == "reduce max int8 along the last axis, short"
    assert (spread.kind, spread.included) == ("spread", True)
    assert kind(lambda vp, x: weft.pvar.get(x, vp.address())).name == "get 4 bytes, in order, few"
    assert kind(lambda vp, x: weft.pvar.get(x, vp.address()), (FEW,)).name == "get 4 bytes, in order"
    chosen = kind(lambda vp, x: weft.pvar.where(x > 0, x.astype("int8"), vp.zeros("int8")))
    assert chosen[:2] == ("where 1 bytes", "where 1 bytes")
    of_numbers = kind(lambda vp, x: weft.pvar.where(x > 0, 0, 1))
    assert of_numbers[:2] == ("where 8 bytes", "where 8 bytes")
    by_numpy = kind(lambda vp, x: weft.pvar.where(x > 0, x.astype("float64"), np.float64(1)))
    assert by_numpy[:2] == ("where 8 bytes by numpy", "where 8 bytes by numpy")
    assert not by_numpy.work.converted
    into_zeros = kind(lambda vp, x: weft.pvar.send(x, vp.address() * 0, combine="min"))
    assert into_zeros.name == "send max float32, in order, filled"
    kept = kind(lambda vp, x: weft.pvar.send(x, vp.address() * 0, combine="min", into=vp.zeros("float32")))
    assert kept.name == "send max float32, in order"
    assert kind(lambda vp, x: weft.pvar.send(x, vp.address() * 0, combine="add")).name == "send add float32, in order"


def test_what_differs_in_one_instruction_of_equal_time_is_one_kind():
    x = weft.pvar.VPSet(64).zeros("int32")

    def name(run):
        with weft.pvar.metered(x.vp) as meter:
            run()
        return kinds.of(meter.sequence[-1]).name

    assert name(lambda: x - x) == name(lambda: x + x) == "add int32"
    assert name(lambda: x >= x) == name(lambda: x < 3) == "less int32"
    assert name(lambda: weft.pvar.reduce(x, "min")) == name(lambda: weft.pvar.reduce(x, "max")) == "reduce max int32"
    assert name(lambda: weft.pvar.scan(x, "min")) == name(lambda: weft.pvar.scan(x, "max"))
    # numpy has no loop of vectors for the larger of elements and one number.
    assert name(lambda: weft.pvar.minimum(x, x)) == "maximum int32"
    assert name(lambda: weft.pvar.minimum(x, 3)) == "maximum int32 by a number"


def test_of_an_array_that_messages_come_from_only_what_they_touch_counts():
    far, near = weft.pvar.VPSet(1 << 16), weft.pvar.VPSet(8)
    x = far.zeros("float64")
    to, from_ = near.address() * 4096, near.zeros("int32")
    with weft.pvar.metered(far, near) as meter:
        weft.pvar.get(x, to)
        weft.pvar.send(from_, to, combine="add", into=far.zeros("int32"))
        weft.pvar.send(from_, to, combine="add", vp=far)
    lengths = [[length for _, length in reach] for reach in meter.reaches if len(reach) == 3]
    assert lengths == [[8 * 64, 32, 64], [32, 32, 8 * 64], [32, 32, 4 << 16]]


def test_an_array_that_an_operation_has_twice_counts_once():
    vp = weft.pvar.VPSet(64)
    x, y = vp.zeros("float64"), vp.zeros("float64")
    with weft.pvar.metered(vp) as meter:
        _kept = [x * x, x * y]
    assert [[length for _, length in reach] for reach in meter.reaches] == [[512] * 2, [512] * 3]


def test_code_is_as_far_back_as_other_operations_are_and_a_share_of_the_elements():
    vp = weft.pvar.VPSet(1024)
    x = vp.zeros("float64")
    with weft.pvar.metered(vp) as meter:
        _kept = [x + x, x - x, x * x, x + x, x + x]
    kib = 1024
    # Of each operation since, 2 KiB of its own and a sixteenth of its result of 8 KiB; 6 KiB are of all of them. A
    # quarter of the distance is that of its own code.
    assert meter.since[:3] == [1 << 40] * 3
    assert meter.since[3] == pytest.approx(((6 + 3 * 2.5) / 4 + (6 + 0.5) * 3 / 4) * kib, rel=0.25)
    assert meter.since[4] == pytest.approx(((6 + 2.5) / 4 + (6 + 0.5) * 3 / 4) * kib, rel=0.25)


def test_what_a_program_touches_first_is_as_far_back_as_its_end_when_it_runs_again():
    def program():
        vp = weft.pvar.VPSet(1024)
        x = vp.zeros("float64")
        y = x + x
        y * x

    counted = record(program)
    arrays = [distance for one in counted for distance, _ in one.reach]
    # Three arrays; code of VP set, broadcast, sum, product, and of both of these; rounded up.
    assert max(arrays) == pytest.approx((24 + 8 + 8 + 2 + 2 + 6) * 1024, rel=0.25)
    assert max(one.since for one in counted) <= 40 * 1024


def test_what_is_between_operations_is_taken_from_each():
    """Steps of 1 and 3 microseconds; a look at the clock takes 90 nanoseconds, what is around a step 60."""
    stamped, whole, padded = [1150.0, 3150.0], 4120.0, 4240.0
    own = random_programs._own(np.array([*stamped, whole, padded]), 100.0)
    assert own == pytest.approx([1000, 3000])
    for others in ((whole + 400, padded), (math.nan, math.nan)):
        between = 1150 - random_programs._own(np.array([*stamped, *others]), 80.0)[0]
        assert between == 80 if others[0] > 0 else random_programs.USUAL_BETWEEN * 80


def test_arrays_of_the_probe_lie_where_they_always_lie():
    for _ in range(3):
        array, total = pace_module._aligned(2048)
        assert array.ctypes.data % 4096 == 0
        assert total.ctypes.data % 4096 == 2048
        assert not np.shares_memory(array, total)


def test_full_pace_is_what_a_tenth_of_the_probes_are_as_fast_as():
    pace = Pace()
    for at in range(50):
        pace.learn(Probe(1e-6 * (1 if at == 7 else 2), 1e-6 * (1 if at == 31 else 3)))
    assert pace.usual == (2e-6, 3e-6)
    assert pace.full(Probe(2.2e-6, 3.5e-6))
    assert not pace.full(Probe(2.2e-6, 4e-6))


def test_only_programs_that_were_not_at_full_pace_are_corrected():
    kind = kinds.Kind("add float32", "fast", Work(8, 64))
    core = [1.0] * 5 + [1.15, 1.5]
    programs = [Timed((8,), ((kind, 3e-6),), Probe(1e-6 * by, 1e-6), (0,)) for by in core]
    corrected, slow = calibrating._at_full_pace(programs)
    assert [one.operations[0][1] for one in corrected] == [3e-6] * 6 + [pytest.approx(2e-6)]
    assert slow == pytest.approx(1 / 7)


def test_ranks_count_elements_as_often_as_their_sort_goes_through_them():
    vp = weft.pvar.VPSet((4096,))
    address = vp.address()
    scattered = address.astype(np.int64) * 2_654_435_761 % 4_294_967_296

    def kind(x):
        with weft.pvar.metered(vp) as meter:
            weft.pvar.rank(x)
        return kinds.of(meter.sequence[-1])

    assert kind(address) == ("rank, in order", "rank, in order", Work(4096, 8 * 4096 // 2))
    # Their words are filled once, and sorted by one digit and by three.
    assert kind(address % 7) == ("rank", "rank", Work(3 * 4096, 4 * 4096))
    assert kind(scattered) == ("rank", "rank", Work(5 * 4096, 8 * 4096))
    with vp.where(address < 1024):
        elements, bytes_ = 2 * 4096 + 1024, 4 * 4096
        assert kind(address % 7) == ("rank, selected", "rank, selected", Work(elements, bytes_, 0.25, 1))


@pytest.mark.parametrize(("axis", "runs"), [(0, 1), (1, 8)])
def test_stretches_of_a_selection_are_counted(axis, runs):
    vp = weft.pvar.VPSet((8, 8))
    x, condition = vp.zeros("float32"), vp.coordinate(axis) < 2
    y = vp.zeros("float32")
    with weft.pvar.metered(vp) as meter, vp.where(condition):
        x[...] = y
    assert kinds.of(meter.sequence[-1], 77).work == Work(64, 256, 0.25, runs, since=77)


def slow(monkeypatch, take):
    """Programs that are never at full pace; the clock goes on by what `take` says of each visit."""
    now = [0.0]
    visits = []

    def draw(number, seed, pace, earlier=None):
        visits.append(number)
        now[0] += take(number)
        # The first visit of the first program is the only one at full pace.
        probe = Probe(20e-6, 50e-6) if not visits[1:] else Probe(50e-6, 120e-6)
        pace.usual = pace.usual.least(probe)
        kind = kinds.Kind("add float64", "fast", Work(8 + number, 64))
        return Timed((8,), ((kind, 1e-6),), probe)

    monkeypatch.setattr(random_programs, "draw", draw)
    return visits, lambda: now[0]


def test_a_budget_ends_a_calibration_that_is_slowed_down(tmp_path, monkeypatch):
    visits, clock = slow(monkeypatch, lambda number: 1.0)
    found = calibrating.calibrate(tmp_path / "c.toml", programs=20, budget=50.0, clock=clock)
    assert len(visits) == 50
    assert visits[:40] == [*range(20)] * 2, "every program is timed as often as the others"
    assert (found.about["programs"], found.about["visits"]) == (20, 2.5)
    assert found.about["unfinished"] > 0
    assert costs_file.read(tmp_path / "c.toml").about["unfinished"] == found.about["unfinished"]


def test_the_fewest_programs_are_timed_whatever_the_budget(tmp_path, monkeypatch):
    visits, clock = slow(monkeypatch, lambda number: 1.0)
    found = calibrating.calibrate(tmp_path / "c.toml", programs=30, budget=0.0, clock=clock)
    assert visits == list(range(calibrating.MIN_PROGRAMS))
    assert found.about["programs"] == calibrating.MIN_PROGRAMS


def test_a_program_that_is_never_at_full_pace_is_timed_a_limited_number_of_times(tmp_path, monkeypatch):
    visits, clock = slow(monkeypatch, lambda number: 0.0)
    found = calibrating.calibrate(tmp_path / "c.toml", programs=20, clock=clock)
    assert max(visits.count(number) for number in range(20)) == calibrating.MORE_VISITS
    assert min(visits.count(number) for number in range(20)) >= calibrating.VISITS
    assert "unfinished" not in found.about


def test_a_calibration_that_is_finished_is_not_gone_on_with(small, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("mine")
    with pytest.raises(UsageError, match=r"c\.toml is finished, so there is nothing to go on with: --force"):
        calibrating.calibrate(path, programs=16, resume=True)
    with pytest.raises(UsageError, match=r"c\.toml exists: --force"):
        calibrating.calibrate(path, programs=16)
    assert path.read_text() == "mine"


def test_the_command_times_as_many_programs_as_the_function():
    options = inspect.signature(estimating.calibrate).parameters
    assert (options["programs"].default, options["budget"].default) == (calibrating.PROGRAMS, calibrating.BUDGET)
