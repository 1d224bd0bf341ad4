"""The cost of messages as a model: fitted to samples, used to predict, compared.

>>> import polars as pl
>>> from weft import model
>>> lengths = [2**k for k in range(3, 14)]
>>> samples = pl.DataFrame({
...     "source": "published", "machine": "example", "benchmark": "echo", "ranks": 2, "hops": 1, "bytes": lengths,
...     "repetition": 0, "seconds": [75e-6 + 0.4e-6 * n for n in lengths]})
>>> fit = model.fit(samples)
>>> f"{fit.startup.value * 1e6:.1f} us, {fit.byte_time.value * 1e6:.2f} us/B, half rate at {fit.half_bandwidth:.1f} B"
'75.0 us, 0.40 us/B, half rate at 187.5 B'
"""

from weft.model.benchmark_fit import BenchmarkFit, fit_benchmark
from weft.model.communication_rate import (
    CommunicationFit,
    fit_communication,
    held_out,
    largest_rate,
    performance,
    predicted,
    rates,
)
from weft.model.comparison import compare, machine_table
from weft.model.curve import Curve, Estimate, FitError, Piece
from weft.model.depth import best_steps_per_exchange, time_per_step
from weft.model.exchange import ExchangeTimes, exchange_times
from weft.model.fitting import BENCHMARKS, Fit, fit, fit_all
from weft.model.halo import predict_halo
from weft.model.machine_file import machine_text
from weft.model.model_file import read_models, write_models
from weft.model.prediction import DescribedMachine, predict
from weft.model.scaling import Scaling
from weft.model.stencil import NodeTimes, predict_stencil

__all__ = [
    "BENCHMARKS",
    "BenchmarkFit",
    "CommunicationFit",
    "Curve",
    "DescribedMachine",
    "Estimate",
    "ExchangeTimes",
    "Fit",
    "FitError",
    "NodeTimes",
    "Piece",
    "Scaling",
    "best_steps_per_exchange",
    "compare",
    "exchange_times",
    "fit",
    "fit_all",
    "fit_benchmark",
    "fit_communication",
    "held_out",
    "largest_rate",
    "machine_table",
    "machine_text",
    "performance",
    "predict",
    "predict_halo",
    "predict_stencil",
    "predicted",
    "rates",
    "read_models",
    "time_per_step",
    "write_models",
]
