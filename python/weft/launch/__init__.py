"""Measuring and simulating: requests, launches through mpiexec, the protocol over launches.

`measure.py` is what people call; it turns words into requests (`request.py`, `ranges.py`), runs the protocol
(`protocol.py`) over launches (`mpiexec.py`, whose ranks run `rank.py`; `inplace.py` where weft is a rank already), and
returns samples. `simulate.py` runs the same requests in virtual time.
"""
