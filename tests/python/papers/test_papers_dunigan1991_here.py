"""Figure 2 of Dunigan 1991 with a curve of the machine at hand."""

import polars as pl
import pytest

from weft._core import UsageError
from weft.papers import PaperError
from weft.papers.dunigan1991 import LENGTHS
from weft.study.reproducing import reproduce


def samples(seconds=lambda n: 1e-6 + n * 1e-9, **changes):
    """Three launches of echoes, of which the middle one counts, over one hop and over two."""
    rows = [
        {"source": "measured", "machine": "laptop", "benchmark": "echo", "ranks": 2, "hops": hops, "bytes": n,
         "repetition": launch, "seconds": hops * factor * seconds(n)}
        for n in LENGTHS for hops in (1, 2) for launch, factor in enumerate((1.0, 0.9, 7.0))
    ]  # fmt: skip
    return pl.DataFrame(rows).with_columns(**{name: pl.lit(value) for name, value in changes.items()})


def test_here_is_a_curve_of_its_own(native):
    plain, found = reproduce("dunigan-1991", figure="2"), reproduce("dunigan-1991", figure="2", here=samples())
    cells = found.tables[0].cells
    here = cells.filter(pl.col("machine") == "here")
    assert here["kind"].unique().to_list() == ["measured"]
    assert here["ours"].to_list() == pytest.approx([n / (1e-6 + n * 1e-9) / 1e3 for n in here["bytes"]])
    assert here["published"].null_count() == len(here) == len(LENGTHS)
    others = cells.filter(pl.col("machine") != "here")
    assert others.equals(plain.tables[0].cells), "the curves of the paper stay as they are"


@pytest.mark.parametrize("change", [{"source": "simulated"}, {"benchmark": "bandwidth"}, {"hops": 2}, {"bytes": 9}])
def test_samples_of_other_things_are_refused(native, change):
    with pytest.raises(UsageError) as error:
        reproduce("dunigan-1991", figure="2", here=samples(**change))
    assert str(error.value) == (
        "the sample file has no measured echo of 8, 16, … 8192 bytes; make one with weft measure echo --bytes 8:8192 "
        "-o FILE"
    )


def test_here_is_in_figure_2_alone(native):
    with pytest.raises(PaperError, match=r"what was measured here is beside dunigan-1991 in figure 2 alone"):
        reproduce("dunigan-1991", "A5", here=samples())
