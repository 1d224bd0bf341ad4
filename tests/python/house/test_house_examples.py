"""The examples in docstrings say what is true."""

import doctest
import importlib
import pkgutil

import pytest

import weft

MODULES = [found.name for found in pkgutil.walk_packages(weft.__path__, "weft.") if not found.name.endswith("_core")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_some_have_examples():
    finder = doctest.DocTestFinder()
    examples = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(examples) >= 8
