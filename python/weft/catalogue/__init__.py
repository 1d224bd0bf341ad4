"""Machines: the catalogue and machine files (seam 1)."""

from __future__ import annotations

import os
import tomllib

from weft import _core
from weft._core import Machine, UsageError

__all__ = ["Machine", "machine", "machines", "operation_time"]


def machine(name: str | os.PathLike[str], estimand: str | None = None) -> Machine:
    """A machine of the catalogue by its name, or the one that a machine file describes.

    Parameters
    ----------
    name
        `ipsc860`, or the path of a `.toml` file.
    estimand
        Which costs of messages, where the file has two estimates of them (that of `weft study` does): `undisturbed`,
        what they take where no other program disturbs them, or `typical`, the medians over all launches. Default: those
        of the file's own tables, which its key `estimand` names.

    Raises
    ------
    weft.MachineError
        If there is no such machine (with the nearest name), or the file is not a machine description (with file, line,
        key and what was expected).
    weft.UsageError
        If the file has no such estimate.

    Examples
    --------
    >>> ipsc = machine("ipsc860")
    >>> ipsc.nodes, ipsc.message_time(1024, hops=2)
    (128, 0.000591252)
    >>> machine("ipsc806")
    Traceback (most recent call last):
    weft._core.MachineError: unknown machine "ipsc806"; did you mean ipsc860? ...
    """
    try:
        described = _core.Machine.find(os.fspath(name))
    except _core.MachineError:
        if os.path.isdir(name):
            raise UsageError(
                f"{os.fspath(name)} is a folder: name a file in it; of a study those are samples.csv and here.toml"
            ) from None
        if _is_file_named_plainly(os.fspath(name)):
            hint = f"a file {name} is read as a machine only if its name ends in .toml or has a path: ./{name}"
            if str(name).endswith(".json"):
                hint = f"{name} can be a graph for `weft compile`, and machine files are TOML"
            raise UsageError(f"unknown machine {name}: {hint}") from None
        raise
    return described if estimand is None else described.with_estimand(estimand)


def _is_file_named_plainly(name: str) -> bool:
    """Whether there is such a file that nothing in its name tells from the name of a machine."""
    return os.path.isfile(name) and os.path.basename(name) == name and not name.endswith(".toml")


def machines() -> list[Machine]:
    """Every machine of the catalogue.

    Examples
    --------
    >>> {"ipsc860", "cm200", "tpu-v4"} <= {machine.name for machine in machines()}
    True
    """
    return [_core.Machine.find(name) for name in _core.catalogue()]


def operation_time(machine: str | Machine, operation: str) -> float | None:
    """Seconds of an operation of a node's processor (`float64_multiply`), None if the machine file does not give it."""
    described = machine if isinstance(machine, Machine) else _core.Machine.find(machine)
    figure = tomllib.loads(described.to_toml()).get("operations", {}).get(operation)
    if isinstance(figure, dict):
        figure = figure["value"]
    return None if figure is None else float(figure)


def passes_messages(machine: Machine) -> bool:
    """Whether its nodes pass messages between programs: all but the data-parallel machines."""
    return "protocols" in tomllib.loads(machine.to_toml())
