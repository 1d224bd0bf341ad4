"""Files of a crate need each other in one direction, a parent and its own children apart."""

from pathlib import Path

import pytest
from circles import circles
from floors import ROOT

CRATES = sorted(path.parent.name for path in ROOT.glob("crates/*/src"))


@pytest.mark.parametrize("crate", CRATES)
def test_files_need_each_other_in_one_direction(crate: str) -> None:
    found = [["::".join(module) for module in circle] for circle in circles(ROOT / "crates" / crate / "src")]
    assert not found


def test_a_circle_is_found_through_a_name_that_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\nmod c;\npub use b::Thing;\n")
    (tmp_path / "a.rs").write_text("use crate::Thing;\npub struct Own;\n")
    (tmp_path / "b.rs").write_text("use super::a::{self, Own};\npub struct Thing(Own);\n")
    (tmp_path / "c.rs").write_text(
        "// use crate::b::Thing;\nuse crate::a::Own;\n#[cfg(test)]\nmod tests { use crate::b; }\n"
    )
    assert circles(tmp_path) == [[("a",), ("b",)]]


def test_a_parent_and_its_children_may_need_each_other(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "lib.rs").write_text("mod a;\n")
    (tmp_path / "a.rs").write_text("mod child;\nuse child::Child;\npub struct Own;\n")
    (tmp_path / "a" / "child.rs").write_text("use super::Own;\npub struct Child(Own);\n")
    assert circles(tmp_path) == []
