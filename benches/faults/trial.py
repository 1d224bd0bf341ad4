"""One trial of the fault campaign: a command, a fault, and all that must hold afterwards."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import random
import shlex
import subprocess
import time
from typing import Any

from benches.faults import checks, faults
from benches.faults.faults import Fault, Store
from benches.faults.kinds import KINDS, Kind
from weft.launch import mpiexec

DONE = (0, 3)
"""Exit codes of a command that did all that it should; with 3 it has not converged, as few launches never do."""
HUNG = 30.0
"""Seconds after a fault, and after what an undisturbed run would still take, that a command may take."""

SHARED = 4.0
"""How many times as long a command takes where several trials share the processors: the undisturbed one ran alone."""

ORPHAN = 5.0
"""Seconds that processes may be there after the one that was started."""

FINISHED = "is finished, so there is nothing to go on with"
"""What --resume says of a whole output."""

_SPACE = 'mount --bind {shared} /dev/shm && exec "$@"'


@dataclasses.dataclass
class Undisturbed:
    """What a command does when nothing disturbs it."""

    seconds: float
    points: checks.Points
    launch: float
    """Seconds that processes which it has started are there."""


@dataclasses.dataclass
class Outcome:
    """What became of a trial."""

    number: int
    kind: str
    fault: Fault
    hit: bool
    code: int | None
    seconds: float
    failures: list[str]
    said: str
    command: str
    resumed: bool = False

    def record(self) -> dict[str, Any]:
        """As a record has it."""
        return {**dataclasses.asdict(self), "said": self.said[-600:]}


class Sandbox:
    """The folders of a trial: of its output, of temporary files, and of shared memory, which nobody else sees."""

    def __init__(self, root: pathlib.Path, name: str, mounts: bool, small: bool) -> None:
        self.name = name
        self._root = root / name
        self._mounts = mounts
        self.output = Store(self._root / "output", mounts and small)
        self.temporary = Store(self._root / "temporary", mounts and small)
        self.shared = Store(self._root / "shared", False)
        (self._root / "cache").mkdir()

    def start(self, words: list[str]) -> subprocess.Popen[bytes]:
        """Start a command; what it says goes to the file `said`."""
        variables = {
            **os.environ,
            faults.MARK: self.name,
            "TMPDIR": str(self.temporary.path),
            "XDG_CACHE_HOME": str(self._root / "cache"),
            "NO_COLOR": "1",
            "COLUMNS": "400",
        }
        if self._mounts:
            script = _SPACE.format(shared=shlex.quote(str(self.shared.path)))
            words = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", script, "sh", *words]
        with (self._root / "said").open("wb") as said, (self._root / "out").open("wb") as out:
            return subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=said, env=variables, start_new_session=True
            )

    def said(self) -> str:
        """What a command has said on standard error, and, of ranks, on standard output."""
        return (self._root / "said").read_text(errors="replace") + (self._root / "out").read_text(errors="replace")

    def remove(self) -> None:
        """All of it."""
        for store in (self.output, self.temporary, self.shared):
            store.remove()
        subprocess.run(["rm", "-rf", self._root], check=False)


def undisturbed(kind: Kind, root: pathlib.Path, mounts: bool) -> Undisturbed:
    """Run a command once as it is."""
    sandbox = Sandbox(root, f"{os.getpid()}-{kind.name}-undisturbed", mounts, small=False)
    try:
        output = sandbox.output.path / kind.output
        begin = time.monotonic()
        running = sandbox.start(kind.command(output, mpiexec.command))
        there = 0.0
        while running.poll() is None:
            if faults.targets("rank", running.pid, sandbox.name):
                there += 0.1
            elif there > 0.0:
                break
            time.sleep(0.1)
        code = running.wait(timeout=300)
        if code != 0:
            raise SystemExit(f"{kind.name} fails undisturbed with code {code}:\n{sandbox.said()}")
        return Undisturbed(time.monotonic() - begin, checks.points(output), there)
    finally:
        sandbox.remove()


def drawn(number: int, seed: int, mounts: bool, kinds: tuple[Kind, ...] = KINDS) -> tuple[Kind, Fault, random.Random]:
    """What trial `number` is."""
    chance = random.Random(f"{seed}-{number}")
    kind = chance.choices(kinds, [one.weight for one in kinds])[0]
    has_ranks = bool(kind.under_mpiexec) or (kind.launches and kind.name != "measure-node")
    return kind, faults.draw(chance, has_ranks, kind.launches or bool(kind.under_mpiexec), mounts), chance


def run(number: int, seed: int, known: dict[str, Undisturbed], root: pathlib.Path, mounts: bool) -> Outcome:
    """Do one trial of a campaign."""
    kind, fault, chance = drawn(number, seed, mounts)
    return disturbed(number, kind, fault, chance, known[kind.name], root, mounts)


def disturbed(
    number: int,
    kind: Kind,
    fault: Fault,
    chance: random.Random,
    usual: Undisturbed,
    root: pathlib.Path,
    mounts: bool,
) -> Outcome:
    """Run a command, disturb it, and look at all that must hold afterwards."""
    sandbox = Sandbox(root, f"{os.getpid()}-{number}", mounts, small=fault.signal is None)
    output = sandbox.output.path / kind.output
    words = kind.command(output, mpiexec.command)
    failures: list[str] = []
    running = sandbox.start(words)
    _until_begun(running)
    begin = time.monotonic()
    try:
        if fault.where in ("mpiexec", "proxy", "rank"):
            _until_there(fault.where, sandbox.name, running, usual.seconds)
            _sleep_until(time.monotonic() + fault.moment * usual.launch, running)
        else:
            _sleep_until(begin + fault.moment * usual.seconds, running)
        # Until a rank has imported weft, which makes its pipe, its end is the launcher's alone to tell.
        begun = len(list(sandbox.shared.path.glob("weft-ranks-*/alive-*"))) == kind.under_mpiexec
        store = sandbox.output if fault.where == "output" else sandbox.temporary
        if fault.signal is not None:
            was_hit = faults.hit(fault, running, sandbox.name, chance)
        else:
            was_hit = running.poll() is None
            store.disturb(fault.sort)
        left = max(0.0, SHARED * usual.seconds - (time.monotonic() - begin))
        code: int | None
        try:
            code = running.wait(timeout=left + HUNG)
        except subprocess.TimeoutExpired:
            code = None
            failures.append(f"hung: still running {left + HUNG:.0f} s after the fault")
        seconds = time.monotonic() - begin
        failures += _orphans(sandbox.name, running)
        if fault.signal is None:
            store.mend(fault.sort)
        said = sandbox.said()
        records = checks.journal(output.with_name(output.name + ".journal"))
        if output.suffix == "":
            records = checks.journal(output / "samples.csv.journal")
        failures += _after(kind, fault, sandbox, output, code, said, usual, begun)
        resumed = False
        if kind.resumes and code != 0 and not failures and output.parent.is_dir():
            resumed = True
            failures += _resume(kind, sandbox, output, records, usual)
        return Outcome(
            number, kind.name, fault, was_hit, code, seconds, failures, said, shlex.join(map(str, words)), resumed
        )
    finally:
        _end(sandbox.name)
        running.wait()
        sandbox.remove()


def _until_begun(running: subprocess.Popen[bytes]) -> None:
    """Until the command has taken the place of what makes its folders."""
    while running.poll() is None and faults.name(running.pid) in ("python", "unshare", "sh", "mount"):
        if faults.is_command(running.pid):
            return
        time.sleep(0.005)


def _until_there(where: str, name: str, running: subprocess.Popen[bytes], seconds: float) -> None:
    """Until there is a process to hit."""
    deadline = time.monotonic() + 2 * seconds
    while running.poll() is None and time.monotonic() < deadline and not faults.targets(where, running.pid, name):
        time.sleep(0.03)


def _sleep_until(moment: float, running: subprocess.Popen[bytes]) -> None:
    while running.poll() is None and (left := moment - time.monotonic()) > 0:
        time.sleep(min(0.02, left))


def _orphans(trial: str, running: subprocess.Popen[bytes]) -> list[str]:
    """Processes that are there too long after the first; all are ended."""
    deadline = time.monotonic() + ORPHAN
    while left := {pid: one for pid, one in faults.processes(trial).items() if pid != running.pid}:
        if time.monotonic() >= deadline:
            return [f"orphans: {', '.join(f'{name} ({pid})' for pid, (name, _, _) in sorted(left.items()))}"]
        time.sleep(0.05)
    return []


def _end(trial: str) -> None:
    for pid in faults.processes(trial):
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue


def _after(
    kind: Kind,
    fault: Fault,
    sandbox: Sandbox,
    output: pathlib.Path,
    code: int | None,
    said: str,
    usual: Undisturbed,
    begun: bool,
) -> list[str]:
    """What is wrong with files and words."""
    failures = []
    was_killed = code == -9
    files = [one for one in output.parent.rglob("*") if one.is_file()] if output.parent.is_dir() else []
    failures += [f"half-written: {one.name}" for one in files if one.suffix != ".part" and not checks.whole(one)]
    if not was_killed and kind.under_mpiexec == 0:
        failures += [f"left behind: {one.name}" for one in files if one.suffix == ".part"]
    if kind.under_mpiexec == 0 and fault.where != "temporary":
        failures += [f"left behind: {one.name}" for one in sandbox.temporary.path.glob("weft-*") if one.is_dir()]
        failures += [f"shared memory left: {one.name}" for one in sandbox.shared.path.iterdir()]
    if code in DONE:
        complete = output.exists() and (checks.points(output) >= usual.points or kind.name in ("study", "suite"))
        if not complete and output.parent.is_dir() and fault.sort != "removed":
            failures.append("success without its output")
    elif code is not None and not was_killed:
        # Who ends mpiexec itself is told by mpiexec, if at all: it ends its ranks before these can speak.
        by_hydra = bool(kind.under_mpiexec) and fault.where in ("first", "mpiexec")
        if problem := checks.unclear(said, by_hydra, kind.name == "program", begun and _had_begun(code, said)):
            failures.append(f"unclear: {problem}")
    return failures


def _had_begun(code: int, said: str) -> bool:
    """Whether weft was there to say anything: by then a signal does not end it unheard, nor interrupt Python itself."""
    if code in (-1, -15):
        return False
    return not ("KeyboardInterrupt" in said and ", in main\n" not in said and "error:" not in said)


def _resume(
    kind: Kind, sandbox: Sandbox, output: pathlib.Path, records: list[dict[str, Any]], usual: Undisturbed
) -> list[str]:
    """What is wrong with the same command and --resume."""
    running = sandbox.start(kind.command(output, mpiexec.command, resume=True))
    try:
        code = running.wait(timeout=2 * SHARED * usual.seconds + HUNG)
    except subprocess.TimeoutExpired:
        running.kill()
        return ["hung: --resume"]
    if code not in DONE:
        # What was ended after its last act has left nothing to do, and says so.
        is_finished = FINISHED in sandbox.said() and checks.points(output) == usual.points
        return [] if is_finished else [f"--resume ends with code {code}: {sandbox.said()[-300:]}"]
    failures = []
    if missing := checks.lost(records, output):
        failures.append(f"lost: {missing} rows of the journal are not in the output")
    points = checks.points(output)
    if points != usual.points:
        few, more = usual.points - points, points - usual.points
        failures.append(
            f"--resume gives another table: {len(few)} points missing, {len(more)} more: {list(few or more)[:2]}"
        )
    return failures
