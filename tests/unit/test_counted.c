/* Terms of networks of which only counts are known, by hand; their fits and machine files. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "counts/counted.h"
#include "counts/known.h"
#include "fit/fit.h"
#include "fit/form_data.h"
#include "folder.h"
#include "machine/machine.h"

static double value(const term_vector *v, const char *name)
{
    const size_t t = term_parse(name);

    assert_true(t < N_TERMS && term_counted(t));
    for (size_t i = 0; i < v->n; i++)
        if (v->item[i].term == t)
            return v->item[i].value;
    return 0;
}

static workload read_counts(const char *text, int64_t batch)
{
    workload w;
    lm_error err = { LM_OK, "" };

    counts_parse(text, batch, LM_F32, &w, &err);
    assert_string_equal(err.text, "");
    return w;
}

static const count_knots decades = { .macs  = { 1e6, 1e7, 1e8, 1e9, 1e10 },
                                     .reuse = { 10, 100, 1000, 1e4, 1e5 } };

/* 10^7.5 MAC stand in the middle of two hats, and 10^7.5 / 10^5, too: in logarithms. */

static void hats_share_what_lies_between_knots(void **state)
{
    const workload    w = read_counts("macs=31622776.6 outputs=300 params=1e5", 4);
    term_item         room[N_TERMS];
    const term_vector v = counted_terms(&w, &decades, false, room);

    (void)state;
    assert_int_equal(v.n, 10);
    assert_close(value(&v, "size2.flops.forward") / (0.5 * 2 * 4 * 31622776.6), 1, 1e-8);
    assert_close(value(&v, "size3.flops.forward") / (0.5 * 2 * 4 * 31622776.6), 1, 1e-8);
    assert_close(value(&v, "size2.outputs.forward"), 0.5 * 4 * 300, 1e-8);
    assert_close(value(&v, "size3.outputs.forward"), 0.5 * 4 * 300, 1e-8);
    assert_close(value(&v, "reuse2.flops.forward") / (0.5 * 2 * 4 * 31622776.6), 1, 1e-8);
    assert_close(value(&v, "reuse3.outputs.forward"), 0.5 * 4 * 300, 1e-8);
    assert_close(value(&v, "counted.weights.forward"), 1e5, 0);
    assert_close(value(&v, "counted.steps.forward"), 1, 0);
}

static void hats_are_flat_outside(void **state)
{
    const workload small = read_counts("macs=1e5 outputs=300 params=1e5", 1);
    const workload large = read_counts("macs=1e12 outputs=300 params=1e5", 1);
    term_item      room[N_TERMS];
    term_vector    v = counted_terms(&small, &decades, false, room);

    (void)state;
    assert_int_equal(v.n, 6);
    assert_close(value(&v, "size1.flops.forward"), 2e5, 0);
    assert_close(value(&v, "reuse1.outputs.forward"), 300, 0);
    v = counted_terms(&large, &decades, false, room);
    assert_close(value(&v, "size5.outputs.forward"), 300, 1e-12);
    assert_close(value(&v, "reuse5.flops.forward"), 2e12, 1e-12);
}

/* Knots that are the same: all hats together still are 1. */
static void knots_may_coincide(void **state)
{
    const count_knots same = { .macs  = { 1e6, 1e6, 1e6, 1e6, 1e6 },
                               .reuse = { 10, 10, 20, 20, 20 } };
    const workload    w    = read_counts("macs=1e6 outputs=300 params=50000", 1);
    term_item         room[N_TERMS];
    const term_vector v   = counted_terms(&w, &same, false, room);
    double            sum = 0;

    (void)state;
    for (size_t i = 0; i < v.n; i++) {
        assert_true(isfinite(v.item[i].value));
        sum += v.item[i].value;
    }
    assert_close(sum, 2 * (2e6 + 300) + 50000 + 1, 1e-12);
}

static void an_update_is_of_weights(void **state)
{
    const workload    w = read_counts("macs=1e7 outputs=300 params=1e5", 8);
    term_item         room[N_TERMS];
    const term_vector v = counted_terms(&w, &decades, true, room);

    (void)state;
    assert_int_equal(v.n, 2);
    assert_close(value(&v, "counted.weights.forward"), 1e5, 0);
    assert_close(value(&v, "counted.steps.forward"), 1, 0);
}

static void what_lacks_a_count_or_knots_has_no_terms(void **state)
{
    const workload w         = read_counts("macs=1e7 outputs=300 params=1e5", 8);
    const workload no_params = read_counts("macs=1e7 outputs=300", 8);
    const workload layers    = { .nodes = 1 };
    term_item      room[N_TERMS];

    (void)state;
    assert_true(counted_only(&w));
    assert_false(counted_only(&no_params));
    assert_false(counted_only(&layers));
    assert_int_equal(counted_terms(&no_params, &decades, false, room).n, 0);
    assert_int_equal(counted_terms(&w, &count_knots_none, false, room).n, 0);
}

/* 51 networks, each a tenth larger than the one before: quantile q is the network 50 q. */
static void knots_are_quantiles(void **state)
{
    /* 1.1^1, 1.1^13, 1.1^25, 1.1^37, 1.1^49 to four digits */
    static const double expected[] = { 1.1e6, 3.452e6, 1.083e7, 3.4e7, 1.067e8 };
    workload            load[51];
    const workload     *all[51];
    count_knots         k;

    (void)state;
    for (size_t i = 0; i < 51; i++) {
        load[i]                      = (workload){ .samples = 2 };
        all[(i * 20) % 51]           = &load[i];
        load[i].counts.params        = 1000;
        load[i].counts.flops_forward = (uint64_t)llround(2 * 2e6 * pow(1.1, (double)i));
    }
    assert_int_equal(counted_knots(all, 51, &k, NULL), LM_OK);
    for (size_t i = 0; i < TERM_KNOTS; i++) {
        assert_close(k.macs[i] / expected[i], 1, 1e-12);
        assert_close(k.reuse[i] / (expected[i] / 1000), 1, 1e-3);
    }
    assert_int_equal(counted_knots(all, 0, &k, NULL), LM_OK);
    assert_true(k.macs[0] == 0 && k.reuse[4] == 0);
}

#define NETWORKS 400

/* Networks of which a FLOP costs 1e-12 s, below 10^9 MAC three times that, an output 1e-9 s, a step
 * 1e-4 s. */
static observations *make_rows(void)
{
    static char   text[NETWORKS * 120];
    observations *obs;
    lm_error      err = { LM_OK, "" };
    size_t        n   = (size_t)sprintf(text, "kind,name,group,phase,seconds,batch,geometry\n");

    for (int i = 0; i < NETWORKS; i++) {
        const double macs    = 1e8 * pow(10, 2.0 * (i * 7 % NETWORKS) / NETWORKS);
        const double outputs = 1e6 * pow(10, (double)(i * 11 % NETWORKS) / NETWORKS);
        const double params  = 1e6 * pow(10, (double)(i * 13 % NETWORKS) / NETWORKS);
        const double price   = macs < 1e9 ? 3e-12 : 1e-12;

        n += (size_t)sprintf(
            text + n, "counts,n%d,g%d,inference,%.17g,4,macs=%.0f outputs=%.0f params=%.0f\n", i,
            i % 10, 4 * 2 * macs * price + 4 * outputs * 1e-9 + 1e-4, macs, outputs, params);
    }
    observations_load(folder_file("o.csv", text), &obs, &err);
    assert_string_equal(err.text, "");
    return obs;
}

/* The price drifts with the size: the hats follow, one price for all cannot. The machine file says
 * the same as the fit. */
static void prices_that_drift_are_followed_and_kept(void **state)
{
    const size_t  at  = form_find("layermeter", PHASE_INFERENCE);
    observations *obs = make_rows();
    workloads    *loads;
    points        p;
    calibration  *cal, *read;
    lm_error      err = { LM_OK, "" };

    (void)state;
    assert_int_equal(workloads_new(NULL, &loads, &err), LM_OK);
    assert_int_equal(points_from(obs, loads, &p, &err), LM_OK);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    assert_true(cal->fitted[at].present);
    assert_int_equal(cal->fitted[at].rows, NETWORKS);
    assert_true(cal->fitted[at].held_out_mape <
                0.8 * cal->fitted[form_find("nnls", PHASE_INFERENCE)].held_out_mape);
    /* nothing is said of kernels that nobody measured */
    assert_true(isnan(cal->fitted[at].term[term_parse("conv1x1.flops.forward")].value));
    assert_int_equal(machine_save(cal, "c.ini", &err), LM_OK);
    assert_int_equal(machine_load("c.ini", &read, &err), LM_OK);
    assert_memory_equal(&read->fitted[at].knots, &cal->fitted[at].knots, sizeof(count_knots));
    for (size_t i = 0; i < p.n_points; i++) {
        const double seconds = calibration_seconds(cal, at, &p.point[i].load);

        assert_true(seconds > 0);
        assert_close(calibration_seconds(read, at, &p.point[i].load) / seconds, 1, 1e-12);
    }
    calibration_free(read);
    calibration_free(cal);
    points_free(&p);
    workloads_free(loads);
    observations_free(obs);
}

/* A fit to all folds but one puts its knots by these alone. */
static void knots_are_those_of_the_training_rows(void **state)
{
    const size_t    at  = form_find("layermeter", PHASE_INFERENCE);
    observations   *obs = make_rows();
    workloads      *loads;
    points          p;
    split           by;
    form_data       d;
    form_solution   all, rest;
    count_knots     expected;
    const workload *seen[NETWORKS];
    size_t          n   = 0;
    lm_error        err = { LM_OK, "" };

    (void)state;
    assert_int_equal(workloads_new(NULL, &loads, &err), LM_OK);
    assert_int_equal(points_from(obs, loads, &p, &err), LM_OK);
    assert_int_equal(split_new(&p, &(split_rule){ .kind = SPLIT_NETWORK }, &by, &err), LM_OK);
    assert_int_equal(by.n_folds, 10);
    for (size_t i = 0; i < p.n_points; i++)
        if (by.fold[i] != 3)
            seen[n++] = &p.point[i].load;
    assert_int_equal(n, NETWORKS - NETWORKS / 10);
    assert_int_equal(counted_knots(seen, n, &expected, &err), LM_OK);
    assert_int_equal(form_data_new(&p, at, &by, &d, &err), LM_OK);
    assert_int_equal(form_data_fit(&d, SPLIT_ALWAYS, &all, &err), LM_OK);
    assert_int_equal(form_data_fit(&d, 3, &rest, &err), LM_OK);
    assert_memory_equal(&rest.knots, &expected, sizeof expected);
    assert_true(memcmp(&all.knots, &expected, sizeof expected) != 0);
    form_data_free(&d);
    split_free(&by);
    points_free(&p);
    workloads_free(loads);
    observations_free(obs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hats_share_what_lies_between_knots),
        cmocka_unit_test(hats_are_flat_outside),
        cmocka_unit_test(knots_may_coincide),
        cmocka_unit_test(an_update_is_of_weights),
        cmocka_unit_test(what_lacks_a_count_or_knots_has_no_terms),
        cmocka_unit_test(knots_are_quantiles),
        cmocka_unit_test(prices_that_drift_are_followed_and_kept),
        cmocka_unit_test(knots_are_those_of_the_training_rows),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
