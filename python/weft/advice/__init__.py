"""Advice from costs: section 4 of Wu and Shu 1989 as an engine.

`rules.py` pairs forms that do the same, `forms.py` knows what operations are in them, `engine.py` has a machine's costs
decide, `verify.py` measures both forms here. No rule knows a machine: what is good advice on a Connection Machine need
not be on another.

>>> import weft
>>> def program():
...     x = weft.pvar.VPSet((64, 64)).zeros("float32")
...     x = weft.pvar.get(x, x.vp.address())
>>> print(weft.advice.advise(program, "cm2-8k").suggestions[0].rule.name)
fetch or store
"""

from __future__ import annotations

from weft.advice.engine import Advice, Suggestion, advise
from weft.advice.rules import RULES, Rule

__all__ = ["RULES", "Advice", "Rule", "Suggestion", "advise"]
