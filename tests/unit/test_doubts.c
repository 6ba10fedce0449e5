/* Times that cannot be: found whatever else the file holds, and never where nothing is wrong. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "observe/doubts.h"
#include "observe/judge.h"

static double uniform(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)random_below(state, 1u << 30) / (double)(1u << 30);
}

/* Between powers of ten. */
static double decades(uint64_t *state, double low, double high)
{
    return pow(10, uniform(state, low, high));
}

#define POINTS_MAX 64

/* A file that was measured on some machine, without the file. */
typedef struct made {
    observation  row[POINTS_MAX];
    point        point[POINTS_MAX];
    points       p;
    observations obs;
} made;

/* Seconds of everything else, by prices of a machine. */
typedef struct machine {
    double flop, byte, launch, noise;
} machine;

static double noisy(uint64_t *state, const machine *m, double seconds)
{
    return seconds * exp(m->noise * uniform(state, -1, 1));
}

/* Networks of any size on a machine of any speed: a phone's core to a GPU, kernels that compute
 * much with what they read or little. */
static made *make(uint64_t seed)
{
    uint64_t      state    = seed;
    const size_t  networks = 2 + random_below(&state, 7), batches = 2 + random_below(&state, 5);
    const double  flops = decades(&state, 9.5, 14);
    const machine on    = { 1 / flops, uniform(&state, 5, 50) / flops, decades(&state, -5.5, -4),
                            uniform(&state, 0, 0.2) };
    made         *x     = calloc(1, sizeof *x);

    assert_non_null(x);
    for (size_t g = 0; g < networks; g++) {
        const double macs = decades(&state, 7.5, 10.5), layers = uniform(&state, 8, 200);
        const double params = decades(&state, 6, 8.2), intensity = uniform(&state, 5, 60);

        for (size_t b = 0; b < batches; b++) {
            const double batch = (double)(1 << b);
            const size_t i     = x->p.n_points++;
            point       *pt    = &x->point[i];
            double      *s     = pt->seconds;
            net_metrics *m     = &pt->load.counts;

            x->row[i]       = observation_blank;
            x->row[i].name  = "a network";
            x->row[i].batch = (int64_t)batch + (int64_t)(100 * g);
            x->row[i].ranks = x->row[i].hosts = 1;
            *pt                               = (point){ .row = &x->row[i], .group = g };
            m->flops_forward                  = (uint64_t)(2 * macs * batch);
            m->flops_backward                 = 2 * m->flops_forward;
            m->params                         = (uint64_t)params;
            m->param_bytes                    = 4 * m->params;
            m->param_tensors                  = (uint64_t)layers;
            m->layers                         = (uint64_t)layers;
            m->read_bytes =
                (uint64_t)((double)m->flops_forward / intensity * 2) + 3 * m->param_bytes;
            m->written_bytes = (uint64_t)((double)m->flops_forward / intensity);
            for (phase f = 0; f < N_PHASES; f++) {
                s[f]        = NAN;
                pt->line[f] = (int)(2 + N_PHASES * i) + (int)f;
            }
            s[PHASE_FORWARD]  = noisy(&state, &on,
                                      on.flop * (double)m->flops_forward +
                                          on.byte * (double)(m->read_bytes + m->written_bytes) / 3 +
                                          on.launch * layers);
            s[PHASE_BACKWARD] = 2 * noisy(&state, &on, s[PHASE_FORWARD]);
            s[PHASE_UPDATE] =
                noisy(&state, &on, 4 * on.byte * (double)m->param_bytes + on.launch * layers);
            s[PHASE_STEP] = s[PHASE_FORWARD] + s[PHASE_BACKWARD] + s[PHASE_UPDATE];
        }
    }
    x->p.point = x->point;
    return x;
}

static doubts find(const made *x)
{
    doubts   d   = { 0 };
    lm_error err = { LM_OK, "" };

    assert_int_equal(doubts_find(&x->obs, &x->p, &d, &err), LM_OK);
    return d;
}

static size_t count(const doubts *d, doubt_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        n += d->doubt[i].kind == kind;
    return n;
}

#define MACHINES 400

static void nothing_is_doubted_where_nothing_is_wrong(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < MACHINES; seed++) {
        made  *x = make(seed);
        doubts d = find(x);
        char   text[DOUBT_TEXT];

        if (d.n)
            print_error("machine %d: %s\n", (int)seed, doubt_text(&d.doubt[0], text));
        assert_int_equal(d.n, 0);
        doubts_free(&d);
        free(x);
    }
}

/* Any single time, a million times too long or too short, and no other; without it the rest is as
 * before. */
static void a_time_in_another_unit_is_found_and_left_out(void **state)
{
    static const phase  phases[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_STEP };
    static const double factor[] = { 1e6, 1e-6, 1e3, 1e-3 };

    (void)state;
    for (uint64_t seed = 0; seed < MACHINES; seed++) {
        uint64_t     next = seed + 7;
        made        *x    = make(seed);
        const size_t at   = random_below(&next, x->p.n_points);
        const phase  f    = phases[seed % 4];
        const double by   = factor[seed / 4 % 4];
        doubts       d, again;

        x->point[at].seconds[f] *= by;
        d = find(x);
        assert_int_equal(count(&d, DOUBT_TIME), 1);
        assert_int_equal(count(&d, DOUBT_PHASE) + count(&d, DOUBT_FILE) + count(&d, DOUBT_STEP), 0);
        assert_int_equal(d.doubt[0].at, at);
        assert_int_equal(d.doubt[0].phase, f);
        assert_int_equal(d.doubt[0].line, x->point[at].line[f]);
        assert_true(fabs(log10(d.doubt[0].factor / by)) < 1);
        doubts_leave_out(&d, &x->p);
        assert_true(isnan(x->point[at].seconds[f]));
        again = find(x);
        assert_int_equal(again.n, 0);
        doubts_free(&again);
        doubts_free(&d);
        free(x);
    }
}

/* A column in milliseconds. */
static void a_phase_in_another_unit_is_found_beside_the_others(void **state)
{
    static const phase phases[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_STEP };

    (void)state;
    for (uint64_t seed = 0; seed < MACHINES; seed++) {
        made       *x = make(seed);
        const phase f = phases[seed % 4];
        doubts      d;

        for (size_t i = 0; i < x->p.n_points; i++)
            x->point[i].seconds[f] *= f == PHASE_UPDATE ? 1e6 : 1e3;
        d = find(x);
        assert_int_equal(count(&d, DOUBT_PHASE), 1);
        assert_int_equal(count(&d, DOUBT_TIME) + count(&d, DOUBT_STEP), 0);
        for (size_t i = 0; i < d.n; i++)
            if (d.doubt[i].kind == DOUBT_PHASE) {
                assert_int_equal(d.doubt[i].phase, f);
                assert_int_equal(d.doubt[i].beside, N_PHASES);
            }
        doubts_free(&d);
        free(x);
    }
}

/* Of two phases nobody knows which is right. */
static void two_phases_accuse_each_other(void **state)
{
    made  *x = make(1);
    doubts d;
    char   text[DOUBT_TEXT];

    (void)state;
    for (size_t i = 0; i < x->p.n_points; i++) {
        x->point[i].seconds[PHASE_UPDATE] = x->point[i].seconds[PHASE_STEP] = NAN;
        x->point[i].seconds[PHASE_BACKWARD] *= 1e3;
    }
    d = find(x);
    assert_int_equal(d.n, 1);
    assert_int_equal(d.doubt[0].kind, DOUBT_PHASE);
    assert_int_equal(d.doubt[0].beside, PHASE_FORWARD);
    assert_non_null(strstr(doubt_text(&d.doubt[0], text), "are both in seconds?"));
    doubts_free(&d);
    free(x);
}

/* All times in microseconds, or all a million times too short: beyond what anything does. */
static void a_file_in_another_unit_is_asked_about(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < MACHINES; seed++) {
        made  *x = make(seed);
        doubts d;

        for (size_t i = 0; i < x->p.n_points; i++)
            for (phase f = 0; f < N_PHASES; f++)
                x->point[i].seconds[f] *= seed % 2 ? 1e6 : 1e-9;
        d = find(x);
        assert_int_equal(count(&d, DOUBT_FILE), 1);
        assert_int_equal(d.n, 1);
        doubts_free(&d);
        free(x);
    }
}

static void points_that_are_there_again_are_compared(void **state)
{
    made  *x = make(3);
    point *a = &x->point[0], *b = &x->point[1], *c = &x->point[2];
    doubts d;

    (void)state;
    x->row[1] = x->row[2] = x->row[0];
    memcpy(b->seconds, a->seconds, sizeof a->seconds); /* a copy */
    memcpy(c->seconds, a->seconds, sizeof a->seconds);
    c->seconds[PHASE_FORWARD] *= 3.1; /* the same measured again, and far away */
    c->seconds[PHASE_STEP] = NAN;
    for (size_t i = 1; i < 3; i++)
        x->point[i].load = a->load;
    d = find(x);
    assert_int_equal(d.n, 2);
    assert_int_equal(d.doubt[0].kind, DOUBT_COPY);
    assert_int_equal(d.doubt[0].line, b->line[PHASE_FORWARD]);
    assert_int_equal(d.doubt[0].other_line, a->line[PHASE_FORWARD]);
    assert_int_equal(d.doubt[1].kind, DOUBT_CONTRADICTION);
    assert_int_equal(d.doubt[1].line, c->line[PHASE_FORWARD]);
    assert_int_equal(d.doubt[1].other_line, a->line[PHASE_FORWARD]);
    doubts_free(&d);
    c->seconds[PHASE_FORWARD] /= 1.5; /* noise may do that */
    b->seconds[PHASE_UPDATE] *= 1.0001;
    d = find(x);
    assert_int_equal(d.n, 0);
    c->seconds[PHASE_FORWARD] *= 1.5; /* a flag says why */
    c->flags = 1;
    doubts_free(&d);
    d = find(x);
    assert_int_equal(d.n, 0);
    doubts_free(&d);
    free(x);
}

/* Point i as a time of point 0 alone, given as a step or as inference. */
static void one_time(made *x, size_t i, phase f, double seconds)
{
    x->row[i]        = x->row[0];
    x->point[i].load = x->point[0].load;
    for (phase q = 0; q < N_PHASES; q++)
        x->point[i].seconds[q] = NAN;
    x->point[i].seconds[f] = seconds;
    x->point[i].line[f]    = (int)(100 + i);
}

/* Of one work measured in both modes nobody knows which is which: neither time counts. */
static void training_and_inference_given_as_one_are_left_out(void **state)
{
    static const struct {
        phase       other;
        const char *optimizer; /* of the other row */
        double      seconds;   /* of the other, of a step of 1 s */
        bool        mixed;
    } cases[] = {
        { PHASE_STEP, "", 0.4, true },
        { PHASE_STEP, "", 2.5, true },
        { PHASE_STEP, "", 0.6, false },
        { PHASE_STEP, "adam", 0.4, false }, /* another update */
        { PHASE_INFERENCE, "", 0.9, true },
        { PHASE_INFERENCE, "adam", 0.9, true },
        { PHASE_INFERENCE, "", 0.7, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        made        *x    = make(4);
        const double step = x->point[0].seconds[PHASE_STEP];
        const phase  f    = cases[i].other;
        doubts       d;

        one_time(x, 0, PHASE_STEP, step);
        one_time(x, 1, f, cases[i].seconds * step);
        x->row[1].optimizer = cases[i].optimizer;
        d                   = find(x);
        assert_int_equal(count(&d, DOUBT_MODES), cases[i].mixed);
        assert_int_equal(count(&d, DOUBT_CONTRADICTION), 0);
        doubts_leave_out(&d, &x->p);
        assert_int_equal(isnan(x->point[0].seconds[PHASE_STEP]), cases[i].mixed);
        assert_int_equal(isnan(x->point[1].seconds[f]), cases[i].mixed);
        doubts_free(&d);
        free(x);
    }
}

static void a_step_is_no_shorter_than_its_parts(void **state)
{
    made  *x = make(5);
    doubts d;

    (void)state;
    x->point[2].seconds[PHASE_STEP] *= 0.85;
    d = find(x);
    assert_int_equal(d.n, 0);
    x->point[2].seconds[PHASE_STEP] *= 0.85;
    doubts_free(&d);
    d = find(x);
    assert_int_equal(d.n, 1);
    assert_int_equal(d.doubt[0].kind, DOUBT_STEP);
    assert_int_equal(d.doubt[0].line, x->point[2].line[PHASE_STEP]);
    doubts_free(&d);
    x->row[2].ranks = 2; /* each phase is its slowest rank's: the sum is an upper bound */
    d               = find(x);
    assert_int_equal(count(&d, DOUBT_STEP), 0);
    doubts_free(&d);
    free(x);
}

static void powers_in_another_unit_are_asked_about(void **state)
{
    static provenance_entry named = { (char *)"device", (char *)"A30" }; /* 165 W */
    static const struct {
        double watts;
        bool   named, doubted;
        double peak;
    } cases[] = {
        { 0, true, false, 0 }, /* none was measured */
        { 160, true, false, 0 },
        { 160, false, false, 0 },
        { 0.16, true, true, 165 },
        { 0.16, false, false, 0 } /* a small board's */,
        { 400, true, true, 165 },
        { 400, false, false, 0 },
        { 160e3, false, true, (double)NAN },
        { 160e3, true, true, 165 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        made  *x = make(3);
        doubts d;

        x->obs.row          = x->row;
        x->obs.n_rows       = x->p.n_points;
        x->obs.provenance   = &named;
        x->obs.n_provenance = cases[i].named;
        for (size_t k = 0; k < x->p.n_points; k++)
            x->row[k].power_w = cases[i].watts * (1 + 0.01 * (double)(k % 3));
        d = find(x);
        assert_int_equal(d.n, cases[i].doubted);
        if (cases[i].doubted) {
            assert_int_equal(d.doubt[0].kind, DOUBT_POWER);
            assert_close(d.doubt[0].factor, cases[i].watts, 0.02);
            assert_true(cases[i].named ? d.doubt[0].peak == 165 : isnan(d.doubt[0].peak));
        }
        doubts_free(&d);
        free(x);
    }
}

static void too_few_rows_say_nothing_of_each_other(void **state)
{
    usual_row row[3] = { { { 1, 1, 1 }, 1, 9 }, { { 1, 1, 1 }, 1e9, 9 }, { { 2, 1, 1 }, 1e-9, 9 } };

    (void)state;
    assert_true(usual_deviations(row, 3));
    for (size_t i = 0; i < 3; i++)
        assert_true(row[i].deviation == 0);
    assert_true(usual_deviations(row, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_doubted_where_nothing_is_wrong),
        cmocka_unit_test(a_time_in_another_unit_is_found_and_left_out),
        cmocka_unit_test(a_phase_in_another_unit_is_found_beside_the_others),
        cmocka_unit_test(two_phases_accuse_each_other),
        cmocka_unit_test(a_file_in_another_unit_is_asked_about),
        cmocka_unit_test(points_that_are_there_again_are_compared),
        cmocka_unit_test(training_and_inference_given_as_one_are_left_out),
        cmocka_unit_test(a_step_is_no_shorter_than_its_parts),
        cmocka_unit_test(powers_in_another_unit_are_asked_about),
        cmocka_unit_test(too_few_rows_say_nothing_of_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
