"""What a build leaves out that is asked for less than everything."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo in PATH")


def crates_of_the_extension(*options: str) -> set[str]:
    """Names of the crates that the extension module compiles."""
    command = ["cargo", "tree", "--locked", "--package", "weft-py", "--edges", "normal", "--prefix", "none", *options]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {line.split()[0] for line in listed.stdout.splitlines()}


def test_a_build_for_messages_only_compiles_no_native_code_compiler() -> None:
    everything = crates_of_the_extension()
    messages_only = crates_of_the_extension("--no-default-features")
    assert {"weft-fghc", "cranelift-codegen"} <= everything
    assert "weft-fghc" not in messages_only
    assert not [crate for crate in messages_only if crate.startswith("cranelift")]
    assert messages_only < everything
