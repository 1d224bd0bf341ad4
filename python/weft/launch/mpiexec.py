"""Launches: ranks started through mpiexec, watched, their rows collected.

Which mpiexec and which MPI library: `WEFT_MPIEXEC` and `WEFT_MPI_LIBRARY` where they are set; the mpiexec that belongs
to `WEFT_MPI_LIBRARY`; else those of the MPICH wheel beside the Python that runs; else the mpiexec in PATH with the
library that was installed with it, or one that the dynamic linker finds.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import _core
from weft._core import RunError, UsageError
from weft.extras import needs
from weft.launch import environment, site
from weft.launch.deaths import Death, Deaths
from weft.launch.keeper import keeper, remove_folder
from weft.launch.processes import Process, described, end
from weft.launch.rank import ERROR

if TYPE_CHECKING:
    from weft.launch.request import Request

_log = logging.getLogger(__name__)

RANK = (sys.executable, "-P", "-m", "weft.launch.rank")

WATCHED = "WEFT_WATCHED"
"""Tells ranks that their reports are read and judged, and by which process: they end with it (crates/mpi)."""

Rows = list[dict[str, Any]]

_ERRORS = {"UsageError": UsageError, "MachineError": UsageError, "RunError": RunError}
_SEE_OUTPUT = "; see its output"
_AGAIN = "; find out what ended it (memory, a batch system, a person), and measure again"
_TAIL = 12
_TICK = 0.1
_GRACE = 3.0
_LOOK = 1.0
"""Seconds between two looks at the processes of a launch, once its ranks have started."""
_MAX_LOOKS = 8
"""Such looks at which a process is stopped, or the launcher deserted, before the launch is given up."""
_NAMING = 1.0
"""Seconds after a launcher's end in which the system may still tell how a rank ended."""
_HELPER = 1.5
"""Seconds that a launcher outlives one of its own processes; less than a rank's death is held back (crates/mpi)."""


def library(variables: Mapping[str, str] = os.environ, executable: str = sys.executable) -> str:
    """The MPI library that ranks use where nothing else names one.

    In a process that is a rank already, that of its launcher (`weft.launch.site`). Else that of the MPICH wheel beside
    `executable`, else that which the launcher was installed with, else a name for the dynamic linker, after which ranks
    try the others that MPI libraries have.

    Raises
    ------
    UsageError
        In a rank whose WEFT_MPI_LIBRARY is of another MPI than its launcher.
    """
    folders = [Path(executable).parent.parent / "lib"]
    if named := variables.get("WEFT_MPI_LIBRARY"):
        site.check(named, folders, variables)
    elif launched := site.library(folders, variables):
        return launched
    with contextlib.suppress(RunError):
        launcher = Path(shutil.which(command(variables, executable)[0], path=variables.get("PATH")) or "mpiexec")
        prefixes = (launcher.parent.parent, launcher.resolve().parent.parent)
        folders += [folder for prefix in prefixes for folder in site.folders(prefix)]
    candidates = (folder / name for folder in folders for name in site.NAMES)
    return next((str(path) for path in candidates if path.exists()), site.NAMES[0])


def unused(variables: Mapping[str, str] = os.environ, executable: str = sys.executable) -> str | None:
    """What to say where launches use the MPI that comes with weft though the site has one; `None` elsewhere."""
    if any(variables.get(name) for name in ("WEFT_MPIEXEC", "WEFT_MPI_LIBRARY")):
        return None
    bundled = Path(executable).parent.parent
    is_bundled = os.access(bundled / "bin" / "mpiexec", os.X_OK)
    is_rank = environment.launcher(variables) is not None
    return site.other(bundled, variables) if is_bundled and not is_rank else None


OVERSUBSCRIBING = {
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
"""What lets Open MPI, from 5 on and before, start more ranks than there are processors."""


def command(variables: Mapping[str, str] = os.environ, executable: str = sys.executable) -> list[str]:
    """The launcher and its first arguments; the number of ranks and the program follow.

    Raises
    ------
    RunError
        If there is none, with what to do.
    """
    if wanted := variables.get("WEFT_MPIEXEC"):
        return _of_variable(wanted, variables)
    own = Path(executable).parent / "mpiexec"
    if named := variables.get("WEFT_MPI_LIBRARY"):
        return [_of_library(named, variables)]
    if os.access(own, os.X_OK):
        return [str(own)]
    if path := shutil.which("mpiexec", path=variables.get("PATH")):
        return [path]
    raise RunError(
        f"no mpiexec in PATH: {needs('starting ranks', 'mpich')}, or set WEFT_MPIEXEC to the launcher of your MPI"
    )


def _of_library(library: str, variables: Mapping[str, str]) -> str:
    """The mpiexec that a site's library was installed with, or the site's own in PATH."""
    if "/" in library and not Path(library).exists():
        raise RunError(f"WEFT_MPI_LIBRARY is '{library}', but there is no such file")
    beside = Path(library).resolve().parent.parent / "bin" / "mpiexec"
    if "/" in library and os.access(beside, os.X_OK):
        return str(beside)
    if path := shutil.which("mpiexec", path=variables.get("PATH")):
        return path
    raise RunError(
        f"no mpiexec for WEFT_MPI_LIBRARY={library}: neither {beside} nor one in PATH. Set WEFT_MPIEXEC to the "
        "launcher of that library"
    )


def _of_variable(wanted: str, variables: Mapping[str, str]) -> list[str]:
    words = shlex.split(wanted)
    if not words or shutil.which(words[0], path=variables.get("PATH")) is None:
        raise RunError(f"WEFT_MPIEXEC is '{wanted}', but there is no such program")
    return words


Lines = queue.Queue[str | Death | None]
"""What comes of a job: lines of its output, then `None`; in between processes that were seen to end."""


@dataclass
class Failure:
    """What ranks and mpiexec said before a launch failed, and which of its own processes the launcher lost."""

    errors: list[dict[str, str]]
    output: deque[str]
    lost: tuple[Death, float] | None = None
    deaths: int = 0
    """Ranks whose end the system has told."""


class Job:
    """One mpiexec with its ranks: iterate over it for `(index of the request, rows)` as they are done.

    Parameters
    ----------
    requests
        What the ranks run, one after the other.
    ranks
        How many are started.
    program
        The words of a rank's command; the job follows as one more.
    files
        What is put into the launch's folder for the ranks to read: contents by name.
    alone
        Whether the program is started by itself, without mpiexec and MPI: one process of one node.

    Raises
    ------
    UsageError, RunError
        While iterating, if the launch fails; the message is the first rank's where ranks gave one.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        ranks: int,
        program: Sequence[str] = RANK,
        alone: bool = False,
        files: Mapping[str, str] | None = None,
    ) -> None:
        self._files = files or {}
        self._requests = requests
        self._ranks = ranks
        self._program = program
        self._alone = alone

    def __iter__(self) -> Iterator[tuple[int, Rows]]:
        with _folder() as folder:
            rows = Path(folder, "rows.jsonl")
            rows.touch()
            for name, content in self._files.items():
                Path(folder, name).write_text(content, encoding="utf-8")
            process = self._start(rows)
            first = Process.of(process.pid)
            if first is not None:
                keeper().tell(launch=first.pid, start=first.start, folder=folder)
            lines = _lines(process)
            deaths = Deaths(folder, lines.put, first)
            try:
                yield from self._watch(process, rows, lines, deaths)
            finally:
                _stop(process, first, deaths)

    def _start(self, rows: Path) -> subprocess.Popen[str]:
        job: dict[str, Any] = {"requests": [json.loads(r.to_json()) for r in self._requests], "rows": str(rows)}
        if self._alone:
            job["benchmarks"] = [request.benchmark for request in self._requests]
            job["variants"] = [request.several("variant") for request in self._requests]
            words = [*self._program, json.dumps(job)]
        else:
            job["library"] = library()
            words = [*command(), "-n", str(self._ranks), *self._program, json.dumps(job)]
        variables = {**os.environ, WATCHED: _watcher()}
        if self._ranks > environment.cores():
            variables = OVERSUBSCRIBING | variables
        else:
            # Ranks that wander between cores differ more from launch to launch. Open MPI binds by itself.
            variables.setdefault("HYDRA_BINDING", "core")
        _log.info("start %s", shlex.join([*words[:-1], "…"]))
        try:
            # A session of its own: Ctrl-C reaches weft alone, which then ends the job in order.
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=variables,
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(f"cannot start {words[0]}: {error.strerror}") from None

    def _watch(
        self, process: subprocess.Popen[str], path: Path, lines: Lines, deaths: Deaths
    ) -> Iterator[tuple[int, Rows]]:
        diagnosis = _core.MpiDiagnosis()
        failure = Failure([], deque(maxlen=_TAIL))
        waiting = _Waiting()
        looked = -_LOOK
        with path.open(encoding="utf-8") as file:
            while True:
                ended = process.poll() is not None
                yield from _results(file)
                if ended:
                    break
                started = diagnosis.processes()
                deaths.watch(started)
                now = time.monotonic()
                if now >= looked + (_LOOK if self._alone or len(started) == self._ranks else 0.0):
                    waiting.look(deaths.look(), deaths.is_deserted(), now)
                    looked = now
                _sort_lines(lines, diagnosis, failure)
                if (verdict := diagnosis.verdict(time.monotonic())) and not failure.lost:
                    raise RunError(_advised(verdict, failure))
                if failure.errors:
                    # The launcher may wait for the ranks that wait for this one.
                    raise _error(1, failure, diagnosis)
                if failure.lost and time.monotonic() >= failure.lost[1] + _HELPER:
                    raise RunError(_lost(failure.lost[0]) + _AGAIN)
        _sort_lines(lines, diagnosis, failure, last=True)
        if process.returncode != 0 and not failure.errors and not self._alone:
            _await_death(lines, diagnosis, failure)
        if process.returncode != 0 or failure.errors:
            raise _error(process.returncode, failure, None if self._alone else diagnosis)


class _Waiting:
    """What a launch waits for in vain, in looks: one continued after a stop has not seen what a clock would judge."""

    def __init__(self) -> None:
        self._looks: dict[Process, int] = {}
        self._deserted = 0
        self._last = -_LOOK

    def look(self, stopped: list[tuple[Process, int | None, str]], is_deserted: bool, now: float) -> None:
        """Take what a look at `now` has found to be stopped, and whether the launcher has no processes any more.

        Raises
        ------
        RunError
            If a process was stopped, or the launcher deserted, at too many looks in a row.
        """
        if now < self._last + _LOOK:
            return
        self._last = now
        self._looks = {process: self._looks.get(process, 0) + 1 for process, _, _ in stopped}
        for process, rank, name in stopped:
            if self._looks[process] > _MAX_LOOKS:
                who = f"rank {rank}" if rank is not None else name
                raise RunError(
                    f"{who}: the process {process.pid} is stopped (signal SIGSTOP or SIGTSTP), and the launch waits "
                    "for it; find out who stopped it, and measure again"
                )
        self._deserted = self._deserted + 1 if is_deserted else 0
        if self._deserted > _MAX_LOOKS:
            raise RunError("the launcher, mpiexec, waits for processes that have ended" + _AGAIN)


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """A folder for temporary files, for as long as it is used.

    That of `tempfile.TemporaryDirectory` does not stop to remove itself where nothing may be removed (Python 3.11).
    """
    try:
        path = tempfile.mkdtemp(prefix="weft-")
    except OSError as error:
        where = tempfile.gettempdir()
        raise RunError(f"{where} cannot be used for temporary files: {error.strerror}; set TMPDIR to another") from None
    try:
        yield path
    finally:
        remove_folder(path)


def _watcher() -> str:
    """This process as ranks are told of it."""
    own = Process.of(os.getpid())
    return "1" if own is None else f"{os.uname().nodename} {own.pid} {own.start}"


def _lines(process: subprocess.Popen[str]) -> Lines:
    """The lines of a process as they come, then `None`."""
    lines: Lines = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        with contextlib.suppress(ValueError):
            for line in process.stdout:
                lines.put(line.rstrip("\n"))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def _sort_lines(lines: Lines, diagnosis: _core.MpiDiagnosis, failure: Failure, last: bool = False) -> None:
    """Hands lines on: status to the diagnosis, errors and the rest to `failure`. Waits a tick for the first."""
    wait = _GRACE if last else _TICK
    try:
        while (line := lines.get(timeout=wait)) is not None:
            if isinstance(line, Death):
                _take_death(line, diagnosis, failure)
            elif diagnosis.feed(line, time.monotonic()):
                pass
            elif line.startswith(ERROR):
                with contextlib.suppress(ValueError):
                    failure.errors.append(json.loads(line.removeprefix(ERROR)))
            elif line.strip():
                failure.output.append(line)
            wait = _GRACE if last else 0.0
        if not last:
            lines.put(None)
            time.sleep(_TICK)
    except queue.Empty:
        pass


def _await_death(lines: Lines, diagnosis: _core.MpiDiagnosis, failure: Failure) -> None:
    """Takes the first death of a rank, of which the system may tell a moment after the launcher has ended."""
    deadline = time.monotonic() + _NAMING
    with contextlib.suppress(queue.Empty):
        while failure.deaths == 0 and (left := deadline - time.monotonic()) > 0:
            line = lines.get(timeout=left)
            if isinstance(line, Death):
                _take_death(line, diagnosis, failure)


def _take_death(death: Death, diagnosis: _core.MpiDiagnosis, failure: Failure) -> None:
    if death.rank is not None:
        failure.deaths += 1
        diagnosis.died(death.rank, time.monotonic(), death.how)
    elif failure.lost is None and death.how != described(0):
        failure.lost = death, time.monotonic()


def _results(file: Any) -> Iterator[tuple[int, Rows]]:
    """The lines that have been completed since the last call."""
    while True:
        start = file.tell()
        line = file.readline()
        if not line.endswith("\n"):
            file.seek(start)
            return
        entry = json.loads(line)
        more = {"library": first_line(entry["library"])} if "library" in entry else {}
        yield entry["request"], [{**row, **more} for row in entry["rows"]]


def first_line(version: str) -> str:
    """What an MPI library calls itself, without how it was built.

    >>> first_line("MPICH Version:      5.0.2\\nMPICH Release date: …")
    'MPICH Version: 5.0.2'
    """
    line = version.strip().partition("\n")[0].partition(",")[0]
    return " ".join(line.split())


def _error(code: int, failure: Failure, diagnosis: _core.MpiDiagnosis | None) -> Exception:
    """The one message for a launch that failed."""
    if failure.errors:
        first = failure.errors[0]
        return _ERRORS.get(first["kind"], RunError)(first["message"])
    if diagnosis is None:
        if _was_interrupted(failure):
            code = -signal.SIGINT
        text = f"the process that measures the node {described(code)}"
        if code == -signal.SIGINT:
            return RunError(text + _AGAIN)
        text += _SEE_OUTPUT
    elif failure.lost:
        text = _lost(failure.lost[0])
    elif code < 0:
        # Its ranks have ended with it, which says nothing about them.
        text = f"the launcher, mpiexec, {described(code)}{_SEE_OUTPUT}"
    else:
        text = diagnosis.ended(code)
    if text.endswith(_SEE_OUTPUT):
        text = text.removesuffix(_SEE_OUTPUT) + _AGAIN + _last_words(failure)
    else:
        text = _advised(text, failure) if failure.lost is None else text + _AGAIN
    return RunError(text)


def _advised(text: str, failure: Failure) -> str:
    """The message, with what to do where a process was lost, and the last words of one that ended by itself."""
    if ": the process " not in text and not text.startswith("the process of a rank"):
        return text
    has_words = " exit code " in text and failure.output and not _was_interrupted(failure)
    return text + _AGAIN + (_last_words(failure) if has_words else "")


def _was_interrupted(failure: Failure) -> bool:
    """Whether a Python was interrupted before it came to weft.

    It says where it was, which helps nobody. While it imports what it starts with, it ends with exit code 1 then, and
    not by the signal.
    """
    return any(line.strip() == "KeyboardInterrupt" for line in failure.output)


def _last_words(failure: Failure) -> str:
    return ". The last of its output:\n  " + "\n  ".join(failure.output or ["(none)"])


def _lost(death: Death) -> str:
    return f"the launcher's process {death.name} {death.how or 'ended'}"


def _stop(process: subprocess.Popen[str], first: Process | None, deaths: Deaths) -> None:
    """Ends a job that still runs, and removes what it has left."""
    known = deaths.processes()
    if process.poll() is None:
        if first is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            if process.poll() is None:
                process.kill()
        else:
            end(first, known, _GRACE)
    else:
        # A launcher that was killed may have left its ranks.
        end(None, known, _GRACE if process.returncode < 0 else 0.0)
    process.wait()
    deaths.close()
    if process.stdout is not None:
        process.stdout.close()
    keeper().tell(launch=process.pid, over=True)
