"""What kernels read of other libraries' arrays is held until they have ended, and no longer."""

import sys
import time
import types
import weakref

import pytest

from weft.cuda import borrowing


class Event:
    """An event on a stream whose kernels end when the test says so."""

    recorded: list = []  # noqa: RUF012
    done = False

    def __init__(self, disable_timing=False):
        self.synchronized = False

    def record(self):
        Event.recorded.append(self)

    def synchronize(self):
        self.synchronized = self.done = True


class Array:
    """Something that can be borrowed."""


@pytest.fixture
def loans(monkeypatch):
    Event.recorded = []
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=types.SimpleNamespace(Event=Event)))
    monkeypatch.setattr(borrowing, "WATCH_SECONDS", 0.001)
    held = borrowing.Loans()
    yield held
    for event in Event.recorded:
        event.done = True


def borrow(loans):
    """Borrows an array that nobody else holds."""
    array = Array()
    loans.keep((array,))
    return weakref.ref(array)


def test_an_array_is_held_until_its_kernels_have_ended(loans):
    array = borrow(loans)
    time.sleep(0.02)
    assert array() is not None
    Event.recorded[0].done = True
    deadline = time.monotonic() + 10
    while array() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert array() is None
    # The thread that looked after it has ended, and another call starts one again.
    again = borrow(loans)
    Event.recorded[1].done = True
    while again() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert again() is None


def test_calls_that_are_far_ahead_of_the_device_wait_for_the_oldest(loans):
    first, second = borrow(loans), borrow(loans)
    loans.wait()
    assert first() is None
    assert second() is not None
    assert [event.synchronized for event in Event.recorded] == [True, False]
    loans.wait()
    assert second() is not None


def test_what_is_not_of_jax_is_not_held(loans, monkeypatch):
    monkeypatch.setattr(borrowing, "_LOANS", loans)
    borrowing.keep([Array(), 1.0, None])
    assert not Event.recorded
