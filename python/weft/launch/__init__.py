"""Measuring and simulating: requests, launches through mpiexec, the protocol over launches.

`request.py` and `ranges.py` make requests of parameters, by the table of the Rust core; `measure.py` runs the protocol
(`protocol.py`) over launches (`mpiexec.py`, whose ranks run `rank.py`; this process where weft is a rank already), and
returns samples. `simulate.py` runs the same requests in virtual time.
"""
