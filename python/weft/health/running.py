"""Measuring all pairs: in virtual time on a described machine, or here over MPI."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shlex
import socket
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from weft import _core
from weft._core import Machine, RunError, UsageError
from weft.health import collectives
from weft.health.pairs import BENCHMARK, PairTimes, of_columns, pair_times
from weft.health.trials import Trial
from weft.inputs import quoted
from weft.journal import Journal
from weft.launch import environment, mpiexec
from weft.launch.measure import Measurement, measure_requests
from weft.launch.protocol import Progress, Protocol, Silent
from weft.launch.request import Request
from weft.launch.simulate import simulate as launch_simulation
from weft.samples.schema import validate

LENGTHS = (8, 262_144)
"""Bytes of a short message and of a long one."""

LAUNCHES = 5
"""Launches where nobody says: a median of five forgets two in which a pair shared its cable."""

MIN_HOSTS = 2
"""Hosts that are left at least when one is lost: one has no pair."""

MAX_SIMULATED = 64
"""Nodes of a simulated run where nobody says."""


@dataclass(frozen=True)
class Plan:
    """How pairs are measured.

    Attributes
    ----------
    lengths
        Bytes of the messages.
    launches
        How often all pairs are measured, each time in other rounds.
    iterations
        Messages of a pair in one direction and launch, where not by time.
    seconds
        Time for the messages of a pair in one direction and launch, s; where time is real.
    """

    lengths: tuple[int, ...] = LENGTHS
    launches: int = LAUNCHES
    iterations: int | None = None
    seconds: float = 0.01

    def protocol(self) -> Protocol:
        """As many launches, however much they differ."""
        return Protocol(self.launches, half_width=1.0, budget=0.0, most=self.launches)

    def request(self, ranks: int, seed: int = 1, passes: int = 1) -> Request:
        """The request of one launch."""
        parameters = {"bytes": self.lengths, "seconds_per_point": self.seconds * passes}
        if self.iterations is not None:
            parameters["iterations"] = self.iterations
        return Request(BENCHMARK, ranks, parameters, seed=seed, passes=passes)

    def requests(self, ranks: int, passes: int = 1) -> list[Request]:
        """All that one launch measures: the pairs, then collectives over all ranks."""
        pairs = self.request(ranks, passes=passes)
        return [pairs, *collectives.requests(pairs)]


def simulate(
    machine: Machine, nodes: int | None = None, plan: Plan | None = None, *, seed: int = 0,
    progress: Progress | None = None,
) -> tuple[PairTimes, float]:  # fmt: skip
    """All pairs of the first nodes of a described machine in virtual time.

    Parameters
    ----------
    machine
        The machine, with its faults.
    nodes
        How many of its nodes; all, at most 64, where nobody says.
    plan
        How they are measured.
    seed
        Of noise and of the order of rounds: launch number i has the seed `seed + i + 1`.
    progress
        Who is told how it comes along.

    Returns
    -------
    tuple
        The times, and the virtual seconds that all launches took together.

    Raises
    ------
    weft.UsageError
        For fewer than two nodes or more than there are.

    Examples
    --------
    >>> import weft
    >>> times, seconds = simulate(weft.Machine.find("ipsc860"), 4, Plan(lengths=(8,), launches=1))
    >>> times.logs.shape, round(seconds, 4)
    ((1, 1, 4, 4), 0.0031)
    """
    plan, progress = plan or Plan(), progress or Silent()
    if plan.iterations is None:
        plan = replace(plan, iterations=1)  # Virtual time repeats itself.
    count = min(machine.nodes, MAX_SIMULATED) if nodes is None else nodes
    if count < 2:
        raise UsageError(f"the health of {count} node{'s' * (count != 1)}: pairs need two nodes or more (--ranks)")
    columns, spent = [], 0.0
    progress.launch(0, plan.launches, plan.launches)
    for number in range(plan.launches):
        request = plan.request(count, seed + number + 1)
        launch, makespan = _core.simulate_pairs(machine, request.to_json())
        columns.append(launch)
        spent += makespan
        progress.rows(1)
    return of_columns([str(node) for node in range(count)], columns), spent


def has_processors(machine: Machine) -> bool:
    """Whether the nodes of a machine are the processors of computers, by the table `[processors]` of its file.

    Examples
    --------
    >>> import weft
    >>> has_processors(weft.machine("ipsc860"))
    False
    """
    return _of_computer(machine) is not None


def _of_computer(machine: Machine) -> int | None:
    """Processors of a computer; None where nodes are computers."""
    table = tomllib.loads(machine.to_toml()).get("processors")
    if table is None:
        return None
    figures = (table[name] for name in ("threads", "cores", "caches", "numa_nodes", "sockets"))
    return math.prod(int(figure["value"] if isinstance(figure, dict) else figure) for figure in figures)


def simulate_ranks(
    machine: Machine, ranks: int | None = None, plan: Plan | None = None, *, seed: int = 0,
    progress: Progress | None = None,
) -> pl.DataFrame:  # fmt: skip
    """All pairs of ranks on the first processors of a described machine in virtual time, as samples.

    Parameters
    ----------
    machine
        The machine, with its faults: one whose nodes are processors, if samples are to say where ranks run.
    ranks
        How many; all, at most 64, where nobody says.
    plan, seed
        As of :func:`simulate`.
    progress
        Who is told how it comes along.

    Raises
    ------
    weft.UsageError
        For fewer than two ranks or more than there are processors.

    Examples
    --------
    >>> import weft
    >>> simulate_ranks(weft.machine("ipsc860"), 4, Plan(lengths=(8,), launches=2)).shape[0]
    24
    """
    plan, progress = plan or Plan(), progress or Silent()
    count = min(machine.nodes, MAX_SIMULATED) if ranks is None else ranks
    if count < 2:
        raise UsageError(f"the health of {count} rank{'s' * (count != 1)}: pairs need two or more (--ranks)")
    tables = []
    progress.launch(0, plan.launches, plan.launches)
    for launch in range(plan.launches):
        table = launch_simulation(
            machine, BENCHMARK, seed=seed + launch + 1, ranks=count, bytes=list(plan.lengths),
            iterations=plan.iterations or 1,
        )  # fmt: skip
        tables.append(pl.DataFrame(table).with_columns(repetition=pl.lit(launch, pl.Int64)))
        progress.rows(1)
    return pl.concat(tables)


def trials_of(machine: Machine, times: PairTimes, plan: Plan, seed: int = 0) -> Trial:
    """Simulates the rounds by which some times were simulated, on the machine with faults."""

    def trial(planted: Sequence[str]) -> PairTimes:
        return simulate(machine.with_faults([*planted]), times.nodes, plan, seed=seed)[0]

    return trial


def normal_of(machine: Machine, times: PairTimes) -> PairTimes:
    """What a machine file says that pairs of nodes take, in the order in which the nodes have their ranks.

    The same rounds in virtual time: between as many nodes, or, of a switch that joins fewer, as a fit of two ranks
    describes it, between two of them, which any two are like.

    Parameters
    ----------
    machine
        The description.
    times
        What was measured: its nodes and lengths.

    Raises
    ------
    weft.UsageError
        If the machine has fewer nodes and they are not all at the same distance.

    Examples
    --------
    >>> import weft
    >>> times, _ = simulate(weft.Machine.find("ipsc860"), 4, Plan(lengths=(8,), launches=1))
    >>> bool(np.allclose(normal_of(weft.Machine.find("ipsc860"), times).logs, times.logs, equal_nan=True))
    True
    """
    numbers = tuple(range(-len(times.launches), 0))  # None of them is a launch that was measured.
    if machine.nodes >= times.nodes:
        known, _ = simulate(machine, times.nodes, Plan(times.lengths, len(numbers)))
        return replace(known, names=times.names, launches=numbers)
    kind = tomllib.loads(machine.to_toml())["topology"]["kind"]
    if kind not in ("crossbar", {"value": "crossbar"}):
        raise UsageError(
            f"--baseline {machine.name}: the machine has {machine.nodes} nodes, joined by more than one switch, and "
            f"{times.nodes} were measured; describe them all, or take samples of a healthy run"
        )
    pair, _ = simulate(machine, 2, Plan(times.lengths, 1))
    logs = np.broadcast_to(pair.logs[0, :, :1, 1:], times.logs.shape[1:]).copy()
    logs[:, np.arange(times.nodes), np.arange(times.nodes)] = np.nan
    return PairTimes(times.names, times.lengths, logs[None], {}, numbers[:1])


MAX_NORMAL = 512
"""Processors of the computers that are simulated at most to see what is normal: pairs grow by their square."""


def normal_of_computers(machine: Machine, times: PairTimes) -> tuple[PairTimes, pl.DataFrame]:
    """What a machine file whose nodes are processors says that pairs of computers take, and pairs of ranks within them.

    Parameters
    ----------
    machine
        The description.
    times
        What was measured: its nodes, in whose order the computers are taken, and lengths.

    Raises
    ------
    weft.UsageError
        If the machine has fewer computers, or these have too many processors to simulate.
    """
    count = (_of_computer(machine) or 1) * times.nodes
    if count > machine.nodes:
        computers = machine.nodes * times.nodes // count
        raise UsageError(
            f"--baseline {machine.name}: the machine has {computers} computer{'s' * (computers != 1)}, and "
            f"{times.nodes} were measured; describe as many (topology)"
        )
    if count > MAX_NORMAL:
        raise UsageError(
            f"--baseline {machine.name}: {times.nodes} of its computers have {count} processors, and at most "
            f"{MAX_NORMAL} are simulated; take samples of a healthy run as the baseline"
        )
    launches = tuple(range(-len(times.launches), 0))  # None of them is a launch that was measured.
    rows = simulate_ranks(machine, count, Plan(times.lengths, len(launches)))
    rows = rows.with_columns(pl.col("repetition") - len(launches))
    return replace(pair_times(rows), names=times.names), rows


def samples_of(times: PairTimes, machine: str) -> pl.DataFrame:
    """Simulated times of pairs as samples."""
    count = times.nodes
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
    senders, receivers = np.array(pairs).T
    tables = []
    for launch, of_launch in zip(times.launches, times.logs, strict=True):
        for length, logs in zip(times.lengths, of_launch, strict=True):
            columns = {
                "source": "simulated", "machine": machine, "benchmark": BENCHMARK, "ranks": count, "hops": None,
                "bytes": length, "repetition": launch, "seconds": np.exp(logs[senders, receivers]),
                "sender": senders, "receiver": receivers,
                "sender_node": [times.names[i] for i in senders], "receiver_node": [times.names[j] for j in receivers],
            }  # fmt: skip
            tables.append(pl.DataFrame({name: pl.Series(value) for name, value in _filled(columns, len(pairs))}))
    return validate(pl.concat(tables))


def _filled(columns: dict[str, Any], count: int) -> Iterator[tuple[str, Any]]:
    for name, value in columns.items():
        yield name, value if isinstance(value, (np.ndarray, list)) else [value] * count


def measure(
    plan: Plan, ranks: int | None = None, hosts: Sequence[str] | None = None, progress: Progress | None = None,
    journal: Journal | None = None,
) -> tuple[Measurement, list[tuple[str, str]]]:  # fmt: skip
    """All pairs here: as a rank of the job that a launcher has started, or by launches of one's own.

    Parameters
    ----------
    plan
        How they are measured.
    ranks
        How many take part; all of the job, a rank on each host, or two, where nobody says.
    hosts
        Where ranks are started. A host that is lost is left out of further launches.
    progress
        Who is told how it comes along.
    journal
        Keeps every launch as soon as it ends; those that it has are not made again. Of hosts, until one is lost.

    Returns
    -------
    tuple
        The samples, and the hosts that were lost, each with what was said of that.

    Raises
    ------
    weft.UsageError
        For one rank, for hosts that repeat, and for hosts within a job.
    weft.RunError
        If the first launch fails and nobody knows on which host.
    """
    job = environment.launcher()
    if hosts is not None:
        _check_hosts(hosts, job)
    count = ranks or (len(hosts) if hosts else job.size if job else 2)
    if count < 2:
        raise UsageError("the health of 1 rank: pairs need two or more, on nodes of their own (--ranks, --hosts)")
    if hosts is not None and count != len(hosts):
        raise UsageError(f"--ranks {count} on {len(hosts)} hosts: every host has one rank; leave --ranks out")
    if job is not None:
        wanted = plan.requests(count, passes=plan.launches)
        return measure_requests(wanted, Protocol(1), progress=progress, journal=journal), []
    if hosts is None:
        return measure_requests(plan.requests(count), plan.protocol(), progress=progress, journal=journal), []
    return _on_what_answers(plan, list(hosts), progress, journal)


def _on_what_answers(
    plan: Plan, hosts: list[str], progress: Progress | None, journal: Journal | None
) -> tuple[Measurement, list[tuple[str, str]]]:
    """Launches on hosts; when one is lost, the launch is made again without it, and what was measured is kept."""
    lost = [(host, "no computer has this name") for host in hosts if not _has_address(host)]
    hosts = [host for host in hosts if _has_address(host)]
    if len(hosts) < MIN_HOSTS:
        named = ", ".join(quoted(host) for host, _ in lost)
        raise RunError(f"--hosts: no computer is called {named}; pairs need two hosts that answer")
    kept: list[pl.DataFrame] = []
    while True:
        try:
            with _on_hosts(hosts):
                wanted = plan.requests(len(hosts))
                measurement = measure_requests(wanted, plan.protocol(), progress=progress, journal=journal)
        except RunError as error:
            measurement = Measurement(pl.DataFrame(), failure=error)
        if not measurement.table.is_empty():
            kept.append(measurement.table)
        failure = measurement.failure
        host = None if failure is None else culprit(str(failure), hosts)
        if failure is None or host is None or len(hosts) <= MIN_HOSTS:
            if failure is not None and not kept:
                raise RunError(
                    f"on the hosts {', '.join(map(quoted, hosts))}: {failure}. Does each answer, as to `ssh HOST true`?"
                )
            return replace(measurement, table=_one_after_the_other(kept)), lost
        journal = None  # Its launches are of hosts one of which is not there now.
        lost.append((host, str(failure).splitlines()[0]))
        hosts.remove(host)


def _has_address(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True


def _one_after_the_other(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The launches of several measurements, numbered on."""
    numbered, first = [], 0
    for table in tables:
        numbered.append(table.with_columns(pl.col("repetition") + first))
        first = 1 + int(numbered[-1]["repetition"].to_numpy().max())
    return pl.concat(numbered, how="diagonal_relaxed")


def culprit(message: str, hosts: Sequence[str]) -> str | None:
    """The host that a failed launch names: by its name, or by the number of its rank.

    Examples
    --------
    >>> culprit("rank 1 was killed by signal 9", ["n1", "n2", "n3"])
    'n2'
    >>> culprit("ssh: Could not resolve hostname n3: Name or service not known", ["n1", "n2", "n3"])
    'n3'
    >>> culprit("the launch failed", ["n1", "n2", "n3"])
    """
    named = [host for host in hosts if re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", message)]
    if len(named) == 1:
        return named[0]
    rank = re.search(r"\brank (\d+)\b", message)
    return hosts[int(rank[1])] if rank and int(rank[1]) < len(hosts) else None


def _check_hosts(hosts: Sequence[str], job: environment.Launcher | None) -> None:
    if job is not None:
        raise UsageError(f"--hosts is for a login node; {job.name} has started this process as one of {job.size} ranks")
    if not all(host.strip() for host in hosts):
        raise UsageError("--hosts: a name is empty; name hosts as n1,n2,n3")
    twice = next((host for host in hosts if hosts.count(host) > 1), None)
    if twice is not None:
        raise UsageError(f"--hosts names {quoted(twice)} twice; every host has one rank, and each is named once")


@contextlib.contextmanager
def _on_hosts(hosts: Sequence[str] | None) -> Iterator[None]:
    """Within it launches start a rank on each of some hosts."""
    if hosts is None:
        yield
        return
    before = os.environ.get("WEFT_MPIEXEC")
    words = mpiexec.command()
    os.environ["WEFT_MPIEXEC"] = shlex.join([*words, *_host_options(words, hosts)])
    try:
        yield
    finally:
        if before is None:
            del os.environ["WEFT_MPIEXEC"]
        else:
            os.environ["WEFT_MPIEXEC"] = before


def _host_options(words: Sequence[str], hosts: Sequence[str]) -> list[str]:
    """How a launcher is told hosts: srun's, Open MPI's and Hydra's options (their manual pages)."""
    listed = ",".join(hosts)
    if os.path.basename(words[0]) == "srun":
        return [f"--nodelist={listed}", "--ntasks-per-node=1"]
    try:
        said = subprocess.run([words[0], "--version"], check=False, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    return ["--host", listed, "--map-by", "node"] if "Open MPI" in said or "OpenRTE" in said else ["-hosts", listed]
