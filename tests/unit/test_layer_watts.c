/* Powers of single layers left out: what the shares of the time make comes back, limits of boards
 * are found and kept. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/layer_watts.h"
#include "folder.h"
#include "kept_text.h"
#include "layers/loader.h"
#include "observe/workloads.h"

static void limits_are_seen_where_many_reach_them(void **state)
{
    double watts[100], limit;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        watts[i] = i < 90 ? 40 + (double)i : 165 - 0.1 * (double)(i % 3);
    assert_int_equal(watts_limit(watts, 100, &limit, NULL), LM_OK);
    assert_close(limit, 165, 0.01);
    for (size_t i = 0; i < 100; i++)
        watts[i] = 40 + 2 * (double)i;
    assert_int_equal(watts_limit(watts, 100, &limit, NULL), LM_OK);
    assert_true(isnan(limit));
    assert_int_equal(watts_limit(watts, 0, &limit, NULL), LM_OK);
    assert_true(isnan(limit));
}

#define ROWS 160

static char observed[2 * ROWS * 100 + 200];

/* Functions of elements, some of more FLOPs: a call of 20 us, during which the device draws 40 W,
 * hides behind traffic at 100 GB/s, which draws 200 W; the board's limit is 150 W. */
static size_t maps_text(void)
{
    size_t n = (size_t)sprintf(observed, "kind,name,geometry,phase,input,batch,seconds,power_w\n");

    for (int i = 0; i < ROWS; i++) {
        const double elements = 4e3 * (1 + i * i / 40.0), busy = 8 * elements * 32 / 4e12;
        const double work = busy * 40, call = 20e-6;
        const double seconds = pow(pow(call, 4) + pow(work, 4), 0.25);

        n += (size_t)sprintf(observed + n, "layer,%s,,inference,%.0f,32,%.9g,%.9g\n",
                             i % 2 ? "gelu" : "relu", floor(elements), seconds,
                             fmin(150, 40 + 160 * fmin(1, work / seconds)));
    }
    return n;
}

/* And known scales of channels, whose hosts take the longer the more they are, up to 40 times as
 * long as memory would: the device waits all the while, and draws as much as then. */
static void hosts_text(void)
{
    size_t n = maps_text();

    for (int i = 0; i < ROWS; i++) {
        const int    side = 4 + i;
        const double host = 480e-6, scales = 40 * 8.0 * 64 * side * side / 1e11;

        n += (size_t)sprintf(observed + n, "layer,batch_norm,,inference,64x%dx%d,1,%.9g,40\n", side,
                             side, pow(pow(host, 4) + pow(scales, 4), 0.25));
    }
}

static const char small[] =
    "layermeter learned power 4\nwatts 160 150 40.5\ncap 165\nheld -0.25 0.5\n"
    "trees 41 1\nbase 0\ntree 3 1:-9:1:2 =-0.25 =0.5\n";

static void what_is_written_is_read_again(void **state)
{
    void        *read = NULL;
    layer_watts *w;
    char        *copy = strdup(small), *text;
    lm_error     err  = { 0 };

    (void)state;
    assert_int_equal(kept_read(&layer_watts_kept, LAYER_WATTS_NAME, "m.power", copy, &read, &err),
                     LM_OK);
    w = read;
    assert_close(w->base.cap_w, 165, 0);
    assert_close(w->base.bound_w[BOUND_LAUNCH], 40.5, 0);
    assert_close(w->high, 0.5, 0);
    text = kept_written(&layer_watts_kept, LAYER_WATTS_NAME, w);
    assert_string_equal(text, small);
    layer_watts_free(w);
    free(text);
    free(copy);
}

static void bad_powers_are_refused(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } bad[] = {
        { "learned power 4", "power 3",
          "m.power:1: was written by an older version: run 'layermeter fit OBSERVATIONS -o FILE' "
          "again" },
        { "power 4", "power 5", "m.power:1: of version 5, this program reads 4" },
        { "160", "-1", "m.power:2: number 1 is -1: expected 0 or more" },
        { "160", "nan", "m.power:2: number 1 is nan" },
        { "40.5", "2e5", "m.power:2: number 3 is 200000: expected 100000 or less" },
        { "cap 165", "cap 0", "m.power:3: number 1 is 0: expected more than 0" },
        { "held -0.25", "held 2", "m.power:4: held between 2 and 0.5" },
        { "trees 41", "trees 39", "m.power:7: trees of 39 features, powers have 41" },
        { "=0.5\n", "=0.5\nmore\n", "m.power:8: more than was written: 'more'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char        text[400];
        const char *at  = strstr(small, bad[i].from);
        void       *w   = NULL;
        lm_error    err = { 0 };

        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - small), small, bad[i].to,
                 at + strlen(bad[i].from));
        assert_true(kept_read(&layer_watts_kept, LAYER_WATTS_NAME, "m.power", text, &w, &err));
        assert_string_equal(err.text, bad[i].message);
    }
}

/* Watts of all points left out in five parts; the mean relative error, of those from `first` on. */
static double told(bool learned, size_t first)
{
    registry     *reg   = NULL;
    workloads    *loads = NULL;
    observations *obs   = NULL;
    points        p     = { 0 };
    split_rule    rule;
    split         by;
    lm_error      err = { 0 };
    double       *watts, sum = 0;
    size_t        n;

    assert_int_equal(registry_new(&reg, NULL), LM_OK);
    assert_int_equal(loader_open_all(reg, NULL, 0, &err), LM_OK);
    assert_int_equal(workloads_new(reg, &loads, &err), LM_OK);
    assert_int_equal(observations_load(folder_file("o.csv", observed), &obs, &err), LM_OK);
    assert_int_equal(points_from(obs, loads, &p, &err), LM_OK);
    assert_int_equal(split_rule_parse("kfold=5", &rule, &err), LM_OK);
    assert_int_equal(split_new(&p, &rule, &by, &err), LM_OK);
    watts = malloc(p.n_points * N_PHASES * sizeof *watts);
    for (size_t i = 0; i < p.n_points * N_PHASES; i++)
        watts[i] = NAN;
    assert_int_equal(layer_watts_left_out(&p, &by, learned, watts, &err), LM_OK);
    for (size_t i = first; i < p.n_points; i++) {
        const double found = watts[i * N_PHASES + PHASE_INFERENCE];

        assert_true(found > 0 && found <= 151);
        sum += fabs(found / p.point[i].watts[PHASE_INFERENCE] - 1);
    }
    n = p.n_points - first;
    free(watts);
    split_free(&by);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
    registry_free(reg);
    return sum / (double)n;
}

static void powers_by_shares_come_back(void **state)
{
    (void)state;
    maps_text();
    assert_true(told(false, 0) < 0.1);
    assert_true(told(true, 0) < 0.04);
}

static void a_device_that_waits_draws_as_one(void **state)
{
    (void)state;
    hosts_text();
    assert_true(told(false, ROWS) < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_seen_where_many_reach_them),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(bad_powers_are_refused),
        cmocka_unit_test(powers_by_shares_come_back),
        cmocka_unit_test(a_device_that_waits_draws_as_one),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
