"""Every unsafe block says itself why it is sound: clippy sees that there is a reason, this that it is one."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "crates").rglob("*.rs"))

# What refers to another reason instead of giving one. A condition of the function that holds the block is a reason
# where the comment says which condition: "the row has two elements (this function's condition)".
REFERENCE = re.compile(
    r"\bas (above|below|before|there|for|in|the caller|promised)\b"
    r"|\bthe caller (promises|vouches|says|knows)\b"
    r"|\bthe caller's\b"
    r"|\bby the contract\b"
    r"|\bpromised (by|to)\b"
    r"|\b(likewise|ditto|same (reason|as))\b"
    r"|\bsee (above|below)\b",
    re.IGNORECASE,
)


def reasons(text: str) -> Iterator[tuple[int, str]]:
    """The line and the words of every SAFETY comment, however many lines it has."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        found = re.search(r"//\s*SAFETY\b:?(.*)", line)
        if not found or line.lstrip().startswith("///"):
            continue
        words = [found.group(1)]
        for more in lines[number + 1 :]:
            continued = re.match(r"\s*//(?![/!])(?!\s*SAFETY\b)(.*)", more)
            if not continued:
                break
            words.append(continued.group(1))
        yield number + 1, " ".join(" ".join(words).split())


def is_reference(reason: str) -> bool:
    """Whether a reason leaves it to another place, or is none."""
    return not reason or REFERENCE.search(reason) is not None


@pytest.mark.parametrize(
    "reason",
    [
        "as above.",
        "as in `load`; there are eight of them.",
        "the caller's.",
        "the caller's; all offsets are within the slab.",
        "promised by the caller of `subtract`.",
        "as the caller promises.",
        "the caller vouches for `to`.",
        "by the caller's knowledge.",
        "",
    ],
)
def test_a_mere_reference_is_seen(reason: str) -> None:
    assert is_reference(reason)


@pytest.mark.parametrize(
    "reason",
    [
        "the array has the vector's number of elements.",
        "the strips have `depth` times the tile's extents (this function's condition).",
        "one past the end of the allocation.",
        "the arrays are held by the caller through the call.",
    ],
)
def test_a_reason_is_left_alone(reason: str) -> None:
    assert not is_reference(reason)


def test_a_comment_of_several_lines_is_one_reason() -> None:
    text = "    // SAFETY: the slab lies within\n    // the array.\n    unsafe {\n    // SAFETY: as\n    // above.\n"
    assert list(reasons(text)) == [(1, "the slab lies within the array."), (4, "as above.")]


def test_no_reason_is_a_mere_reference() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {reason}"
        for path in SOURCES
        for line, reason in reasons(path.read_text())
        if is_reference(reason)
    ]
    assert not found, "say which condition makes the access valid, and who sees to it:\n" + "\n".join(found)


def test_every_crate_denies_unsafe_blocks_without_a_reason() -> None:
    lints = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["lints"]
    assert lints["clippy"]["undocumented_unsafe_blocks"] == "deny"
    assert lints["rust"]["unsafe_op_in_unsafe_fn"] == "deny"
    manifests = sorted((ROOT / "crates").glob("*/Cargo.toml"))
    assert manifests
    without = [
        str(path.relative_to(ROOT))
        for path in manifests
        if tomllib.loads(path.read_text()).get("lints") != {"workspace": True}
    ]
    assert not without, f"these crates do not inherit the workspace's lints: {without}"
    excused = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(r"(allow|expect)\([^)]*undocumented_unsafe_blocks", path.read_text())
    ]
    assert not excused, f"these files excuse themselves from the lint: {excused}"
