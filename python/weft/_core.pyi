"""The native half of weft. Requests and rows cross as JSON: `crates/suite` says what is in them."""

import os

__version__: str

class WeftError(Exception):
    """Base of weft's errors; str() is the whole message."""

class UsageError(WeftError):
    """A request that cannot be meant: wrong name, range or combination."""

class MachineError(UsageError):
    """A machine description that cannot be read: file, line, key, what was expected."""

class RunError(WeftError):
    """A run that failed: deadlock, a missing library, a killed rank."""

class Machine:
    """A machine description (seam 1)."""

    @staticmethod
    def parse(text: str, path: str) -> Machine:
        """Reads the text of a machine file; `path` is what messages call it. Raises MachineError."""

    @staticmethod
    def find(name_or_path: str) -> Machine:
        """A machine of the catalogue by name, or a machine file by path. Raises MachineError."""

    @property
    def name(self) -> str:
        """Short name, as on the command line."""

    @property
    def title(self) -> str:
        """Full name."""

    @property
    def nodes(self) -> int:
        """How many nodes it has."""

    def message_time(self, bytes: int, hops: int) -> float:
        """Seconds of a message of `bytes` bytes over `hops` links of the idle machine; 0 hops: to itself."""

    def self_time(self, bytes: int) -> float:
        """Seconds of a message of `bytes` bytes from a node to itself."""

    def host_time(self, bytes: int) -> float | None:
        """Seconds of a message of `bytes` bytes between node 0 and the host; None if the machine has no host."""

    def to_toml(self) -> str:
        """As a machine file."""

    def to_json(self) -> str:
        """As JSON."""

class MpiDiagnosis:
    """Tells a deadlock or a mismatch from slowness by what the ranks of a job say of themselves."""

    def __init__(self) -> None: ...
    def feed(self, line: str, now: float) -> bool:
        """One line of a job's output that came at `now` (s, any clock that goes forward); whether it is a report."""

    def verdict(self, now: float) -> str | None:
        """Why the job must be ended, if that is certain at `now`."""

    def processes(self) -> list[tuple[int, int, str]]:
        """The processes of the ranks that have started: rank, process number, host."""

    def died(self, rank: int, now: float) -> None:
        """The process of this rank was seen to end at `now`."""

    def ended(self, exit_code: int) -> str:
        """Why a job failed whose launcher ended with this code."""

def benchmarks() -> str:
    """Every benchmark as a JSON list."""

def check_request(request_json: str) -> None:
    """Checks all of a request that can be checked without a machine. Raises UsageError."""

def catalogue() -> list[str]:
    """Names of the catalogue's machines."""

def simulate(
    machine: Machine, request_json: str, trace_path: str | os.PathLike[str] | None = None, seed: int = 0
) -> str:
    """Runs a request in virtual time; rows as JSON. Raises UsageError, RunError."""

def run_threads(request_json: str) -> str:
    """Runs a request with ranks as threads of this process; rows as JSON. Raises UsageError, RunError."""

def run_mpi_rank(request_json: str, default_library: str) -> str | None:
    """Runs a request as one rank of an MPI job; rows as JSON on the first rank. Raises UsageError, RunError."""

def node_benchmarks() -> str:
    """Every benchmark of the node suite as a JSON list: `name`, `summary`, `variants`, `lengths` (what they mean)."""

def node_work(benchmark: str, variant: str, length: int | None = None) -> tuple[str, int] | None:
    """The operations that one unit of a row is made of, name and count; None where operation times do not say."""

def run_node(benchmark: str, request_json: str) -> str:
    """Runs a benchmark of the node suite in this process; rows as JSON. Raises UsageError, RunError."""

def mpi_version(default_library: str) -> str:
    """What the MPI library says of itself, as JSON. Raises RunError."""
