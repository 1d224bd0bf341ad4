"""`weft` with studies that take seconds: the same commands with the fewest launches, for the fault campaign."""

from __future__ import annotations

from dataclasses import replace


def shorten() -> None:
    """Replace the extents of studies, and the catalogue by its first machine."""
    import weft
    from weft.launch.protocol import Protocol
    from weft.study import here

    protocol = Protocol(launches=2, budget=1.0, limit=4.0, half_width=0.5)
    here.QUICK = replace(here.QUICK, seconds_per_point=0.0005, thin=9, protocol=protocol, echo=protocol)
    groups = ("point-to-point",)
    here.SUITE = replace(here.SUITE, seconds_per_point=0.0005, thin=9, protocol=protocol, echo=protocol, groups=groups)
    here.ECHO_SECONDS = 0.0005
    machines = weft.machines()[:1]
    weft.machines = lambda: machines


if __name__ == "__main__":
    shorten()
    from weft.cli.main import main

    main()
