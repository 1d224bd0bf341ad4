/* What shifts are held against: STREAM's copy by streaming stores, and how fast memory takes writes alone.
 *
 *   cc -O3 -march=native -fopenmp -shared -fPIC shifts.c -o shifts.so
 */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* bytes is a multiple of 64; to need not be aligned: what is before its first full line and behind its last is copied
 * by ordinary stores. */
void copy_streaming(char *to, const char *from, size_t bytes, int threads)
{
    size_t head = (64 - (uintptr_t)to % 64) % 64;
    size_t lines = (bytes - head) / 64;
    for (size_t i = 0; i < head; i++)
        to[i] = from[i];
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t line = 0; line < lines; line++) {
        const char *source = from + head + 64 * line;
        char *target = to + head + 64 * line;
        __m256i low = _mm256_loadu_si256((const __m256i *)source);
        __m256i high = _mm256_loadu_si256((const __m256i *)(source + 32));
        _mm256_stream_si256((__m256i *)target, low);
        _mm256_stream_si256((__m256i *)(target + 32), high);
    }
    _mm_sfence();
    for (size_t i = head + 64 * lines; i < bytes; i++)
        to[i] = from[i];
}

/* Writes and reads nothing; the same conditions. */
void fill_streaming(char *to, size_t bytes, int threads)
{
    size_t head = (64 - (uintptr_t)to % 64) % 64;
    size_t lines = (bytes - head) / 64;
    __m256i value = _mm256_set1_epi8(1);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t line = 0; line < lines; line++) {
        char *target = to + head + 64 * line;
        _mm256_stream_si256((__m256i *)target, value);
        _mm256_stream_si256((__m256i *)(target + 32), value);
    }
    _mm_sfence();
}

/* The same bytes into each of several arrays, a few KiB of all of them in turn, through the caches: what writing them all
 * from one source takes. bytes is a multiple of 64. */
typedef long long line __attribute__((vector_size(64), aligned(8), may_alias));

void copy_blocks(char *const *to, int count, const char *from, size_t bytes)
{
    const size_t block = 8192;
    for (size_t start = 0; start < bytes; start += block) {
        size_t end = start + block < bytes ? start + block : bytes;
        for (int array = 0; array < count; array++) {
            char *out = to[array];
            size_t head = (64 - (uintptr_t)(out + start) % 64) % 64, at = start + head;
            memcpy(out + start, from + start, head);
            for (; at + 4 * sizeof(line) <= end; at += 4 * sizeof(line)) {
                const line *source = (const line *)(from + at);
                line *target = (line *)__builtin_assume_aligned(out + at, 64);
                line first = source[0], second = source[1], third = source[2], fourth = source[3];
                target[0] = first, target[1] = second, target[2] = third, target[3] = fourth;
            }
            memcpy(out + at, from + at, end - at);
        }
    }
}
