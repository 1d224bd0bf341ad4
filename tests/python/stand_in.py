"""A stand-in for the extension module, for tests of what lies above it: names, shapes and errors without any machine.

`install()` puts it in the place of what `weft._core` lacks.
"""

import json
import math

MACHINES = {"alpha": ("Alpha One", 64, 80e-6, 0.4e-6, 10e-6), "beta": ("Beta Two", 16, 2e-6, 1e-10, 1e-7)}
LENGTHS = [8 << k for k in range(18)]


def _takes(name, default=(), choices=(), multiple_of=1, of=None):
    return {
        "name": name, "of": of, "default": list(default), "shapes": [], "choices": list(choices), "least": 0,
        "multiple_of": multiple_of,
    }  # fmt: skip


MESSAGES = _takes("bytes", LENGTHS, of="message")


def _entry(name, group="point-to-point", takes=(MESSAGES,), **more):
    base = {"min_ranks": 2, "default_ranks": 2, "host": False, "aliases": [], "nearest_of": [], "example": ""}
    return {"name": name, "summary": f"what {name} does", "group": group, "takes": list(takes), **base, **more}


def _blocks(multiple_of):
    return _takes("bytes", [8, 128, 2048, 32768], multiple_of=multiple_of, of="vector")


def _algorithms(*names):
    return _takes("algorithm", choices=("auto", "native", *names))


BENCHMARKS = [
    _entry("echo", takes=[MESSAGES, _takes("hops")]),
    _entry("echo-self", min_ranks=1, default_ranks=1),
    _entry("echo-host", host=True),
    _entry("ring"),
    _entry("bandwidth", "throughput", [MESSAGES, _takes("window", [64])]),
    _entry("bisection", "throughput"),
    _entry("barrier", "collective", [_algorithms("dissemination", "tree")]),
    _entry("broadcast", "collective", [_blocks(1), _algorithms("binomial", "pipelined")]),
    _entry("allreduce", "collective", [_blocks(8), _algorithms("recursive-doubling", "ring")]),
]


NODE = [
    {
        "name": "arithmetic", "summary": "what arithmetic does", "variants": ["float64_multiply"], "takes": [],
        "aliases": [],
    },
    {
        "name": "stream", "summary": "what stream does", "variants": ["copy"],
        "takes": [_takes("bytes", of="array"), _takes("threads")], "aliases": [],
    },
]  # fmt: skip


def build(core):
    """The stand-ins, by name."""

    class Machine:
        """A machine of the stand-in."""

        def __init__(self, name):
            self.name = name
            self.title, self.nodes, *self.costs = MACHINES[name]

        @staticmethod
        def parse(text, path):
            raise core.MachineError(f"{path}:1: expected a machine description")

        @staticmethod
        def find(name_or_path):
            if name_or_path not in MACHINES:
                raise core.MachineError(f"there is no machine '{name_or_path}'; did you mean 'alpha'?")
            return Machine(name_or_path)

        estimand = None
        """Its file does not say which times its costs are."""

        faults = ()
        """It is as described."""

        def to_toml(self):
            return f'name = "{self.name}"\n[operations]\nfloat64_multiply = 1e-7\n'

        def to_json(self):
            return json.dumps({"name": self.name, "title": self.title})

    class MpiDiagnosis:
        def feed(self, line, now):
            return line.startswith("weft-rank ")

        def verdict(self, now):
            return None

        def ended(self, exit_code):
            return f"the launcher ended with code {exit_code} and no rank said why; see its output"

    def rows(request, startup, byte_time, hop_time):
        known = {entry["name"]: {takes["name"]: takes for takes in entry["takes"]} for entry in BENCHMARKS}
        takes = known[request["benchmark"]]
        lengths = request.get("bytes") or takes.get("bytes", {"default": [None]})["default"]
        for length in lengths:
            for hops in request.get("hops") or [1 if "hops" in takes else None]:
                steps = math.ceil(math.log2(max(2, request["ranks"])))
                seconds = (startup + (length or 0) * byte_time + hop_time * ((hops or 1) - 1)) * steps
                yield {
                    "benchmark": request["benchmark"],
                    "ranks": request["ranks"],
                    "hops": hops,
                    "bytes": length,
                    "algorithm": "tree" if "algorithm" in takes else None,
                    "seconds": seconds,
                    "seconds_p10": seconds,
                    "iterations": 3,
                    "share_above_3x": 0.0,
                    "share_late": None,
                    "rate": length / seconds if length else None,
                }

    def simulate(machine, request_json, trace_path=None, seed=0, before_writing=None):
        request = json.loads(request_json)
        check_request(request_json)
        if any(hops > math.log2(machine.nodes) for hops in request.get("hops", ())):
            raise core.UsageError(f"no two nodes of {machine.name} are {max(request['hops'])} hops apart")
        if trace_path is not None:
            with open(trace_path, "w") as file:
                json.dump({"traceEvents": []}, file)
        return json.dumps(list(rows(request, *machine.costs)))

    def run_threads(request_json):
        return json.dumps(list(rows(json.loads(request_json), 1e-6, 1e-10, 0.0)))

    def check_request(request_json):
        if 0 in json.loads(request_json).get("bytes", ()):
            raise core.UsageError("a vector of zero bytes means nothing; ask for 1 byte or more")

    def node_work(benchmark, variant, size=None):
        return ("float64_multiply", 1) if variant == "float64_multiply" else None

    def run_node(benchmark, request_json):
        return json.dumps(
            [
                {"benchmark": benchmark, "variant": variant, "seconds": 1e-9, "seconds_p10": 1e-9, "iterations": 10}
                for variant in json.loads(request_json).get("variant") or ["float64_multiply"]
            ]
        )

    return {
        "Machine": Machine,
        "MpiDiagnosis": MpiDiagnosis,
        "benchmarks": lambda: json.dumps(BENCHMARKS),
        "catalogue": lambda: list(MACHINES),
        "check_request": check_request,
        "simulate": simulate,
        "run_threads": run_threads,
        "run_mpi_rank": lambda request_json, default_library, device=None: run_threads(request_json),
        "run_node": run_node,
        "node_benchmarks": lambda: json.dumps(NODE),
        "node_work": node_work,
        "mpi_version": lambda default_library: json.dumps({"version": "a stand-in"}),
    }


def install():
    """Fill what `weft._core` lacks; whether anything was lacking."""
    from weft import _core

    lacking = {name: value for name, value in build(_core).items() if not hasattr(_core, name)}
    for name, value in lacking.items():
        setattr(_core, name, value)
    return bool(lacking)
