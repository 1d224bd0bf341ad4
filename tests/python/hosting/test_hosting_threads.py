"""Programs whose ranks call MPI from several threads: each rank has a process for itself."""

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from weft.hosting.library import path

INCLUDE = Path(sysconfig.get_path("data")) / "include" / "mpi.h"
HAS_COMPILER = shutil.which("cc") is not None and INCLUDE.exists()

pytestmark = pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built")
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="there is no C compiler with the headers of MPICH")
needs_mpi4py = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")

HEAD = """#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int rank, size;
void *of_thread(void *number);
void begin(int required) {
    int provided;
    MPI_Init_thread(0, 0, required, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < required) printf("a lower level: %d\\n", provided);
}
void run_threads(int count) {
    pthread_t threads[16];
    for (long t = 0; t < count; t++) pthread_create(&threads[t], 0, of_thread, (void *) t);
    for (int t = 0; t < count; t++) pthread_join(threads[t], 0);
}
void compute(double seconds) {
    clock_t start = clock();
    while (clock() - start < seconds * CLOCKS_PER_SEC) ;
}
"""


def run_c(text, folder, ranks, *options):
    """Sorted lines of a C program's output."""
    source = folder / "program.c"
    source.write_text(HEAD + text)
    library = INCLUDE.parent.parent / "lib"
    flags = ["-O1", "-pthread", f"-I{INCLUDE.parent}", f"-L{library}", "-lmpi"]
    subprocess.run(["cc", str(source), "-o", str(folder / "program"), *flags], check=True)
    return run(folder / "program", ranks, *options)


def run_python(text, folder, ranks):
    """Sorted lines of a script's output."""
    program = folder / "program.py"
    program.write_text(text)
    return run(program, ranks, "--isolate")


def run(program, ranks, *options):
    start = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", str(ranks), *options]
    done = subprocess.run([*start, str(program)], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


EXCHANGE = """
/* Thread t of a rank exchanges messages with thread t of every other rank; long ones take several parts. */
void *of_thread(void *number) {
    int t = (int) (long) number, errors = 0;
    for (int round = 0; round < 40; round++)
        for (int other = 0; other < size; other++) {
            int length = round % 8 == 7 ? 150000 : 1 + round * 17, *out, *in;
            MPI_Request request;
            MPI_Status status;
            out = malloc(4 * length);
            in = calloc(length, 4);
            for (int i = 0; i < length; i++) out[i] = i + 1000 * rank + 100 * t + round;
            if (round % 3 == 0) MPI_Issend(out, length, MPI_INT, other, t, MPI_COMM_WORLD, &request);
            else MPI_Isend(out, length, MPI_INT, other, t, MPI_COMM_WORLD, &request);
            MPI_Recv(in, length, MPI_INT, other, t, MPI_COMM_WORLD, &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int i = 0; i < length; i++) errors += in[i] != i + 1000 * other + 100 * t + round;
            errors += status.MPI_SOURCE != other || status.MPI_TAG != t;
            free(out);
            free(in);
        }
    if (errors) printf("rank %d, thread %d: %d errors\\n", rank, t, errors);
    return 0;
}
int main(void) {
    begin(MPI_THREAD_MULTIPLE);
    run_threads(5);
    printf("rank %d is done\\n", rank);
    MPI_Finalize();
}
"""


@needs_compiler
def test_threads_of_a_rank_exchange_messages_at_the_same_time(tmp_path):
    assert run_c(EXCHANGE, tmp_path, 3) == [f"rank {rank} is done" for rank in range(3)]


OWN_RANK = """
/* The main thread waits for what its own rank sends later, when others have long nothing to do any more. */
void *of_thread(void *number) {
    int value = 17 + rank, answer;
    compute(0.3);
    MPI_Ssend(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
    MPI_Recv(&answer, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d: answer %d\\n", rank, answer);
    return 0;
}
int main(void) {
    pthread_t thread;
    int value, main_thread;
    begin(MPI_THREAD_MULTIPLE);
    pthread_create(&thread, 0, of_thread, 0);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    value *= 2;
    MPI_Ssend(&value, 1, MPI_INT, (rank + 1) % size, 6, MPI_COMM_WORLD);
    pthread_join(thread, 0);
    MPI_Is_thread_main(&main_thread);
    if (!main_thread) printf("not the main thread\\n");
    MPI_Finalize();
}
"""


@needs_compiler
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_thread_waits_for_another_of_its_rank(tmp_path, ranks):
    answers = [f"rank {rank}: answer {2 * (17 + (rank - 1) % ranks)}" for rank in range(ranks)]
    assert run_c(OWN_RANK, tmp_path, ranks) == answers


MANY = """
/* One thread waits for more messages at once than the others have, which are sent in another order. */
enum { COUNT = 300 };
void *of_thread(void *number) {
    int t = (int) (long) number, count = t == 0 ? COUNT : 3, in[COUNT], out[COUNT], errors = 0;
    MPI_Request requests[COUNT];
    if (rank == 0) {
        for (int i = 0; i < count; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, 1, 1000 * t + i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; i++) errors += in[i] != 7 * (1000 * t + i);
        printf("thread %d: %d errors\\n", t, errors);
    } else {
        for (int i = count - 1; i >= 0; i--) {
            out[i] = 7 * (1000 * t + i);
            MPI_Ssend(&out[i], 1, MPI_INT, 0, 1000 * t + i, MPI_COMM_WORLD);
        }
    }
    return 0;
}
int main(void) {
    begin(MPI_THREAD_MULTIPLE);
    run_threads(3);
    MPI_Finalize();
}
"""


@needs_compiler
def test_a_thread_waits_for_many_requests_at_once(tmp_path):
    assert run_c(MANY, tmp_path, 2) == [f"thread {thread}: 0 errors" for thread in range(3)]


ENDED_BY_OTHERS = """
/* What threads wait for is ended by the main thread, and by no message: a receive that it cancels, a message of which
   it has the last part, a request that it completes. */
MPI_Request requests[3];
int parts[4];
int query(void *state, MPI_Status *status) {
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
int nothing(void *state) { return MPI_SUCCESS; }
int cancel(void *state, int is_complete) { return MPI_SUCCESS; }
void *of_thread(void *number) {
    int t = (int) (long) number, cancelled;
    MPI_Status status;
    MPI_Wait(&requests[t], &status);
    MPI_Test_cancelled(&status, &cancelled);
    printf("rank %d, thread %d: %d\\n", rank, t, cancelled);
    return 0;
}
int main(void) {
    pthread_t threads[3];
    int value, received[4], errors = 0;
    MPI_Request receive;
    begin(MPI_THREAD_MULTIPLE);
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Psend_init(parts, 4, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Precv_init(received, 4, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Start(&requests[1]);
    MPI_Start(&receive);
    MPI_Grequest_start(query, nothing, cancel, 0, &requests[2]);
    MPI_Request generalized = requests[2];
    for (long t = 0; t < 3; t++) pthread_create(&threads[t], 0, of_thread, (void *) t);
    compute(0.2);
    MPI_Cancel(&requests[0]);
    for (int i = 0; i < 4; i++) {
        parts[i] = rank + i;
        MPI_Pready(i, requests[1]);
    }
    compute(0.2);
    MPI_Grequest_complete(generalized);
    for (int t = 0; t < 3; t++) pthread_join(threads[t], 0);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) errors += received[i] != (rank + size - 1) % size + i;
    MPI_Request_free(&requests[1]);
    MPI_Request_free(&receive);
    if (errors) printf("rank %d: %d errors\\n", rank, errors);
    MPI_Finalize();
}
"""


@needs_compiler
def test_what_a_thread_waits_for_is_ended_by_another(tmp_path):
    ended = [f"rank {rank}, thread {thread}: {int(thread == 0)}" for rank in range(2) for thread in range(3)]
    assert run_c(ENDED_BY_OTHERS, tmp_path, 2) == ended


POLLING = """
/* Rank 1 looks again and again for what a second thread of rank 0 sends while the first waits for its answer. */
void *of_thread(void *number) {
    int value = 3;
    compute(0.2);
    MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    return 0;
}
int main(void) {
    pthread_t thread;
    int value = 0, flag = 0;
    begin(MPI_THREAD_MULTIPLE);
    if (rank == 0) {
        pthread_create(&thread, 0, of_thread, 0);
        MPI_Recv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pthread_join(thread, 0);
        printf("rank 0: %d\\n", value);
    } else {
        while (!flag) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        value *= 7;
        MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
"""


@needs_compiler
def test_a_rank_that_looks_does_not_keep_threads_of_another_from_calling(tmp_path):
    assert run_c(POLLING, tmp_path, 2) == ["rank 0: 21"]


COLLECTIVES = """
MPI_Comm comms[4];
int created;
/* Each thread has a communicator: collectives of several go on at once, blocking and nonblocking, and make new ones. */
void *of_thread(void *number) {
    int t = (int) (long) number, errors = 0;
    for (int round = 1; round <= 30; round++) {
        int value = (rank + 1) * (t + 1) * round, sum, all[8];
        MPI_Comm copy;
        MPI_Request request;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[t]);
        errors += sum != size * (size + 1) / 2 * (t + 1) * round;
        MPI_Iallgather(&value, 1, MPI_INT, all, 1, MPI_INT, comms[t], &request);
        MPI_Barrier(comms[t]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int r = 0; r < size; r++) errors += all[r] != (r + 1) * (t + 1) * round;
        if (round % 10 == 0) {
            MPI_Comm_dup(comms[t], &copy);
            MPI_Bcast(&value, 1, MPI_INT, size - 1, copy);
            errors += value != size * (t + 1) * round;
            MPI_Comm_free(&copy);
        }
    }
    if (errors) printf("rank %d, thread %d: %d errors\\n", rank, t, errors);
    return 0;
}
int main(void) {
    begin(MPI_THREAD_MULTIPLE);
    for (int t = 0; t < 4; t++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    run_threads(4);
    printf("rank %d is done\\n", rank);
    MPI_Finalize();
}
"""


@needs_compiler
@pytest.mark.parametrize("ranks", [2, 5])
def test_collectives_of_several_communicators_go_on_at_once(tmp_path, ranks):
    assert run_c(COLLECTIVES, tmp_path, ranks) == [f"rank {rank} is done" for rank in range(ranks)]


SERIALIZED = """
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The program sees to it that one thread calls at a time. */
void *of_thread(void *number) {
    int value = 1 + (int) (long) number, received;
    pthread_mutex_lock(&lock);
    MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d: %d\\n", rank, received > 0);
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    begin(MPI_THREAD_SERIALIZED);
    run_threads(3);
    MPI_Finalize();
}
"""


@needs_compiler
def test_threads_that_call_one_after_another(tmp_path):
    assert run_c(SERIALIZED, tmp_path, 2) == [f"rank {rank}: 1" for rank in range(2) for _ in range(3)]


DEADLOCK = """
void *of_thread(void *number) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
int main(void) {
    begin(MPI_THREAD_MULTIPLE);
    run_threads(2);
    MPI_Finalize();
}
"""


@needs_compiler
def test_threads_that_all_wait_for_each_other_are_a_deadlock(tmp_path):
    with pytest.raises(AssertionError, match="deadlock: 2 of 2 ranks cannot go on"):
        run_c(DEADLOCK, tmp_path, 2)


POOL = """
from mpi4py import MPI
from mpi4py.futures import MPICommExecutor

def squared(number):
    return number * number

if __name__ == "__main__":
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
        if executor is not None:
            print(sum(executor.map(squared, range(30))))
"""


@needs_mpi4py
def test_a_pool_whose_manager_is_a_thread(tmp_path):
    assert run_python(POOL, tmp_path, 3) == [str(sum(number * number for number in range(30)))]


OPERATIONS = """
import threading
from mpi4py import MPI

comms = [MPI.COMM_WORLD.Dup() for _ in range(3)]
operation = MPI.Op.Create(lambda a, b, kind: memoryview(b).cast("i").__setitem__(0, max(memoryview(a).cast("i")[0], \
memoryview(b).cast("i")[0])), commute=True)

def reduce(comm, results):
    for number in range(20):
        mine, all = memoryview(bytearray(4)).cast("i"), memoryview(bytearray(4)).cast("i")
        mine[0] = comm.rank * 10 + number
        comm.Allreduce([mine, MPI.INT], [all, MPI.INT], op=operation)
        results.append(all[0] == (comm.size - 1) * 10 + number and comm.Get_size() > 1)

results = []
threads = [threading.Thread(target=reduce, args=(comm, results)) for comm in comms]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(MPI.Query_thread() == MPI.THREAD_MULTIPLE, len(results), all(results))
"""


@needs_mpi4py
def test_functions_of_python_are_called_while_other_threads_call(tmp_path):
    assert run_python(OPERATIONS, tmp_path, 3) == ["True 60 True"] * 3
