/* What a star of radius 1 or more that goes over an array as one long row cannot do without: a load of every row at the
   place where it lies beside lines of the cache, the neighbours along the row from registers, a multiplication for each
   term and one store. Rows have no ends, and there is memory before the first element and behind the last. Rows of few
   vectors can do with less: those beside a row on one axis stay in registers from row to row.

   REAL is the type of an element, RADIUS that of the star, ROWS how many rows but an element's own it has. */

#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum { LINE = 64, LANES = LINE / sizeof(REAL), AHEAD = 8192 / sizeof(REAL) };

typedef REAL vector __attribute__((vector_size(LINE)));
typedef __typeof__(__builtin_choose_expr(sizeof(REAL) == sizeof(long), 0L, 0)) index_type; /* as wide as an element */
typedef index_type indices __attribute__((vector_size(LINE)));

static inline vector load(const REAL *from)
{
    vector loaded;
    memcpy(&loaded, from, sizeof loaded);
    return loaded;
}

static inline void store(REAL *to, vector stored, int streaming)
{
#ifdef __AVX512F__
    if (streaming) {
        _mm512_stream_si512((__m512i *)to, (__m512i)stored);
        return;
    }
#endif
    memcpy(to, &stored, sizeof stored);
}

/* `streaming` is constant where this is inlined. */
static inline __attribute__((always_inline)) void
star(const REAL *x, REAL *y, long elements, const long *offsets, int streaming)
{
    const REAL *own[ROWS];
    for (int row = 0; row < ROWS; row++)
        own[row] = x + offsets[row];
    vector previous = load(x - LANES), current = load(x);
    for (long at = 0; at < elements; at += LANES) {
        vector next = load(x + at + LANES), sum = current * (REAL)0.01;
        if (streaming)
            __builtin_prefetch(own[ROWS - 1] + at + AHEAD, 0, 2);
#pragma GCC unroll 32
        for (int row = 0; row < ROWS; row++)
            sum += load(own[row] + at) * (REAL)(0.011 + 0.001 * row);
#pragma GCC unroll 32
        for (int by = 1; by <= RADIUS; by++) {
            indices before, after;
            for (int lane = 0; lane < LANES; lane++)
                before[lane] = lane + LANES - by, after[lane] = lane + by;
            sum += __builtin_shuffle(previous, current, before) * (REAL)(0.03 + 0.001 * by);
            sum += __builtin_shuffle(current, next, after) * (REAL)(0.04 + 0.001 * by);
        }
        store(y + at, sum, streaming);
        previous = current;
        current = next;
    }
}

/* Both arrays begin with a line, and the last of the offsets is the largest. */
void reads(const REAL *x, REAL *y, long elements, const long *offsets, int streaming)
{
    if (streaming)
        star(x, y, elements, offsets, 1);
    else
        star(x, y, elements, offsets, 0);
}
