"""What the paper printed."""

from __future__ import annotations

import polars as pl

from weft import samples
from weft.papers.reproduction import reference_folder

NAME = "feldmann-1993"

CITATION = (
    "A. Feldmann, T. M. Stricker, T. E. Warfel, Supporting sets of arbitrary connections on iWarp "
    "through communication "
    "context switches, SPAA 1993, 203-212"
)

MACHINE = "iwarp64"
CLOCK = 50e-9
"""Seconds of a clock: 20 MHz, section 4.2.1."""
NODES = 64
WORD_BYTES = 4
WORDS = (32, 256, 2048, 16384)
"""Data sizes of tables 1 to 3."""

PATTERNS = {"1": "torus", "2": "hypercube", "3": "all-to-all"}
"""Patterns by their tables."""
MESHES = ("m11k", "c10k", "c100k", "q20k")

PHASES = {"torus": 1, "hypercube": 2, "all-to-all": 30}
"""Phases of the paper's compiler with 12 channels, sections 5.1.1 to 5.1.3."""
OUT_DEGREE = {"torus": 4, "hypercube": 6, "all-to-all": 63}

SWITCH_CLOCKS = 520
"""Of a context switch in the predictions of tables 1 to 3; section 4.2.1 has 528, as the prediction of table 6."""
MESSAGE_CLOCKS = 400
"""Of sending and of receiving a message, section 4.3.1."""
ACCESS_CLOCKS = 2
"""Of a word between memory and network, sections 4.2.1 and 4.3.1."""
ELEMENT_CLOCKS = 10
"""Of a word gathered from or scattered into a sparse structure, section 5.2."""
COPY_CLOCKS = 4
"""Of a word copied into a message: table 6's predictions have 14 clocks a word, ten of them the receiver's."""
NODE_WORDS = 2
"""Words of a number that is exchanged: only then do tables 4, 5 and 6 agree (see the reference's README)."""


def conset_clocks(phases: int, degree: int, words: int) -> float:
    """The paper's prediction for connections: `520 P + 2 d k` (section 4.2.1, decoded from tables 1 to 3)."""
    return SWITCH_CLOCKS * phases + ACCESS_CLOCKS * degree * words


def message_clocks(degree: int, words: int) -> float:
    """The paper's prediction for messages: `400 (2 d) + 2 d k` (section 4.3.1, decoded from tables 1 to 3)."""
    return MESSAGE_CLOCKS * 2 * degree + ACCESS_CLOCKS * degree * words


def mesh_message_clocks(degree: int, words: int) -> float:
    """The paper's prediction of table 6 for messages, decoded: 408 (2 d) + 14 w for w words out of a processor.

    400 clocks, and those of four words of header and trailer, for each of 2 d messages; the formula is within 0.4% of
    what was printed for all four meshes.
    """
    return (MESSAGE_CLOCKS + 4 * ACCESS_CLOCKS) * 2 * degree + (COPY_CLOCKS + ELEMENT_CLOCKS) * words


def times() -> pl.DataFrame:
    """Tables 1, 2, 3 and 6 as printed: `pattern`, `words` and four columns of clocks."""
    names = [f"{how}_{model}_clocks" for model in ("conset", "message") for how in ("predicted", "measured")]
    overrides: dict[str, pl.DataType] = {name: pl.Float64() for name in names} | {"words": pl.Int64()}
    return pl.read_csv(reference_folder(NAME) / "patterns.csv", schema_overrides=overrides)


def printed(pattern: str, words: int | None) -> dict[str, float | None]:
    """The four times of one line, clocks; None where withheld."""
    table = times().filter(pl.col("pattern") == pattern)
    table = table.filter(pl.col("words").is_null() if words is None else pl.col("words") == words)
    return {name: value for name, value in table.row(0, named=True).items() if name.endswith("clocks")}


def meshes() -> dict[tuple[str, str], float]:
    """Table 4: values by mesh and quantity."""
    table = pl.read_csv(reference_folder(NAME) / "table-4-meshes.csv", schema_overrides={"value": pl.Float64})
    return {(mesh, quantity): value for mesh, quantity, value in table.rows()}


def solver() -> dict[tuple[str, str], float]:
    """Table 5: values by mesh and quantity."""
    table = pl.read_csv(reference_folder(NAME) / "table-5-solver.csv", schema_overrides={"value": pl.Float64})
    return {(mesh, quantity): value for mesh, quantity, value, _ in table.rows()}


def measured() -> pl.DataFrame:
    """Tables 1 to 3 as samples of source `published`: what was measured and is not withheld."""
    rows = []
    for pattern, words, _, conset, _, messages in times().rows():
        for benchmark, clocks in (("conset", conset), ("messages", messages)):
            if clocks is not None and words is not None:
                rows.append(("published", MACHINE, benchmark, NODES, None, None, 0, pattern, words, clocks * CLOCK))
    names = ("source", "machine", "benchmark", "ranks", "hops", "bytes", "repetition", "pattern", "words", "seconds")
    schema = {name: samples.COLUMNS[name].dtype for name in names}
    return samples.validate(pl.DataFrame(rows, schema=schema, orient="row"))
