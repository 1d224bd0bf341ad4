/* A baseline of weft's stencils: what a programmer writes in C for one shape, with streaming stores.
 *
 *   cc -O3 -march=native -fopenmp -shared -fPIC stencils.c -o stencils.so
 *
 * Arrays are circular and begin at a multiple of 8 bytes; the result is written by streaming stores where the processor
 * has SSE2. Coefficients of the 27 points are constants, or one array for each point. */
#include <stddef.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#define STREAM(to, value) do { double v_ = (value); long long b_; __builtin_memcpy(&b_, &v_, 8); \
    _mm_stream_si64((long long *)(to), b_); } while (0)
#else
#define STREAM(to, value) (*(to) = (value))
#endif
#define WRAP(i, n) ((i) < 0 ? (i) + (n) : (i) >= (n) ? (i) - (n) : (i))

/* A row into a buffer in cache, then by streaming stores. */
static void put(double *restrict out, const double *restrict row, ptrdiff_t n)
{
    ptrdiff_t j = 0;
#if defined(__SSE2__)
    for (; j < n && (size_t)(out + j) % 16 != 0; j++)
        STREAM(out + j, row[j]);
    for (; j + 2 <= n; j += 2)
        _mm_stream_pd(out + j, _mm_loadu_pd(row + j));
#endif
    for (; j < n; j++)
        STREAM(out + j, row[j]);
}

/* c: centre, below and above along axis 0, along axis 1, ... */
void star2(const double *restrict x, double *restrict y, ptrdiff_t n0, ptrdiff_t n1, const double *c)
{
    double row[n1];
    for (ptrdiff_t i = 0; i < n0; i++) {
        const double *m = x + i * n1, *a = x + WRAP(i - 1, n0) * n1, *b = x + WRAP(i + 1, n0) * n1;
        for (ptrdiff_t j = 1; j < n1 - 1; j++)
            row[j] = c[0] * m[j] + c[1] * a[j] + c[2] * b[j] + c[3] * m[j - 1] + c[4] * m[j + 1];
        row[0] = c[0] * m[0] + c[1] * a[0] + c[2] * b[0] + c[3] * m[n1 - 1] + c[4] * m[1];
        row[n1 - 1] = c[0] * m[n1 - 1] + c[1] * a[n1 - 1] + c[2] * b[n1 - 1] + c[3] * m[n1 - 2] + c[4] * m[0];
        put(y + i * n1, row, n1);
    }
}

void star3(const double *restrict x, double *restrict y, ptrdiff_t n, const double *c)
{
    double row[n];
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
#define ROW(i, j) (x + (WRAP(i, n) * n + WRAP(j, n)) * n)
            const double *m = ROW(i, j), *a = ROW(i - 1, j), *b = ROW(i + 1, j), *d = ROW(i, j - 1), *e = ROW(i, j + 1);
#define AT(k, l, r) (c[0] * m[k] + c[1] * a[k] + c[2] * b[k] + c[3] * d[k] + c[4] * e[k] + c[5] * m[l] + c[6] * m[r])
            for (ptrdiff_t k = 1; k < n - 1; k++)
                row[k] = AT(k, k - 1, k + 1);
            row[0] = AT(0, n - 1, 1);
            row[n - 1] = AT(n - 1, n - 2, 0);
#undef AT
            put(y + (i * n + j) * n, row, n);
        }
}

void cube3(const double *restrict x, double *restrict y, ptrdiff_t n, const double *c)
{
    double row[n];
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            const double *r[9];
            for (int p = 0; p < 9; p++)
                r[p] = ROW(i + p / 3 - 1, j + p % 3 - 1);
#define AT(k, l, h) do { double s_ = 0; for (int p = 0; p < 9; p++) \
    s_ += c[3 * p] * r[p][l] + c[3 * p + 1] * r[p][k] + c[3 * p + 2] * r[p][h]; row[k] = s_; } while (0)
            for (ptrdiff_t k = 1; k < n - 1; k++)
                AT(k, k - 1, k + 1);
            AT(0, n - 1, 1);
            AT(n - 1, n - 2, 0);
#undef AT
            put(y + (i * n + j) * n, row, n);
        }
}

/* a: 27 arrays of coefficients. */
void cube3_arrays(const double *restrict x, double *restrict y, ptrdiff_t n, const double *const *a)
{
    double row[n];
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            const double *r[9];
            const ptrdiff_t at = (i * n + j) * n;
            for (int p = 0; p < 9; p++)
                r[p] = ROW(i + p / 3 - 1, j + p % 3 - 1);
#define AT(k, l, h) do { double s_ = 0; for (int p = 0; p < 9; p++) \
    s_ += a[3 * p][at + k] * r[p][l] + a[3 * p + 1][at + k] * r[p][k] + a[3 * p + 2][at + k] * r[p][h]; \
    row[k] = s_; } while (0)
            for (ptrdiff_t k = 1; k < n - 1; k++)
                AT(k, k - 1, k + 1);
            AT(0, n - 1, 1);
            AT(n - 1, n - 2, 0);
#undef AT
            put(y + at, row, n);
        }
}
#undef ROW

/* c: below and above along axis 0, 1, 2, 3. */
void around4(const double *restrict x, double *restrict y, ptrdiff_t n, const double *c)
{
    double row[n];
    for (ptrdiff_t h = 0; h < n; h++)
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j < n; j++) {
#define ROW(h, i, j) (x + ((WRAP(h, n) * n + WRAP(i, n)) * n + WRAP(j, n)) * n)
                const double *m = ROW(h, i, j), *a = ROW(h - 1, i, j), *b = ROW(h + 1, i, j), *d = ROW(h, i - 1, j),
                             *e = ROW(h, i + 1, j), *f = ROW(h, i, j - 1), *g = ROW(h, i, j + 1);
#define AT(k, l, r) (c[0] * a[k] + c[1] * b[k] + c[2] * d[k] + c[3] * e[k] + c[4] * f[k] + c[5] * g[k] + c[6] * m[l] \
    + c[7] * m[r])
                for (ptrdiff_t k = 1; k < n - 1; k++)
                    row[k] = AT(k, k - 1, k + 1);
                row[0] = AT(0, n - 1, 1);
                row[n - 1] = AT(n - 1, n - 2, 0);
#undef AT
                put(y + ((h * n + i) * n + j) * n, row, n);
            }
}

/* STREAM's copy by memcpy, each thread its part: how far more threads can get. */
void copy(double *to, const double *from, ptrdiff_t n, int threads)
{
    ptrdiff_t part = (n + threads - 1) / threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        ptrdiff_t start = t * part, length = n - start < part ? n - start : part;
        if (length > 0)
            memcpy(to + start, from + start, (size_t)length * sizeof *to);
    }
}

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
typedef double vector __attribute__((vector_size(VECTOR_BYTES)));

/* As many products and sums in registers, reading and writing nothing: what a stencil's cannot be faster than. */
double products(ptrdiff_t n, double factor)
{
    enum { CHAINS = 12, LANES = VECTOR_BYTES / sizeof(double) };
    vector sums[CHAINS], factors = (vector){0} + factor, total = {0};
    for (int chain = 0; chain < CHAINS; chain++)
        sums[chain] = (vector){0} + chain;
    for (ptrdiff_t i = 0; i < n; i += CHAINS * LANES)
        for (int chain = 0; chain < CHAINS; chain++)
            sums[chain] = sums[chain] * factors + factors;
    for (int chain = 0; chain < CHAINS; chain++)
        total += sums[chain];
    return total[0];
}
