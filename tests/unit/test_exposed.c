/* What measured steps tell of what hides behind their backward passes, and of what ranks share. */
#include "linear_net.h"
#include "steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit/comparison.h"
#include "fit/fit.h"

/* 8 -> 4 -> 2 without bias: at batch b 64 b and 16 b FLOP forward, 128 and 32 bytes of weights. */
static int enter(void **state)
{
    return linear_net_of(state, "[a]\ntype = linear\nfeatures = 4\nbias = no\n"
                                "[b]\ntype = linear\nfeatures = 2\nbias = no\n");
}

#define BYTES    1e8 /* 25 million weights: 4 buckets of 25 MiB, and the first */
#define MESSAGES 5
#define PER_BYTE 4e-9

static double alone(int batch)
{
    return 0.05 + 0.01 * batch;
}

/* By the closed form of equal buckets (test_overlap.c). */
static double exposed_at(int batch, int ranks, double per_byte)
{
    const double C = BYTES * per_byte * 2 * (ranks - 1) / ranks, pass = 2 * alone(batch) / 3;

    return fmax(C / MESSAGES, C - pass * (1 - 1.0 / MESSAGES));
}

static double exposed(int batch, int nodes)
{
    return exposed_at(batch, nodes, PER_BYTE);
}

/* All-reduces by themselves, at so much of the price that buckets pay. */
static size_t write_collectives(char *text, size_t room, int nodes, const char *algorithm,
                                double times)
{
    size_t n = 0;

    for (double bytes = 1e6; nodes > 1 && bytes < 1e9; bytes *= 4)
        n += (size_t)snprintf(text + n, room - n,
                              "collective,allreduce,,%d,%d,,,sync,%.9g,%.0f,%s\n", nodes, nodes,
                              times * bytes * PER_BYTE * 2 * (nodes - 1) / nodes, bytes, algorithm);
    return n;
}

/* Steps on `from` to `to` nodes whose last message ends `late`, all-reduces being measured, but no
 * later than `lag` of the pass. These take `blocking` of the time that buckets take, and unless
 * that is 1 there are nonblocking ones, too. `lines` stand before the header row. */
typedef struct made_steps {
    int         from, to;
    double      late, lag, blocking;
    const char *lines;
    bool        told; /* what was exposed, beside the step */
} made_steps;

static double late_behind(const made_steps *m, int batch)
{
    return m->lag > 0 ? fmin(m->late, m->lag * 2 * alone(batch) / 3) : m->late;
}

static void write_rows(const char *name, made_steps m)
{
    char   text[20000];
    size_t n = (size_t)snprintf(
        text, sizeof text,
        "%skind,name,batch,ranks,hosts,bucket_bytes,geometry,phase,seconds,bytes,algorithm\n",
        m.lines);

    for (int nodes = m.from; nodes <= m.to; nodes++)
        for (int batch = 4; batch <= 32; batch *= 2) {
            const double left = nodes > 1 ? exposed(batch, nodes) + late_behind(&m, batch) : 0;
            char         head[200];

            snprintf(head, sizeof head,
                     "counts,some,%d,%d,%d,%s,macs=1e9 outputs=1e6 params=25000000", batch, nodes,
                     nodes, nodes > 1 ? "26214400" : "");
            if (nodes > 1 && m.told)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s,sync,%.9g,,\n", head, left);
            n += (size_t)snprintf(text + n, sizeof text - n, "%s,step,%.9g,,\n", head,
                                  alone(batch) + left);
        }
    for (int nodes = m.from; nodes <= m.to && m.late > 0; nodes++) {
        n += write_collectives(text + n, sizeof text - n, nodes, "default", m.blocking);
        if (m.blocking < 1)
            n += write_collectives(text + n, sizeof text - n, nodes, "nonblocking", 1);
    }
    folder_file(name, text);
}

static void read_points(const char *name, observations **obs, points *p)
{
    lm_error err = { LM_OK, "" };

    if (!observations_load(name, obs, &err))
        points_from(*obs, loads, p, &err);
    assert_string_equal(err.text, "");
}

/* All-reduces that nobody measured by themselves: from what was left of them on 2 to 4 nodes, as it
 * was measured or beyond steps on one, to steps on 8, and nothing slows the pass down. */
static void all_reduces_from_steps(bool told)
{
    observations *obs, *other;
    points        p, ask;
    calibration  *cal = NULL;
    comparison   *c;
    split         by;
    lm_error      err = { LM_OK, "" };

    write_rows("few.csv", (made_steps){ 1, 4, 0, 0, 1, "", told });
    write_rows("many.csv", (made_steps){ 8, 8, 0, 0, 1, "", told });
    read_points("few.csv", &obs, &p);
    read_points("many.csv", &other, &ask);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    assert_close(cal->overlapping.slowdown, 0, 0.01);
    assert_close(
        calibration_collective(cal, "layermeter", NULL,
                               &(collective_call){ COLLECTIVE_ALLREDUCE, BYTES / MESSAGES, 8, 1, 1 }),
        BYTES / MESSAGES * PER_BYTE * 1.75, 0.02 * 0.14);

    assert_int_equal(split_new(&ask, &(split_rule){ .kind = SPLIT_NONE }, &by, &err), LM_OK);
    c = calloc(ask.n_points + 1, sizeof *c);
    assert_non_null(c);
    assert_int_equal(compare_points(&ask, "layermeter", &by, cal, c, &err), LM_OK);
    for (size_t i = 0; i < ask.n_points; i++) {
        const double step = c[i].measured[PHASE_OVERLAPPED];

        assert_close(c[i].predicted[PHASE_OVERLAPPED], step, 0.02 * step);
        assert_true(isnan(c[i].measured[PHASE_SYNC]) && isnan(c[i].predicted[PHASE_SYNC]));
    }
    free(c);
    split_free(&by);
    calibration_free(cal);
    points_free(&p);
    points_free(&ask);
    observations_free(obs);
    observations_free(other);
}

static void what_was_exposed_tells_the_all_reduce(void **state)
{
    (void)state;
    all_reduces_from_steps(true);
}

static void whole_steps_tell_the_all_reduce(void **state)
{
    (void)state;
    all_reduces_from_steps(false);
}

/* All-reduces being known, what is left of them tells that the last one ends later. Whoever says
 * when the last rank came has no wait for it in that: here it is told by spreads of one rank. */
static void what_ends_late_is_told_by_steps(void **state)
{
    static const char *const lines[] = { "", "# exposed: behind the last rank's pass\n" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        observations *obs;
        points        p;
        calibration  *cal = NULL;
        comparison   *c;
        split         by;
        lm_error      err = { LM_OK, "" };

        write_rows("late.csv", (made_steps){ 1, 4, 0.005, 0, 1, lines[i], true });
        read_points("late.csv", &obs, &p);
        assert_int_equal(obs->row[obs->n_rows - 1].waits, i == 0);
        assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
        assert_close(cal->overlapping.latency, 0.005, 1e-6);
        cal->overlapping.straggler = 0.1;

        assert_int_equal(split_new(&p, &(split_rule){ .kind = SPLIT_NONE }, &by, &err), LM_OK);
        c = calloc(p.n_points + 1, sizeof *c);
        assert_non_null(c);
        assert_int_equal(compare_points(&p, "layermeter", &by, cal, c, &err), LM_OK);
        for (size_t k = 0; k < p.n_points; k++) {
            const observation *row = p.point[k].row;
            const double       wait =
                i ? 0 : 0.1 * alone((int)row->batch) * sqrt(2 * log((double)row->ranks));

            if (row->bucket_bytes)
                assert_close(c[k].predicted[PHASE_EXPOSED], c[k].measured[PHASE_EXPOSED] + wait,
                             1e-5);
        }
        free(c);
        split_free(&by);
        calibration_free(cal);
        points_free(&p);
        observations_free(obs);
    }
}

/* Where ranks share a core, the shorter a pass the less of it others have had alone: no later than
 * a share of the pass, and never later than a time slice. */
static void short_passes_are_followed_sooner(void **state)
{
    observations *obs;
    points        p;
    calibration  *cal = NULL;
    lm_error      err = { LM_OK, "" };

    (void)state;
    write_rows("lag.csv", (made_steps){ 1, 4, 0.004, 1.0 / 32, 1, "", true });
    read_points("lag.csv", &obs, &p);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    assert_close(cal->overlapping.latency, 0.004, 1e-4);
    assert_close(cal->overlapping.lag, 1.0 / 32, 0);
    calibration_free(cal);
    points_free(&p);
    observations_free(obs);
}

/* Buckets take what nonblocking all-reduces take, all gradients at once what the library's usual
 * ones do. */
static void buckets_are_priced_by_nonblocking_ones(void **state)
{
    const collective_call bucket = { COLLECTIVE_ALLREDUCE, BYTES / MESSAGES, 3, 1, 1 };
    const double          price  = BYTES / MESSAGES * PER_BYTE * 4 / 3;
    observations         *obs;
    points                p;
    calibration          *cal = NULL;
    lm_error              err = { LM_OK, "" };

    (void)state;
    write_rows("two.csv", (made_steps){ 1, 4, 0.005, 0, 0.5, "", true });
    read_points("two.csv", &obs, &p);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    assert_close(calibration_collective(cal, "layermeter", NULL, &bucket), price / 2, 1e-3 * price);
    assert_close(calibration_bucket(cal, "layermeter", NULL, &bucket), price, 1e-3 * price);
    /* the steps leave nothing that would have to be charged beside it */
    assert_close(cal->overlapping.latency, 0.005, 1e-5);
    assert_close(cal->overlapping.surcharge, 0, 0);
    calibration_free(cal);
    points_free(&p);
    observations_free(obs);
}

#define CACHE   3.2e7 /* bytes: more than any bucket */
#define SPILLED (1.5 * PER_BYTE)

/* Within a host messages leave caches beyond a border. Half of a bucket has left them when it goes:
 * it takes 1 + 0.5 * 1.5 of what messages of its size do by themselves. */
static void passes_drive_messages_out_of_caches(void **state)
{
    const collective_call small = { COLLECTIVE_ALLREDUCE, 1e6, 1, 2, 1 },
                          large = { COLLECTIVE_ALLREDUCE, 2 * CACHE, 1, 2, 1 };
    char   text[20000];
    size_t n =
        (size_t)snprintf(text, sizeof text,
                         "kind,name,batch,ranks,hosts,bucket_bytes,geometry,phase,seconds,bytes\n");
    observations *obs;
    points        p;
    calibration  *cal = NULL;
    lm_error      err = { LM_OK, "" };

    (void)state;
    for (int ranks = 1; ranks <= 2; ranks++)
        for (int batch = 1; batch <= 32; batch *= 2) {
            const double left = ranks > 1 ? exposed_at(batch, ranks, PER_BYTE + SPILLED / 2) : 0;
            char         head[200];

            snprintf(head, sizeof head,
                     "counts,some,%d,%d,1,%s,macs=1e9 outputs=1e6 params=25000000", batch, ranks,
                     ranks > 1 ? "26214400" : "");
            if (ranks > 1)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s,sync,%.9g,\n", head, left);
            n += (size_t)snprintf(text + n, sizeof text - n, "%s,step,%.9g,\n", head,
                                  alone(batch) + left);
        }
    for (double bytes = 1e6; bytes < 1e9; bytes *= 2)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "collective,allreduce,,2,1,,,sync,%.9g,%.0f\n",
                              bytes * PER_BYTE + fmax(0, bytes - CACHE) * SPILLED, bytes);
    folder_file("cold.csv", text);
    read_points("cold.csv", &obs, &p);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    assert_close(cal->overlapping.cold, 0.5, 0);
    assert_close(cal->overlapping.surcharge, 0, 0);
    assert_close(calibration_collective(cal, "layermeter", NULL, &small), 1e6 * PER_BYTE, 1e-6);
    assert_close(calibration_bucket(cal, "layermeter", NULL, &small),
                 1e6 * (PER_BYTE + SPILLED / 2), 1e-6);
    assert_close(calibration_bucket(cal, "layermeter", NULL, &large),
                 2 * CACHE * PER_BYTE + 1.5 * CACHE * SPILLED, 1e-4);
    calibration_free(cal);
    points_free(&p);
    observations_free(obs);
}

/* Three repetitions: 95 % lie 0.1 of the middle one and 0.9 of the longest above the median, and
 * that one is 0.8694 sigma (Blom: the quantile of 2.625 / 3.25) above it in the mean. Many: 1.6449
 * sigma. */
static void spreads_tell_stragglers(void **state)
{
    static const struct {
        const char *repeats;
        double      sigmas;
    } cases[] = { { "3", 0.9 * 0.8694 }, { "", 1.6449 }, { "2", 0 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char          text[4000];
        size_t        n   = (size_t)snprintf(text, sizeof text,
                                             "kind,name,batch,repeats,geometry,phase,seconds,p95_seconds\n");
        observations *obs = NULL;
        points        p;
        calibration  *cal = NULL;
        lm_error      err = { LM_OK, "" };

        for (int batch = 1; batch <= 8; batch++)
            n += (size_t)snprintf(
                text + n, sizeof text - n,
                "counts,some,%d,%s,macs=1e9 outputs=1e6 params=25000000,step,%.9g,"
                "%.9g\n",
                batch, cases[i].repeats, alone(batch), alone(batch) * (1 + 0.02 * cases[i].sigmas));
        folder_file("spread.csv", text);
        read_points("spread.csv", &obs, &p);
        assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
        assert_int_equal(cal->overlapping.spreads, cases[i].sigmas > 0 ? 8 : 0);
        assert_close(cal->overlapping.straggler, cases[i].sigmas > 0 ? 0.02 : 0, 2e-6);
        calibration_free(cal);
        points_free(&p);
        observations_free(obs);
    }
}

/* Ranks that take turns on a core are no rank's times, but tell what a host shares. */
static void ranks_of_a_host_tell_what_they_share(void **state)
{
    char          text[8000];
    size_t        n   = (size_t)snprintf(text, sizeof text,
                                         "kind,name,batch,ranks,hosts,flags,geometry,phase,seconds\n");
    observations *obs = NULL;
    points        p;
    calibration  *cal = NULL;
    lm_error      err = { LM_OK, "" };

    (void)state;
    for (int ranks = 1; ranks <= 4; ranks += 3)
        for (int batch = 1; batch <= 32; batch *= 2) {
            static const char *const part_of[] = { "forward", "backward", "update" };

            for (int k = 0; k < 3; k++)
                n += (size_t)snprintf(
                    text + n, sizeof text - n,
                    "counts,some,%d,%d,1,%s,macs=1e9 outputs=1e6 params=25000000,%s,%.9g\n", batch,
                    ranks, ranks > 1 ? "contended" : "", part_of[k],
                    (ranks > 1 ? 2.5 : 1) * (k < 2 ? alone(batch) * (k + 1) : 0.01));
        }
    folder_file("host.csv", text);
    read_points("host.csv", &obs, &p);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    assert_int_equal(cal->shared.n, 1);
    assert_int_equal(cal->shared.of[0].devices, 4);
    assert_close(cal->shared.of[0].forward, 2.5, 0.1);
    assert_close(cal->shared.of[0].backward, 2.5, 0.1);
    for (size_t i = 0; i < p.n_points; i++) { /* what one rank takes is told by one rank */
        const point *pt = &p.point[i];

        assert_true(isnan(pt->seconds[PHASE_FORWARD]) == (pt->row->ranks > 1));
    }
    calibration_free(cal);
    points_free(&p);
    observations_free(obs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_host_tell_what_they_share),
        cmocka_unit_test(what_was_exposed_tells_the_all_reduce),
        cmocka_unit_test(whole_steps_tell_the_all_reduce),
        cmocka_unit_test(what_ends_late_is_told_by_steps),
        cmocka_unit_test(short_passes_are_followed_sooner),
        cmocka_unit_test(buckets_are_priced_by_nonblocking_ones),
        cmocka_unit_test(passes_drive_messages_out_of_caches),
        cmocka_unit_test(spreads_tell_stragglers),
    };

    return cmocka_run_group_tests(tests, enter, linear_net_leave);
}
