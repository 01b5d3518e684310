/* The plain C loop: what the machine gives when nothing but the resampling itself is done, one thread.
 *
 * One xoshiro256++, two 32-bit words of each u64, index (word * n) >> 32, four accumulators: the arithmetic of
 * bootstrap.rs without its streams per resample, and without intervals. For quantiles: counts of drawn ranks,
 * read from the top. Prints `name<TAB>milliseconds<TAB>algorithm`.
 *
 *     cc -O3 -march=native -o rival benches/rival.c -lm && ./rival
 */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RESAMPLES = 10000, AT_LEAST = 3, AT_MOST = 200 };

static uint64_t s[4] = {1, 2, 3, 4};

static inline uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t next(void) {
    const uint64_t out = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

static inline uint32_t at(uint32_t word, uint32_t n) { return (uint32_t)(((uint64_t)word * n) >> 32); }

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void means(const double *x, uint32_t n, double *out) {
    for (int b = 0; b < RESAMPLES; b++) {
        double a[4] = {0, 0, 0, 0};
        uint32_t j = 0;
        for (; j + 4 <= n; j += 4) {
            const uint64_t p = next(), q = next();
            a[0] += x[at((uint32_t)p, n)];
            a[1] += x[at((uint32_t)(p >> 32), n)];
            a[2] += x[at((uint32_t)q, n)];
            a[3] += x[at((uint32_t)(q >> 32), n)];
        }
        for (; j < n; j++) a[j % 4] += x[at((uint32_t)next(), n)];
        out[b] = ((a[0] + a[1]) + (a[2] + a[3])) / n;
    }
}

static void p99_by_counts(const double *sorted, uint32_t n, double *out) {
    uint32_t *counts = malloc(n * sizeof *counts);
    const double h = (n - 1) * 0.99, f = h - floor(h);
    const uint32_t above = n - 1 - (uint32_t)h; /* draws above order statistic k */
    for (int b = 0; b < RESAMPLES; b++) {
        memset(counts, 0, n * sizeof *counts);
        for (uint32_t j = 0; j < n; j += 2) {
            const uint64_t p = next();
            counts[at((uint32_t)p, n)]++;
            if (j + 1 < n) counts[at((uint32_t)(p >> 32), n)]++;
        }
        uint32_t seen = 0, i = n, high = n - 1;
        while (seen <= above) {
            seen += counts[--i];
            if (seen >= above && counts[i] && (seen - counts[i]) < above) high = i;
        }
        out[b] = sorted[i] + f * (sorted[high] - sorted[i]);
    }
    free(counts);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void measure(const char *name, uint32_t n, const char *algorithm, void (*run)(const double *, uint32_t, double *)) {
    double *x = malloc(n * sizeof *x), *out = malloc(RESAMPLES * sizeof *out), times[AT_MOST], whole;
    int count = 0;
    for (uint32_t i = 0; i < n; i++) x[i] = -100.0 * log(1.0 - modf((i + 1) * 0.6180339887498949, &whole));
    qsort(x, n, sizeof *x, ascending);
    run(x, n, out);
    const double started = now_ms();
    while (count < AT_LEAST || (count < AT_MOST && now_ms() - started < 300)) {
        const double start = now_ms();
        run(x, n, out);
        times[count++] = now_ms() - start;
    }
    qsort(times, count, sizeof *times, ascending);
    /* The checksum keeps the loop from being optimised away. */
    double sum = 0;
    for (int b = 0; b < RESAMPLES; b++) sum += out[b];
    fprintf(stderr, "# %s n=%u: mean draw %.6f\n", name, n, sum / RESAMPLES);
    printf("%s n=%u threads=1\t%.3f\t%s\n", name, n, times[count / 2], algorithm);
    free(x);
    free(out);
}

int main(void) {
    const uint32_t sizes[] = {30, 1000, 50000};
    for (int i = 0; i < 3; i++) measure("bca-mean", sizes[i], "C: resampled means only, no intervals", means);
    for (int i = 1; i < 3; i++) measure("p99-by-indices", sizes[i], "C: counts of drawn ranks, no intervals", p99_by_counts);
    return 0;
}
