/* As much of Open MPI's binary interface as the programs beside this folder use: handles are addresses of objects that
   the library exports, and a status has 24 bytes. */
#ifndef OPEN_MPI_INTERFACE
#define OPEN_MPI_INTERFACE
#include <stddef.h>

typedef struct object *MPI_Comm, *MPI_Datatype, *MPI_Op, *MPI_Request;
typedef struct {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled;
    size_t bytes;
} MPI_Status;
typedef void MPI_User_function(void *, void *, int *, MPI_Datatype *);

/* The compiler lets programs have copies of these, of this length. */
struct communicator { char bytes[512]; };
struct operation { char bytes[2048]; };
extern struct communicator ompi_mpi_comm_world, ompi_mpi_char, ompi_mpi_int, ompi_mpi_double;
extern struct operation ompi_mpi_op_sum, ompi_mpi_op_max;
#define MPI_COMM_WORLD ((MPI_Comm)(void *)&ompi_mpi_comm_world)
#define MPI_CHAR ((MPI_Datatype)(void *)&ompi_mpi_char)
#define MPI_INT ((MPI_Datatype)(void *)&ompi_mpi_int)
#define MPI_DOUBLE ((MPI_Datatype)(void *)&ompi_mpi_double)
#define MPI_SUM ((MPI_Op)(void *)&ompi_mpi_op_sum)
#define MPI_MAX ((MPI_Op)(void *)&ompi_mpi_op_max)
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)

int MPI_Init(int *, char ***);
int MPI_Finalize(void);
int MPI_Comm_rank(MPI_Comm, int *);
int MPI_Comm_size(MPI_Comm, int *);
int MPI_Comm_split(MPI_Comm, int, int, MPI_Comm *);
int MPI_Comm_free(MPI_Comm *);
int MPI_Send(const void *, int, MPI_Datatype, int, int, MPI_Comm);
int MPI_Ssend(const void *, int, MPI_Datatype, int, int, MPI_Comm);
int MPI_Recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int MPI_Probe(int, int, MPI_Comm, MPI_Status *);
int MPI_Get_count(const MPI_Status *, MPI_Datatype, int *);
int MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Sendrecv(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int MPI_Test(MPI_Request *, int *, MPI_Status *);
int MPI_Waitall(int, MPI_Request *, MPI_Status *);
int MPI_Bcast(void *, int, MPI_Datatype, int, MPI_Comm);
int MPI_Reduce(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
int MPI_Allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Iallreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
int MPI_Scan(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Allgather(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
int MPI_Op_create(MPI_User_function *, int, MPI_Op *);
int MPI_Op_free(MPI_Op *);
int MPI_Type_vector(int, int, int, MPI_Datatype, MPI_Datatype *);
int MPI_Type_commit(MPI_Datatype *);
int MPI_Type_free(MPI_Datatype *);
int MPI_Dims_create(int, int, int *);
int MPI_Cart_create(MPI_Comm, int, const int *, const int *, int, MPI_Comm *);
int MPI_Cart_shift(MPI_Comm, int, int, int *, int *);
#endif
