/* Loops of the oneDNN backend: what they compute, on one thread and on two. */
#include "check.h"

#include <stdlib.h>

#include "backends/onednn/onednn_loops.h"

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
        for (size_t i = 0; i < sizeof geometries / sizeof geometries[0]; i++)
            check_reduction(&t, geometries[i][0], geometries[i][1], geometries[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reduction_adds_up_every_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
