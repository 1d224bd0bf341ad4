/* Attributes whose values are numbers with names, and their keys, as Open MPI numbers them. */
#include <stdio.h>
#include "mpi.h"

typedef struct object *MPI_Info, *MPI_Win;
extern struct { char bytes[512]; } ompi_mpi_info_null;
#define MPI_PROC_NULL (-2)
enum { HOST = 1, IO = 2, CREATE_FLAVOR = 10, MODEL = 11, FLAVOR_ALLOCATE = 2, UNIFIED = 0 };

int MPI_Comm_get_attr(MPI_Comm, int, void *, int *);
int MPI_Win_get_attr(MPI_Win, int, void *, int *);
int MPI_Win_allocate(long, int, MPI_Info, MPI_Comm, void *, MPI_Win *);
int MPI_Win_free(MPI_Win *);
void mpi_win_get_attr_(int *, int *, long *, int *, int *);
int MPI_Win_c2f(MPI_Win);

int main(void) {
    int *host, *io, *flavor, *model, is_there[4];
    void *memory;
    MPI_Win window;
    MPI_Init(0, 0);
    MPI_Win_allocate(8, 1, (MPI_Info)(void *)&ompi_mpi_info_null, MPI_COMM_WORLD, &memory, &window);
    MPI_Comm_get_attr(MPI_COMM_WORLD, HOST, &host, &is_there[0]);
    MPI_Comm_get_attr(MPI_COMM_WORLD, IO, &io, &is_there[1]);
    MPI_Win_get_attr(window, CREATE_FLAVOR, &flavor, &is_there[2]);
    MPI_Win_get_attr(window, MODEL, &model, &is_there[3]);
    printf("there %d %d %d %d\n", is_there[0], is_there[1], is_there[2], is_there[3]);
    printf("host none %d, all reach files %d\n", *host == MPI_PROC_NULL, *io == MPI_ANY_SOURCE);
    printf("allocated %d, unified %d\n", *flavor == FLAVOR_ALLOCATE, *model == UNIFIED);
    int handle = MPI_Win_c2f(window), key = MODEL, flag, code;
    long value = -1;
    mpi_win_get_attr_(&handle, &key, &value, &flag, &code);
    printf("unified in Fortran %d %d\n", value == UNIFIED, flag);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
