"""`weft` with studies that take seconds: the same commands with the fewest launches, for the fault campaign."""

from dataclasses import replace

import weft

from weft.launch.protocol import Plan
from weft.study import here

_PLAN = Plan(launches=2, budget=1.0, limit=4.0, half_width=0.5)

here.QUICK = replace(here.QUICK, seconds_per_point=0.0005, thin=9, plan=_PLAN, echo=_PLAN)
here.SUITE = replace(here.SUITE, seconds_per_point=0.0005, thin=9, plan=_PLAN, echo=_PLAN, groups=("point-to-point",))
here.ECHO_SECONDS = 0.0005
_MACHINES = weft.machines()[:1]
weft.machines = lambda: _MACHINES

if __name__ == "__main__":
    from weft.cli.main import main

    main()
