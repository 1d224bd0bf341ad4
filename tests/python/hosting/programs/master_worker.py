"""Hands out work to whoever asks; answers come back in any order."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
TASKS = 40
if comm.rank == 0:
    results, next_task, status = {}, 0, MPI.Status()
    active = comm.size - 1
    while active:
        answer = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        if answer is not None:
            results[answer[0]] = answer[1]
        if next_task < TASKS:
            comm.send(next_task, status.source, 1)
            next_task += 1
        else:
            comm.send(None, status.source, 2)
            active -= 1
    print([results[task] for task in sorted(results)])
else:
    answer = None
    while True:
        comm.send(answer, 0, 0)
        task = comm.recv(source=0)
        if task is None:
            break
        answer = (task, task**2 + 1)
