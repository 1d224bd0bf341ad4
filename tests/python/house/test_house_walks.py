"""The walks of docs/ARCHITECTURE.md happen: Python's part is traced, Rust's part is read in the sources."""

import sys
from types import CodeType

import pytest
from walks import Step, calls, definitions, read_walks, rust_functions, walks

WALKS = read_walks()
STEPS = [pytest.param(name, step, id=f"{name}-{step.number}") for name, steps in WALKS.items() for step in steps]


def caller_of(name, step):
    return None if step.caller is None else WALKS[name][step.caller - 1]


def test_the_page_has_three_walks():
    assert set(WALKS) == {"message", "shift", "schedule"}


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_every_function_is_in_its_file(name, step):
    assert step.path.is_file(), step
    assert definitions(step), f"{step}: there is no such function"


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_every_step_is_called_by_the_one_that_is_named(name, step):
    caller = caller_of(name, step)
    if caller is None:
        return
    assert caller.number < step.number
    if caller.is_python and step.is_python:
        return  # traced: a module may import a function under another name
    assert any(calls(body, step) for body in definitions(caller)), f"{caller} does not call {step}"


class Tracer:
    """Which functions call which, of Python and of the extension module, while a program runs."""

    def __init__(self):
        self.python: set[tuple[CodeType, CodeType]] = set()
        self.entered: set[CodeType] = set()
        self.extension: set[tuple[CodeType, str]] = set()

    def __enter__(self):
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _note(self, frame, event, argument):
        if event == "call":
            self.entered.add(frame.f_code)
            if frame.f_back is not None:
                self.python.add((outer(frame.f_back), frame.f_code))
        elif event == "c_call":
            self.extension.add((outer(frame), argument.__name__))

    def saw(self, step: Step, caller: Step | None) -> bool:
        """Whether the step was taken, by its caller where that is a function of Python."""
        if step.is_extension:
            return any(is_of(code, caller) and name == step.python_name for code, name in self.extension)
        if caller is None:
            return any(is_of(code, step) for code in self.entered)
        return any(is_of(code, caller) and is_of(called, step) for code, called in self.python)


def outer(frame):
    """The function that a frame is in: comprehensions and generator expressions are frames of their own."""
    while frame.f_code.co_name.startswith("<") and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code


def is_of(code, step):
    return code.co_name == step.name and code.co_filename == str(step.path)


def message(command):
    code, out, err = command("measure echo --bytes 1K --hops 2 --on ipsc860")
    assert code == 0, err
    assert "echo" in out


def shift(_):
    import numpy as np

    import weft

    plan = weft.arrays.polyshift((8, 8), float, [(1, 0), (-1, 1)])
    x = np.arange(64.0).reshape(8, 8)
    up, right = plan(x)
    np.testing.assert_array_equal(up, np.roll(x, -1, 0))
    np.testing.assert_array_equal(right, np.roll(x, 1, 1))


def schedule(command):
    code, out, err = command("compile hypercube --on iwarp64 --effort 0 -o schedule.json")
    assert code == 0, err
    assert "phases" in out
    code, out, err = command("measure conset --on iwarp64 --pattern hypercube --words 32")
    assert code == 0, err
    assert "conset" in out


@pytest.mark.parametrize("run", [message, shift, schedule], ids=lambda run: run.__name__)
def test_a_real_run_takes_the_steps_in_python(run, command, native):
    with Tracer() as tracer:
        run(command)
    steps = WALKS[run.__name__]
    for step in steps:
        caller = caller_of(run.__name__, step)
        from_python = caller is None or caller.is_python
        if step.is_python or (step.is_extension and from_python and caller is not None):
            assert tracer.saw(step, caller), f"step {step.number}: {step} was not called by {caller or 'the program'}"


def test_a_function_is_read_to_its_end():
    text = (
        "impl A {\n    fn one(&self) {\n        two();\n    }\n\n    fn three() {\n        four(); // five()\n    }\n}"
    )
    (body,) = rust_functions(text, "one")
    assert "two()" in body
    assert "four()" not in body
    (body,) = rust_functions(text, "three")
    assert "five()" not in body


def test_a_line_that_is_no_step_is_refused():
    page = "<!-- walk: wrong -->\n| | file |\n|---|---|\n| 2 | `a.py` | `f` | | does |\n"
    with pytest.raises(ValueError, match="the walk wrong: no step 1"):
        walks(page)
