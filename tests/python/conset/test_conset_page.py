"""The page of a schedule: what it says of bounds, that everything is drawn and named, and that a browser steps it."""

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import weft
from accessibility import browser, serious
from weft.conset import drawing, schedule_page


@pytest.fixture(scope="module")
def schedule():
    return json.loads(weft.conset.compile("hypercube", "iwarp64", effort=0).to_json())


def test_a_schedule_at_its_bound_is_called_optimal_and_another_is_not(schedule):
    bound = max(one["value"] for one in schedule["lower_bounds"] if one["unit"] == "s")
    at = schedule_page.page({**schedule, "predicted_seconds": bound})
    assert "Provably optimal: no schedule in phases takes less time" in at
    above = schedule_page.page({**schedule, "predicted_seconds": 1.25 * bound})
    assert "Provably optimal" not in above
    assert "At most 25.0% above the best that there can be" in above


def test_the_fewest_phases_are_said_to_be_so(schedule):
    fewest = max(one["value"] for one in schedule["lower_bounds"] if one["unit"] == "phases")
    assert len(schedule["phases"]) == fewest
    assert "Provably the fewest phases" in schedule_page.page(schedule)
    more = {**schedule, "phases": schedule["phases"] * 2}
    assert "At least 2 phases are needed" in schedule_page.page(more)


def test_each_node_has_its_number_and_each_link_its_load(schedule):
    picture = ElementTree.fromstring(drawing.svg(schedule, 0))
    space = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in picture.iter(f"{space}text")] == [str(node) for node in range(64)]
    assert picture.get("role") == "img"
    assert picture.find(f"{space}title").text.startswith("phase 0: ")
    loads = [title.text for title in picture.iter(f"{space}title")][1:]
    assert loads
    assert all(re.fullmatch(r"\d+ to \d+: \d+ connections", load) for load in loads)


def test_the_darkest_links_are_the_busiest():
    assert [drawing.shade(load, 5) for load in range(1, 6)] == list(drawing.LOADS)
    assert drawing.shade(1, 1) == 1.0


def test_bars_of_the_timetable_are_to_scale(schedule):
    page = schedule_page.page(schedule)
    table = page[page.index('<section id="timetable">') :]
    total = schedule["predicted_seconds"]
    switched = [float(width) for width in re.findall(r'class="switching" x="[^"]*" y="22" width="([^"]*)"', table)]
    resources = schedule["resources"]
    share = (resources["synchronisation_seconds"] + resources["phase_seconds"]) / total
    assert len(switched) == len(schedule["phases"])
    assert switched[0] / 980 == pytest.approx(share, abs=1e-3)
    assert "50.0 µs</text>" in table or "µs</text>" in table


def test_names_of_a_file_stay_text(schedule):
    page = schedule_page.page({**schedule, "pattern": "</script><b>", "machine": "<i>"})
    assert "<b>" not in page
    assert "<i>" not in page


@pytest.mark.browser
def test_nothing_keeps_people_from_a_schedule(schedule, tmp_path):
    path = tmp_path / "schedule.html"
    path.write_text(schedule_page.page(schedule))
    assert serious(path, tmp_path) == []


@pytest.mark.browser
def test_a_browser_steps_through_the_phases(schedule, tmp_path):
    path = tmp_path / "schedule.html"
    step = '<script>document.getElementById("after").click();</script></body>'
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", schedule_page.page(schedule))
    path.write_text(text.replace("</body>", step))
    words = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
             "--dump-dom", path.as_uri()]  # fmt: skip
    dom = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    hidden = [("hidden" in tag) for tag in re.findall(r'<div class="phase scroll"[^>]*>', dom)]
    assert hidden == [True, False]
