/* Reads a 5 by 7 array of doubles on standard input, writes four shifts of it. */
#include <stdio.h>
#include <stdlib.h>

#include <weft.h>

static void check(int code) {
    if (code != WEFT_OK) {
        fprintf(stderr, "%d: %s\n", code, weft_message());
        exit(code);
    }
}

int main(void) {
    static double x[5][7], results[4][5][7];
    if (fread(x, sizeof x, 1, stdin) != 1) return 9;
    const size_t shape[] = {5, 7};
    const double nine = 9;
    double lines[5] = {1, 2, 3, 4, 5};
    const weft_shift shifts[] = {
        {.by = 2, .axis = 0},
        {.by = -9, .axis = 1},
        {.by = 1, .axis = 0, .boundary = WEFT_VALUE, .value = &nine},
        {.by = -2, .axis = 1, .boundary = WEFT_ARRAY, .value = lines},
    };
    weft_shifts *plan;
    check(weft_shifts_plan(&plan, 2, shape, sizeof(double), 4, shifts, 1));
    const void *sources[] = {x};
    void *into[] = {results[0], results[1], results[2], results[3]};
    check(weft_shifts_execute(plan, sources, into));
    lines[0] = -1; /* read at each execution */
    check(weft_shifts_execute(plan, sources, into));
    weft_shifts_free(plan);
    fwrite(results, sizeof results, 1, stdout);
    return 0;
}
