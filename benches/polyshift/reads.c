/* What a star that reaches one element along every axis cannot do without: a load of every row at the place where it
   lies beside lines of the cache, the neighbours along the row from registers, a multiplication for each term and one
   store. Rows have no ends, and there is memory before the first element and behind the last. */

#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum { LANES = 8, AHEAD = 1024 };

typedef double vector __attribute__((vector_size(LANES * sizeof(double))));
typedef long indices __attribute__((vector_size(LANES * sizeof(long))));

static inline vector load(const double *from)
{
    vector loaded;
    memcpy(&loaded, from, sizeof loaded);
    return loaded;
}

static inline void store(double *to, vector stored, int streaming)
{
#ifdef __AVX512F__
    if (streaming) {
        _mm512_stream_pd(to, (__m512d)stored);
        return;
    }
#endif
    memcpy(to, &stored, sizeof stored);
}

/* `rows` is constant where this is inlined. */
static inline __attribute__((always_inline)) void
star(const double *x, double *y, long elements, int rows, const long *offsets, int streaming)
{
    const indices after = {7, 8, 9, 10, 11, 12, 13, 14}, before = {1, 2, 3, 4, 5, 6, 7, 8};
    const double *own[8];
    for (int row = 0; row < rows; row++)
        own[row] = x + offsets[row];
    vector previous = load(x - LANES), current = load(x);
    for (long at = 0; at < elements; at += LANES) {
        vector next = load(x + at + LANES), sum = current * 0.01;
        if (streaming)
            __builtin_prefetch(own[rows - 1] + at + AHEAD, 0, 2);
        for (int row = 0; row < rows; row++)
            sum += load(own[row] + at) * (0.011 + 0.001 * row);
        sum += __builtin_shuffle(previous, current, after) * 0.03;
        sum += __builtin_shuffle(current, next, before) * 0.04;
        store(y + at, sum, streaming);
        previous = current;
        current = next;
    }
}

/* Both arrays begin with a line; `rows` is 2, 4 or 6, and the last of the offsets is the largest. */
void reads(const double *x, double *y, long elements, int rows, const long *offsets, int streaming)
{
    if (rows == 2)
        star(x, y, elements, 2, offsets, streaming);
    else if (rows == 4)
        star(x, y, elements, 4, offsets, streaming);
    else
        star(x, y, elements, 6, offsets, streaming);
}
