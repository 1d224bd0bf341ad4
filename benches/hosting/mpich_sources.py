"""The test programs of MPICH's sources: what its test lists name, and how each is compiled without its `configure`."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_MEMORY = 1.0
"""Tests that ask for more memory than so many gigabytes are skipped."""

CONFIGURATION = """
#define HAVE_STDARG_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_STRDUP 1
#define HAVE_USLEEP 1
#define HAVE_GETRUSAGE 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_LONG 1
#define HAVE_LONG_LONG_INT 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_MPI_IO 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_LIMITS_H 1
#define HAVE_STDINT_H 1
#define HAVE_UNISTD_H 1
#define HAVE_MEMSET 1
#define HAVE_IOSTREAM 1
#define HAVE_NAMESPACE_STD 1
#define HAVE_PTHREAD_BARRIER_INIT 1
#ifndef THREAD_PACKAGE_NAME
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_NONE
#endif
#define POINTERINT_t long
#define F77_NAME_LOWER_USCORE 1
"""
"""What the suite's `configure` finds on Linux with 64 bits."""

FORTRAN_TYPES = {"@F77_MPI_ADDRESS@": "integer*8", "@F77_MPI_OFFSET@": "integer*8"}
"""What `configure` writes into headers of Fortran."""

_C = [
    "util/run_mpitests.c",
    "util/mtest.c",
    "util/mtest_common.c",
    "util/mtest_single.c",
    "util/dtypes.c",
    "dtpools/src/dtpools.c",
    "dtpools/src/dtpools_attr.c",
    "dtpools/src/dtpools_custom.c",
    "dtpools/src/dtpools_desc.c",
    "dtpools/src/dtpools_init_verify.c",
    "dtpools/src/dtpools_misc.c",
]


@dataclass(frozen=True)
class Language:
    """What tests of a language are compiled of, besides themselves."""

    ending: str
    """Of sources that a `Makefile.am` does not name."""
    common: tuple[str, ...]
    """Sources of the library that tests take what they use of: many have no `main` of their own."""
    flags: tuple[str, ...] = ()
    fortran: bool = False
    cxx: bool = False


C = Language(".c", tuple(_C))
THREADS = Language(
    ".c",
    (*(source for source in _C if source != "util/mtest_single.c"), "util/mtest_thread.c"),
    ("-DMTEST_USE_THREAD", "-DTHREAD_PACKAGE_NAME=THREAD_PACKAGE_POSIX", "-pthread"),
)
CXX = Language(".cxx", ("util/mtest_cxx.cxx", "util/mtest_common.c"), cxx=True)
F77 = Language(".f", ("util/mtest_f77.f",), fortran=True)
F90 = Language(".f90", ("util/mtest_f90.f90",), fortran=True)
F08 = Language(".f90", ("util/mtest_f08.f90",), fortran=True)

LANGUAGES = {"threads": THREADS, "cxx": CXX, "f77": F77, "f90": F90, "f08": F08}
"""The languages by the first folder of a test, or the second below `errors`; C where it is none of these."""


def language(folder: str) -> Language:
    """The language of a folder's tests."""
    return LANGUAGES.get(folder.removeprefix("errors/").split("/")[0], C)


@dataclass(frozen=True)
class Test:
    """One line of a test list."""

    folder: str
    program: str
    ranks: int
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    """Of the test's own, not of MPICH."""
    skipped: str = ""
    """Why it is not run."""
    seconds: float = 0
    """How long its list lets it run on MPICH; 0 where it does not say."""

    @property
    def name(self) -> str:
        """The test as people say it."""
        return f"{' '.join((self.program, *self.arguments))} ({self.ranks})"


def tests(suite: Path, folder: str) -> Iterator[Test]:
    """The tests of a folder, each once."""
    seen = set()
    for name in ("testlist", "testlist.in"):
        path = suite / folder / name
        for line in path.read_text().splitlines() if path.exists() else ():
            test = _test(folder, line)
            if test is not None and test not in seen:
                seen.add(test)
                yield test


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _test(folder: str, line: str) -> Test | None:
    # What a list holds between `@` is a comment or nothing, as `configure` decides: without being asked for, it leaves
    # out tests of collectives whose ranks disagree, which MPICH itself need not notice.
    words = re.sub(r"@\w+@", "", line).split("#", maxsplit=1)[0].split()
    if len(words) < 2 or not words[1].isdigit():
        return None
    settings = [_pair(word) for word in words[2:]]
    named = dict(settings)
    skipped = ""
    if line.startswith("@coll_error@"):
        skipped = "MPICH leaves it out unless asked for (--enable-coll-error-tests)"
    elif "xfail" in named:
        skipped = "MPICH expects its own to fail (xfail)"
    elif named.get("strict", "").lower() == "false":
        skipped = "it is not strictly correct, by the test list"
    elif float(named.get("mem", 0)) > MAX_MEMORY:
        skipped = f"it asks for more than {MAX_MEMORY:g} GB"
    elif named.get("resultTest", "TestAllowWarnings") != "TestAllowWarnings":
        skipped = "it is to end with an error, which its list has a script for"
    arguments = [value for key, value in settings if key == "arg" and not re.match(r"-\w*mem\w*=", value)]
    variables = [_pair(value) for key, value in settings if key == "env"]
    own = tuple(pair for pair in variables if not pair[0].startswith(("MPIR_", "MPICH_", "FI_", "UCX_")))
    seconds = float(named.get("timeLimit", 0))
    return Test(folder, words[0], int(words[1]), tuple(arguments), own, skipped, seconds)


@dataclass(frozen=True)
class Compilers:
    """Commands that compile and link programs of MPI; those of Fortran and C++ may be missing."""

    c: str
    fortran: str | None = None
    cxx: str | None = None


class Builder:
    """Compiles tests, each program once."""

    def __init__(self, suite: Path, compilers: Compilers, folder: Path) -> None:
        self.suite = suite.resolve()
        self.compilers = compilers
        self.folder = folder
        include = folder / "include"
        # The library of datatypes looks for its own beside its folder.
        (include / "dtpools").mkdir(parents=True, exist_ok=True)
        for name in ("mpitestconf.h", "dtpoolsconf.h"):
            (include / name).write_text(CONFIGURATION)
        # What MPICH has beyond the standard is declared in a file that its build makes; the suite's own makes it empty.
        (include / "mtest_mpix.h").touch()
        self.flags = ["-w", "-O1", f"-I{include}/dtpools", f"-I{include}"]
        self.flags += [f"-I{self.suite}/include", f"-I{self.suite}/dtpools/include"]
        self.libraries: dict[Language, Path] = {}

    def unavailable(self, of: Language) -> str | None:
        """Why programs of a language cannot be compiled, where no compiler of it is named."""
        if of.fortran and self.compilers.fortran is None:
            return "no compiler of Fortran is named"
        return "no compiler of C++ is named" if of.cxx and self.compilers.cxx is None else None

    def _compiler(self, of: Language, source: str = "") -> str:
        """Of a source, or of what is linked."""
        chosen = self.compilers.cxx if of.cxx else self.compilers.fortran if of.fortran else None
        return self.compilers.c if chosen is None or source.endswith(".c") else chosen

    def _run(self, command: list[str], cwd: Path) -> str | None:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return None
        errors = [line for line in done.stderr.splitlines() if re.search("error|undefined", line, re.IGNORECASE)]
        return errors[0][-150:] if errors else "the compiler says nothing"

    def _object(self, source: Path, target: Path, of: Language, flags: list[str]) -> str | None:
        of_fortran = source.suffix in {".f", ".f90"}
        # Modules of Fortran lie where the compiler runs; lines of the old form may be longer than it allows.
        own = ["-w", "-O1", *self.flags[2:], "-ffixed-line-length-none"] if of_fortran else self.flags
        return self._run(
            [self._compiler(of, source.name), *own, *of.flags, *flags, "-c", str(source), "-o", str(target)],
            target.parent,
        )

    def _library(self, of: Language) -> Path:
        if of not in self.libraries:
            folder = self.folder / f"library-{Path(of.common[-1]).stem}"
            folder.mkdir(exist_ok=True)
            objects = []
            for source in of.common:
                target = folder / f"{Path(source).name}.o"
                problem = None if target.exists() else self._object(self.suite / source, target, of, [])
                if problem is not None:
                    raise SystemExit(f"{source} of the suite cannot be compiled: {problem}")
                objects.append(str(target))
            library = folder / "libmtest.a"
            subprocess.run(["ar", "rcs", str(library), *objects], check=True)
            self.libraries[of] = library
        return self.libraries[of]

    def build(self, test: Test) -> tuple[Path, str | None]:
        """The program of a test, and why it cannot be compiled."""
        of = language(test.folder)
        folder = self.folder / test.folder
        target = folder / test.program
        if (problem := self.unavailable(of)) is not None or target.exists():
            return target, problem
        folder.mkdir(parents=True, exist_ok=True)
        source = self.suite / test.folder
        self._write_headers(source, folder)
        makefile = (source / "Makefile.am").read_text()
        files = _setting(makefile, f"(?:nodist_)?{test.program}_SOURCES") or [f"{test.program}{of.ending}"]
        if not (source / files[0]).exists():
            return target, f"there is no {files[0]}"
        flags = [f"-I{folder}", f"-I{source}", *_setting(makefile, f"{test.program}_CPPFLAGS")]
        objects = []
        for file in files:
            objects.append(str(folder / f"{test.program}-{file}.o"))
            if (problem := self._object(source / file, Path(objects[-1]), of, flags)) is not None:
                return target, problem
        libraries = [str(self._library(of))]
        if of.fortran or of.cxx:
            # Some tests beside those of a language are written in C.
            libraries.append(str(self._library(C)))
        linker = self.compilers.c if of.fortran and files == [f"{test.program}.c"] else self._compiler(of)
        return target, self._run([linker, *objects, *libraries, *of.flags, "-o", str(target), "-lm"], folder)

    def _write_headers(self, source: Path, folder: Path) -> None:
        """Headers that `configure` makes."""
        for template in source.glob("*.h.in"):
            text = template.read_text()
            for name, kind in FORTRAN_TYPES.items():
                text = text.replace(name, kind)
            (folder / template.stem).write_text(text)


def compiler_path(compiler: str | None) -> str | None:
    """The path of a compiler, for use from any folder."""
    path = compiler and shutil.which(compiler)
    return str(Path(path).absolute()) if path else None


def _setting(makefile: str, name: str) -> list[str]:
    match = re.search(rf"^{name}\s*=((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    return [word for word in match[1].replace("\\\n", " ").split() if "$(" not in word] if match else []
