/* Loops of the oneDNN backend: what they compute, on one thread and on two. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/onednn/onednn_copies.h"
#include "backends/onednn/onednn_loops.h"
#include "network/optimizer.h"

/* Small whole numbers: their sums are exact in any order. */
static float element(int64_t i)
{
    return (float)((i * 7 + i / 13) % 11 - 5);
}

static void check_reduction(const team *t, int64_t rows, int64_t group, int64_t inner)
{
    const loop l       = { LOOP_REDUCE, rows, group, sizeof(float), inner };
    float     *in      = malloc((size_t)(rows * group) * sizeof *in);
    float     *out     = malloc((size_t)rows * sizeof *out);
    float     *scratch = malloc(LOOP_MAX_PARTS * sizeof *scratch);

    for (int64_t i = 0; i < rows * group; i++)
        in[i] = element(i);
    loop_run(&l, t, (void *[]){ in, out, scratch });
    for (int64_t row = 0; row < rows; row++) {
        const int64_t first = row / inner * inner * group + row % inner;
        double        sum   = 0;

        for (int64_t g = 0; g < group; g++)
            sum += (double)in[first + g * inner];
        if ((double)out[row] < sum || (double)out[row] > sum)
            fail_msg("rows=%lld group=%lld inner=%lld: row %lld is %g, not %g", (long long)rows,
                     (long long)group, (long long)inner, (long long)row, (double)out[row], sum);
    }
    free(in);
    free(out);
    free(scratch);
}

/* To the nearest with 8 digits, ties to even. */
static float rounded(double x)
{
    int          exponent;
    const double fraction = frexp(x, &exponent);

    return (float)ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}

static uint16_t half_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static float float_of(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float          f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static void check_half_reduction(const team *t, int64_t rows, int64_t group, int64_t inner)
{
    const loop l       = { LOOP_REDUCE, rows, group, sizeof(uint16_t), inner };
    uint16_t  *in      = malloc((size_t)(rows * group) * sizeof *in);
    uint16_t  *out     = malloc((size_t)rows * sizeof *out);
    float     *scratch = malloc(LOOP_MAX_PARTS * sizeof *scratch);

    for (int64_t i = 0; i < rows * group; i++)
        in[i] = half_of(element(i));
    loop_run(&l, t, (void *[]){ in, out, scratch });
    for (int64_t row = 0; row < rows; row++) {
        const int64_t first = row / inner * inner * group + row % inner;
        double        sum   = 0;

        for (int64_t g = 0; g < group; g++)
            sum += (double)element(first + g * inner);
        if (half_of(rounded(sum)) != out[row] && !(sum >= 0 && sum <= 0 && !(out[row] & 0x7fff)))
            fail_msg("bf16 rows=%lld group=%lld inner=%lld: row %lld is %g, not %g",
                     (long long)rows, (long long)group, (long long)inner, (long long)row,
                     (double)float_of(out[row]), (double)rounded(sum));
    }
    free(in);
    free(out);
    free(scratch);
}

/* Four operands: half of their sum. */
static void check_half_map(const team *t, int64_t n)
{
    const loop l  = { LOOP_MAP, n, 4, sizeof(uint16_t), 0 };
    uint16_t  *at = malloc((size_t)(5 * n) * sizeof *at);

    for (int64_t i = 0; i < 4 * n; i++)
        at[i] = half_of(element(i));
    loop_run(&l, t, (void *[]){ at, at + n, at + 2 * n, at + 3 * n, at + 4 * n });
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;

        for (int64_t k = 0; k < 4; k++)
            sum += (double)element(k * n + i);
        assert_close((double)float_of(at[4 * n + i]), sum / 2, 0);
    }
    free(at);
}

static void a_reduction_adds_up_every_row(void **state)
{
    static const int64_t geometries[][3] = {
        { 1, 1, 1 },    { 1, 100000, 1 }, { 3, 1000, 1 },     { 64, 77, 1 },
        { 4096, 3, 1 }, { 5000, 65, 1 },  { 1000, 32, 1000 }, { 5000, 7, 5000 },
        { 6, 4, 3 },    { 640, 9, 32 },   { 9000, 2, 4500 },  { 130, 1, 65 },
    };

    (void)state;
    for (int64_t threads = 1; threads <= 2; threads++) {
        team     t;
        lm_error err;

        if (team_open(&t, threads, &err)) { /* this library knows one thread only */
            print_message("%s\n", err.text);
            continue;
        }
        for (size_t i = 0; i < sizeof geometries / sizeof geometries[0]; i++) {
            check_reduction(&t, geometries[i][0], geometries[i][1], geometries[i][2]);
            check_half_reduction(&t, geometries[i][0], geometries[i][1], geometries[i][2]);
        }
        check_half_map(&t, 5000);
    }
}

static void check_relative(float got, double want)
{
    if (!(fabs((double)got - want) <= 1e-6 * fabs(want)))
        fail_msg("%g, not %g", (double)got, want);
}

/*
 * Weights and state begin at 0 and 0.75, gradients at whole numbers and a half; the rate is 1e-12.
 *
 * sgd: w = -rate g; momentum: m = 0.9 m + g, w = -rate m; adam (Kingma & Ba 2015, algorithm 1, the
 * first moment's correction in the rate, the second's sqrt(1 - 0.999^t) = 0.9999):
 * m = 0.9 m + 0.1 g, v = 0.999 v + 0.001 g^2, w = -rate m / (sqrt(v) / 0.9999 + 1e-8); adagrad:
 * s = s + g^2, w = -rate g / (sqrt(s) + 1e-10); rmsprop: s = 0.99 s + 0.01 g^2, w = -rate g /
 * (sqrt(s) + 1e-8); adadelta: s = 0.9 s + 0.1 g^2, d = sqrt(u + 1e-6) / sqrt(s + 1e-6) g,
 * u = 0.9 u + 0.1 d^2, w = -rate d.
 */
static void expect(optimizer o, double g, double *step, double *first, double *second)
{
    *first = *second = 0.75;
    switch (o) {
    case OPTIMIZER_MOMENTUM: *step = *first = 0.675 + g; break;
    case OPTIMIZER_ADAM:
        *first  = 0.675 + 0.1 * g;
        *second = 0.999 * 0.75 + 0.001 * g * g;
        *step   = *first / (sqrt(*second) / 0.9999 + 1e-8);
        break;
    case OPTIMIZER_ADAGRAD:
        *first = 0.75 + g * g;
        *step  = g / (sqrt(*first) + 1e-10);
        break;
    case OPTIMIZER_RMSPROP:
        *first = 0.7425 + 0.01 * g * g;
        *step  = g / (sqrt(*first) + 1e-8);
        break;
    case OPTIMIZER_ADADELTA:
        *first  = 0.675 + 0.1 * g * g;
        *step   = sqrt(0.75 + 1e-6) / sqrt(*first + 1e-6) * g;
        *second = 0.675 + 0.1 * *step * *step;
        break;
    case OPTIMIZER_SGD:
    case OPTIMIZER_ADAFACTOR:
    case OPTIMIZER_MUON: *step = g; break;
    }
}

static void check_update(const team *t, optimizer o, int64_t n)
{
    const loop l = { LOOP_UPDATE, n, o, sizeof(float), 0 };
    float     *at[4];

    for (int k = 0; k < 4; k++)
        at[k] = malloc((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        at[0][i] = 0;
        at[1][i] = element(i) + 0.5f;
        at[2][i] = at[3][i] = 0.75f;
    }
    loop_run(&l, t, (void *[]){ at[0], at[1], at[2], at[3] });
    for (int64_t i = 0; i < n; i++) {
        const double g = (double)element(i) + 0.5;
        double       step, first, second;

        expect(o, g, &step, &first, &second);
        assert_true(at[1][i] >= (float)g && at[1][i] <= (float)g);
        check_relative(at[0][i], -1e-12 * step);
        check_relative(at[2][i], first);
        check_relative(at[3][i], second);
    }
    for (int k = 0; k < 4; k++)
        free(at[k]);
}

static void updates_are_those_of_their_optimizers(void **state)
{
    (void)state;
    for (int64_t threads = 1; threads <= 2; threads++) {
        team     t;
        lm_error err;

        if (team_open(&t, threads, &err))
            continue;
        for (optimizer o = 0; o < OPTIMIZER_ADAFACTOR; o++) {
            check_update(&t, o, 1);
            check_update(&t, o, 1000);
        }
    }
}

/* On every thread, not only on the one that says it. */
static void multiply_small(void *context, int64_t begin, int64_t end)
{
    volatile float small = 1e-30f;

    for (int64_t i = begin; i < end; i++)
        ((float *)context)[i] = small * 1e-10f;
}

static void what_is_too_small_counts_as_zero_on_all_threads(void **state)
{
    enum { N = 4 * 64 };
    lm_error err;
    team     t;

    (void)state;
    for (int64_t threads = 1; threads <= 2; threads++) {
        float product[N];

        if (team_open(&t, threads, &err))
            continue;
        team_flush_small(&t);
        for (int i = 0; i < N; i++)
            product[i] = 1;
        team_run(&t, N, multiply_small, product);
        for (int i = 0; i < N; i++)
            if (product[i] > 0) /* 1e-40 */
                fail_msg("%lld threads: element %d is %g", (long long)threads, i,
                         (double)product[i]);
    }
}

/* One block if caches are warm; else so many that the other blocks fill any cache of 1 MiB and more. */
static void cold_caches_hold_none_of_the_copies(void **state)
{
    char     memory[3 * 128] = "first";
    lm_error err;
    team     t;

    (void)state;
    assert_int_equal(copies_wanted(false, 4096), 1);
    assert_true((copies_wanted(true, 4096) - 1) * 4096 >= 1 << 20);
    assert_in_range(copies_wanted(true, (uint64_t)1 << 40), 2, 2);
    if (team_open(&t, 2, &err))
        return;
    memset(memory + 128, 1, 256);
    copies_fill(&t, memory, 128, 3);
    assert_memory_equal(memory + 128, memory, 128);
    assert_memory_equal(memory + 256, memory, 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reduction_adds_up_every_row),
        cmocka_unit_test(updates_are_those_of_their_optimizers),
        cmocka_unit_test(what_is_too_small_counts_as_zero_on_all_threads),
        cmocka_unit_test(cold_caches_hold_none_of_the_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
