"""Ranks that wait for others outside of MPI: the others go on, and the run comes to its end."""

import os
import re

import pytest
from test_hosting_compiled import pytestmark as needs
from test_hosting_compiled import weft_run, written

from weft.hosting.run import PATIENCE

pytestmark = needs

SOON = ["--patience", "0.5"]

MEET = """
    int value = 0;
    MPI_Barrier(MPI_COMM_WORLD);
"""

EXCHANGE = """
    for (int i = 0; i < 10; i++)
        MPI_Sendrecv_replace(&value, 1, MPI_INT, 3 - rank, 0, 3 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
"""


@pytest.fixture(autouse=True)
def no_other_launcher(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("PMI", "OMPI"))]:
        monkeypatch.delenv(name)


def test_a_rank_ends_the_run_while_another_computes_for_ever(tmp_path):
    body = f"""{MEET}
    if (rank == 0)
        for (volatile int i = 0;; i++) ;
    {EXCHANGE}
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
"""
    code, _, said = weft_run(written(body, tmp_path), ranks=3, options=SOON)
    assert code == 7, said
    assert "MPI_Abort with code 7" in said


def test_a_rank_waits_for_a_flag_in_shared_memory(tmp_path):
    body = f"""
    int *base, unit;
    MPI_Aint bytes;
    MPI_Win window;
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &base);
    volatile int *flag = base;
    if (rank == 0) *flag = 0;
    {MEET}
    for (int round = 1; round < 4; round++)
        if (rank == 0) {{
            while (*flag < round) ;
        }} else {{
            {EXCHANGE}
            if (rank == 1) *flag = round;
        }}
    double time = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("%d %d\\n", *flag, time < 1.0);
    MPI_Win_free(&window);
"""
    code, printed, said = weft_run(written(body, tmp_path), ranks=3, options=[*SOON, "--ranks-per-node", "3"])
    assert (code, printed) == (0, "3 1\n"), said
    assert re.search(r"the other ranks went on .* without one that did not call MPI for long", said), said


def test_a_rank_waits_for_a_file_that_another_writes_later(tmp_path):
    """Its clock is that of the others when it reads it then."""
    body = f"""{MEET}
    double start = MPI_Wtime();
    if (rank == 0) {{
        while (access(argv[1], F_OK) != 0) ;
    }} else {{
        sleep(2);
        {EXCHANGE}
        if (rank == 1) fclose(fopen(argv[1], "w"));
    }}
    if (rank == 0) printf("%d\\n", (int)(MPI_Wtime() - start));
"""
    code, printed, said = weft_run(written(body, tmp_path), str(tmp_path / "file"), ranks=3, options=SOON)
    assert (code, printed) == (0, "2\n"), said


def test_messages_that_a_rank_has_sent_arrive_while_it_waits_outside_of_mpi(tmp_path):
    """Sends are handed over with the next call that needs an answer; here there is none before the others answer."""
    body = f"""{MEET}
    int answer = 0;
    for (int round = 1; round < 4; round++)
        if (rank == 0) {{
            value = 10 * round;
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            FILE *from = fopen(argv[1], "r");
            if (fscanf(from, "%d", &answer) != 1) return 1;
            fclose(from);
            printf("%d\\n", answer);
        }} else if (rank == 1) {{
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            FILE *to = fopen(argv[1], "w");
            fprintf(to, "%d", value + round);
            fclose(to);
        }}
    MPI_Barrier(MPI_COMM_WORLD);
"""
    os.mkfifo(tmp_path / "fifo")
    code, printed, said = weft_run(written(body, tmp_path), str(tmp_path / "fifo"), ranks=3, options=SOON)
    assert (code, printed) == (0, "11\n22\n33\n"), said


def test_looks_beside_a_long_computation_take_little_time(tmp_path):
    """Virtual time does not run away while a rank computes for longer than the others wait for it."""
    body = f"""{MEET}
    double start = MPI_Wtime();
    if (rank == 0) {{
        for (clock_t begin = clock(); clock() - begin < 3 * CLOCKS_PER_SEC;) ;
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }} else {{
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }}
    if (rank == 1) printf("%d\\n", MPI_Wtime() - start < 0.05);
"""
    code, printed, said = weft_run(written(body, tmp_path), ranks=2, options=SOON)
    assert (code, printed) == (0, "1\n"), said


def test_a_run_that_waits_for_ranks_for_ever_is_repeatable(tmp_path):
    """Where a rank computes for longer than the patience, what comes after it is where it is with more patience."""
    body = f"""{MEET}
    if (rank == 0)
        for (clock_t begin = clock(); clock() - begin < 2 * CLOCKS_PER_SEC;) ;
    else {{
        {EXCHANGE}
    }}
    double time = MPI_Wtime();
    if (rank == 0) printf("%.12f\\n", time);
"""
    program = written(body, tmp_path)
    outcomes = [weft_run(program, ranks=3, options=["--patience", patience]) for patience in ("inf", "60")]
    assert outcomes[0] == outcomes[1]
    _, soon, _ = weft_run(program, ranks=3, options=SOON)
    assert float(soon) > float(outcomes[0][1])


def test_patience_is_a_time(tmp_path):
    assert PATIENCE == 20  # as the help says
    for patience in ("0", "-1", "nan"):
        code, _, said = weft_run(written(MEET, tmp_path), ranks=2, options=["--patience", patience])
        assert (code, "the patience with a rank is a number of seconds above 0, or inf" in said) == (2, True), said
