/* How fast a send with combining can be at best: the time of its motions of memory alone.
 *
 *     python -m benches send-bound
 *
 * A large send (crates/kernels, primitives/send/buckets.rs) reads 8 bytes of value and 8 of index for each message, stores
 * packets of two lines with 12 messages by streaming stores, in an order that jumps from bucket to bucket, reads them again,
 * and reads and writes each line of destinations once, while it is in a cache. Here two threads do only that: nothing is
 * looked up, compared or combined. With so many messages to a destination and destinations `clustered` next to each other or
 * `scattered` as far apart as they can be, different shares of the lines of the target are touched. Medians of 7 rounds.
 */

#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LINE = 64, PACKET = 2 * LINE, MESSAGES = 12, BUCKETS = 2048, AHEAD = 2048, THREADS = 2, ROUNDS = 7 };

static const size_t COUNT = (size_t)64 << 20;

static char *values, *indices, *packets, *target;
static volatile int64_t kept[THREADS];

typedef struct {
    int thread;
    int delivers;
    size_t target_bytes;
} Work;

static char *memory(size_t bytes)
{
    char *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) {
        fprintf(stderr, "no memory for %zu MB\n", bytes >> 20);
        exit(1);
    }
    madvise(found, bytes, MADV_HUGEPAGE);
    memset(found, 1, bytes);
    return found;
}

static __m256i line_of(const char *at)
{
    return _mm256_xor_si256(_mm256_loadu_si256((const void *)at), _mm256_loadu_si256((const void *)(at + 32)));
}

static void fetch(const char *at)
{
    _mm_prefetch(at + AHEAD, _MM_HINT_T0);
    _mm_prefetch(at + AHEAD + LINE, _MM_HINT_T0);
}

/* Reads values and indices in order and stores a packet for every 12 of each. */
static void sort(const char *x, const char *index, char *to, size_t count)
{
    const size_t of_bucket = count / BUCKETS;
    for (size_t number = 0; number < of_bucket * BUCKETS; number++) {
        const char *one = x + number * 8 * MESSAGES, *other = index + number * 8 * MESSAGES;
        fetch(one);
        fetch(other);
        __m256i first = _mm256_xor_si256(line_of(one), line_of(other));
        __m256i second = _mm256_xor_si256(_mm256_loadu_si256((const void *)(one + LINE)),
                                          _mm256_loadu_si256((const void *)(other + LINE)));
        char *packet = to + (number * 40503 % BUCKETS * of_bucket + number / BUCKETS) * PACKET;
        for (int part = 0; part < PACKET; part += 32)
            _mm256_stream_si256((void *)(packet + part), part % LINE ? second : first);
    }
    _mm_sfence();
}

/* Reads packets in order, and meanwhile reads and writes all lines of a part of the target. */
static __m256i deliver(const char *from, size_t count, char *to, size_t bytes)
{
    __m256i sum = _mm256_setzero_si256();
    const double lines = (double)(bytes / LINE) / (double)count;
    double due = 0;
    size_t line = 0;
    for (size_t number = 0; number < count; number++) {
        const char *packet = from + number * PACKET;
        fetch(packet);
        sum = _mm256_add_epi64(sum, _mm256_xor_si256(line_of(packet), line_of(packet + LINE)));
        for (due += lines; (double)line < due && line < bytes / LINE; line++) {
            char *at = to + line * LINE;
            _mm_prefetch(at + AHEAD, _MM_HINT_T0);
            for (int part = 0; part < LINE; part += 32) {
                __m256i *half = (void *)(at + part);
                _mm256_store_si256(half, _mm256_add_epi64(_mm256_load_si256(half), sum));
            }
        }
    }
    return sum;
}

static void *part(void *given)
{
    const Work *work = given;
    const size_t messages = COUNT / THREADS, count = messages / MESSAGES, bytes = work->target_bytes / THREADS / LINE * LINE;
    char *own = packets + work->thread * count * PACKET;
    if (work->delivers) {
        __m256i sum = deliver(own, count, target + work->thread * bytes, bytes);
        kept[work->thread] = _mm256_extract_epi64(sum, 0) ^ _mm256_extract_epi64(sum, 3);
    } else {
        sort(values + work->thread * messages * 8, indices + work->thread * messages * 8, own, count);
    }
    return NULL;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double timed(int delivers, size_t bytes)
{
    pthread_t threads[THREADS];
    Work works[THREADS];
    double start = seconds();
    for (int thread = 0; thread < THREADS; thread++) {
        works[thread] = (Work){thread, delivers, bytes};
        pthread_create(&threads[thread], NULL, part, &works[thread]);
    }
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    return seconds() - start;
}

static int by_size(const void *one, const void *other)
{
    double x = *(const double *)one, y = *(const double *)other;
    return (x > y) - (x < y);
}

int main(void)
{
    static const int ratios[] = {1, 3, 10, 30, 100, 300, 1000};
    enum { RATIOS = sizeof ratios / sizeof *ratios };
    double sorted[ROUNDS], delivered[RATIOS][2][ROUNDS];
    values = memory(8 * COUNT);
    indices = memory(8 * COUNT);
    target = memory(8 * COUNT);
    packets = memory(COUNT / MESSAGES * PACKET + PACKET);
    for (int round = 0; round < ROUNDS; round++) {
        sorted[round] = timed(0, 0);
        for (int at = 0; at < RATIOS; at++) {
            size_t clustered = 8 * COUNT / ratios[at];
            /* A line each, where destinations are a line or more apart. */
            size_t scattered = ratios[at] <= 8 ? 8 * COUNT : LINE * (COUNT / ratios[at]);
            delivered[at][0][round] = timed(1, clustered);
            delivered[at][1][round] = timed(1, scattered);
        }
    }
    qsort(sorted, ROUNDS, sizeof *sorted, by_size);
    printf("{\n  \"benchmark\": \"send-bound\",\n  \"threads\": %d,\n  \"messages\": %zu,\n", THREADS, COUNT);
    printf("  \"sort_s\": %.4f,\n  \"million_elements_per_s_at_most\": {\n", sorted[ROUNDS / 2]);
    for (int at = 0; at < RATIOS; at++)
        for (int which = 0; which < 2; which++) {
            double *found = delivered[at][which];
            qsort(found, ROUNDS, sizeof *found, by_size);
            printf("    \"%d to one, %s\": %.0f%s\n", ratios[at], which ? "scattered" : "clustered",
                   (double)COUNT / (sorted[ROUNDS / 2] + found[ROUNDS / 2]) * 1e-6,
                   at == RATIOS - 1 && which ? "" : ",");
        }
    printf("  }\n}\n");
    return 0;
}
