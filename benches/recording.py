"""What every record of a benchmark begins with."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
from typing import Any


def processor() -> str:
    """The model of this machine's processor, as the system names it."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def head(benchmark: str, started: datetime.datetime, load_before: tuple[float, ...]) -> dict[str, Any]:
    """Which benchmark, when, and on what; `load_before` is that of the system when it began."""
    return {
        "benchmark": benchmark,
        "date": started.isoformat(timespec="seconds"),
        "processor": processor(),
        "processors": os.cpu_count(),
        "simd": os.environ.get("WEFT_SIMD", "widest"),
        "system": platform.platform(),
        "load_before": load_before,
        "load_after": os.getloadavg(),
    }
