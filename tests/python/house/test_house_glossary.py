"""Private words become fewer: identifiers and phrases of docs/glossary.toml are counted, and counts may only fall."""

import functools

import pytest
from glossary import END, PAGE, TABLE, Word, counted, drawn, shown, uses, words
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from identifiers import in_python, in_rust, snake


@functools.cache
def all_uses():
    """Read once, and not while tests are collected."""
    return uses()


@pytest.mark.parametrize("word", words(), ids=lambda word: word.today)
def test_no_private_word_is_used_more_often(word):
    found = all_uses()[word.today]
    assert word.count is not None, "run python tests/python/house/glossary.py"
    where = "\n".join(found)
    assert len(found) <= word.count, f"'{word.today}' is '{word.standard}' here. One of these is new:\n{where}"
    assert len(found) == word.count, (
        f"{word.count} uses of '{word.today}' have become {len(found)}: run python tests/python/house/glossary.py"
    )


def test_the_page_shows_the_glossary():
    assert shown(PAGE.read_text()) == drawn(), "run python tests/python/house/glossary.py"
    assert PAGE.read_text().count(END) == 1


def test_counts_are_written_once_after_their_words():
    counts = {word.today: 7 for word in words()}
    text = counted(TABLE.read_text(), counts)
    assert counted(text, counts) == text
    assert text.count("count = 7") == len(counts)


def test_names_of_rust_are_those_that_are_defined():
    text = """
    /// A room for `place`.
    pub struct SendRoom<'a> { pub(crate) start: usize, end: &'a [u8] }
    enum Way { Direct, Over(usize) }
    const MOST_TURNS: usize = 3;
    impl SendRoom<'_> {
        fn take(&mut self, at: usize) -> Option<u8> {
            let (first, Some(second)) = split("let found = 1", 'x') else { return None };
            for (number, byte) in bytes.iter().map(|chosen| chosen + 1).enumerate() {}
            let mut total: usize = first::<u8>(given);
        }
    }
    """
    names = in_rust(text)
    assert {"SendRoom", "start", "end", "Way", "MOST_TURNS", "take", "at", "first", "second"} <= names
    assert {"number", "byte", "chosen", "total"} <= names
    assert not names & {"place", "room", "found", "given", "split", "iter", "mut", "self", "None", "x"}


def test_names_of_python_are_those_that_are_assigned():
    text = (
        "import numpy as np\nclass A:\n    def f(self, x, *, y=1):\n        self.z = place(x)\n        [w for w in y]"
    )
    assert in_python(text) == {"np", "A", "f", "self", "x", "y", "z", "w"}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text("abcxyz", min_size=2, max_size=6), min_size=1, max_size=4))
def test_words_are_the_same_in_snake_and_camel_case(parts):
    assert snake("".join(part.capitalize() for part in parts)) == snake("_".join(parts)) == f"_{'_'.join(parts)}_"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("room", True),
        ("SendRoom", True),
        ("send_room", True),
        ("ROOM_BYTES", True),
        ("broom", False),
        ("mushrooms", False),
        ("the_room_of_a_rank_is_taken_once", False),
        ("kept_room", False),
    ],
)
def test_a_word_is_a_whole_part_of_an_identifier(name, is_one):
    assert Word("room", "buffer", parts=("room",), keeps=("kept_room",)).is_in(name) is is_one


@pytest.mark.parametrize(("name", "is_one"), [("MOST_RANKS", True), ("most_ranks", False), ("ALMOST", False)])
def test_a_word_of_constants_begins_them(name, is_one):
    assert Word("MOST_", "MAX_", constants=("most",)).is_in(name) is is_one
