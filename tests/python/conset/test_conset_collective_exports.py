"""Compiled collectives for other runtimes: C over MPI that is built and run, and XML that is interpreted anew here."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

import weft
from weft import UsageError
from weft.conset import collective_msccl, collectives, exporting
from weft.launch.mpiexec import command


def _ring(ranks: int) -> dict[str, object]:
    links = [
        {"from": f"node {n}", "to": f"node {(n + 1) % ranks}", "bandwidth": 1e9, "latency": 1e-6, "duplex": True}
        for n in range(ranks)
    ]
    return {"name": "a ring", "nodes": ranks, "forwards": True, "message_seconds": 1e-6, "links": links}


def _star(ranks: int) -> dict[str, object]:
    """A ring's links, and no others than those of its first rank."""
    first = [{**link, "from": "node 0", "to": f"node {n}"} for n, link in enumerate(_ring(ranks)["links"]) if n > 0]
    return {**_ring(ranks), "name": "a star", "links": first}


def _compiled(
    folder: Path, name: str, ranks: int, elements: int, method: str, root: int = 0, element: int = 4, graph=_ring
):
    path = folder / f"ring{ranks}.json"
    path.write_text(json.dumps(graph(ranks)))
    return collectives.compile(name, path, elements * element, method=method, root=root, element_bytes=element).schedule


_PROGRAM = """
#include <stdio.h>
{includes}

#define ELEMENTS 1003

int main(int argc, char **argv) {{
    MPI_Init(&argc, &argv);
    int rank, ranks, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    static double input[ELEMENTS], expected[ELEMENTS + 16], output[ELEMENTS + 16];
    int counts[16], starts[16];
    for (int r = 0, at = 0; r < ranks; r++) {{
        starts[r] = at;
        counts[r] = ELEMENTS / ranks + (r < ELEMENTS % ranks);
        at += counts[r];
    }}
    for (int i = 0; i < ELEMENTS; i++) input[i] = (rank + 1) * (i % 17) + rank;
{calls}
    int all;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%d wrong\\n", all);
    MPI_Finalize();
    return 0;
}}
"""

_CALLS = {
    "allreduce": """
    MPI_Allreduce(input, expected, ELEMENTS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    wrong += weft_allreduce(input, output, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS;
    for (int i = 0; i < ELEMENTS; i++) wrong += output[i] != expected[i];
    MPI_Allreduce(input, expected, ELEMENTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    wrong += weft_allreduce(input, output, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    for (int i = 0; i < ELEMENTS; i++) wrong += output[i] != expected[i];
    MPI_Comm alone;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    wrong += weft_allreduce(input, output, MPI_SUM, alone) != MPI_ERR_COMM;
""",
    "allgather": """
    MPI_Allgatherv(input, counts[rank], MPI_DOUBLE, expected, counts, starts, MPI_DOUBLE, MPI_COMM_WORLD);
    wrong += weft_allgather(input, output, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    for (int i = 0; i < ELEMENTS; i++) wrong += output[i] != expected[i];
""",
    "reduce-scatter": """
    MPI_Reduce_scatter(input, expected, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    wrong += weft_reduce_scatter(input, output, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    for (int i = 0; i < counts[rank]; i++) wrong += output[i] != expected[i];
""",
    "all-to-all": """
    int equal[16], after[16];
    for (int r = 0; r < ranks; r++) equal[r] = counts[rank], after[r] = r * counts[rank];
    MPI_Alltoallv(input, counts, starts, MPI_DOUBLE, expected, equal, after, MPI_DOUBLE, MPI_COMM_WORLD);
    wrong += weft_all_to_all(input, output, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    for (int i = 0; i < ranks * counts[rank]; i++) wrong += output[i] != expected[i];
""",
    "broadcast": """
    for (int i = 0; i < ELEMENTS; i++) expected[i] = input[i];
    MPI_Bcast(expected, ELEMENTS, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    wrong += weft_broadcast(input, output, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    for (int i = 0; i < ELEMENTS; i++) wrong += output[i] != expected[i];
""",
    "reduce": """
    MPI_Reduce(input, expected, ELEMENTS, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
    wrong += weft_reduce(input, rank == 1 ? output : NULL, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    for (int i = 0; rank == 1 && i < ELEMENTS; i++) wrong += output[i] != expected[i];
""",
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.skipif(not Path(sys.prefix, "include", "mpi.h").exists(), reason="MPI's header is not beside Python")
@pytest.mark.parametrize(("method", "graph"), [("throughput", _ring), ("auto", _ring), ("throughput", _star)])
def test_the_c_gives_what_mpi_itself_gives(tmp_path: Path, method: str, graph) -> None:
    ranks = 3
    for name in _CALLS:
        root = int(name in ("broadcast", "reduce"))
        schedule = _compiled(tmp_path, name, ranks, 1003, method, root, 8, graph)
        exporting.export_collective(schedule, "c", tmp_path / f"{name}.h", force=True)
    source, program = tmp_path / "program.c", tmp_path / "program"
    includes = "\n".join(f'#include "{name}.h"' for name in _CALLS)
    source.write_text(_PROGRAM.format(includes=includes, calls="".join(_CALLS.values())))
    library = Path(sys.prefix, "lib")
    words = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{Path(sys.prefix, 'include')}"]
    subprocess.run([*words, "-o", program, source, f"-L{library}", f"-Wl,-rpath,{library}", "-lmpi"], check=True)
    done = subprocess.run([*command(), "-n", str(ranks), program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 wrong\n"


def test_what_the_c_does_not_take_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the C is for float"):
        exporting.export_collective(_compiled(tmp_path, "allreduce", 4, 64, "auto", element=2), "c")
    with pytest.raises(UsageError, match="no format of a collective is called 'plain'; there are msccl, c"):
        exporting.export_collective(_compiled(tmp_path, "allreduce", 4, 64, "auto"), "plain")


def _interpret(text: str) -> dict[tuple[int, str, int], Counter[tuple[int, int]]]:
    """The buffers after an algorithm: sends wait in a queue of their connection, as the runtime's buffers let them."""
    top = ElementTree.fromstring(text)
    ranks, chunks = int(top.get("ngpus", 0)), int(top.get("nchunksperloop", 0))
    buffers: dict[tuple[int, str, int], Counter[tuple[int, int]]] = {}
    blocks = {}
    for gpu in top:
        rank, inputs = int(gpu.get("id", -1)), int(gpu.get("i_chunks", 0))
        first = rank * inputs if inputs < chunks else 0
        for index in range(inputs):
            buffers[rank, "i", index] = Counter([(rank, first + index)])
        assert len(gpu) <= 216
        for block in gpu:
            assert len(block) <= 256
            blocks[rank, int(block.get("id", -1))] = block
    assert {rank for rank, _ in blocks} == set(range(ranks))
    done, queues, going = dict.fromkeys(blocks, 0), {}, True
    while going:
        going = False
        for (rank, number), block in blocks.items():
            if done[rank, number] == len(block):
                continue
            step = block[done[rank, number]]
            other, last = int(step.get("depid", -1)), int(step.get("deps", -1))
            if other >= 0:
                assert blocks[rank, other][last].get("hasdep") == "1"
                if done[rank, other] <= last:
                    continue
            kind, count = step.get("type"), int(step.get("cnt", 0))
            assert count < 72
            source = [(rank, step.get("srcbuf"), int(step.get("srcoff", -1)) + index) for index in range(count)]
            target = [(rank, step.get("dstbuf"), int(step.get("dstoff", -1)) + index) for index in range(count)]
            if kind == "s":
                queue = queues.setdefault((rank, int(block.get("send", -1)), block.get("chan")), [])
                queue.append([buffers[chunk] for chunk in source])
            elif kind in ("r", "rrc"):
                queue = queues.get((int(block.get("recv", -1)), rank, block.get("chan")))
                if not queue:
                    continue
                content = queue.pop(0)
                assert len(content) == count
                for chunk, new in zip(target, content, strict=True):
                    buffers[chunk] = new if kind == "r" else new + buffers[chunk]
            elif kind != "nop":
                for chunk, old in zip(target, source, strict=True):
                    buffers[chunk] = buffers[old] if kind == "cpy" else buffers[old] + buffers[chunk]
            done[rank, number] += 1
            going = True
    assert all(done[block] == len(blocks[block]) for block in blocks), "the algorithm does not end"
    assert not any(queues.values()), "something is sent that nobody takes"
    return buffers


@pytest.mark.parametrize("method", ["throughput", "latency", "auto"])
@pytest.mark.parametrize("name", ["allgather", "reduce-scatter", "allreduce"])
def test_the_algorithm_for_msccl_is_the_collective(tmp_path: Path, name: str, method: str) -> None:
    machines = [weft.conset.compile(name, on="hgx-h100", bytes="1M", method=method).schedule]
    rails = [0, 1, 2, 3, 32, 33, 34, 35]
    machines.append(weft.conset.compile(name, on="rail-h100", bytes="1M", nodes=rails, method=method).schedule)
    machines.append(_compiled(tmp_path, name, 6, 6 * 64, method))
    machines.append(_compiled(tmp_path, name, 6, 6 << 12, method, graph=_star))
    for schedule in machines:
        text = exporting.export_collective(schedule, "msccl")
        top = ElementTree.fromstring(text)
        assert top.get("coll") == name.replace("-", "")
        ranks, chunks = schedule.ranks, int(top.get("nchunksperloop", 0))
        own = chunks // ranks
        buffers = _interpret(text)
        for rank in range(ranks):
            first, count = (rank * own, own) if name == "reduce-scatter" else (0, chunks)
            for at in range(count):
                owners = [(first + at) // own] if name == "allgather" else range(ranks)
                assert buffers[rank, "o", at] == Counter((owner, first + at) for owner in owners)


def test_an_algorithm_that_was_changed_does_not_pass(tmp_path: Path) -> None:
    text = exporting.export_collective(_compiled(tmp_path, "allreduce", 4, 64, "auto"), "msccl")
    refused = 0
    for change in ("srcoff", "dstoff", "type", "cnt", "depid"):
        for number in range(6):
            top = ElementTree.fromstring(text)
            steps = [step for step in top.iter("step") if step.get("type") != "nop"]
            step = steps[number * len(steps) // 6]
            if change == "type":
                step.set("type", {"rrc": "r", "r": "rrc", "s": "nop", "cpy": "nop", "re": "cpy"}[step.get("type", "")])
            elif change == "depid":
                step.set("depid", "-1")
            else:
                step.set(change, str(int(step.get(change, 0)) + 1))
            try:
                collective_msccl.run(top)
            except UsageError:
                refused += 1
    assert refused >= 12


def test_what_msccl_does_not_take_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="do not divide evenly by 4 ranks; compile for a multiple of 16 bytes"):
        exporting.export_collective(_compiled(tmp_path, "allreduce", 4, 1003, "auto"), "msccl")
    with pytest.raises(UsageError, match="broadcast: for MSCCL there are allgather, reduce-scatter, allreduce"):
        exporting.export_collective(_compiled(tmp_path, "broadcast", 4, 64, "throughput"), "msccl")


def test_the_command_line_exports_both(tmp_path: Path) -> None:
    path = tmp_path / "allreduce.json"
    weft.conset.compile("allreduce", on="hgx-h100", bytes="1M").write(path)
    for shape, output, begin in (("msccl", "algorithm.xml", "<algo"), ("c", "allreduce.h", "/* allreduce of 262144")):
        words = [
            sys.executable,
            "-m",
            "weft.cli.main",
            "export",
            str(path),
            "--as",
            shape,
            "-o",
            str(tmp_path / output),
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / output).read_text().startswith(begin)
