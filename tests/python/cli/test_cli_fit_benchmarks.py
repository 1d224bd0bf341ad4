"""`weft fit` of benchmarks other than echo: what it prints, writes and refuses."""

import json

import polars as pl
import pytest

import weft
from weft.samples import read, write


@pytest.fixture
def fit(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(weft.simulate("ipsc860", "broadcast", ranks=[2, 4, 8, 16, 32], bytes="8:64"), "b.csv")
    return lambda line: command(f"fit {line}")


def test_the_only_benchmark_of_a_file_is_fitted(fit):
    code, out, _ = fit("b.csv")
    assert code == 0
    assert "72.0 µs ⌈log2 p⌉ + 415 ns ⌈log2 p⌉ n" in out
    assert "p: ranks; error unseen: mean at points left out" in out


def test_models_are_written_and_predicted_from(fit, tmp_path):
    assert fit("b.csv --benchmark broadcast -o m.json")[0] == 0
    code, out, err = fit("m.json --ranks 24 --bytes 32 -o p.csv")
    assert code == 0
    assert "426 µs" in out
    assert "predictions: p.csv" in err
    assert read(tmp_path / "p.csv")["seconds"].item() == pytest.approx(5 * 85.28e-6, rel=1e-3)


def test_rows_are_for_other_tools(fit):
    code, out, _ = fit("b.csv --format json")
    assert code == 0
    assert [row["formula"] for row in json.loads(out)] == ["72.0 µs ⌈log2 p⌉ + 415 ns ⌈log2 p⌉ n"]
    _, out, _ = fit("b.csv --ranks 8 --bytes 8,16 --format csv")
    assert out.splitlines()[0].startswith("source,machine,benchmark,ranks,hops,bytes")
    assert len(out.splitlines()) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda piece: piece["coefficients"].__setitem__(0, -1.0), "a coefficient is negative"),
        (lambda piece: piece["errors"].clear(), "a piece has no errors"),
    ],
)
def test_models_that_no_fit_gives_are_refused(fit, tmp_path, change, message):
    assert fit("b.csv --benchmark broadcast -o models.json")[0] == 0
    content = json.loads((tmp_path / "models.json").read_text())
    change(content["models"][0]["pieces"][0])
    (tmp_path / "models.json").write_text(json.dumps(content))
    code, _, err = fit("models.json --ranks 8 --bytes 8")
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("--benchmark echo", "--benchmark echo: the models of models.json are of broadcast"),
        ("--machine ncube", "--machine ncube: the models of models.json are of ipsc860"),
        ("--source measured", "--source measured: the models of models.json are of simulated"),
    ],
)
def test_models_of_something_else_predict_nothing(fit, other, message):
    assert fit("b.csv --benchmark broadcast -o models.json")[0] == 0
    code, _, err = fit(f"models.json {other} --ranks 8 --bytes 8")
    assert code == 2
    assert message in err
    assert fit("models.json --benchmark broadcast --machine ipsc860 --source simulated --ranks 8 --bytes 8")[0] == 0


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("b.csv --benchmark alltoall", 1, "there are no samples of 'alltoall'; there are of broadcast"),
        ("b.csv -o m.toml", 2, "m.toml: a machine file is fitted to echo, and b.csv has broadcast"),
        ("b.csv --benchmark broadcast -o m.toml", 2, ".json"),
        ("b.csv --ranks 8 -o m.json", 2, ".csv"),
        ("b.csv --ranks many", 2, "many"),
        ("bad.json", 2, "bad.json: expected models of benchmarks"),
        ("both.csv", 1, "both.csv: the samples are of broadcast, barrier; choose one with --benchmark"),
        ("few.csv", 1, "determine no model; measure at least 4"),
        ("echo.csv -o e.json", 2, "e.json: echo has a machine file"),
    ],
)
def test_what_cannot_be_is_refused(fit, tmp_path, line, code, message):
    (tmp_path / "bad.json").write_text("{}")
    both = [weft.simulate("ipsc860", name, ranks=[2, 4]) for name in ("broadcast", "barrier")]
    write(both[1], "few.csv")
    write(pl.concat(both, how="diagonal"), "both.csv")
    write(weft.simulate("ipsc860", "echo", bytes="8:1K"), "echo.csv")
    found, _, err = fit(line)
    assert found == code
    assert message in err
    assert not list(tmp_path.glob("[me].*"))
