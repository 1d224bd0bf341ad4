/* What the standard's header says, asked of the library: FILE is written. Prints one line on rank 0 where all is so. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            printf("rank %d, line %d: %s\n", rank, __LINE__, #what);           \
            fflush(stdout);                                                    \
            MPI_Abort(MPI_COMM_WORLD, 1);                                      \
        }                                                                      \
    } while (0)

static int rank, size, handled, copied;

static void largest(void *in, void *inout, int *len, MPI_Datatype *datatype) {
    CHECK(*datatype == MPI_DOUBLE);
    for (int i = 0; i < *len; i++)
        if (((double *)in)[i] > ((double *)inout)[i]) ((double *)inout)[i] = ((double *)in)[i];
}

static void largest_c(void *in, void *inout, MPI_Count *len, MPI_Datatype *datatype) {
    int count = (int)*len;
    largest(in, inout, &count, datatype);
}

static void handler(MPI_Comm *comm, int *code, ...) {
    int class;
    MPI_Error_class(*code, &class);
    CHECK(*comm == MPI_COMM_WORLD);
    handled = class;
}

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)keyval;
    copied += *(int *)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void messages(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, value = rank, other = -1, count, index, flag;
    MPI_Status status, statuses[2];
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Message message;
    MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, right, 17, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    CHECK(other == left && statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == 17);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    CHECK(count == 1);
    MPI_Waitany(3, requests, &index, &status);
    CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Recv(&other, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&other, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(message == MPI_MESSAGE_NULL);
    MPI_Irecv(&other, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Sendrecv_c(&value, 1, MPI_INT, right, 1, &other, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
    CHECK(other == left && status.MPI_TAG == 1);
}

static void collectives(void) {
    double mine = rank + 0.5, all = -1, sums[2] = {1, rank};
    MPI_Op op, op_c;
    MPI_Comm copied_comm, empty;
    int compared, ranks[2] = {0, MPI_PROC_NULL}, there[2];
    MPI_Group group, second;
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sums[0] == size && sums[1] == size * (size - 1) / 2);
    MPI_Op_create(largest, 1, &op);
    MPI_Op_create_c(largest_c, 1, &op_c);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    CHECK(all == size - 0.5);
    all = -1;
    MPI_Allreduce_c(&mine, &all, 1, MPI_DOUBLE, op_c, MPI_COMM_WORLD);
    CHECK(all == size - 0.5);
    MPI_Op_free(&op);
    MPI_Op_free(&op_c);
    CHECK(op == MPI_OP_NULL);
    struct { double value; int index; } pair = {(rank + 1) % size, rank}, first;
    MPI_Allreduce(&pair, &first, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    CHECK(first.value == size - 1 && first.index == size - 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &copied_comm);
    MPI_Comm_compare(MPI_COMM_WORLD, copied_comm, &compared);
    CHECK(compared == MPI_CONGRUENT);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &compared);
    CHECK(compared == MPI_IDENT);
    MPI_Comm_group(copied_comm, &group);
    MPI_Comm_group(MPI_COMM_SELF, &second);
    MPI_Group_translate_ranks(group, 2, ranks, group, there);
    CHECK(there[0] == 0 && there[1] == MPI_PROC_NULL);
    MPI_Group_compare(group, second, &compared);
    CHECK(compared == MPI_UNEQUAL);
    MPI_Group_free(&group);
    MPI_Group_free(&second);
    CHECK(group == MPI_GROUP_NULL);
    MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &empty);
    CHECK(empty == MPI_COMM_NULL);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &empty);
    MPI_Comm_free(&empty);
    MPI_Comm_free(&copied_comm);
    CHECK(copied_comm == MPI_COMM_NULL);
    /* A datatype for each peer. */
    int *out = calloc(size, sizeof *out), *in = calloc(size, sizeof *in), *counts = calloc(size, sizeof *counts);
    int *starts = calloc(size, sizeof *starts);
    MPI_Datatype *types = calloc(size, sizeof *types);
    for (int i = 0; i < size; i++) {
        out[i] = 100 * rank + i, counts[i] = 1, starts[i] = i * (int)sizeof *out, types[i] = i % 2 ? MPI_INT : MPI_INT32_T;
    }
    MPI_Alltoallw(out, counts, starts, types, in, counts, starts, types, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) CHECK(in[i] == 100 * i + rank);
    free(out), free(in), free(counts), free(starts), free(types);
}

static void datatypes(void) {
    int combiner, integers, addresses, types, extents[2] = {4, 6}, parts[2] = {2, 3}, starts[2] = {1, 2};
    int processes[2] = {size, 1}, ways[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, bytes;
    MPI_Count extent, lower;
    MPI_Datatype datatype, inner, whole;
    MPI_Type_create_subarray(2, extents, parts, starts, MPI_ORDER_C, MPI_INT, &datatype);
    MPI_Type_commit(&datatype);
    MPI_Type_get_envelope(datatype, &integers, &addresses, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_SUBARRAY && types == 1);
    int numbers[16];
    MPI_Aint places[1];
    MPI_Type_get_contents(datatype, integers, addresses, types, numbers, places, &inner);
    CHECK(inner == MPI_INT && numbers[0] == 2 && numbers[1] == 4);
    MPI_Type_get_extent_c(datatype, &lower, &extent);
    CHECK(lower == 0 && extent == 4 * 6 * (MPI_Count)sizeof(int));
    MPI_Type_free(&datatype);
    CHECK(datatype == MPI_DATATYPE_NULL);
    int rows[2] = {4 * size, 6};
    MPI_Type_create_darray(size, rank, 2, rows, ways, arguments, processes, MPI_ORDER_C, MPI_INT, &datatype);
    MPI_Type_size(datatype, &bytes);
    CHECK(bytes == 4 * 6 * (int)sizeof(int));
    MPI_Type_free(&datatype);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &whole);
    MPI_Type_size(whole, &bytes);
    CHECK(bytes == 8);
    MPI_Type_get_envelope(MPI_DOUBLE, &integers, &addresses, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_NAMED);
    CHECK(MPI_Type_toint(MPI_INT) == 0x209 && MPI_Type_fromint(0x209) == MPI_INT);
    CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101 && MPI_Comm_fromint(0x102) == MPI_COMM_SELF);
}

static void errors(void) {
    char text[MPI_MAX_ERROR_STRING];
    int length, class, code, value = 0;
    MPI_Errhandler made;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_RANK);
    MPI_Error_string(code, text, &length);
    CHECK(length > 0 && (int)strlen(text) == length);
    MPI_Error_class(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), &class);
    CHECK(class == MPI_ERR_TAG);
    MPI_Error_class(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), &class);
    CHECK(class == MPI_ERR_COUNT);
    MPI_Error_class(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), &class);
    CHECK(class == MPI_ERR_TYPE);
    int two[2] = {0, 0};
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(two, 2, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
    MPI_Error_class(MPI_Recv(two, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &status), &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_create_errhandler(handler, &made);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, made);
    MPI_Send(&value, 1, MPI_INT, -7, 0, MPI_COMM_WORLD);
    CHECK(handled == MPI_ERR_RANK);
    MPI_Errhandler_free(&made);
    CHECK(made == MPI_ERRHANDLER_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &made);
    CHECK(made == MPI_ERRORS_ARE_FATAL);
    MPI_Error_string(MPI_ERR_KEYVAL, text, &length);
    MPI_Error_class(MPI_ERR_KEYVAL, &class);
    CHECK(class == MPI_ERR_KEYVAL);
}

static void attributes(void) {
    int keyval, passed, flag, one = 1, *value;
    MPI_Comm copied_comm;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, &one);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &passed, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &one);
    MPI_Comm_set_attr(MPI_COMM_WORLD, passed, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &copied_comm);
    CHECK(copied == 1);
    MPI_Comm_get_attr(copied_comm, passed, &value, &flag);
    CHECK(flag && value == &size);
    MPI_Comm_free(&copied_comm);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, passed);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_free_keyval(&passed);
    CHECK(keyval == MPI_KEYVAL_INVALID && passed == MPI_KEYVAL_INVALID);
}

static void topologies(void) {
    int kind, extent = size, periodic = 0, source, destination, neighbour = (rank + 1) % size, left = (rank + size - 1) % size;
    int in, out, weighted;
    MPI_Comm line, graph;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &extent, &periodic, 0, &line);
    MPI_Topo_test(line, &kind);
    CHECK(kind == MPI_CART);
    MPI_Cart_shift(line, 0, 1, &source, &destination);
    CHECK(source == (rank ? rank - 1 : MPI_PROC_NULL) && destination == (rank < size - 1 ? rank + 1 : MPI_PROC_NULL));
    MPI_Comm_free(&line);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &neighbour, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &graph);
    MPI_Topo_test(graph, &kind);
    CHECK(kind == MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && !weighted);
    MPI_Comm_free(&graph);
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    CHECK(kind == MPI_UNDEFINED);
}

static void windows(void) {
    int *memory, *value, flag, seen = -1, added = 1;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    *memory = 0;
    MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &value, &flag);
    CHECK(flag && *value == MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_get_attr(window, MPI_WIN_MODEL, &value, &flag);
    CHECK(flag && (*value == MPI_WIN_UNIFIED || *value == MPI_WIN_SEPARATE));
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Accumulate(&added, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Fetch_and_op(NULL, &seen, MPI_INT, 0, 0, MPI_NO_OP, window);
    MPI_Win_unlock(0, window);
    CHECK(seen == size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
    CHECK(window == MPI_WIN_NULL);
}

static void files(const char *name) {
    int mode, value = rank, read = -1;
    MPI_Offset bytes, at;
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_get_amode(file, &mode);
    CHECK(mode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof value, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(file, &bytes);
    CHECK(bytes == size * (MPI_Offset)sizeof value);
    MPI_File_seek(file, -(MPI_Offset)sizeof value, MPI_SEEK_END);
    MPI_File_get_position(file, &at);
    CHECK(at == bytes - (MPI_Offset)sizeof value);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_seek(file, sizeof value, MPI_SEEK_CUR);
    MPI_File_read(file, &read, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(read == 1);
    MPI_File_close(&file);
    CHECK(file == MPI_FILE_NULL);
}

int main(int argc, char **argv) {
    int provided, level, version, subversion;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    CHECK(provided >= MPI_THREAD_FUNNELED);
    MPI_Query_thread(&level);
    CHECK(level == provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Abi_get_version(&version, &subversion);
    CHECK(version == MPI_ABI_VERSION && subversion == MPI_ABI_SUBVERSION);
    messages();
    collectives();
    datatypes();
    errors();
    attributes();
    topologies();
    windows();
    files(argv[1]);
    if (rank == 0) printf("all is as the header says\n");
    MPI_Finalize();
    return 0;
}
