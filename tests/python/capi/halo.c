/* Fills the ghosts of this rank's block of a 7 by 5 array, and shifts it; writes its block with ghosts, then the shift,
 * in a file for each rank. The first argument is "launched", or "own" where the program initialises MPI itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <weft.h>

static void check(int code) {
    if (code != WEFT_OK) {
        fprintf(stderr, "%d: %s\n", code, weft_message());
        exit(code);
    }
}

int main(int count, char **words) {
    if (count != 3) return 9;
    weft_ranks *ranks;
#ifdef WITH_MPI
    MPI_Init(NULL, NULL);
    check(weft_ranks_of(&ranks, WEFT_COMM(MPI_COMM_WORLD)));
#else
    check(strcmp(words[1], "launched") ? weft_ranks_alone(&ranks) : weft_ranks_launched(&ranks));
#endif
    size_t rank, size;
    check(weft_ranks_numbers(ranks, &rank, &size));
    const size_t shape[] = {7, 5}, widths[] = {2, 1, 1, 2};
    weft_geometry *geometry;
    check(weft_geometry_make(&geometry, ranks, 2, shape, NULL));
    size_t start[2], length[2], block[2];
    check(weft_geometry_block(geometry, start, length, block));
    const size_t rows = 2 + block[0] + 1, columns = 1 + block[1] + 2;
    float *x = malloc(rows * columns * sizeof *x), *y = malloc(rows * columns * sizeof *y);
    for (size_t i = 0; i < rows * columns; ++i) x[i] = y[i] = -1;
    for (size_t i = 0; i < length[0]; ++i)
        for (size_t j = 0; j < length[1]; ++j)
            x[(2 + i) * columns + 1 + j] = 10 * (start[0] + i) + (start[1] + j);

    const float hundred = 100;
    const weft_edge edges[] = {{WEFT_REFLECT, NULL}, {WEFT_VALUE, &hundred}, {WEFT_CIRCULAR, NULL}, {WEFT_SYMMETRIC, NULL}};
    weft_exchange *halo, *shift;
    check(weft_halo_plan(&halo, ranks, geometry, sizeof(float), widths, edges, WEFT_AT_ONCE));
    const weft_shift by[] = {{.by = 3, .axis = 0}};
    check(weft_polyshift_plan(&shift, ranks, geometry, sizeof(float), widths, 1, by));
    check(weft_exchange_begin(halo, (void *[]){x}));
    check(weft_exchange_end(halo));
    check(weft_exchange_execute(halo, (void *[]){x}));
    check(weft_exchange_execute(shift, (void *[]){x, y}));

    char name[4096];
    snprintf(name, sizeof name, "%s/%zu", words[2], rank);
    FILE *file = fopen(name, "w");
    if (!file) return 9;
    fprintf(file, "%zu %zu %zu %zu %zu %zu\n", start[0], start[1], length[0], length[1], rows, columns);
    for (size_t i = 0; i < rows * columns; ++i) fprintf(file, "%g ", x[i]);
    fprintf(file, "\n");
    for (size_t i = 0; i < rows * columns; ++i) fprintf(file, "%g ", y[i]);
    fclose(file);
    weft_exchange_free(halo);
    weft_exchange_free(shift);
    weft_geometry_free(geometry);
    weft_ranks_free(ranks);
    weft_finalize();
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    free(x);
    free(y);
    return 0;
}
