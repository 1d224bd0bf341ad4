"""Compiling, verifying and drawing from Python and from the command line."""

import json

import pytest

import weft
from weft import _core, catalogue
from weft.conset import compiling, drawing, pattern, schedule_page


@pytest.fixture(scope="module")
def schedule():
    return weft.conset.compile("hypercube", "iwarp64", words=32, effort=0.1)


def test_figures_beside_their_bounds(schedule):
    assert schedule.phases == len(schedule) == 2
    bounds = {name: (value, unit) for name, value, unit in schedule.lower_bounds}
    assert bounds["channel capacity"] == (2, "phases")
    assert bounds["phases and transfers"][0] <= schedule.predicted_seconds
    schedule.verify(weft.conset.ConnectionSet.named("hypercube", weft.machine("iwarp64"), 32))


def test_another_set_is_refused(schedule):
    other = weft.conset.ConnectionSet.named("hypercube", weft.machine("iwarp64"), 33)
    with pytest.raises(weft.UsageError, match="32 words are scheduled, 33 are to be transferred"):
        schedule.verify(other)


def test_settings_take_the_place_of_the_machine_files():
    assert weft.conset.compile("hypercube", "iwarp64", channels=16, effort=0).phases == 1
    assert weft.conset.compile("random:3", "palomar", effort=0).phases == 3
    assert weft.conset.compile("random:3", "palomar", ports=3, effort=0).phases == 1
    slow = weft.conset.compile("torus", "iwarp64", words=100, access="shared", access_time=500e-9, effort=0)
    # A phase, its transfers, a hop, and the synchronisation when it is left.
    assert slow.predicted_seconds == pytest.approx(26.4e-6 + 8 * 100 * 500e-9 + 0.2e-6 + 17.6e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"machine": "ipsc860"}, r"ipsc860 has no connections: its file has no table \[connections\]"),
        ({"compiler": "best"}, "no compiler is called best; there are weft and apr"),
        ({"access": "both"}, "no access is called both; there are separate and shared"),
        ({"effort": -1.0}, "expected an effort of at least 0 seconds"),
        ({"phases": 1}, 'infeasible in 1 phases: the bound "channel capacity" says at least 2'),
    ],
)
def test_what_cannot_be_compiled(settings, message):
    with pytest.raises(weft.UsageError, match=message):
        weft.conset.compile("hypercube", **{"machine": "iwarp64", **settings})


def test_ctrl_c_while_progress_is_shown_ends_the_search_and_a_mistake_there_does_not():
    calls = []

    def interrupted(doing, spent, phases, seconds):
        calls.append(doing)
        if phases is not None:
            raise KeyboardInterrupt

    found = pattern("random:20", catalogue.machine("iwarp64"), words=500)
    settings = {"effort": 3600.0, "progress": interrupted}
    schedule, is_interrupted = _core.compile_connections(found, catalogue.machine("iwarp64"), **settings)
    assert is_interrupted
    schedule.verify(found)

    def mistaken(*_):
        calls.clear()
        raise ValueError("not the compiler's concern")

    weft.conset.compile("random:6", "iwarp64", words=500, effort=0.1, progress=mistaken)
    assert not calls


def test_progress_is_told():
    told = []
    weft.conset.compile("random:6", "iwarp64", words=500, effort=0.1, progress=lambda *what: told.append(what))
    doing, spent, _, _ = told[0]
    assert doing.startswith("negotiating")
    assert 0 <= spent <= 1


def test_the_command_writes_what_can_be_verified(command, tmp_path):
    code, out, _ = command("compile all-to-all --on iwarp64 --channels 12 --effort 0.1 -o schedule.json")
    assert code == 0
    assert "27  (channel capacity)" in out
    content = json.loads((tmp_path / "schedule.json").read_text())
    assert len(content["phases"]) == 27
    assert {"lower_bounds", "predicted_seconds"} <= set(content)
    assert compiling.read(tmp_path / "schedule.json").phases == 27
    code, out, _ = command("show schedule.json")
    assert (code, out) == (0, "27 phases, verified; drawn in schedule.html\n")
    page = (tmp_path / "schedule.html").read_text()
    assert page.count('class="phase scroll"') == 27
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_schedule_is_verified_against_its_pattern(command, tmp_path):
    (tmp_path / "four.csv").write_text("0,1,8\n2,3,8\n5,4,8\n9,6,8\n")
    (tmp_path / "three.csv").write_text("0,1,8\n2,3,8\n9,6,8\n")
    (tmp_path / "longer.csv").write_text("0,1,8\n2,3,9\n9,6,8\n")
    assert command("compile three.csv --on iwarp64 --effort 0 -o three.json")[0] == 0
    code, out, _ = command("verify three.json")
    assert code == 0
    assert out.startswith("verified: 1 phase on iwarp64, ")
    assert out.endswith(" lower bounds, of whatever pattern it is: --pattern says which it should be\n")
    code, out, _ = command("verify three.json --pattern three.csv")
    assert (code, out.endswith(" lower bounds, of the 3 connections of three.csv\n")) == (0, True)
    for other, message in [
        ("four.csv", "the schedule is not of this connection set: it has 3 connections, the set 4"),
        ("longer.csv", "connection 1: 8 words are scheduled, 9 are to be transferred"),
    ]:
        code, out, err = command(f"verify three.json --pattern {other}")
        assert (code, out) == (2, "")
        assert f"three.json: refused: {message}" in err


def test_edited_files_are_refused(command, schedule, tmp_path):
    compiling.write(schedule, tmp_path / "schedule.json")
    content = json.loads((tmp_path / "schedule.json").read_text())
    content["phases"][0]["connections"][0]["route"].append(0)
    (tmp_path / "edited.json").write_text(json.dumps(content))
    code, _, err = command("show edited.json")
    assert code == 2
    assert "edited.json: refused: phase 0, connection" in err
    (tmp_path / "short.json").write_text((tmp_path / "schedule.json").read_text()[:500])
    code, _, err = command("show short.json")
    assert code == 2
    assert "short.json: the file ends in the middle of a schedule" in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("compile --on iwarp64", "expected a pattern: a name"),
        ("compile torus", "expected a machine: --on iwarp64, say"),
        ("compile torus --on iwarp64 -o no/such/schedule.json", "there is no folder"),
        ("compile torus --on iwarp64 -o schedule.txt", "expected a name that ends in .json"),
        ("show schedule.json", "schedule.json"),
    ],
)
def test_usage(command, line, message):
    code, _, err = command(line)
    assert code == 2
    assert message in err


def test_every_topology_is_drawn():
    for machine in ("iwarp64", "palomar", "rail-h100"):
        found = json.loads(weft.conset.compile("shift:3", machine, effort=0).to_json())
        picture = drawing.svg(found, 0)
        assert picture.startswith("<svg")
        assert "nan" not in picture
        assert "phase" in drawing.text(found)
        assert "<h2>Timetable of the processors" in schedule_page.page(found)


@pytest.mark.parametrize("end", ["source", "route"])
def test_vertices_beyond_all_drawings_are_refused(end):
    schedule = json.loads(weft.conset.compile("shift:3", "iwarp64", effort=0).to_json())
    transfer = schedule["phases"][0]["connections"][0]
    transfer[end] = 2**32 - 1 if end == "source" else [transfer["source"], 2**32 - 1]
    with pytest.raises(weft.UsageError, match=r"at most 16,384 vertices, and this schedule's are numbered to 4,294"):
        schedule_page.page(schedule)


def test_patterns_are_listed(command):
    code, out, _ = command("compile --patterns")
    assert code == 0
    assert "bit-reversal" in out
