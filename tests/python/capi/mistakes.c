/* What is refused: a code and a message for each, and nothing to give back. */
#include <stdio.h>

#include <weft.h>

static void shown(int code) { printf("%d %s\n", code, code ? weft_message() : ""); }

int main(void) {
    const size_t shape[] = {4, 6};
    const weft_shift none[] = {{.by = 1, .axis = 2}};
    const weft_shift good[] = {{.by = 1, .axis = 0}};
    const weft_shift odd[] = {{.by = 1, .axis = 0, .boundary = 77}};
    const weft_shift empty[] = {{.by = 1, .axis = 0, .boundary = WEFT_VALUE}};
    weft_shifts *plan = (weft_shifts *)1;
    shown(weft_shifts_plan(&plan, 2, shape, 8, 1, none, 0));
    printf("%d\n", plan == NULL);
    shown(weft_shifts_plan(&plan, 2, shape, 0, 1, good, 0));
    shown(weft_shifts_plan(&plan, 2, shape, 8, 1, odd, 0));
    shown(weft_shifts_plan(&plan, 2, shape, 8, 1, empty, 0));
    shown(weft_shifts_plan(&plan, 2, NULL, 8, 1, good, 0));
    shown(weft_shifts_plan(&plan, (size_t)-1, shape, 8, 1, good, 0));
    shown(weft_shifts_plan(&plan, 65, shape, 8, 1, good, 0));
    shown(weft_shifts_plan(&plan, 2, shape, 8, (size_t)-1, good, 0));
    shown(weft_shifts_plan(NULL, 2, shape, 8, 1, good, 0));
    shown(weft_shifts_plan(&plan, 2, shape, 8, 1, good, 0));
    double x[24] = {0};
    const void *sources[] = {x};
    void *same[] = {x};
    void *nowhere[] = {NULL};
    shown(weft_shifts_execute(plan, sources, same));
    shown(weft_shifts_execute(plan, sources, nowhere));
    shown(weft_shifts_execute(NULL, sources, same));
    weft_shifts_free(plan);

    weft_ranks *ranks;
    weft_geometry *geometry;
    weft_exchange *exchange;
    const size_t widths[] = {1, 1, 1, 1};
    const size_t grid[] = {2, 1};
    shown(weft_ranks_alone(&ranks));
    shown(weft_geometry_make(&geometry, ranks, 2, shape, grid));
    shown(weft_geometry_make(&geometry, ranks, 200, shape, NULL));
    shown(weft_geometry_make(&geometry, ranks, 2, shape, NULL));
    shown(weft_halo_plan(&exchange, ranks, geometry, 8, widths, NULL, 7));
    const size_t absurd[] = {0, (size_t)1 << 62, 0, 0};
    shown(weft_halo_plan(&exchange, ranks, geometry, 8, absurd, NULL, WEFT_FACES));
    shown(weft_halo_plan(&exchange, ranks, geometry, 8, widths, NULL, WEFT_FACES));
    shown(weft_exchange_end(exchange));
    static double block[6 * 8];
    void *arrays[] = {block};
    shown(weft_exchange_begin(exchange, arrays));
    shown(weft_exchange_begin(exchange, arrays));
    shown(weft_exchange_end(exchange));
    weft_exchange_free(exchange);
    weft_geometry_free(geometry);
    weft_ranks_free(ranks);
    weft_ranks_free(NULL);
    return 0;
}
