"""What the fault campaign runs: commands of weft and programs on ranks, short enough to be run hundreds of times."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Callable

HERE = pathlib.Path(__file__).parent
WEFT = (sys.executable, "-m", "weft.cli.main")
SHORT = (sys.executable, str(HERE / "short.py"))
FGHC = HERE.parent.parent / "programs" / "fghc" / "primes.fghc"


@dataclasses.dataclass(frozen=True)
class Kind:
    """A command that is disturbed.

    Attributes
    ----------
    words
        The command; `OUT` stands for the output.
    output
        The name of the output in the trial's folder; a name without an ending is a folder.
    resumes
        Whether it has a journal and --resume.
    launches
        Whether weft starts processes of its own.
    under_mpiexec
        Ranks that mpiexec starts for the user; the first process is then mpiexec, not weft.
    weight
        How often it is drawn.
    """

    name: str
    words: tuple[str, ...]
    output: str
    resumes: bool = False
    launches: bool = False
    under_mpiexec: int = 0
    weight: int = 1

    def without_resuming(self) -> Kind:
        """The same, of which only what stands right after a fault is looked at."""
        return dataclasses.replace(self, resumes=False)

    def command(self, output: pathlib.Path, mpiexec: Callable[[], list[str]], resume: bool = False) -> list[str]:
        """The words for an output; those that go on with it have --resume."""
        words = [str(output) if word == "OUT" else word for word in self.words]
        if self.under_mpiexec:
            words = [*mpiexec(), "-n", str(self.under_mpiexec), *words]
        return [*words, "--resume"] if resume else words


_QUICK = ("--budget", "0", "--launches", "2", "--seconds-per-point", "0.01", "-o", "OUT")

KINDS = (
    Kind("measure", (*WEFT, "measure", "echo", "--bytes", "8,1K", *_QUICK), "m.csv", True, True, weight=24),
    Kind("measure-node", (*WEFT, "measure", "arithmetic", *_QUICK), "n.csv", True, True, weight=8),
    Kind(
        "exchange",
        (*WEFT, "measure", "conset", "--pattern", "hypercube", "--words", "32", "--launches", "2", "-o", "OUT"),
        "e.csv",
        launches=True,
        weight=4,
    ),
    Kind("study", (*SHORT, "study", "--quick", "-o", "OUT"), "study", True, True, weight=4),
    Kind("suite", (*SHORT, "suite", "-o", "OUT"), "suite", True, True, weight=1),
    Kind(
        "calibrate",
        (*WEFT, "calibrate", "--programs", "16", "--budget", "2", "-o", "OUT"),
        "c.toml",
        True,
        weight=9,
    ),
    Kind(
        "compile", (*WEFT, "compile", "hypercube", "--on", "iwarp64", "--words", "256", "-o", "OUT"), "s.json", weight=8
    ),
    Kind(
        "measure-on",
        (*WEFT, "measure", "alltoall", "--on", "ipsc860", "--ranks", "2:64", "-o", "OUT"),
        "o.csv",
        weight=8,
    ),
    Kind(
        "fghc", (*WEFT, "fghc", "run", str(FGHC), "--goal", "count(3000, N)", "-n", "2", "-o", "OUT"), "f.csv", weight=8
    ),
    Kind(
        "fghc-ranks",
        (*WEFT, "fghc", "run", str(FGHC), "--goal", "count(3000, N)", "-o", "OUT"),
        "g.csv",
        under_mpiexec=2,
        weight=10,
    ),
    Kind("program", (sys.executable, str(HERE / "ranks.py"), "OUT"), "p.npy", under_mpiexec=3, weight=12),
)
"""What there is."""
