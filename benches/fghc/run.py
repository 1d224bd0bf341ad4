"""weft's FGHC engine beside Erlang, SWI-Prolog and GNU Prolog: five programs, all sides in one run, interleaved.

    python3 benches/fghc/run.py [--rounds 3] [--programs nrev,primes] [--no-record]

Each side runs the same program on the same data and reports the time of its work, start-up aside; a rate is the number
of reductions that weft counts for that work over the time, in millions a second, so that rates compare as times do.
"weft, counting" also counts the reductions of each predicate, which is only done where it is asked for; what is always
counted (reductions, suspensions, resumptions) is part of every other rate of weft; "weft, without counters" does not
count suspensions and resumptions (reductions are what memory is granted by, and are counted for nothing).
A side that is not installed is left out, with a message. The demand-driven stream has Erlang processes as its peer;
Prolog systems have nothing like it. Run it on a quiet machine. Rates are those of the fastest round of each side,
because whatever else runs only makes a round slower; medians over the rounds are in the record beside them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "node"))

import peers  # noqa: E402

# Program: arguments (times, size) of weft's goal, its form, and what slower sides divide the times by.
PROGRAMS = {
    "nrev": ((150_000, 0), "main({n})"),
    "program1": ((1_000, 0), "main({n})"),
    "primes": ((20, 10_000), "main({n},{k})"),
    "quicksort": ((10_000, 200), "main({n},{k},Last)"),
    "demand": ((2_000_000, 0), "main({n},Sum)"),
}
SLOWER = {
    "weft, native": 1,
    "weft, counting": 1,
    "weft, without counters": 1,
    "weft, interpreted": 4,
    "Erlang": 2,
    "GNU Prolog": 4,
    "SWI-Prolog": 10,
}
# What the issue asks native code to reach, in millions of reductions a second on the machine it was written for.
WANTED = {"nrev": 440, "program1": 215, "demand": 75}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="times each side runs each program (default 3)")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="which programs, separated by commas")
    parser.add_argument("--no-record", action="store_true", help="print only")
    parser.add_argument("--build-only", action="store_true", help="build weft's side and end")
    parser.add_argument("--executable", help="weft's side, where it is built already: the release example of this name")
    chosen = parser.parse_args()
    chosen.programs = chosen.programs.split(",")
    unknown = [name for name in chosen.programs if name not in PROGRAMS]
    if unknown or chosen.rounds < 1:
        parser.error(f"programs are {', '.join(PROGRAMS)}; rounds are at least 1")
    return chosen


def build_weft() -> str:
    cargo = ["cargo", "build", "--release", "--package", "weft-fghc", "--example", "fghc", "--message-format=json"]
    for line in peers.run(cargo, "building weft's engine").splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == "fghc":
            return message["executable"]
    sys.exit("cargo built no example 'fghc'")


class Weft:
    def __init__(self, command: str, *words: str) -> None:
        self.command, self.words = command, words

    def run(self, program: str, n: int, k: int) -> tuple[float, int]:
        goal = PROGRAMS[program][1].format(n=n, k=k)
        words = [self.command, str(HERE / "programs" / f"{program}.fghc"), goal, "--json", "--quiet", *self.words]
        row = json.loads(peers.run(words, "weft").splitlines()[0])
        return row["seconds"], row["reductions"]


class Peer:
    """A peer: how its program is built once, and run; its last line of output is the seconds."""

    def __init__(self, build: list[str] | None, words: list[str], goal: str | None, folder: Path) -> None:
        self.words, self.goal, self.folder = words, goal, folder
        if build is not None:
            done = subprocess.run(build, cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(build)} failed:\n{done.stdout}{done.stderr}")

    def run(self, program: str, n: int, k: int) -> float:
        words = [word.format(program=program, n=n, k=k) for word in self.words]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return float(done.stdout.split()[-1])


def sides(command: str, folder: Path) -> dict[str, Weft | Peer]:
    found: dict[str, Weft | Peer] = {
        "weft, native": Weft(command, "--native"),
        "weft, counting": Weft(command, "--native", "--counts"),
        "weft, without counters": Weft(command, "--native", "--without-counters"),
        "weft, interpreted": Weft(command),
    }
    shutil.copy(HERE / "fghc_peer.erl", folder)
    text = (HERE / "peer.pl").read_text()
    timed = "bench({program},{n},{k})"
    if shutil.which("erlc") and shutil.which("erl"):
        words = ["erl", "-noshell", "-run", "fghc_peer", "main", "{program}", "{n}", "{k}"]
        found["Erlang"] = Peer(["erlc", "fghc_peer.erl"], words, None, folder)
    else:
        print("Erlang is not installed: left out (Debian: erlang-base)", file=sys.stderr)
    if shutil.which("gplc"):
        # The goal comes from the environment, because the program is compiled once.
        main = (
            ":- initialization(main).\nmain :- argument_value(1, P), argument_value(2, A), argument_value(3, B), "
            "number_atom(N, A), number_atom(K, B), statistics(cpu_time, [T0|_]), bench(P, N, K), "
            "statistics(cpu_time, [T1|_]), T is (T1 - T0) / 1000.0, write(T), nl, halt.\n"
        )
        (folder / "gnu.pl").write_text(text + main)
        words = [str(folder / "gnu"), "{program}", "{n}", "{k}"]
        found["GNU Prolog"] = Peer(["gplc", "--no-top-level", "-o", "gnu", "gnu.pl"], words, None, folder)
    else:
        print("GNU Prolog is not installed: left out (Debian: gprolog)", file=sys.stderr)
    if shutil.which("swipl"):
        (folder / "swi.pl").write_text(text)
        goal = f"statistics(cputime,T0),{timed},statistics(cputime,T1),T is T1-T0,write(T),nl"
        found["SWI-Prolog"] = Peer(None, ["swipl", "-O", "-g", goal, "-t", "halt", "swi.pl"], goal, folder)
    else:
        print("SWI-Prolog is not installed: left out (Debian: swi-prolog-nox)", file=sys.stderr)
    return found


def versions() -> dict[str, str]:
    known = {"Erlang": "erlang-base", "GNU Prolog": "gprolog", "SWI-Prolog": "swi-prolog-nox"}
    if not shutil.which("dpkg-query"):
        return {}
    asked = {
        name: subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True).stdout
        for name, package in known.items()
    }
    return {name: version for name, version in asked.items() if version}


def costs(what: str, rates: dict[str, dict[str, float]], without: str, having: str) -> dict[str, float]:
    """By program, what one side takes longer than the one without something; printed."""
    found = {program: round(rate[without] / rate[having] - 1, 4) for program, rate in rates.items()}
    print(f"{what}:", ", ".join(f"{program} {100 * cost:.1f}%" for program, cost in found.items()))
    return found


def main() -> None:
    chosen = options()
    before = peers.machine()
    command = chosen.executable or build_weft()
    if chosen.build_only:
        return
    rates: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        everyone = sides(command, Path(name))
        for turn in range(chosen.rounds):
            order = list(everyone.items())
            order = order[turn % len(order) :] + order[: turn % len(order)]
            for program in chosen.programs:
                (times, size), _ = PROGRAMS[program]
                # Whatever is divided among slower sides, a unit of work has the same number of reductions.
                weft = everyone["weft, native"]
                assert isinstance(weft, Weft)
                few = max(1, times // 100)
                (_, one), (_, two) = weft.run(program, few, size), weft.run(program, 2 * few, size)
                unit = (two - one) / few
                for side, runner in order:
                    if program == "demand" and side.endswith("Prolog"):
                        continue
                    n = max(1, times // SLOWER[side])
                    answer = runner.run(program, n, size)
                    seconds = answer[0] if isinstance(answer, tuple) else answer
                    rates.setdefault(program, {}).setdefault(side, []).append(unit * n / max(seconds, 1e-9) / 1e6)
    summary = {
        program: {side: round(max(values), 1) for side, values in found.items()} for program, found in rates.items()
    }
    medians = {
        program: {side: round(statistics.median(values), 1) for side, values in found.items()}
        for program, found in rates.items()
    }
    everything = list(dict.fromkeys(side for found in summary.values() for side in found))
    print(f"{'M reductions/s':16}" + "".join(f"{side:>19}" for side in everything))
    for program, found in summary.items():
        print(f"{program:16}" + "".join(f"{found.get(side, float('nan')):19.1f}" for side in everything))
    for program, wanted in WANTED.items():
        if program in summary:
            native = summary[program]["weft, native"]
            print(f"{program}: native {native:.0f}, wanted {wanted} {'met' if native >= wanted else 'MISSED'}")
    counting = costs("counting by predicate costs", summary, "weft, native", "weft, counting")
    always = costs("counters that are always on cost", summary, "weft, without counters", "weft, native")
    for program, found in summary.items():
        if "GNU Prolog" in found:
            ahead = found["weft, interpreted"] / found["GNU Prolog"]
            print(f"{program}: interpreted over GNU Prolog {ahead:.2f} {'met' if ahead > 1 else 'MISSED'}")
    if not chosen.no_record:
        content = {
            "machine": before,
            "peers": versions(),
            "unit": "millions of reductions a second, by weft's count for the same work; of the fastest round",
            "rounds": chosen.rounds,
            "wanted": WANTED,
            "rates": summary,
            "medians": medians,
            "cost_of_counting_by_predicate": counting,
            "cost_of_counters_always_on": always,
            "all": {program: {side: found[side] for side in found} for program, found in rates.items()},
        }
        print("recorded in", peers.record("fghc", content).relative_to(peers.ROOT))


if __name__ == "__main__":
    main()
