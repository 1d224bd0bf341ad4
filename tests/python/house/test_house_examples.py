"""The examples in docstrings say what is true, and every public name has one."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from floors import ROOT

import weft

MODULES = [
    "weft",
    *(found.name for found in pkgutil.walk_packages(weft.__path__, "weft.") if found.name != "weft._core"),
]
STUB = Path(weft.__file__).parent / "_core.pyi"
PUBLIC = sorted(set(weft.__all__) - {"__version__"})
NEEDS_RANKS = {"neighbor_alltoallv"}
"""Names whose example is shown, not run: they are for ranks of a program that mpiexec has started."""

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def stub_examples():
    """The examples of the extension module's classes and functions, by name: they are documented in the stub."""
    parser = doctest.DocTestParser()
    tests = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or ""
            test = parser.get_doctest(text, {"weft": weft}, node.name, str(STUB), node.lineno)
            if test.examples:
                tests[node.name] = test
    return tests


STUB_EXAMPLES = stub_examples()


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert found.failed == 0


@pytest.mark.parametrize("name", STUB_EXAMPLES)
def test_examples_of_the_extension_module(name, native):
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(STUB_EXAMPLES[name])
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_that_runs(name):
    if name in STUB_EXAMPLES:
        examples = STUB_EXAMPLES[name].examples
    else:
        value = getattr(weft, name)
        documented = value if isinstance(value, ModuleType) else inspect.unwrap(value)
        examples = doctest.DocTestParser().get_examples(documented.__doc__ or "")
    assert examples, f"weft.{name} has no example"
    runs = [example for example in examples if not example.options.get(doctest.SKIP)]
    assert runs or name in NEEDS_RANKS, f"no example of weft.{name} runs"


MIN_RUST_EXAMPLES = 50
"""Examples of Rust items; the doc tests of `make test` run them."""


def test_items_of_rust_have_examples():
    counts: Counter[str] = Counter()
    for source in (ROOT / "crates").glob("*/src/**/*.rs"):
        fences = re.findall(r"^ *//[/!] ```(\w*)$", source.read_text(), re.MULTILINE)
        # Every second fence ends an example; one of another language is shown, not run.
        counts[source.relative_to(ROOT).parts[1]] += fences[::2].count("")
    assert counts.total() >= MIN_RUST_EXAMPLES, counts
