"""Selections belong to the context that made them."""

import asyncio
import contextlib
import contextvars
import threading

import numpy as np
import pytest

import weft


@pytest.fixture
def x():
    return weft.pvar.VPSet(16).coordinate(0)


def in_a_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def total(x):
    return weft.pvar.reduce(x, "sum")


def test_another_thread_sees_all_processors(x):
    with x.vp.where(x < 3):
        assert in_a_thread(lambda: total(x)) == 120
        assert total(x) == 3
    assert x.vp.plain


def test_another_thread_assigns_everywhere_and_selects_for_itself(x):
    y = x.vp.zeros("int32")

    def assign():
        y[...] = 1
        with x.vp.where(x >= 8):
            return total(x)

    with x.vp.where(x < 3):
        assert in_a_thread(assign) == sum(range(8, 16))
        assert total(x) == 3
    assert y.numpy().tolist() == [1] * 16


def test_threads_that_enter_and_leave_at_random_never_see_each_other(x):
    wrong = []

    def work(seed):
        made = np.random.default_rng(seed)
        for _ in range(200):
            limit = int(made.integers(1, 16))
            with x.vp.where(x < limit):
                if total(x) != limit * (limit - 1) // 2:
                    wrong.append(limit)
            if total(x) != 120:
                wrong.append("all")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert x.vp.plain


def test_a_suspended_generator_selects_nothing_for_its_caller(x):
    def parts():
        with x.vp.where(x < 3):
            yield total(x)
            yield total(x)

    found = parts()
    assert (next(found), total(x), next(found), total(x)) == (3, 120, 3, 120)
    with x.vp.where(x < 5):
        assert next(found, "end") == "end"
        assert total(x) == 10
    assert x.vp.plain


def test_generators_may_end_in_any_order(x):
    def below(limit):
        with x.vp.where(x < limit):
            yield total(x)

    first, second = below(3), below(4)
    assert (next(first), next(second)) == (3, 6)
    first.close()
    with x.vp.where(x < 5):
        second.close()
        assert total(x) == 10
    assert total(x) == 120
    assert x.vp.plain


def test_a_context_manager_selects_for_its_caller(x):
    @contextlib.contextmanager
    def below(limit):
        with x.vp.where(x < limit):
            yield

    with below(4):
        assert total(x) == 6
    with contextlib.ExitStack() as blocks:
        blocks.enter_context(x.vp.where(x < 5))
        blocks.enter_context(below(3))
        assert total(x) == 3
    assert x.vp.plain


def test_tasks_of_asyncio_have_their_own(x):
    async def below(limit):
        with x.vp.where(x < limit):
            await asyncio.sleep(0)
            found = total(x)
            await asyncio.sleep(0)
            return found == total(x) == limit * (limit - 1) // 2

    async def both():
        return await asyncio.gather(*(below(limit) for limit in (3, 5, 9)))

    assert all(asyncio.run(both()))
    assert total(x) == 120


def test_a_copied_context_has_the_selection_until_its_block_ends(x):
    with x.vp.where(x < 3):
        copied = contextvars.copy_context()
        assert copied.run(total, x) == 3
    assert copied.run(total, x) == 120


def test_leaving_in_another_order_is_an_error_that_names_both_blocks(x):
    outer, inner = x.vp.where(x < 3), x.vp.where(x < 2)
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(
        weft.UsageError, match=r"another order than they were entered: that of line \d+ of .*still open"
    ):
        outer.__exit__(None, None, None)
    assert total(x) == 1
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    assert x.vp.plain


def test_leaving_in_another_thread_is_an_error(x):
    block = x.vp.where(x < 3)
    block.__enter__()

    def leave():
        with pytest.raises(weft.UsageError, match="another thread or context has entered it"):
            block.__exit__(None, None, None)
        return True

    assert in_a_thread(leave)
    assert total(x) == 3
    block.__exit__(None, None, None)


def test_leaving_what_was_not_entered_is_an_error(x):
    with pytest.raises(weft.UsageError, match="was not entered"):
        x.vp.where(x < 3).__exit__(None, None, None)


def test_selections_of_two_vp_sets_nest_in_one_chain(x):
    y = weft.pvar.VPSet(4).coordinate(0)
    with x.vp.where(x < 3), y.vp.where(y < 2), x.vp.everywhere():
        assert (total(x), total(y)) == (120, 1)
        with x.vp.where(x < 6):
            assert total(x) == 15
    assert x.vp.plain
    assert y.vp.plain
