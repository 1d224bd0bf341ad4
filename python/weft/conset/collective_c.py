"""One compiled collective as C over MPI: a header without anything to link.

Tables say for every rank which messages it sends and takes in which round; one function follows them. The buffer is
whole elements of C's `float` (4 bytes) or `double` (8).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from weft._core import UsageError
from weft.conset.collective_blocks import Memory
from weft.conset.collective_rounds import Round, rounds, shard

if TYPE_CHECKING:
    from weft._core import CollectiveSchedule

_TYPES = {4: ("float", "MPI_FLOAT"), 8: ("double", "MPI_DOUBLE")}

_INT_MAX = (1 << 31) - 1
"""The most elements of a message: MPI counts them by C's int."""

MAX_STEPS = 1 << 20
"""More rows than this are no header that a compiler takes in seconds."""


def header(schedule: CollectiveSchedule) -> str:
    """The C of a verified schedule.

    Raises
    ------
    UsageError
        For elements that are no float or double, messages beyond MPI's counts, and tables that are too long.

    Examples
    --------
    >>> from weft.conset import collectives
    >>> text = header(collectives.compile("allreduce", "hgx-h100", "4K").schedule)
    >>> "static int weft_allreduce(const float *input, float *output, MPI_Op operation, MPI_Comm comm)" in text
    True
    """
    if schedule.element_bytes not in _TYPES:
        raise UsageError(
            f"elements of {schedule.element_bytes} bytes: the C is for float (4 bytes) and double (8); compile with "
            "--element 4 or 8"
        )
    memories = [Memory(schedule, rank) for rank in range(schedule.ranks)]
    steps = _steps(rounds(schedule), memories)
    if sum(map(len, steps)) > MAX_STEPS:
        raise UsageError(
            f"{sum(map(len, steps))} messages are sent and received, a header may have {MAX_STEPS}; compile for fewer "
            "ranks, or with --method latency"
        )
    return _TEMPLATE.format(**_figures(schedule, steps, memories))


_Step = tuple[int, str, int, int, int]
"""Round, what is done, the other rank, first element in the rank's memory, elements."""


def _steps(all_rounds: list[Round], memories: list[Memory]) -> list[list[_Step]]:
    """What every rank does, round by round: receives, which are started first, then sends."""
    steps: list[list[_Step]] = [[] for _ in memories]
    for number, each in enumerate(all_rounds):
        for message in each.messages:
            take = "WEFT_ADD" if message.is_reduction else "WEFT_COPY"
            for first, count in memories[message.receiver].positions(message.ranges):
                if count > _INT_MAX:
                    raise UsageError(f"a message of {count} elements is more than MPI counts ({_INT_MAX})")
                steps[message.receiver].append((number, take, message.sender, first, count))
        for message in each.messages:
            for first, count in memories[message.sender].positions(message.ranges):
                steps[message.sender].append((number, "WEFT_SEND", message.receiver, first, count))
    return steps


def _figures(schedule: CollectiveSchedule, steps: list[list[_Step]], memories: list[Memory]) -> dict[str, object]:
    kind, mpi_type = _TYPES[schedule.element_bytes]
    name = f"weft_{re.sub('[^a-z0-9]', '_', schedule.collective)}"
    tables = []
    for rank, of_rank in enumerate(steps):
        rows = ",\n".join(f"    {{{', '.join(map(str, step))}}}" for step in of_rank)
        tables.append(f"static const struct weft_step {name}_of_{rank}[] = {{\n{rows or '    {0, 0, 0, 0, 0}'}\n}};")
    starts = [shard(schedule, rank).first for rank in range(schedule.ranks)]
    elements = schedule.bytes // schedule.element_bytes
    return {
        "name": name, "guard": f"{name.upper()}_H", "type": kind, "mpi_type": mpi_type, "ranks": schedule.ranks,
        "elements": elements, "machine": _comment(schedule.machine), "collective": schedule.collective,
        "form": _comment(schedule.form), "tables": "\n\n".join(tables),
        "names": ",\n".join(f"    {name}_of_{rank}" for rank in range(schedule.ranks)),
        "lengths": ", ".join(str(len(of_rank)) for of_rank in steps),
        "starts": ", ".join(map(str, [*starts, elements])),
        "root": -1 if schedule.root is None else schedule.root,
        "is_allgather": int(schedule.collective == "allgather"),
        "is_reduce_scatter": int(schedule.collective == "reduce-scatter"),
        "is_broadcast": int(schedule.collective == "broadcast"),
        "is_reduce": int(schedule.collective == "reduce"),
        "is_all_to_all": int(schedule.collective == "all-to-all"),
        "memories": ",\n".join(_memory(memory) for memory in memories),
    }  # fmt: skip


def _memory(memory: Memory) -> str:
    (first, count), at = memory.kept()
    return f"    {{{memory.elements}, {memory.input}, {first}, {count}, {at}, {memory.result.length}}}"


def _comment(text: str) -> str:
    """What may stand in a comment of C."""
    return re.sub(r"[^\w .,:+-]", "_", text)


_TEMPLATE = """\
/* {collective} of {elements} elements of {type} among {ranks} ranks, compiled by weft for {machine}: {form}.

   int {name}(const {type} *input, {type} *output, MPI_Op operation, MPI_Comm comm)

   All ranks of comm call it. input is a rank's shard for an allgather (the first ranks have one element more where they
   do not divide evenly) and a whole buffer otherwise, with a block for each rank for an all-to-all (the first ones have
   one element more); output is the shard after a reduce-scatter, the blocks for this rank after an all-to-all, by
   sender, and a whole buffer otherwise, and nothing on ranks that a reduce gives nothing to. They do not overlap. The
   operation has to be commutative (it is not looked at where nothing is added). Messages have tags from 0 to 32767:
   give it a communicator that has no others under way. Returns MPI_SUCCESS or the code of an error of MPI. */

#ifndef {guard}
#define {guard}

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#ifndef WEFT_STEP
#define WEFT_STEP
enum {{ WEFT_SEND, WEFT_COPY, WEFT_ADD }};
struct weft_step {{
    int round, action, other;
    long first;
    int count;
}};
#endif

{tables}

static const struct weft_step *const {name}_steps[] = {{
{names}
}};
static const int {name}_lengths[] = {{{lengths}}};
static const long {name}_starts[] = {{{starts}}};
/* Of each rank how many elements it keeps, and how many it has in the beginning; of an all-to-all where its own block
is in
   the buffer, its elements, and where it keeps that; how many elements it has in the end. */
static const long {name}_memories[][6] = {{
{memories}
}};

static int {name}_round(const struct weft_step *steps, int count, {type} *buffer, {type} *received,
                        MPI_Request *requests, MPI_Op operation, MPI_Comm comm) {{
    int code = MPI_SUCCESS, started = 0;
    long at = 0;
    for (int i = 0; i < count && code == MPI_SUCCESS; i++) {{
        const struct weft_step *step = &steps[i];
        int tag = step->round % 32768;
        if (step->action == WEFT_SEND) {{
            code = MPI_Isend(buffer + step->first, step->count, {mpi_type}, step->other, tag, comm,
                             &requests[started++]);
        }} else {{
            code = MPI_Irecv(received + at, step->count, {mpi_type}, step->other, tag, comm, &requests[started++]);
            at += step->count;
        }}
    }}
    if (code == MPI_SUCCESS) code = MPI_Waitall(started, requests, MPI_STATUSES_IGNORE);
    at = 0;
    for (int i = 0; i < count && code == MPI_SUCCESS; i++) {{
        const struct weft_step *step = &steps[i];
        if (step->action == WEFT_SEND) continue;
        if (step->action == WEFT_COPY) {{
            memcpy(buffer + step->first, received + at, (size_t)step->count * sizeof *buffer);
        }} else {{
            code = MPI_Reduce_local(received + at, buffer + step->first, step->count, {mpi_type}, operation);
        }}
        at += step->count;
    }}
    return code;
}}

static int {name}(const {type} *input, {type} *output, MPI_Op operation, MPI_Comm comm) {{
    const long elements = {elements};
    const int root = {root};
    int rank, ranks, code;
    if ((code = MPI_Comm_rank(comm, &rank)) != MPI_SUCCESS) return code;
    if ((code = MPI_Comm_size(comm, &ranks)) != MPI_SUCCESS) return code;
    if (ranks != {ranks}) return MPI_ERR_COMM;
    const struct weft_step *steps = {name}_steps[rank];
    const int length = {name}_lengths[rank];
    const long first = {name}_starts[rank], shard = {name}_starts[rank + 1] - first;
    /* A round's messages are next to each other. */
    long most_received = 1;
    int most_messages = 1, adds = 0;
    for (int begin = 0, end; begin < length; begin = end) {{
        long elements_received = 0;
        for (end = begin; end < length && steps[end].round == steps[begin].round; end++) {{
            if (steps[end].action != WEFT_SEND) elements_received += steps[end].count;
            if (steps[end].action == WEFT_ADD) adds = 1;
        }}
        if (elements_received > most_received) most_received = elements_received;
        if (end - begin > most_messages) most_messages = end - begin;
    }}
    if (adds) {{
        int commutes;
        if ((code = MPI_Op_commutative(operation, &commutes)) != MPI_SUCCESS) return code;
        if (!commutes) return MPI_ERR_OP;
    }}
    const int has_own = {is_reduce_scatter} || {is_all_to_all} || ({is_reduce} && rank != root);
    const long *memory = {name}_memories[rank];
    {type} *own = has_own ? malloc((size_t)memory[0] * sizeof *own) : NULL;
    {type} *buffer = has_own ? own : output;
    {type} *received = malloc((size_t)most_received * sizeof *received);
    MPI_Request *requests = malloc((size_t)most_messages * sizeof *requests);
    if (buffer == NULL || received == NULL || requests == NULL) {{
        code = MPI_ERR_NO_MEM;
    }} else {{
        if ({is_allgather}) {{
            memcpy(buffer + first, input, (size_t)shard * sizeof *buffer);
        }} else if (!{is_broadcast} || rank == root) {{
            memcpy(buffer, input, (size_t)memory[1] * sizeof *buffer);
        }}
        if ({is_all_to_all}) memcpy(buffer + memory[4], input + memory[2], (size_t)memory[3] * sizeof *buffer);
        for (int begin = 0, end; begin < length && code == MPI_SUCCESS; begin = end) {{
            for (end = begin; end < length && steps[end].round == steps[begin].round;) end++;
            code = {name}_round(steps + begin, end - begin, buffer, received, requests, operation, comm);
        }}
        if ({is_reduce_scatter} && code == MPI_SUCCESS) memcpy(output, own + first, (size_t)shard * sizeof *output);
        if ({is_all_to_all} && code == MPI_SUCCESS) {{
            memcpy(output, own + elements, (size_t)memory[5] * sizeof *output);
        }}
    }}
    free(requests);
    free(received);
    free(own);
    return code;
}}

#endif
"""
