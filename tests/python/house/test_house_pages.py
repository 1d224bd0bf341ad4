"""Pages on the architecture and on decisions name what there is, and no decision is missing from the index."""

import re

import pytest
from floors import PAGE, ROOT
from references import missing, quoted

DECISIONS = ROOT / "docs" / "decisions"
INDEX = DECISIONS / "README.md"
PAGES = sorted(path for path in DECISIONS.glob("*.md") if path != INDEX)
SECTIONS = ["Context", "Decision", "Measurements", "When to revisit"]


def ids(path):
    return path.stem


@pytest.mark.parametrize("path", [PAGE, INDEX, *PAGES], ids=ids)
def test_what_is_in_backquotes_exists(path):
    wrong = {text: why for text in quoted(path.read_text()) if (why := missing(text)) is not None}
    assert not wrong, path


@pytest.mark.parametrize("path", [PAGE, INDEX, *PAGES], ids=ids)
def test_links_lead_somewhere(path):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert not [target for target in targets if not (path.parent / target).is_file()], path


@pytest.mark.parametrize("path", PAGES, ids=ids)
def test_a_decision_has_its_sections(path):
    text = path.read_text()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert not re.search(r"^## .+\n+(?:## |\Z)", text, re.MULTILINE), "an empty section"


def test_the_index_lists_every_decision_once_by_its_title():
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", INDEX.read_text(), re.MULTILINE)
    there = [(path.read_text().splitlines()[0].removeprefix("# "), path.name) for path in PAGES]
    assert sorted(listed) == sorted(there)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("crates/comm/src/nothing.rs", "there is no such file"),
        ("nothing_of_this_name.toml", "there is no such file"),
        ("weft.model.fitt", "Python finds no such name"),
        ("Communicator::no_such_method", "no source has no_such_method"),
    ],
)
def test_what_does_not_exist_is_found(text, why):
    assert missing(text) == why


@pytest.mark.parametrize(
    "text",
    [
        "crates/comm/src/communicator.rs",
        "floors.toml",
        "crates/comm",
        "weft.model.fit",
        "weft.machines()",
        "Communicator::sendrecv",
        "RankPlan",
        "weft measure echo --hops 1:6",
        "1K",
    ],
)
def test_what_exists_or_names_nothing_is_accepted(text):
    assert missing(text) is None
