"""The health of a cluster: every pair of nodes measured, and what is slow told from that."""

from weft.health.diagnosis import Diagnosis, Verdict, diagnose, sentence, summary
from weft.health.pairs import PairTimes, pair_times

__all__ = ["Diagnosis", "PairTimes", "Verdict", "diagnose", "pair_times", "sentence", "summary"]
