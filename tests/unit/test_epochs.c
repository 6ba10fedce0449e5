/* Epochs, and what finding them is made of. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/fft.h"
#include "base/random.h"
#include "epochs/epochs.h"
#include "epochs/follow.h"
#include "epochs/methods.h"
#include "epochs/period.h"

static double uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 11) / 9007199254740992.0;
}

/* X_k = sum_i x_i exp(-2 pi i k / n), as it is defined. */
static void the_transform_is_its_definition(void **state)
{
    double   re[16], im[16], x[16], y[16];
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < 16; i++) {
        x[i] = re[i] = uniform(&seed);
        y[i] = im[i] = uniform(&seed);
    }
    fft(re, im, 16);
    for (size_t k = 0; k < 16; k++) {
        double a = 0, b = 0;

        for (size_t i = 0; i < 16; i++) {
            const double angle = -2 * 3.14159265358979323846 * (double)(i * k) / 16;

            a += x[i] * cos(angle) - y[i] * sin(angle);
            b += x[i] * sin(angle) + y[i] * cos(angle);
        }
        assert_close(re[k], a, 1e-12);
        assert_close(im[k], b, 1e-12);
    }
}

/* Window 3 over 0 0 3 0 0: means 1 1 1 inside; lines through (0 0 3) and (3 0 0) at the ends give
 * -0.5. */
static void smoothing_is_by_lines(void **state)
{
    const double x[] = { 0, 0, 3, 0, 0 }, line[] = { 1, 3, 5, 7, 9, 11 };
    double       out[6];

    (void)state;
    savgol_first_order(x, 5, 3, out);
    assert_close(out[0], -0.5, 1e-12);
    assert_close(out[1], 1, 1e-12);
    assert_close(out[2], 1, 1e-12);
    assert_close(out[4], -0.5, 1e-12);
    savgol_first_order(line, 6, 5, out);
    for (size_t i = 0; i < 6; i++) /* a line stays what it is */
        assert_close(out[i], line[i], 1e-12);
}

/* Shorter series have windows of 25 values, too: Luminol's least. */
static void bitmaps_are_scored_at_any_length(void **state)
{
    double x[60], score[60];

    (void)state;
    for (size_t i = 0; i < 60; i++)
        x[i] = i < 30 ? 0 : 1;
    luminol_bitmap(x, 60, score);
    assert_close(score[30], 1152, 1e-12);
    assert_close(score[24], 0, 0); /* no window before it */
    assert_true(score[25] > 0 && score[25] < score[30]);
}

/* Peaks at 1, 3, 5 and 8.5, of which the low ones go; as released, the second of them is passed
 * over. A rise of 0.005 is none. */
static void peaks_are_counted_as_the_authors_do(void **state)
{
    static const double x[] = { 0, 1, 0.1, 0.3, 0.1, 0.3, 0.1, 0, 1, 1, 0.5, 0.505, 0.5 };
    double              place[13];

    (void)state;
    assert_int_equal(hurlee_peaks(x, 13, false, place), 2);
    assert_close(place[0], 1, 0);
    assert_close(place[1], 8.5, 0);
    assert_int_equal(hurlee_peaks(x, 13, true, place), 3);
    assert_close(place[1], 5, 0);
    assert_close(place[2], 8.5, 0);
}

/* Half at 0, half at 1: windows of 25 (1.25 % of 2000) meet unlike bitmaps only around the middle.
 * At the middle one holds 24 pairs of the first symbol, the other 24 of the last: 24^2 + 24^2. */
static void bitmaps_differ_where_the_series_does(void **state)
{
    double *x = malloc(2000 * sizeof *x), *score = malloc(2000 * sizeof *score);

    (void)state;
    for (size_t i = 0; i < 2000; i++)
        x[i] = i < 1000 ? 0 : 1;
    luminol_bitmap(x, 2000, score);
    assert_close(score[1000], 1152, 1e-12);
    assert_close(score[500], 0, 1e-12);
    assert_close(score[1026], 0, 1e-12);
    for (size_t i = 0; i < 2000; i++)
        assert_true(score[i] <= score[1000]);
    free(x);
    free(score);
}

static void change_points_are_exact(void **state)
{
    static const float x[]    = { 1, 1, 1, 1, 9, 9, 9, 2, 2, 2, 2, 2 };
    static const float flat[] = { 4, 4, 4, 4 };
    size_t            *end, n;
    lm_error           err;

    (void)state;
    assert_int_equal(pelt(x, 12, 1, 1, &end, &n, &err), LM_OK);
    assert_int_equal(n, 3);
    assert_int_equal(end[0], 4);
    assert_int_equal(end[1], 7);
    assert_int_equal(end[2], 12);
    free(end);
    assert_int_equal(pelt(flat, 4, 1, 2, &end, &n, &err), LM_OK);
    assert_int_equal(n, 1);
    free(end);
}

/* The cheapest of all segmentations, as a plain dynamic program finds it without leaving any out.
 */
static void change_points_cost_the_least(void **state)
{
    float    x[60];
    double   best[61];
    size_t  *end, n;
    uint64_t seed = 7;
    lm_error err;

    (void)state;
    for (size_t i = 0; i < 60; i++)
        x[i] = (float)(uniform(&seed) + (i / 13 % 2 ? 1.5 : 0));
    best[0] = -0.5;
    for (size_t to = 1; to <= 60; to++) {
        best[to] = INFINITY;
        for (size_t from = 0; from < to; from++) {
            double sum = 0, squares = 0;

            for (size_t i = from; i < to; i++) {
                sum += (double)x[i];
                squares += (double)x[i] * (double)x[i];
            }
            best[to] = fmin(best[to], best[from] + squares - sum * sum / (double)(to - from) + 0.5);
        }
    }
    assert_int_equal(pelt(x, 60, 0.5, 1, &end, &n, &err), LM_OK);
    {
        double cost = -0.5;
        size_t from = 0;

        for (size_t k = 0; k < n; k++) {
            double sum = 0, squares = 0;

            for (size_t i = from; i < end[k]; i++) {
                sum += (double)x[i];
                squares += (double)x[i] * (double)x[i];
            }
            cost += squares - sum * sum / (double)(end[k] - from) + 0.5;
            from = end[k];
        }
        assert_close(cost, best[60], 1e-9);
    }
    free(end);
}

/* A grid of samples 0.1 s apart. */
static trace_grid grid_of(size_t n)
{
    trace_grid g = {
        .start = 0, .step = 0.1, .n = n, .interval = 0.1, .x = malloc(n * sizeof(float))
    };

    assert_non_null(g.x);
    return g;
}

/* Startup 10 s, a first epoch of 30 s, then epochs of 20 s that end with 3 s of evaluation and a
 * pause of 0.5 s. */
static trace_grid run_of(size_t epochs_, double noise)
{
    const size_t n    = 100 + 300 + 200 * (epochs_ - 1) + 50;
    trace_grid   g    = grid_of(n);
    uint64_t     seed = 3;

    for (size_t i = 0; i < n; i++) {
        const size_t length = i < 400 ? 300 : 200, at = i < 100   ? 0
                                                        : i < 400 ? i - 100
                                                                  : (i - 400) % 200;
        double       level = at + 5 >= length ? 20 : at + 35 >= length ? 60 : 95;

        if (i < 100 || i >= n - 50)
            level = 2;
        g.x[i] = (float)(level + noise * (uniform(&seed) - 0.5));
    }
    return g;
}

static void epochs_are_found_and_told_apart(void **state)
{
    trace_grid g = run_of(10, 6);
    epochs    *e;
    lm_error   err;

    (void)state;
    assert_int_equal(epochs_find(EPOCHS_LAYERMETER, &g, &e, &err), LM_OK);
    assert_close(e->steady / 20, 1, 0.005);
    assert_true(e->low <= 20.05 && e->high >= 19.95);
    assert_true(e->confidence > 0.9);
    assert_close(e->evaluation, 0.175, 0.03); /* 3.5 s of 20 */
    assert_int_equal(e->epoch[0].kind, EPOCH_STARTUP);
    assert_close(e->epoch[0].length, 10, 0.05);
    assert_int_equal(e->epoch[1].kind, EPOCH_WARMUP);
    assert_close(e->epoch[1].length, 30, 0.02);
    for (size_t i = 2; i < 10; i++) {
        assert_int_equal(e->epoch[i].kind, EPOCH_STEADY);
        assert_close(e->epoch[i].start, 40 + 20.0 * (double)(i - 2), 0.01);
    }
    epochs_free(e);
    trace_grid_free(&g);
}

static void all_methods_know_a_plain_run(void **state)
{
    trace_grid g = run_of(12, 2);
    lm_error   err;

    (void)state;
    for (int m = 0; m < N_EPOCHS_METHODS; m++) {
        epochs       *e;
        epochs_method again;

        assert_int_equal(epochs_method_parse(epochs_method_names[m], &again, &err), LM_OK);
        assert_int_equal(again, m);
        assert_int_equal(epochs_find((epochs_method)m, &g, &e, &err), LM_OK);
        if (m == EPOCHS_LAYERMETER || m == EPOCHS_CHANGEPOINTS) {
            assert_close(e->steady / 20, 1, 0.01);
            assert_false(e->all);
        }
        if (m == EPOCHS_HURLEE) /* five of the six in the second half */
            assert_close(e->steady / 20, 1, 0.02);
        if (m == EPOCHS_JENKS) /* evaluations and pauses are below the break */
            assert_close(e->steady / 20, 1, 0.05);
        if (m == EPOCHS_RUPTURES) /* an evaluation, a pause and a return to the level of each */
            assert_close(e->steady * 3 / 20, 1, 0.1);
        epochs_free(e);
    }
    trace_grid_free(&g);
}

static void steps_are_told_from_epochs(void **state)
{
    trace_grid g = run_of(12, 4);
    epochs    *e;
    lm_error   err;

    (void)state;
    for (size_t i = 100; i < g.n - 50; i++)
        g.x[i] -= i / 8 % 2 ? 0 : 12; /* every 1.6 s */
    assert_int_equal(epochs_find(EPOCHS_LAYERMETER, &g, &e, &err), LM_OK);
    assert_close(e->steady / 20, 1, 0.005);
    assert_true(e->n_periods >= 1);
    assert_close(e->period[0].seconds / 1.6, 1, 0.02);
    epochs_free(e);
    trace_grid_free(&g);
}

static void refuse(const trace_grid *g, const char *said)
{
    epochs  *e;
    lm_error err;

    assert_int_equal(epochs_find(EPOCHS_LAYERMETER, g, &e, &err), LM_E_NOTFOUND);
    if (!strstr(err.text, said))
        fail_msg("'%s' does not say '%s'", err.text, said);
}

/* Dips of one bin and of three, of which every third is deep; a run that one bin interrupts is one.
 */
static void marks_are_runs_and_come_at_equal_times(void **state)
{
    static const float x[]         = { 0, -2, -3, 0, 0, 4, 0, 5, 0, 0 };
    float              events[600] = { 0 };
    mark               m[MARKS_MAX];
    mark_period        p[MARK_PERIODS_MAX];

    (void)state;
    assert_int_equal(marks_find(x, 10, m), 2);
    assert_true(m[0].from == 1 && m[0].to == 3 && m[1].from == 5 && m[1].to == 8);
    assert_close(m[0].area, 5, 1e-12);
    assert_close(m[1].area, 9, 1e-12);

    for (size_t i = 20; i < 600; i += 20)
        events[i] = i % 60 ? -5 : -50;
    assert_int_equal(marks_periods(m, marks_find(events, 600, m), p), 2);
    assert_close(p[0].bins, 60, 0); /* the deep ones alone, then all */
    assert_close(p[1].bins, 20, 0);
    assert_close(p[1].regular, 1, 0);
    assert_true(p[1].brief);
    for (size_t i = 0; i < 600; i++) /* steps: at another level for 6 of 20 */
        events[i] = i % 20 < 6 ? -5 : 0;
    assert_int_equal(marks_periods(m, marks_find(events, 600, m), p), 1);
    assert_close(p[0].bins, 20, 0);
    assert_true(!p[0].brief);
}

/* Startup, an epoch that takes 1.5 times as long, two or three alike: no autocorrelation sees them.
 */
static void few_epochs_are_told_where_their_run_is_seen_whole(void **state)
{
    (void)state;
    for (size_t n = 3; n <= 4; n++) {
        trace_grid g = run_of(n, 6);
        epochs    *e;
        lm_error   err;

        assert_int_equal(epochs_find(EPOCHS_LAYERMETER, &g, &e, &err), LM_OK);
        assert_close(e->steady / 20, 1, 0.03); /* the last one's pause looks like the idle behind */
        assert_int_equal(e->n_steady, n - 1);
        epochs_free(e);
        trace_grid_free(&g);
    }
    {
        trace_grid g = run_of(2, 6); /* one that takes longer, and one: nothing to compare */

        refuse(&g, "less than two epochs");
        trace_grid_free(&g);
    }
}

/* Every third epoch of 20 s is evaluated, all end with a pause of 0.3 s: a cycle of three is none.
 */
static void a_cycle_of_epochs_that_pauses_part_is_no_epoch(void **state)
{
    trace_grid g    = grid_of(100 + 200 * 18);
    uint64_t   seed = 9;
    epochs    *e;
    lm_error   err;

    (void)state;
    for (size_t i = 0; i < g.n; i++) {
        const size_t at = (i - 100) % 200, k = (i - 100) / 200;

        g.x[i] = (float)(i < 100                   ? 2
                         : at >= 197               ? 25
                         : k % 3 == 2 && at >= 160 ? 60
                                                   : 92) +
                 4 * (float)(uniform(&seed) - 0.5);
    }
    assert_int_equal(epochs_find(EPOCHS_LAYERMETER, &g, &e, &err), LM_OK);
    assert_close(e->steady / 20, 1, 0.01);
    epochs_free(e);
    trace_grid_free(&g);
}

/* Twelve epochs of 16 s to 24.8 s, each 5 % of 16 s longer than the one before: of the median 0.1
 * apart, which is no chance where they are so much alike. */
static void epochs_that_become_longer_are_told_by_how_alike_they_are(void **state)
{
    trace_grid g    = grid_of(100 + 12 * 160 + 66 * 8 + 20);
    uint64_t   seed = 13;
    size_t     i    = 0;
    epochs    *e;
    lm_error   err;

    (void)state;
    while (i < 100)
        g.x[i++] = 2;
    for (size_t k = 0; k < 12; k++)
        for (size_t at = 0; at < 160 + 8 * k; at++)
            g.x[i++] = (at * 10 >= 9 * (160 + 8 * k) ? 30 : 92) + 4 * (float)(uniform(&seed) - 0.5);
    while (i < g.n)
        g.x[i++] = 2;
    assert_int_equal(epochs_find(EPOCHS_LAYERMETER, &g, &e, &err), LM_OK);
    assert_true(e->n_steady >= 6);
    assert_true(e->steady > 18 && e->steady < 23);
    epochs_free(e);
    trace_grid_free(&g);
}

/* Missing samples, one by one and an epoch long. */
static void missing_samples_do_not_matter_much(void **state)
{
    trace_grid g    = run_of(12, 6);
    uint64_t   seed = 5;
    epochs    *e;
    lm_error   err;
    size_t     n_missing = 0;

    (void)state;
    for (size_t i = 0; i < g.n; i++)
        if (uniform(&seed) < 0.1 || (i >= 1200 && i < 1400)) {
            g.x[i] = NAN;
            g.n_missing++;
        }
    assert_int_equal(epochs_find(EPOCHS_LAYERMETER, &g, &e, &err), LM_OK);
    assert_close(e->steady / 20, 1, 0.01);
    for (size_t i = 0; i < e->n; i++)
        n_missing += e->epoch[i].kind == EPOCH_MISSING;
    assert_int_equal(n_missing, 1);
    epochs_free(e);
    trace_grid_free(&g);
}

static void no_period_is_invented(void **state)
{
    uint64_t   seed = 11;
    trace_grid g    = grid_of(4000);

    (void)state;
    for (size_t i = 0; i < g.n; i++)
        g.x[i] = 50;
    refuse(&g, "it is constant (50)");
    for (int kind = 0; kind < 4; kind++)
        for (int round = 0; round < 8; round++) {
            double walk = 0;

            for (size_t i = 0; i < g.n; i++) {
                const double noise = uniform(&seed) + uniform(&seed) + uniform(&seed) - 1.5;

                walk += noise;
                g.x[i] = (float)(kind == 0   ? 50 + 10 * noise
                                 : kind == 1 ? walk
                                 : kind == 2 ? (i < 400    ? 5
                                                : i < 3300 ? 90
                                                           : 60) +
                                                   6 * noise /* one epoch */
                                             : (i < 400                   ? 5
                                                : (i - 400) % 2000 < 1700 ? 90
                                                                          : 60) +
                                                   6 * noise);
            }
            refuse(&g, "nothing repeats twice or more in 400 s: less than two epochs");
        }
    g.n = 10;
    refuse(&g, "10 samples are too few");
    g.n = 4000;
    for (size_t i = 0; i < 3000; i++)
        g.x[i] = NAN;
    g.n_missing = 3000;
    refuse(&g, "75 % of the samples are missing");
    trace_grid_free(&g);
}

/* Lengths 15 12 10.1 9.9 10 10.2 9.8: two warm-ups; five of 10 on average, whose interval is mean
 * +- t s / sqrt(5) = 10 +- 2.1318 * 0.15811 / 2.23607 = 0.15074, widened by the places' 0
 * resolution not at all. */
static void the_steady_time_is_a_mean_with_an_interval(void **state)
{
    static const double place[] = { 1, 16, 28, 38.1, 48, 58, 68.2, 78 };
    trace_grid          g       = grid_of(800);
    const found_places  f       = { place, NULL, 7, -INFINITY, INFINITY, 0, false };
    epochs              e       = { .steady = NAN };
    lm_error            err;

    (void)state;
    memset(g.x, 0, g.n * sizeof *g.x);
    assert_int_equal(label_epochs(&g, &f, &e, &err), LM_OK);
    assert_int_equal(e.n_steady, 5);
    assert_close(e.steady, 10, 1e-12);
    assert_close(e.high - e.steady, 0.15074, 2e-4);
    assert_int_equal(e.epoch[0].kind, EPOCH_PARTIAL);
    assert_int_equal(e.epoch[1].kind, EPOCH_WARMUP);
    assert_int_equal(e.epoch[2].kind, EPOCH_WARMUP);
    assert_int_equal(e.epoch[3].kind, EPOCH_STEADY);
    free(e.epoch);
    trace_grid_free(&g);
}

/* Where all count the lengths 2 8 2 8 have mean 5 and logarithms log 4 -+ log 2: one more lies within
 * 4 exp(-+ t s sqrt(1 + 1/4)), s = 2 log 2 / sqrt(3), t(3) = 2.3534: 0.4868 to 32.9. */
static void all_intervals_count_where_a_method_says_so(void **state)
{
    static const double place[] = { 1, 3, 11, 13, 21 };
    trace_grid          g       = grid_of(300);
    const found_places  f       = { place, NULL, 4, -INFINITY, INFINITY, 0, true };
    epochs              e       = { .steady = NAN };
    lm_error            err;

    (void)state;
    for (size_t i = 0; i < g.n; i++) /* an interval without samples counts, too */
        g.x[i] = i < 30 ? NAN : 0;
    assert_int_equal(label_epochs(&g, &f, &e, &err), LM_OK);
    assert_true(e.all);
    assert_int_equal(e.n_steady, 4);
    assert_close(e.steady, 5, 1e-12);
    assert_close(e.low, 4 * exp(-2.353363 * 2 * log(2) / sqrt(3) * sqrt(1.25)), 1e-4);
    assert_close(e.low * e.high, 16, 1e-9);
    free(e.epoch);
    trace_grid_free(&g);
}

/* Ten times as many samples as there is room for: the memory is the same, the epochs are still
 * seen. */
static void a_window_stays_as_large_as_it_is(void **state)
{
    epochs_window w = { .n_first = 0 };
    epochs       *e;
    lm_error      err;

    (void)state;
    for (size_t i = 0; i < 10 * (size_t)WINDOW_BINS; i++)
        assert_int_equal(
            epochs_window_add(&w, 0.1 * (double)i, i % 2000 < 1700 ? 90 : 10, NAN, &err), LM_OK);
    assert_true(w.grid.n <= WINDOW_BINS);
    assert_close(w.grid.step, 1.6, 1e-9); /* 0.1 s, four times two into one */
    assert_int_equal(epochs_find(EPOCHS_LAYERMETER, &w.grid, &e, &err), LM_OK);
    assert_close(e->steady / 200, 1, 0.001);
    epochs_free(e);
    epochs_window_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_transform_is_its_definition),
        cmocka_unit_test(smoothing_is_by_lines),
        cmocka_unit_test(bitmaps_differ_where_the_series_does),
        cmocka_unit_test(bitmaps_are_scored_at_any_length),
        cmocka_unit_test(peaks_are_counted_as_the_authors_do),
        cmocka_unit_test(change_points_are_exact),
        cmocka_unit_test(change_points_cost_the_least),
        cmocka_unit_test(epochs_are_found_and_told_apart),
        cmocka_unit_test(all_methods_know_a_plain_run),
        cmocka_unit_test(steps_are_told_from_epochs),
        cmocka_unit_test(marks_are_runs_and_come_at_equal_times),
        cmocka_unit_test(few_epochs_are_told_where_their_run_is_seen_whole),
        cmocka_unit_test(a_cycle_of_epochs_that_pauses_part_is_no_epoch),
        cmocka_unit_test(epochs_that_become_longer_are_told_by_how_alike_they_are),
        cmocka_unit_test(missing_samples_do_not_matter_much),
        cmocka_unit_test(no_period_is_invented),
        cmocka_unit_test(the_steady_time_is_a_mean_with_an_interval),
        cmocka_unit_test(all_intervals_count_where_a_method_says_so),
        cmocka_unit_test(a_window_stays_as_large_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
