/* STREAM's four kernels as anyone would write them: the baseline of weft's `stream`.
 *
 *   cc -O3 -march=native [-fopenmp] stream.c -o stream
 *   ./stream BYTES_PER_ARRAY REPETITIONS
 *
 * Prints one JSON object with the seconds of every pass of every kernel. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double *array(size_t bytes)
{
    void *memory;
    if (posix_memalign(&memory, 4096, bytes) != 0) {
        fprintf(stderr, "no memory for an array of %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

static void print(const char *name, const double *seconds, int repetitions, const char *end)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < repetitions; i++)
        printf("%s%.9e", i ? ", " : "", seconds[i]);
    printf("]%s", end);
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: stream BYTES_PER_ARRAY REPETITIONS\n");
        return 2;
    }
    const size_t bytes = strtoull(arguments[1], NULL, 10);
    const int repetitions = atoi(arguments[2]);
    const size_t n = bytes / sizeof(double);
    const double scalar = 3.0;
    if (n == 0 || repetitions < 1) {
        fprintf(stderr, "stream: expected at least 8 bytes and one repetition\n");
        return 2;
    }
    double *restrict a = array(bytes), *restrict b = array(bytes), *restrict c = array(bytes);
    double *seconds = malloc(4 * (size_t)repetitions * sizeof(double));
    if (seconds == NULL)
        return 1;
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0;
        b[i] = 2.0;
        c[i] = 0.0;
    }
    double expected_a = 1.0, expected_b = 2.0, expected_c = 0.0;
    for (int r = 0; r < repetitions; r++) {
        double start = now();
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            c[i] = a[i];
        double copied = now();
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            b[i] = scalar * c[i];
        double scaled = now();
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            c[i] = a[i] + b[i];
        double added = now();
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            a[i] = b[i] + scalar * c[i];
        double end = now();
        seconds[r] = copied - start;
        seconds[repetitions + r] = scaled - copied;
        seconds[2 * repetitions + r] = added - scaled;
        seconds[3 * repetitions + r] = end - added;
        expected_c = expected_a;
        expected_b = scalar * expected_c;
        expected_c = expected_a + expected_b;
        expected_a = expected_b + scalar * expected_c;
    }
    for (size_t i = 0; i < n; i++) {
        if (fabs(a[i] / expected_a - 1.0) > 1e-12 || fabs(b[i] / expected_b - 1.0) > 1e-12
            || fabs(c[i] / expected_c - 1.0) > 1e-12) {
            fprintf(stderr, "stream: element %zu is wrong\n", i);
            return 1;
        }
    }
    printf("{");
    print("copy", seconds, repetitions, ", ");
    print("scale", seconds + repetitions, repetitions, ", ");
    print("add", seconds + 2 * repetitions, repetitions, ", ");
    print("triad", seconds + 3 * repetitions, repetitions, "}\n");
    return 0;
}
