/* From observations to coefficients. */
#include "fit_nets.h"

#include "base/text.h"
#include "counts/known.h"
#include "fit/fit.h"

static void forms_are_found_by_model_and_part(void **state)
{
    (void)state;
    assert_true(n_forms <= MAX_FORMS);
    for (size_t f = 0; f < n_forms; f++) {
        assert_int_equal(form_find(forms[f].model, forms[f].part), f);
        assert_int_equal(form_find_named(forms[f].model, phase_formula(forms[f].part)), f);
        assert_in_range(forms[f].n_features, forms[f].passes ? 0 : 1,
                        forms[f].passes ? 0 : FORM_MAX_FEATURES);
        assert_true(model_known(forms[f].model));
    }
    assert_string_equal(model_at(0), "layermeter");
    assert_string_equal(model_at(1), "counts");
    assert_string_equal(model_at(2), "convmeter");
    assert_string_equal(model_at(3), "nnls");
    assert_null(model_at(4));
    assert_false(model_known("paleo"));
    assert_int_equal(form_find("convmeter", PHASE_SYNC), n_forms);
    assert_int_equal(form_find_named("convmeter", "nothing"), n_forms);
}

/* The phases a part is the sum of. */
static size_t phases_of(phase which, const char *out[3])
{
    size_t n = 0;

    if (which == PHASE_FORWARD)
        out[n++] = "forward";
    if (which == PHASE_BACKWARD || which == PHASE_BACKWARD_GRAD)
        out[n++] = "backward";
    if (which == PHASE_SYNC || which == PHASE_GRAD || which == PHASE_BACKWARD_GRAD)
        out[n++] = "sync";
    if (which == PHASE_UPDATE || which == PHASE_GRAD_ONE || which == PHASE_GRAD ||
        which == PHASE_BACKWARD_GRAD)
        out[n++] = "update";
    if (which == PHASE_INFERENCE)
        out[n++] = "inference";
    if (which == PHASE_STEP)
        out[n++] = "step";
    return n;
}

static bool needs_many(phase which)
{
    return which == PHASE_SYNC || which == PHASE_GRAD || which == PHASE_BACKWARD_GRAD;
}

/* Each form of whole networks in turn: times made of known coefficients, in full digits, give these
 * coefficients. */
static void every_form_recovers_the_coefficients_behind_the_times(void **state)
{
    static const int64_t batches[] = { 1, 3, 8, 21 }, many[] = { 2, 4, 7 }, single[] = { 1 };

    (void)state;
    for (size_t at = 0; at < n_forms; at++) {
        /* in terms: unit_shrink; all-reduces: unit_collective */
        if (!forms[at].n_features || forms[at].part == PHASE_SYNC)
            continue;
        const form    *f       = &forms[at];
        const int64_t *ranks   = needs_many(f->part) ? many : single;
        const size_t   n_ranks = needs_many(f->part) ? 3 : 1;
        workloads     *loads   = new_loads();
        double         c[FORM_MAX_FEATURES], mean[FORM_MAX_FEATURES] = { 0 };
        double         low[FORM_MAX_FEATURES], high[FORM_MAX_FEATURES];
        const char    *phase_names[3];
        const size_t   n_phases = phases_of(f->part, phase_names);
        FILE          *out;
        observations  *obs;
        calibration   *cal;
        points         p;
        lm_error       err = { LM_OK, "" };

        if (f->part == PHASE_GRAD_INPUT || f->part == PHASE_GRAD_WEIGHT) {
            workloads_free(loads);
            continue;
        }
        out = fopen("o.csv", "w");
        fputs("kind,name,phase,seconds,batch,ranks\n", out);
        for (int pass = 0; pass < 2; pass++) /* first the means, for coefficients of one size */
            for (int n = 0; n < N_NETS; n++)
                for (size_t b = 0; b < 4; b++)
                    for (size_t r = 0; r < n_ranks; r++) {
                        workload load    = { .nodes = (double)ranks[r] };
                        double   seconds = 0;
                        char     name[32], number[40];

                        snprintf(name, sizeof name, "n%d.ini", n);
                        assert_int_equal(
                            workloads_counts(loads,
                                             &(workload_name){ .name = name, .dtype = LM_F32 },
                                             batches[b], &load.counts, NULL),
                            LM_OK);
                        load.bytes = (double)load.counts.param_bytes;
                        for (size_t k = 0; k < f->n_features; k++) {
                            const double value = feature_value(f->feature[k], &load);

                            if (pass == 0) {
                                low[k]  = mean[k] == 0 ? value : fmin(low[k], value);
                                high[k] = mean[k] == 0 ? value : fmax(high[k], value);
                                mean[k] += value;
                                c[k] = (double)(k + 1) * 1e-2 / mean[k];
                            } else {
                                seconds += c[k] * value;
                            }
                        }
                        for (size_t i = 0; i < n_phases && pass == 1; i++)
                            fprintf(out, "network,%s,%s,%s,%lld,%lld\n", name, phase_names[i],
                                    text_exact(seconds / (double)n_phases, number, sizeof number),
                                    (long long)batches[b], (long long)ranks[r]);
                    }
        fclose(out);
        observations_load("o.csv", &obs, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(points_from(obs, loads, &p, &err), LM_OK);
        assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
        assert_true(cal->fitted[at].present);
        assert_int_equal(cal->fitted[at].rows, N_NETS * 4 * n_ranks);
        assert_int_equal(cal->fitted[at].rank, f->n_features);
        assert_int_equal(cal->max_ranks, ranks[n_ranks - 1]);
        for (size_t k = 0; k < f->n_features; k++) {
            const coefficient *found = &cal->fitted[at].coefficient[k];

            assert_close(found->value / c[k], 1, 1e-8);
            assert_true(found->determined && !found->at_bound);
            assert_true(found->low == low[k] && found->high == high[k]);
        }
        assert_close(cal->fitted[at].errors.mape, 0, 1e-9);
        assert_close(cal->fitted[at].errors.r2, 1, 1e-9);
        assert_int_equal(cal->fitted[at].held_out_groups, N_NETS);
        assert_close(cal->fitted[at].held_out_mape, 0, 1e-6);
        if (f->part == PHASE_FORWARD) {
            const interval *i = &calibration_intervals(cal, f->model)->of[PHASE_FORWARD];

            assert_int_equal(i->groups, N_NETS);
            assert_close(i->low * i->high, 1, 1e-6); /* all agree: the prior alone */
            assert_true(i->low > 0.9 && i->low < 0.99);
            assert_close(i->per_octave, INTERVAL_PER_OCTAVE, 0);
            assert_true(i->range[SCOPE_BATCH].low == (double)batches[0] &&
                        i->range[SCOPE_BATCH].high == (double)batches[3]);
            assert_true(isnan(i->range[SCOPE_NODES].low));
        }
        calibration_free(cal);
        points_free(&p);
        observations_free(obs);
        workloads_free(loads);
    }
}

/* Times of a part: of FLOPs, and for each layer. */
static void add_part(FILE *out, workloads *loads, const char *part, double layer)
{
    for (int n = 0; n < N_NETS; n++)
        for (int batch = 64; batch <= 128; batch *= 2) {
            workload load = { .nodes = 1 };
            char     name[32];

            snprintf(name, sizeof name, "n%d.ini", n);
            assert_int_equal(workloads_counts(loads,
                                              &(workload_name){ .name = name, .dtype = LM_F32 },
                                              batch, &load.counts, NULL),
                             LM_OK);
            fprintf(out, "network,%s,%s,%.17g,%d\n", name, part,
                    1e-9 * feature_value(FEATURE_FLOPS, &load) +
                        layer * feature_value(FEATURE_LAYERS, &load),
                    batch);
        }
}

/* Fits such times; 0: no forward passes. */
static calibration *fit_layers(double forward, double inference)
{
    FILE         *out   = fopen("o.csv", "w");
    workloads    *loads = new_loads();
    lm_error      err   = { LM_OK, "" };
    observations *obs;
    calibration  *cal;
    points        p;

    fputs("kind,name,phase,seconds,batch\n", out);
    if (forward > 0)
        add_part(out, loads, "forward", forward);
    add_part(out, loads, "inference", inference);
    fclose(out);
    observations_load("o.csv", &obs, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(points_from(obs, loads, &p, &err), LM_OK);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
    return cal;
}

/* Range of the prices of launches of a part, of those that its rows have. */
static void launch_prices(const calibration *cal, phase part, double *least, double *most)
{
    const fitted *f = &cal->fitted[form_find(DEFAULT_MODEL, part)];

    *least = HUGE_VAL;
    *most  = 0;
    assert_true(f->present);
    for (size_t t = 0; t < N_TERMS; t++)
        if (term_family_of(t) == FAMILY_LAUNCHES && f->term[t].low <= f->term[t].high) {
            *least = fmin(*least, f->term[t].value);
            *most  = fmax(*most, f->term[t].value);
        }
}

static void inference_without_launches_takes_those_of_training(void **state)
{
    double       training, least, most, dearest;
    calibration *cal;

    (void)state;
    cal = fit_layers(0, 0); /* nothing tells what a launch takes */
    launch_prices(cal, PHASE_INFERENCE, &least, &most);
    assert_true(least == 0 && most == 0);
    calibration_free(cal);
    cal = fit_layers(1e-2, 0);
    launch_prices(cal, PHASE_FORWARD, &training, &dearest);
    assert_true(training > 5e-3 && dearest < 2e-2);
    launch_prices(cal, PHASE_INFERENCE, &least, &most);
    assert_close(least / training, 1, 1e-9);
    assert_close(most / training, 1, 1e-9);
    calibration_free(cal);
    cal = fit_layers(1e-2, 1e-3); /* inference tells its own, which are cheaper */
    launch_prices(cal, PHASE_FORWARD, &training, &dearest);
    launch_prices(cal, PHASE_INFERENCE, &least, &most);
    assert_true(least > 0 && most < training / 5);
    calibration_free(cal);
}

/*
 * One coefficient, T = c L, so that leaving out is by hand: chains of 1, 2 and 4 ReLUs
 * took 1.0, 2.2 and 3.6. All: c = (1*1 + 2*2.2 + 4*3.6) / (1 + 4 + 16) = 19.8 / 21. Without the
 * first: 18.8 / 20 = 0.94; the second: 15.4 / 17; the third: 5.4 / 5 = 1.08.
 */
static void errors_on_networks_left_out_match_hand_computation(void **state)
{
    static const double left_out[] = { 0.94, 2 * 15.4 / 17, 4 * 1.08 },
                        measured[] = { 1, 2.2, 3.6 };
    workloads      *loads          = new_loads();
    observations   *obs;
    calibration    *cal;
    const fitted   *f;
    const interval *stated;
    points          p;
    double          mape = 0, mean = 0, squares = 0.1 * 0.1;
    lm_error        err;

    (void)state;
    for (int n = 1; n <= 4; n *= 2) {
        char name[32], text[200];

        snprintf(name, sizeof name, "r%d.ini", n);
        snprintf(text, sizeof text,
                 "[network]\nname = r\n[x]\ntype = input\nshape = 8\n"
                 "[a.1..%d]\ntype = relu\n",
                 n);
        folder_file(name, text);
    }
    for (size_t i = 0; i < 3; i++) {
        mape += fabs(left_out[i] - measured[i]) / measured[i] / 3;
        mean += log(measured[i] / left_out[i]) / 3;
    }
    for (size_t i = 0; i < 3; i++)
        squares += pow(log(measured[i] / left_out[i]) - mean, 2);
    squares += 0.75 * mean * mean;
    p = join(
        "kind,name,phase,seconds,batch\nnetwork,r1.ini,update,1,1\nnetwork,r2.ini,update,2.2,1\n"
        "network,r4.ini,update,3.6,1\n",
        loads, &obs);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    f = &cal->fitted[form_find("convmeter", PHASE_GRAD_ONE)];
    assert_close(f->coefficient[0].value, 19.8 / 21, 1e-14);
    assert_int_equal(f->held_out_groups, 3);
    assert_close(f->held_out_mape, mape, 1e-13);
    /* three ratios and a prior one of 1, with an error of 0.1: t(4) is 2.132 */
    stated = &calibration_intervals(cal, "convmeter")->of[PHASE_UPDATE];
    assert_int_equal(stated->groups, 3);
    assert_close(log(stated->low), 0.75 * mean - 2.132 * sqrt(squares / 4 * 1.25), 2e-3);
    assert_close(log(stated->high), 0.75 * mean + 2.132 * sqrt(squares / 4 * 1.25), 2e-3);
    /* relative errors: weights 1/t, c = sum(L/t) / sum((L/t)^2) */
    f = &cal->fitted[form_find("nnls", PHASE_GRAD_ONE)];
    assert_close(f->coefficient[0].value,
                 (1 + 2 / 2.2 + 4 / 3.6) / (1 + (2 / 2.2) * (2 / 2.2) + (4 / 3.6) * (4 / 3.6)),
                 1e-14);
    calibration_free(cal);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

/* Of four rows two are bare collectives: a network left out leaves three, a collective is never
 * left out. */
static void bare_collectives_stay_in_every_fit(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    points        p = join("kind,name,phase,seconds,batch,ranks,bytes\n"
                                  "network,n0.ini,sync,0.5,1,2,\nnetwork,n1.ini,sync,0.7,1,2,\n"
                                  "collective,allreduce,sync,0.1,,2,1024\n"
                                  "collective,allreduce,sync,0.2,,2,4096\n",
                           loads, &obs);
    split         by;
    form_data     d;
    double        predicted[4];
    size_t        known = 0;
    calibration  *cal;

    (void)state;
    assert_int_equal(split_new(&p, &(split_rule){ .kind = SPLIT_NETWORK }, &by, NULL), LM_OK);
    assert_int_equal(form_data_new(&p, form_find("layermeter", PHASE_SYNC), &by, &d, NULL), LM_OK);
    assert_int_equal(d.n_rows, 4);
    assert_int_equal(form_data_predict(&d, &p, predicted, NULL), LM_OK);
    for (size_t i = 0; i < 4; i++) {
        const bool network_row = p.point[d.point[i]].row->kind == OBS_NETWORK;

        assert_int_equal(isnan(predicted[i]) != 0, !network_row);
        known += network_row;
    }
    assert_int_equal(known, 2);
    assert_int_equal(fit_all(obs, &p, &cal, NULL), LM_OK);
    assert_int_equal(cal->fitted[form_find("layermeter", PHASE_SYNC)].held_out_groups, 2);
    calibration_free(cal);
    form_data_free(&d);
    split_free(&by);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

static void one_network_alone_has_nothing_to_be_left_out_against(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    calibration  *cal;
    points        p = join("kind,name,phase,seconds,batch\nnetwork,n0.ini,update,1,1\n"
                                  "network,n0.ini,update,1.1,1\n",
                           loads, &obs);
    const fitted *f;

    (void)state;
    assert_int_equal(fit_all(obs, &p, &cal, NULL), LM_OK);
    f = &cal->fitted[form_find("convmeter", PHASE_GRAD_ONE)];
    assert_true(f->present);
    assert_int_equal(f->held_out_groups, 0);
    assert_true(isnan(f->held_out_mape));
    assert_false(interval_known(&calibration_intervals(cal, "convmeter")->of[PHASE_UPDATE]));
    assert_false(cal->fitted[form_find("convmeter", PHASE_FORWARD)].present);
    calibration_free(cal);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

static void too_few_rows_for_any_formula_are_refused(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    calibration  *cal = NULL;
    points   p = join("kind,name,phase,seconds,batch\nnetwork,n0.ini,forward,1,1\n", loads, &obs);
    lm_error err;

    (void)state;
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "o.csv: too few rows: no formula has as many observations as coefficients; "
                 "measure more networks, batches or images");
    assert_null(cal);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_found_by_model_and_part),
        cmocka_unit_test(every_form_recovers_the_coefficients_behind_the_times),
        cmocka_unit_test(inference_without_launches_takes_those_of_training),
        cmocka_unit_test(errors_on_networks_left_out_match_hand_computation),
        cmocka_unit_test(bare_collectives_stay_in_every_fit),
        cmocka_unit_test(one_network_alone_has_nothing_to_be_left_out_against),
        cmocka_unit_test(too_few_rows_for_any_formula_are_refused),
    };

    return cmocka_run_group_tests(tests, fit_nets_enter, nets_leave);
}
