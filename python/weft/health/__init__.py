"""The health of a cluster: every pair of nodes measured, and what is slow told from that.

>>> import weft
>>> slow = weft.machine("ipsc860").with_faults(["node:5=0.8"])
>>> measured, normal = (
...     weft.health.pair_times(weft.simulate(machine, "pairs", ranks=8)) for machine in (slow, "ipsc860")
... )
>>> print(weft.health.summary(weft.health.diagnose(measured, expected=normal))[1])
node 5 is slow: messages take 1.25 times as long at 256 KiB ...
"""

from weft.health.collectives import CollectiveTime
from weft.health.diagnosis import Diagnosis, Verdict, diagnose, sentence, summary
from weft.health.pairs import PairTimes, pair_times

__all__ = ["CollectiveTime", "Diagnosis", "PairTimes", "Verdict", "diagnose", "pair_times", "sentence", "summary"]
