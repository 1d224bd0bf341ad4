/* What programs of Fortran call of Open MPI, and what its own library of Fortran (libmpi_mpifh) asks its library of C
   for, called as these do: handles are the numbers of Open MPI's mpif.h, arguments addresses, names in small letters. */
#include "mpi.h"
#include <stdio.h>
#include <string.h>

enum { WORLD = 0, REQUEST_NULL = 0, INTEGER = 7, DOUBLE_PRECISION = 17, SUM = 3, TAG_UB = 0, UNDEFINED = -32766 };

extern long mpi_fortran_status_ignore_[3];
extern int ompi_status_empty[6];
MPI_Comm MPI_Comm_f2c(int);
MPI_Request MPI_Request_f2c(int);
MPI_Datatype MPI_Type_f2c(int);
int MPI_Comm_c2f(MPI_Comm), MPI_Type_c2f(MPI_Datatype), MPI_Request_c2f(MPI_Request), MPI_Op_c2f(MPI_Op);
MPI_Op MPI_Op_f2c(int);
int MPI_Comm_dup(MPI_Comm, MPI_Comm *), MPI_Comm_group(MPI_Comm, void *), MPI_Group_size(void *, int *);
int MPI_Comm_delete_attr(MPI_Comm, int), MPI_Comm_set_errhandler(MPI_Comm, void *);
void *MPI_Group_f2c(int), *MPI_Errhandler_f2c(int), *MPI_Info_f2c(int);
int MPI_Group_c2f(void *), MPI_Grequest_complete(MPI_Request);
int MPIX_Barrier_init(MPI_Comm, void *, MPI_Request *), MPI_Start(MPI_Request *), MPI_Request_free(MPI_Request *);
int MPI_Status_c2f(const MPI_Status *, int *), MPI_Status_f2c(const int *, MPI_Status *), MPI_Wait(MPI_Request *, MPI_Status *);
void mpi_op_create_(void *, int *, int *, int *), mpi_wait_(int *, int *, int *), mpi_waitall_(int *, int *, int *, int *);
void mpi_waitany_(int *, int *, int *, int *, int *), mpi_waitsome_(int *, int *, int *, int *, int *, int *);
void mpi_testall_(int *, int *, int *, int *, int *), pmpi_test_(int *, int *, int *, int *);
void mpi_group_incl_(int *, int *, int *, int *, int *), ompi_group_excl_f(int *, int *, int *, int *, int *);
void mpi_comm_create_keyval_(void *, void *, int *, long *, int *), mpi_comm_set_attr_(int *, int *, long *, int *);
void mpi_comm_get_attr_(int *, int *, long *, int *, int *), mpi_attr_get_(int *, int *, int *, int *, int *);
void mpi_keyval_create_(void *, void *, int *, int *, int *), mpi_attr_put_(int *, int *, int *, int *);
void mpi_comm_dup_fn_(void), mpi_null_delete_fn_(void), mpi_type_match_size_(int *, int *, int *, int *);
void mpi_comm_create_errhandler_(void *, int *, int *);
void mpi_grequest_start_(void *, void *, void *, long *, int *, int *);
int ompi_fortran_string_f2c(const char *, int, char **), ompi_fortran_string_c2f(const char *, char *, int);

static int rank, size, zero, code;

/* The program's own, as Fortran has them: addresses of numbers, and of the code. */
static void larger(int *from, int *into, int *count, int *datatype) {
    for (int i = 0; i < *count; i++)
        if (*datatype == INTEGER && from[i] > into[i]) into[i] = from[i];
}
static void copies(int *comm, int *kind, long *extra, long *value, long *copy, int *flag, int *ierr) {
    *copy = *value + *extra + *comm;
    *flag = 1;
    *ierr = 0;
}
static void deletes(int *comm, int *kind, long *value, long *extra, int *ierr) {
    printf("%d: deleted %ld\n", rank, *value);
    *ierr = 0;
}
static void old_copies(int *comm, int *kind, int *extra, int *value, int *copy, int *flag, int *ierr) {
    *copy = *value * *extra;
    *flag = 1;
    *ierr = 0;
}
static void handles(int *comm, int *error) { printf("%d: error %d of %d\n", rank, *error, *comm); }
static void queries(long *extra, int *status, int *ierr) {
    memcpy(status, ompi_status_empty, sizeof ompi_status_empty);
    status[1] = (int) *extra;
    *ierr = 0;
}
static void frees(long *extra, int *ierr) { *ierr = 0; }
static void cancels(long *extra, int *complete, int *ierr) { *ierr = 0; }

static void requests(void) {
    int numbers[3] = {REQUEST_NULL, REQUEST_NULL, REQUEST_NULL}, statuses[18], count = 3, index, done, indices[3], flag;
    double from = rank + 0.5, into = 0;
    MPI_Request request;
    MPI_Irecv(&into, 1, MPI_Type_f2c(DOUBLE_PRECISION), (rank + size - 1) % size, 5, MPI_Comm_f2c(WORLD), &request);
    numbers[1] = MPI_Request_c2f(request);
    MPI_Isend(&from, 1, MPI_Type_f2c(DOUBLE_PRECISION), (rank + 1) % size, 5, MPI_Comm_f2c(WORLD), &request);
    numbers[2] = MPI_Request_c2f(request);
    mpi_wait_(&numbers[2], (int *) mpi_fortran_status_ignore_, &code);
    mpi_waitany_(&count, numbers, &index, statuses, &code);
    printf("%d: %g, index %d, source %d, tag %d, null %d %d\n", rank, into, index, statuses[0], statuses[1],
           numbers[1] == REQUEST_NULL, numbers[2] == REQUEST_NULL);
    mpi_waitsome_(&count, numbers, &done, indices, statuses, &code);
    mpi_testall_(&count, numbers, &flag, statuses, &code);
    printf("%d: some %d, all %d\n", rank, done == UNDEFINED, flag);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 6, MPI_COMM_WORLD, &request);
    numbers[0] = MPI_Request_c2f(request);
    MPI_Irecv(&index, 1, MPI_INT, -1, 6, MPI_COMM_WORLD, &request);
    numbers[2] = MPI_Request_c2f(request);
    mpi_waitall_(&count, numbers, statuses, &code);
    pmpi_test_(&numbers[0], &flag, statuses, &code);
    printf("%d: from %d, %d, flag %d\n", rank, statuses[12], index, flag);
    MPI_Status status;
    MPI_Status_f2c(&statuses[12], &status);
    MPI_Status_c2f(&status, statuses);
    printf("%d: source %d, same %d\n", rank, status.MPI_SOURCE, memcmp(statuses, &statuses[12], 24) == 0);
    long extra = 9;
    mpi_grequest_start_(queries, frees, cancels, &extra, numbers, &code);
    MPI_Grequest_complete(MPI_Request_f2c(numbers[0]));
    mpi_wait_(numbers, statuses, &code);
    printf("%d: generalized, tag %d\n", rank, statuses[1]);
    MPIX_Barrier_init(MPI_COMM_WORLD, MPI_Info_f2c(0), &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void attributes(void) {
    int kind, old, world = WORLD, flag, small, ten = 10;
    long extra = 100, value = 7;
    MPI_Comm other;
    mpi_comm_create_keyval_(copies, deletes, &kind, &extra, &code);
    mpi_comm_set_attr_(&world, &kind, &value, &code);
    mpi_keyval_create_(old_copies, mpi_null_delete_fn_, &old, &ten, &code);
    mpi_attr_put_(&world, &old, &ten, &code);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    int number = MPI_Comm_c2f(other);
    mpi_comm_get_attr_(&number, &kind, &value, &flag, &code);
    mpi_attr_get_(&number, &old, &small, &flag, &code);
    printf("%d: copied %ld and %d, %d\n", rank, value, small, MPI_Comm_f2c(number) == other);
    MPI_Comm_free(&other);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, kind);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, old);
    kind = TAG_UB;
    mpi_comm_get_attr_(&world, &kind, &value, &flag, &code);
    printf("%d: bound %d %d\n", rank, flag, value >= 32767);
}

int main(void) {
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_Comm_f2c(WORLD), &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d: %d %d %d %d\n", rank, MPI_Comm_f2c(WORLD) == MPI_COMM_WORLD, MPI_Comm_c2f(MPI_COMM_WORLD) == WORLD,
           MPI_Op_f2c(SUM) == MPI_SUM, MPI_Type_c2f(MPI_Type_f2c(INTEGER)) == INTEGER);
    int op, yes = 1, mine[2] = {rank, -rank}, largest[2];
    mpi_op_create_(larger, &yes, &op, &code);
    MPI_Allreduce(mine, largest, 2, MPI_Type_f2c(INTEGER), MPI_Op_f2c(op), MPI_COMM_WORLD);
    printf("%d: largest %d %d\n", rank, largest[0], largest[1]);
    requests();
    attributes();
    void *group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    int all = MPI_Group_c2f(group), first, rest, members, others;
    mpi_group_incl_(&all, &yes, &zero, &first, &code);
    ompi_group_excl_f(&all, &yes, &zero, &rest, &code);
    MPI_Group_size(MPI_Group_f2c(first), &members);
    MPI_Group_size(MPI_Group_f2c(rest), &others);
    printf("%d: groups of %d and %d\n", rank, members, others);
    int real = 2, bytes = 8, datatype;
    mpi_type_match_size_(&real, &bytes, &datatype, &code);
    double one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_Type_f2c(datatype), MPI_SUM, MPI_COMM_WORLD);
    printf("%d: sum %g\n", rank, sum);
    int handler;
    mpi_comm_create_errhandler_(handles, &handler, &code);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_Errhandler_f2c(handler));
    MPI_Send(&rank, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    char *text, back[6];
    ompi_fortran_string_f2c("  weft  ", 8, &text);
    ompi_fortran_string_c2f(text, back, 6);
    printf("%d: [%s] [%.6s]\n", rank, text, back);
    MPI_Finalize();
    return 0;
}
