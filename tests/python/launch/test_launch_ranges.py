import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft._core import UsageError
from weft.launch.ranges import numbers, parse


@pytest.mark.parametrize(
    ("text", "step", "expected"),
    [
        ("8:64", "double", (8, 16, 32, 64)),
        ("8:100", "double", (8, 16, 32, 64)),
        ("3:12", "double", (3, 6, 12)),
        ("1:4", "one", (1, 2, 3, 4)),
        ("5", "one", (5,)),
        ("1M,8,1K", "double", (8, 1024, 1 << 20)),
        ("1k:4KiB", "double", (1024, 2048, 4096)),
        ("8,8:16, 8", "double", (8, 16)),
        ("0,8", "double", (0, 8)),
    ],
)
def test_ranges(text, step, expected):
    assert parse(text, "bytes", step) == expected


@pytest.mark.parametrize(
    ("text", "step", "words"),
    [
        ("", "double", "'' in '' is not a number"),
        ("8:", "double", "is not a number"),
        ("-8", "double", "'-8' in '-8' is not a number"),
        ("1.5", "one", "expected for example '1:6'"),
        ("64:8", "double", "the range '64:8' is empty: 64 is more than 8"),
        ("0:8", "double", "cannot double from 0"),
        ("1K", "one", "is not a number"),
        ("1:1000000", "one", "more than 100000 values"),
    ],
)
def test_malformed_ranges_are_refused_with_what_was_wrong(text, step, words):
    with pytest.raises(UsageError) as caught:
        parse(text, "bytes", step)
    assert str(caught.value).startswith("bytes: ")
    assert words in str(caught.value)


def test_numbers_below_the_least_are_refused():
    with pytest.raises(UsageError, match="hops: 0 in '0:3' means nothing; the least is 1"):
        parse("0:3", "hops", "one", lowest=1)


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=20))
def test_lists_come_back_in_order_and_once(values):
    assert numbers(values, "bytes", "double") == tuple(sorted(set(values)))


@given(st.integers(1, 1 << 30), st.integers(0, 20))
def test_a_doubling_range_holds_both_ends(first, doublings):
    found = parse(f"{first}:{first << doublings}", "bytes", "double")
    assert found == tuple(first << k for k in range(doublings + 1))


@given(st.text(max_size=30), st.sampled_from(["double", "one"]))
def test_any_text_is_a_range_or_a_usage_error(text, step):
    try:
        found = parse(text, "bytes", step)
    except UsageError:
        return
    assert found == tuple(sorted(set(found)))
