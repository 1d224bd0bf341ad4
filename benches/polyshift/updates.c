/* A baseline of weft's compiled updates: Gray and Scott's step as it is written by hand for periodic squares.
 *
 *   cc -O3 -march=native -ffast-math -shared -fPIC updates.c -o updates.so */
#include <stddef.h>

/* What lies around site j of the middle row m: a and b are the rows beside it, l and r the sites. */
#define AROUND(R, a, m, b, l, j, r)                                                                                   \
    ((R)0.2 * (a[j] + b[j] + m[l] + m[r]) + (R)0.05 * (a[l] + a[r] + b[l] + b[r]) - m[j])

#define SITE(R, l, j, r)                                                                                              \
    do {                                                                                                              \
        R w = u[j] * v[j] * v[j];                                                                                     \
        p[j] = u[j] + AROUND(R, ua, u, ub, l, j, r) - w + feed * (1 - u[j]);                                          \
        q[j] = v[j] + (R)0.5 * AROUND(R, va, v, vb, l, j, r) + w - (feed + kill) * v[j];                              \
    } while (0)

#define STEP(NAME, R)                                                                                                 \
    static void row_##NAME(ptrdiff_t k, const R *restrict ua, const R *restrict u, const R *restrict ub,              \
                           const R *restrict va, const R *restrict v, const R *restrict vb, R *restrict p,            \
                           R *restrict q, R feed, R kill)                                                             \
    {                                                                                                                 \
        SITE(R, k - 1, 0, 1);                                                                                         \
        for (ptrdiff_t j = 1; j < k - 1; j++)                                                                         \
            SITE(R, j - 1, j, j + 1);                                                                                 \
        SITE(R, k - 2, k - 1, 0);                                                                                     \
    }                                                                                                                 \
    void NAME(ptrdiff_t n, ptrdiff_t k, const R *u, const R *v, R *p, R *q, R feed, R kill)                           \
    {                                                                                                                 \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                           \
            ptrdiff_t a = (i ? i - 1 : n - 1) * k, m = i * k, b = (i < n - 1 ? i + 1 : 0) * k;                        \
            row_##NAME(k, u + a, u + m, u + b, v + a, v + m, v + b, p + m, q + m, feed, kill);                        \
        }                                                                                                             \
    }

STEP(gray_scott_float64, double)
STEP(gray_scott_float32, float)
