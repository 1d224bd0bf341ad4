/* A baseline of weft's compiled updates: Gray and Scott's step as it is written by hand for periodic squares.
 *
 *   cc -O3 -march=native -ffast-math -shared -fPIC updates.c -o updates.so */
#include <stddef.h>

#define STEP(NAME, REAL)                                                                                              \
    static inline REAL around_##REAL(const REAL *a, const REAL *m, const REAL *b, ptrdiff_t l, ptrdiff_t j,           \
                                     ptrdiff_t r)                                                                     \
    {                                                                                                                 \
        return (REAL)0.2 * (a[j] + b[j] + m[l] + m[r]) + (REAL)0.05 * (a[l] + a[r] + b[l] + b[r]) - m[j];             \
    }                                                                                                                 \
    void NAME(ptrdiff_t n, ptrdiff_t k, const REAL *restrict u, const REAL *restrict v, REAL *restrict p,             \
              REAL *restrict q, REAL feed, REAL kill)                                                                 \
    {                                                                                                                 \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                           \
            ptrdiff_t above = (i ? i - 1 : n - 1) * k, here = i * k, below = (i < n - 1 ? i + 1 : 0) * k;             \
            for (ptrdiff_t e = 0; e < 3; e++) {                                                                       \
                ptrdiff_t first = e == 0 ? 1 : e == 1 ? 0 : k - 1, last = e == 0 ? k - 1 : first + 1;                 \
                for (ptrdiff_t j = first; j < last; j++) {                                                            \
                    ptrdiff_t l = e == 1 ? k - 1 : j - 1, r = e == 2 ? 0 : j + 1;                                     \
                    REAL du = around_##REAL(u + above, u + here, u + below, l, j, r);                                 \
                    REAL dv = around_##REAL(v + above, v + here, v + below, l, j, r);                                 \
                    REAL x = u[here + j], y = v[here + j], w = x * y * y;                                             \
                    p[here + j] = x + du - w + feed * (1 - x);                                                        \
                    q[here + j] = y + (REAL)0.5 * dv + w - (feed + kill) * y;                                         \
                }                                                                                                     \
            }                                                                                                         \
        }                                                                                                             \
    }

STEP(gray_scott_float64, double)
STEP(gray_scott_float32, float)
