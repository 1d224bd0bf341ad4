"""The same words give the same bytes, whatever the order of Python's sets."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

COMMANDS = [
    f"estimate {ROOT}/programs/gauss.py --on cm2-8k --format csv",
    f"advise {ROOT}/programs/gauss.py --on cm2-8k",
    "compile random:3 --on iwarp64 -o compiled.json",
    "measure echo --on ipsc860 --hops 1:3 -o echo.csv",
    "fit echo.csv -o fitted.toml",
    "compare echo.csv ipsc2",
    "report echo.csv -o report.html",
    "reproduce george-1994",
]
"""None that measures time here."""

RUNNER = """
import io, shlex, sys
from weft.cli import main
for words in sys.argv[1:]:
    sys.argv = ["weft", *shlex.split(words)]
    print(f"$ {words}", flush=True)
    try:
        main.main()
    except SystemExit as end:
        print("code", end.code, flush=True)
"""


def start(folder, seed):
    folder.mkdir()
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "COLUMNS": "120"}
    words = [sys.executable, "-c", RUNNER, *COMMANDS]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env=environment)


def test_two_orders_of_sets_give_the_same_bytes(native, tmp_path):
    folders = [tmp_path / str(seed) for seed in (1, 2)]
    started = [start(folder, seed) for seed, folder in enumerate(folders, 1)]
    first, second = (one.communicate(timeout=300)[0].decode() for one in started)
    assert first.count("code None") + first.count("code 0") == len(COMMANDS), first
    assert first == second
    files = [{path.name: path.read_bytes() for path in sorted(folder.iterdir())} for folder in folders]
    assert files[0].keys() == {"compiled.json", "echo.csv", "fitted.toml", "report.html"}
    assert [name for name, content in files[0].items() if content != files[1][name]] == []
