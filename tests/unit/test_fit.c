/* From observations to coefficients, and the machine file that keeps them. */
#include "nets.h"

#include "base/text.h"
#include "features/counts.h"
#include "fit/fit.h"

/* Networks that differ in each regressor, as n0.ini, n1.ini ... */
#define N_NETS 8

static int enter(void **state)
{
    static const struct {
        int filters, kernel, repeats, features;
    } nets[N_NETS] = { { 4, 3, 1, 10 },   { 16, 1, 2, 300 }, { 6, 5, 3, 40 },  { 32, 3, 1, 7 },
                       { 3, 7, 5, 1000 }, { 24, 1, 9, 20 },  { 9, 3, 6, 500 }, { 2, 1, 12, 90 } };

    if (nets_enter(state))
        return -1;
    for (int i = 0; i < N_NETS; i++) {
        char name[32], text[512];

        snprintf(name, sizeof name, "n%d.ini", i);
        snprintf(
            text, sizeof text,
            "[network]\nname = n%d\n[x]\ntype = input\nshape = 3x16x16\n"
            "[block b]\n[b/c]\ntype = conv2d\nfilters = %d\nkernel = %d\npadding = %d\nbias = no\n"
            "[b/r]\ntype = relu\n"
            "[b.1..%d]\nblock = b\n[p]\ntype = global_avg_pool\n[f]\ntype = flatten\n"
            "[l]\ntype = linear\nfeatures = %d\n",
            i, nets[i].filters, nets[i].kernel, nets[i].kernel / 2, nets[i].repeats,
            nets[i].features);
        folder_file(name, text);
    }
    return 0;
}

static workloads *new_loads(void)
{
    workloads *loads;

    assert_int_equal(workloads_new(nets_registry, &loads, NULL), LM_OK);
    return loads;
}

static void features_follow_their_definitions(void **state)
{
    const workload      one                  = { .nodes = 1, .bytes = 1000 };
    const workload      four                 = { .counts = { .flops_forward = 7,
                                                             .conv_inputs   = 8,
                                                             .conv_outputs  = 9,
                                                             .layers        = 10,
                                                             .params        = 11 },
                                                 .nodes  = 4,
                                                 .bytes  = 1000 };
    static const double expected[N_FEATURES] = { 7, 8, 9, 1, 10, 11, 4, 6, 1500 };

    (void)state;
    for (feature f = 0; f < N_FEATURES; f++) {
        assert_close(feature_value(f, &four), expected[f], 0);
        assert_int_equal(feature_parse(feature_name(f)), f);
    }
    /* a ring of one sends nothing */
    assert_close(feature_value(FEATURE_RING_STEPS, &one), 0, 0);
    assert_close(feature_value(FEATURE_RING_BYTES, &one), 0, 0);
    assert_int_equal(feature_parse("bytes"), N_FEATURES);
    assert_string_equal(feature_unit(FEATURE_RING_BYTES), "byte");
}

static void counts_are_read_at_their_batch(void **state)
{
    workload w;
    lm_error err = { LM_OK, "" };

    (void)state;
    assert_int_equal(counts_parse("params=2.5e1 macs=4.1e9  outputs=1.5", 2, LM_F16, &w, &err),
                     LM_OK);
    assert_close(feature_value(FEATURE_FLOPS, &w), 2 * 2 * 4.1e9, 0);
    assert_close(feature_value(FEATURE_OUTPUTS, &w), 3, 0);
    assert_close(feature_value(FEATURE_WEIGHTS, &w), 25, 0);
    assert_int_equal(w.counts.param_bytes, 50);
    assert_true(isnan(feature_value(FEATURE_INPUTS, &w)));
    assert_true(isnan(feature_value(FEATURE_LAYERS, &w)));
    assert_close(feature_value(FEATURE_ONE, &w), 1, 0);
    assert_close(feature_seconds(FEATURE_OUTPUTS, 2, &w), 6, 0);
    assert_close(feature_seconds(FEATURE_INPUTS, 0, &w), 0, 0); /* what costs nothing */
    assert_true(isnan(feature_seconds(FEATURE_INPUTS, 2, &w)));
    assert_int_equal(counts_parse("macs=1", 1, LM_F32, &w, &err), LM_OK);
    assert_true(isnan(feature_value(FEATURE_RING_BYTES, &w)));
}

static void counts_that_cannot_be_read_are_named(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   status;
    } cases[] = {
        { "", "'macs' is missing: of counts it is the one needed", LM_E_SYNTAX },
        { "outputs=3", "'macs' is missing: of counts it is the one needed", LM_E_SYNTAX },
        { "macs", "expected key=number, found 'macs'", LM_E_SYNTAX },
        { "macs=4G", "macs: expected a finite number, found '4G'", LM_E_ARG },
        { "macs=-1", "macs: -1 is negative", LM_E_ARG },
        { "macs=1 macs=1", "'macs' stands there twice", LM_E_SYNTAX },
        { "flops=1", "'flops' is no count; known are macs, inputs, outputs, layers, params",
          LM_E_NOTFOUND },
        { "macs=1e18", "macs: 1e18 at batch 8 does not fit 64 bits", LM_E_OVERFLOW },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        workload w;
        lm_error err = { LM_OK, "" };

        assert_int_equal(counts_parse(cases[i].text, 8, LM_F32, &w, &err), cases[i].status);
        assert_string_equal(err.text, cases[i].message);
    }
}

static void forms_are_found_by_model_and_part(void **state)
{
    (void)state;
    assert_true(n_forms <= MAX_FORMS);
    for (size_t f = 0; f < n_forms; f++) {
        assert_int_equal(form_find(forms[f].model, forms[f].part), f);
        assert_int_equal(form_find_named(forms[f].model, part_name(forms[f].part)), f);
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
    assert_int_equal(form_find("convmeter", PART_SYNC), n_forms);
    assert_int_equal(form_find_named("convmeter", "nothing"), n_forms);
}

static points join(const char *text, workloads *loads, observations **obs)
{
    points   p   = { 0 };
    lm_error err = { LM_OK, "" };

    observations_load(folder_file("o.csv", text), obs, &err);
    assert_string_equal(err.text, "");
    points_from(*obs, loads, &p, &err);
    assert_string_equal(err.text, "");
    return p;
}

static void rows_of_one_configuration_make_one_point(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    points p = join("kind,name,phase,seconds,batch,ranks,bytes,algorithm,geometry,status,threads\n"
                    "network,n0.ini,forward,1,2,1,,,,ok,\n"
                    "network,n0.ini,backward,2,2,1,,,,ok,\n"
                    "network,n1.ini,forward,3,2,1,,,,ok,\n"
                    "network,n0.ini,update,4,2,1,,,,ok,\n"  /* joins the first, though apart */
                    "network,n0.ini,forward,5,2,1,,,,ok,\n" /* measured again: a point of its own */
                    "network,n0.ini,backward,6,2,1,,,,ok,\n"
                    "network,n0.ini,forward,7,4,1,,,,ok,\n"  /* another batch */
                    "network,n0.ini,forward,8,2,1,,,,ok,3\n" /* other threads */
                    "network,n0.ini,backward,,4,1,,,,skipped-memory,\n"
                    "collective,allreduce,sync,9,,4,1000,default,,ok,\n"
                    "collective,allreduce,sync,10,,4,1000,ring,,ok,\n"
                    "kernel,copy,forward,11,,,,,bytes=1,ok,\n",
                    loads, &obs);

    (void)state;
    assert_int_equal(p.n_points, 7);
    assert_int_equal(p.n_groups, 3);
    assert_int_equal(p.n_kernel_rows, 1);
    assert_string_equal(p.group[0], "n0.ini");
    assert_string_equal(p.group[1], "n1.ini");
    assert_true(p.point[0].seconds[PHASE_FORWARD] == 1 && p.point[0].seconds[PHASE_BACKWARD] == 2 &&
                p.point[0].seconds[PHASE_UPDATE] == 4);
    assert_true(p.point[1].seconds[PHASE_FORWARD] == 3 && isnan(p.point[1].seconds[PHASE_UPDATE]));
    assert_true(p.point[2].seconds[PHASE_FORWARD] == 5 && p.point[2].seconds[PHASE_BACKWARD] == 6);
    assert_true(p.point[3].seconds[PHASE_FORWARD] == 7 &&
                isnan(p.point[3].seconds[PHASE_BACKWARD]));
    assert_true(p.point[4].seconds[PHASE_FORWARD] == 8);
    assert_int_equal(p.point[5].group, 2);
    assert_int_equal(p.point[6].group, 2);
    assert_true(p.point[5].load.bytes == 1000 && p.point[5].load.nodes == 4);
    assert_int_equal(p.point[0].load.counts.layers, 4); /* conv, relu, pool, linear */
    assert_true(p.point[0].load.bytes == (double)p.point[0].load.counts.param_bytes);
    assert_int_equal(p.point[3].load.counts.conv_outputs, 2 * p.point[0].load.counts.conv_outputs);

    /* a part exists where its phases are measured, and on its number of nodes */
    assert_true(point_seconds(&p.point[0], PART_FORWARD) == 1);
    assert_true(point_seconds(&p.point[0], PART_UPDATE) == 4);
    assert_true(point_seconds(&p.point[0], PART_GRAD_ONE) == 4);
    assert_true(isnan(point_seconds(&p.point[0], PART_GRAD_MANY)));
    assert_true(isnan(point_seconds(&p.point[0], PART_SYNC)));
    assert_true(isnan(point_seconds(&p.point[1], PART_BACKWARD)));
    assert_true(point_seconds(&p.point[5], PART_SYNC) == 9);
    assert_true(
        isnan(point_seconds(&p.point[6], PART_SYNC))); /* the ring is not what training uses */
    assert_true(isnan(point_seconds(&p.point[5], PART_FORWARD)));
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

/* What stays of each phase at the points of a file, after flags were settled. */
static void flagged_times_give_way_to_the_same_without(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    points        p         = join("kind,name,phase,seconds,batch,flags\n"
                                                  "network,n0.ini,forward,2,1,contended\n" /* 0: measured again */
                                   "network,n0.ini,update,3,1,contended\n"
                                                  "network,n1.ini,forward,5,1,contended\n" /* 1: again, worse */
                                   "network,n2.ini,forward,9,1,throttled\n" /* 2: half of it again */
                                   "network,n2.ini,update,8,1,throttled\n"
                                                  "network,n3.ini,forward,1,1,\n" /* 3: the anchor */
                                   "network,n1.ini,forward,4,1,contended drifted\n" /* 4: better */
                                   "network,n3.ini,forward,1.5,1,anchor\n"          /* 5 */
                                   "network,n1.ini,forward,6,1,contended\n"         /* 6 */
                                   "network,n0.ini,forward,1,1,\n"                  /* 7 */
                                   "network,n0.ini,update,1,1,\n"
                                                  "network,n2.ini,forward,7,1,\n"           /* 8 */
                                   "network,n3.ini,forward,1.4,1,anchor\n"   /* 9 */
                                   "network,n0.ini,forward,1.2,1,\n"         /* 10: once more */
                                   "network,n4.ini,forward,3,1,contended\n"  /* 11: anchors only */
                                   "network,n4.ini,forward,2,1,anchor\n"     /* 12: the first */
                                   "network,n4.ini,forward,1,1,anchor\n"     /* 13 */
                                   "network,n4.ini,forward,1,2,contended\n", /* 14: another batch */
                                   loads, &obs);
    const double  forward[] = { NAN, NAN, NAN, 1, 4, NAN, NAN, 1, 7, NAN, 1.2, NAN, 2, NAN, 1 };
    const double  update[]  = { NAN, NAN, 8, NAN, NAN, NAN, NAN, 1 };

    (void)state;
    assert_int_equal(p.n_points, 15);
    for (size_t i = 0; i < 15; i++) {
        const double u = i < 8 ? update[i] : NAN;
        const double f = p.point[i].seconds[PHASE_FORWARD], g = p.point[i].seconds[PHASE_UPDATE];

        if (!(isnan(forward[i]) ? isnan(f) : f == forward[i]))
            fail_msg("point %zu: forward %g, expected %g", i, f, forward[i]);
        if (!(isnan(u) ? isnan(g) : g == u))
            fail_msg("point %zu: update %g, expected %g", i, g, u);
    }
    assert_int_equal(p.n_flagged_out, 4);  /* 0, 1, 6, 11 */
    assert_int_equal(p.n_flagged_used, 3); /* 2, 4, 14 */
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

static void parts_on_several_nodes_add_their_phases(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    points        p = join("kind,name,phase,seconds,batch,ranks\n"
                                  "network,n0.ini,backward,1,2,4\nnetwork,n0.ini,sync,2,2,4\n"
                                  "network,n0.ini,update,4,2,4\nnetwork,n1.ini,update,4,2,4\n",
                           loads, &obs);

    (void)state;
    assert_true(point_seconds(&p.point[0], PART_GRAD_MANY) == 6);
    assert_true(point_seconds(&p.point[0], PART_JOINT) == 7);
    assert_true(point_seconds(&p.point[0], PART_SYNC) == 2);
    assert_true(isnan(point_seconds(&p.point[0], PART_GRAD_ONE)));
    assert_true(isnan(point_seconds(&p.point[1], PART_GRAD_MANY))); /* no sync there */
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

/* A step is one part where its phases are not known, and on one node; an evaluation is none of it.
 */
static void steps_without_phases_and_evaluations_are_parts(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    points        p = join("kind,name,phase,seconds,batch,ranks\n"
                                  "network,n0.ini,step,1,2,1\nnetwork,n0.ini,inference,2,2,1\n"
                                  "network,n1.ini,forward,3,2,1\nnetwork,n1.ini,backward,4,2,1\n"
                                  "network,n1.ini,step,5,2,1\nnetwork,n2.ini,step,6,2,4\n"
                                  "network,n3.ini,forward,7,2,1\nnetwork,n3.ini,backward,8,2,1\n"
                                  "network,n3.ini,update,9,2,1\nnetwork,n3.ini,step,10,2,1\n",
                           loads, &obs);

    (void)state;
    assert_int_equal(p.n_points, 4);
    assert_true(point_seconds(&p.point[0], PART_STEP) == 1);
    assert_true(point_seconds(&p.point[0], PART_INFERENCE) == 2);
    assert_true(isnan(point_seconds(&p.point[0], PART_FORWARD)));
    assert_true(point_seconds(&p.point[1], PART_STEP) == 5); /* without its update */
    assert_true(isnan(point_seconds(&p.point[1], PART_INFERENCE)));
    assert_true(isnan(point_seconds(&p.point[2], PART_STEP))); /* of several nodes */
    assert_true(isnan(point_seconds(&p.point[3], PART_STEP)));
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

/* Rows are left out by their group, those without one by their network; a collective has none. */
static void what_is_left_out_together_may_be_said(void **state)
{
    static const size_t group[] = { 0, 0, 1, 2, 0 };
    workloads          *loads   = new_loads();
    observations       *obs;
    points              p = join("kind,name,phase,seconds,batch,ranks,bytes,group\n"
                                              "network,n0.ini,forward,1,2,1,,odd\nnetwork,n1.ini,forward,2,2,1,,odd\n"
                                              "network,n1.ini,forward,3,4,1,,\ncollective,allreduce,sync,4,,2,8,odd\n"
                                              "network,n2.ini,forward,5,2,1,,odd\n",
                                 loads, &obs);

    (void)state;
    assert_int_equal(p.n_groups, 3);
    assert_string_equal(p.group[0], "odd");
    assert_string_equal(p.group[1], "n1.ini");
    assert_int_equal(p.collectives, 2);
    for (size_t i = 0; i < p.n_points; i++)
        assert_int_equal(p.point[i].group, group[i]);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

/* conv2d: 3x8x8 -> 4x8x8 by a 3x3 window, 108 weights and 4 of its bias; what follows adds none.
 */
static void single_layers_are_points_where_there_is_no_network(void **state)
{
    static const char layers[] =
        "kind,name,phase,seconds,batch,input,geometry,optimizer\n"
        "layer,conv2d,inference,1,2,3x8x8,filters=4 kernel=3 padding=1,\n"
        "layer,conv2d,grad_input,4,2,3x8x8,filters=4 kernel=3 padding=1,\n"
        "layer,conv2d,grad_weight,5,2,3x8x8,filters=4 kernel=3 padding=1,\n"
        "layer,conv2d; relu,step,2,2,3x8x8,filters=4 kernel=3 padding=1;,rmsprop\n"
        "layer,conv2d; relu; mse_loss,step,3,2,3x8x8,filters=4 kernel=3 padding=1,adam\n";
    workloads    *loads = new_loads();
    observations *obs;
    points        p = join(layers, loads, &obs);
    char          text[1000];

    (void)state;
    assert_int_equal(p.n_points, 3);
    assert_int_equal(p.n_layer_rows, 0);
    assert_string_equal(p.group[1], "conv2d; relu");
    assert_true(point_seconds(&p.point[0], PART_INFERENCE) == 1);
    assert_true(point_seconds(&p.point[0], PART_GRAD_INPUT) == 4);
    assert_true(point_seconds(&p.point[0], PART_GRAD_WEIGHT) == 5);
    assert_true(isnan(point_seconds(&p.point[0], PART_BACKWARD)));
    assert_true(point_seconds(&p.point[1], PART_STEP) == 2);
    assert_true(point_seconds(&p.point[2], PART_STEP) == 3); /* of any optimizer */
    for (size_t i = 0; i < 3; i++) {
        const net_metrics *m = &p.point[i].load.counts;

        assert_int_equal(m->flops_forward, 2 * 2 * 64 * 4 * 27);
        assert_int_equal(m->conv_inputs, 2 * 3 * 64);
        assert_int_equal(m->conv_outputs, 2 * 4 * 64);
        assert_int_equal(m->params, 112);
    }
    points_free(&p);
    observations_free(obs);

    snprintf(text, sizeof text, "%snetwork,n0.ini,forward,1,1,,,\n", layers);
    p = join(text, loads, &obs);
    assert_int_equal(p.n_points, 1);
    assert_int_equal(p.n_layer_rows, 5);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

/* T = 2e-12 FLOP + 1e-3; outputs are known of two rows only and left out, which is said. */
static void a_count_that_some_rows_lack_is_left_out(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    calibration  *cal;
    fitted       *f;
    lm_error      err = { LM_OK, "" };
    points        p   = join("kind,name,phase,seconds,batch,geometry\n"
                                      "counts,a,inference,3e-3,1,macs=5e8 outputs=7\n"
                                      "counts,b,inference,5e-3,1,macs=1e9 outputs=900\n"
                                      "counts,c,inference,9e-3,2,macs=1e9\n"
                                      "counts,d,inference,13e-3,3,macs=1e9\n"
                                      "counts,e,inference,17e-3,4,macs=1e9\n",
                             loads, &obs);

    (void)state;
    assert_int_equal(p.n_groups, 5);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    f = &cal->fitted[form_find("nnls", PART_INFERENCE)];
    assert_close(f->coefficient[0].value / 2e-12, 1, 1e-9);
    assert_close(f->coefficient[3].value, 1e-3, 1e-12);
    for (size_t k = 1; k <= 2; k++) {
        assert_true(f->coefficient[k].value == 0 && !f->coefficient[k].determined);
        assert_true(isnan(f->coefficient[k].low) && isnan(f->coefficient[k].high));
    }
    assert_close(f->held_out_mape, 0, 1e-9);
    assert_int_equal(calibration_save(cal, "c.ini", &err), LM_OK);
    calibration_free(cal);
    assert_int_equal(calibration_load("c.ini", &cal, &err), LM_OK);
    assert_true(isnan(cal->fitted[form_find("nnls", PART_INFERENCE)].coefficient[1].low));
    assert_close(calibration_seconds(cal, form_find("nnls", PART_INFERENCE), &p.point[3].load),
                 13e-3, 1e-12);
    calibration_free(cal);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

/* The usual optimizer is momentum, as the first row does not say; buckets hide an all-reduce behind
 * a backward pass that is no longer alone. Forward passes and the usual updates stay. */
static void steps_of_other_kinds_are_left_out(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    points        p = join("kind,name,phase,seconds,batch,ranks,optimizer,bucket_bytes\n"
                                  "network,n0.ini,backward,1,2,2,,\nnetwork,n0.ini,sync,2,2,2,,\n"
                                  "network,n0.ini,update,3,2,2,,\n"
                                  "network,n0.ini,backward,4,2,2,adam,\nnetwork,n0.ini,update,5,2,2,adam,\n"
                                  "network,n0.ini,forward,6,2,2,momentum,1048576\n"
                                  "network,n0.ini,backward,7,2,2,momentum,1048576\n"
                                  "network,n0.ini,sync,8,2,2,momentum,1048576\n"
                                  "network,n0.ini,update,9,2,2,momentum,1048576\n",
                           loads, &obs);

    (void)state;
    assert_int_equal(p.n_points, 3);
    assert_int_equal(p.n_other_optimizer, 1);
    assert_true(point_seconds(&p.point[0], PART_SYNC) == 2);
    assert_true(point_seconds(&p.point[1], PART_BACKWARD) == 4);
    assert_true(isnan(point_seconds(&p.point[1], PART_UPDATE)));
    assert_true(point_seconds(&p.point[2], PART_FORWARD) == 6);
    assert_true(isnan(point_seconds(&p.point[2], PART_BACKWARD)));
    assert_true(isnan(point_seconds(&p.point[2], PART_SYNC)));
    assert_true(point_seconds(&p.point[2], PART_UPDATE) == 9);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

/* Names so long that the key of a configuration is cut must still not join what differs. */
static void long_names_do_not_join_different_batches(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    points        p;
    char          name[600] = "", text[3000];

    (void)state;
    for (int i = 0; i < 280; i++)
        strcat(name, "./");
    strcat(name, "n0.ini");
    snprintf(text, sizeof text,
             "kind,name,phase,seconds,batch\nnetwork,%s,forward,1,2\nnetwork,n1.ini,forward,2,2\n"
             "network,%s,backward,3,4\n",
             name, name);
    p = join(text, loads, &obs);
    assert_int_equal(p.n_points, 3);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

static void a_row_whose_network_cannot_be_counted_is_named(void **state)
{
    static const struct {
        const char *row, *message;
    } cases[] = {
        { "network,gone.ini,forward,1,2,\n", "o.csv:2: gone.ini: No such file or directory" },
        { "layer,relu,forward,1,2,\n", "o.csv:2: input: a layer needs its shape" },
        { "layer,relu;nothing,forward,1,2,8\n",
          "o.csv:2: unknown layer type 'nothing'; 'layermeter layers' lists them" },
        { "network,n0.ini,forward,1,2,3x\n",
          "o.csv:2: n0.ini:3: layer 'x': expected a shape such as 3x224x224, found '3x'" },
    };
    workloads *loads = new_loads();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        observations *obs;
        points        p;
        char          text[200];
        lm_error      err;

        snprintf(text, sizeof text, "kind,name,phase,seconds,batch,input\n%s", cases[i].row);
        assert_int_equal(observations_load(folder_file("o.csv", text), &obs, NULL), LM_OK);
        assert_int_not_equal(points_from(obs, loads, &p, &err), LM_OK);
        assert_string_equal(err.text, cases[i].message);
        observations_free(obs);
    }
    workloads_free(loads);
}

/* ---- fits
 * ------------------------------------------------------------------------------------------ */

/* The phases a part is the sum of. */
static size_t phases_of(part which, const char *out[3])
{
    size_t n = 0;

    if (which == PART_FORWARD)
        out[n++] = "forward";
    if (which == PART_BACKWARD || which == PART_JOINT)
        out[n++] = "backward";
    if (which == PART_SYNC || which == PART_GRAD_MANY || which == PART_JOINT)
        out[n++] = "sync";
    if (which == PART_UPDATE || which == PART_GRAD_ONE || which == PART_GRAD_MANY ||
        which == PART_JOINT)
        out[n++] = "update";
    if (which == PART_INFERENCE)
        out[n++] = "inference";
    if (which == PART_STEP)
        out[n++] = "step";
    return n;
}

static bool needs_many(part which)
{
    return which == PART_SYNC || which == PART_GRAD_MANY || which == PART_JOINT;
}

/* Each form of whole networks in turn: times made of known coefficients, in full digits, give these
 * coefficients. */
static void every_form_recovers_the_coefficients_behind_the_times(void **state)
{
    static const int64_t batches[] = { 1, 3, 8, 21 }, many[] = { 2, 4, 7 }, single[] = { 1 };

    (void)state;
    for (size_t at = 0; at < n_forms; at++) {
        /* in terms: unit_shrink; all-reduces: unit_collective */
        if (!forms[at].n_features || forms[at].part == PART_SYNC)
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

        if (f->part == PART_GRAD_INPUT || f->part == PART_GRAD_WEIGHT) {
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
                        assert_int_equal(workloads_counts(loads, name, "", LM_F32, batches[b],
                                                          &load.counts, NULL),
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
        if (f->part == PART_FORWARD) {
            const interval *i = &calibration_intervals(cal, f->model)->of[QUANTITY_FORWARD];

            assert_int_equal(i->groups, N_NETS);
            assert_close(i->low, 1, 1e-6);
            assert_close(i->high, 1, 1e-6);
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
    double          mape = 0, low = 1, high = 1;
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
        low  = fmin(low, measured[i] / left_out[i]);
        high = fmax(high, measured[i] / left_out[i]);
    }
    p = join(
        "kind,name,phase,seconds,batch\nnetwork,r1.ini,update,1,1\nnetwork,r2.ini,update,2.2,1\n"
        "network,r4.ini,update,3.6,1\n",
        loads, &obs);
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_OK);
    f = &cal->fitted[form_find("convmeter", PART_GRAD_ONE)];
    assert_close(f->coefficient[0].value, 19.8 / 21, 1e-14);
    assert_int_equal(f->held_out_groups, 3);
    assert_close(f->held_out_mape, mape, 1e-13);
    /* of three ratios, 90 % raised by a third is all of them: the interval is their range */
    stated = &calibration_intervals(cal, "convmeter")->of[QUANTITY_UPDATE];
    assert_int_equal(stated->groups, 3);
    assert_close(stated->low, low, 1e-13);
    assert_close(stated->high, high, 1e-13);
    /* relative errors: weights 1/t, c = sum(L/t) / sum((L/t)^2) */
    f = &cal->fitted[form_find("nnls", PART_GRAD_ONE)];
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
    assert_int_equal(form_data_new(&p, form_find("layermeter", PART_SYNC), &by, &d, NULL), LM_OK);
    assert_int_equal(d.n_rows, 4);
    assert_int_equal(form_data_predict(&d, &p, predicted, NULL), LM_OK);
    for (size_t i = 0; i < 4; i++) {
        const bool network_row = p.point[d.point[i]].row->kind == OBS_NETWORK;

        assert_int_equal(isnan(predicted[i]) != 0, !network_row);
        known += network_row;
    }
    assert_int_equal(known, 2);
    assert_int_equal(fit_all(obs, &p, &cal, NULL), LM_OK);
    assert_int_equal(cal->fitted[form_find("layermeter", PART_SYNC)].held_out_groups, 2);
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
    f = &cal->fitted[form_find("convmeter", PART_GRAD_ONE)];
    assert_true(f->present);
    assert_int_equal(f->held_out_groups, 0);
    assert_true(isnan(f->held_out_mape));
    assert_false(interval_known(&calibration_intervals(cal, "convmeter")->of[QUANTITY_UPDATE]));
    assert_false(cal->fitted[form_find("convmeter", PART_FORWARD)].present);
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

/* ---- counts at any batch
 * --------------------------------------------------------------------------- */

static void counts_of_a_large_batch_are_those_of_binding_it(void **state)
{
    workloads  *loads = new_loads();
    net_metrics counts, bound_counts;
    lm_error    err;

    (void)state;
    for (int64_t batch = 1; batch <= 4096; batch *= 8) {
        const bind_options options = { .batch = batch, .dtype = LM_F16, .input = "3x20x24" };
        network           *net;
        bound_network     *bound;

        assert_int_equal(workloads_counts(loads, "n2.ini", "3x20x24", LM_F16, batch, &counts, NULL),
                         LM_OK);
        assert_int_equal(network_load("n2.ini", NULL, &net, NULL), LM_OK);
        assert_int_equal(bind_network(net, nets_registry, &options, &bound, NULL), LM_OK);
        assert_int_equal(metrics_of_network(bound, NULL, &bound_counts, NULL), LM_OK);
        assert_memory_equal(&counts, &bound_counts, sizeof counts);
        bound_network_free(bound);
        network_free(net);
    }
    assert_int_equal(workloads_counts(loads, "n2.ini", "", LM_F32, 0, &counts, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "batch 0: must be 1 or more");
    assert_int_equal(workloads_counts(loads, "n2.ini", "", LM_F32, INT64_MAX, &counts, &err),
                     LM_E_OVERFLOW);
    assert_error(err, LM_E_OVERFLOW,
                 "n2.ini: a count at batch 9223372036854775807 does not fit 64 bits");
    workloads_free(loads);
}

/* ---- machine files
 * --------------------------------------------------------------------------------- */

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static void a_machine_file_keeps_every_bit_of_a_coefficient(void **state)
{
    calibration *cal = calloc(1, sizeof *cal), *back = NULL;
    lm_error     err = { LM_OK, "" };

    (void)state;
    cal->max_ranks = 64;
    cal->settings  = term_settings_default;
    cal->max_hosts = 8;
    assert_true(calibration_note(cal, "machine", "node 7; 2 sockets"));
    assert_true(calibration_note(cal, "a key: with = all [of] it #", "value"));
    assert_true(calibration_note(cal, "machine", "said twice"));
    assert_true(calibration_note(cal, "", "no key"));
    for (size_t f = 0; f < n_forms; f += 2) { /* every other form is absent */
        fitted *to = &cal->fitted[f];

        *to = (fitted){ .present         = true,
                        .rows            = 12 + f,
                        .rank            = 2,
                        .condition       = 1.0 / 3,
                        .errors          = { 12 + f, 0.125, NAN, 0.25, 1.0 / 7, 0.9 },
                        .held_out_mape   = 0.5,
                        .held_out_groups = f % 4 ? 0 : 5 };
        for (size_t k = 0; k < forms[f].n_features; k++)
            to->coefficient[k] = (coefficient){ 1e-11 / (double)(3 + f + 7 * k),
                                                k ? 1e-13 / 7 : NAN,
                                                1.0 / 3,
                                                1e18 / 7,
                                                k % 2 == 0,
                                                k % 3 == 2,
                                                NAN };
        if (!forms[f].n_features) {
            to->term = malloc(N_TERMS * sizeof *to->term);
            assert_non_null(to->term);
            for (size_t t = 0; t < N_TERMS; t++)
                to->term[t] = (coefficient){ t % 5 ? 1e-11 / (double)(3 + f + 7 * t) : NAN,
                                             t % 2 ? 1e-13 / 7 : NAN,
                                             t % 3 ? 1.0 / 3 : HUGE_VAL,
                                             t % 3 ? 1e18 / 7 : -HUGE_VAL,
                                             true,
                                             t % 7 == 2,
                                             1.0 / (double)(1 + t) };
        }
    }
    assert_int_equal(calibration_save(cal, "m.ini", &err), LM_OK);
    calibration_load("m.ini", &back, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(back->max_ranks, 64);
    assert_int_equal(back->max_hosts, 8);
    assert_int_equal(back->n_provenance, 4);
    assert_string_equal(back->provenance[0].key, "machine");
    assert_string_equal(back->provenance[0].value, "node 7, 2 sockets");
    assert_string_equal(back->provenance[1].value, "value");
    assert_string_equal(back->provenance[2].key, "machine_2");
    for (size_t f = 0; f < n_forms; f++) {
        const fitted *a = &cal->fitted[f], *b = &back->fitted[f];

        assert_int_equal(b->present, a->present);
        if (!a->present)
            continue;
        assert_int_equal(b->rows, a->rows);
        assert_int_equal(b->rank, a->rank);
        assert_true(same(b->condition, a->condition));
        assert_true(same(b->errors.nrmse, a->errors.nrmse) && same(b->errors.r2, a->errors.r2));
        assert_close(b->errors.mape, a->errors.mape, 1e-15); /* in percent there */
        assert_close(b->errors.rmse, a->errors.rmse, 1e-15); /* in ms there */
        assert_int_equal(b->held_out_groups, a->held_out_groups);
        for (size_t k = 0; k < forms[f].n_features; k++) {
            const coefficient *x = &a->coefficient[k], *y = &b->coefficient[k];

            assert_true(same(y->value, x->value) && same(y->standard_error, x->standard_error) &&
                        same(y->low, x->low) && same(y->high, x->high));
            assert_int_equal(y->determined, x->determined);
            assert_int_equal(y->at_bound, x->at_bound);
        }
        for (size_t t = 0; a->term && t < N_TERMS; t++) {
            const coefficient *x = &a->term[t], *y = &b->term[t];

            assert_true(same(y->value, x->value));
            if (isnan(x->value)) /* is not there */
                continue;
            assert_true(same(y->standard_error, x->standard_error) && same(y->known, x->known));
            assert_true(isfinite(x->low) ? same(y->low, x->low) && same(y->high, x->high)
                                         : isnan(y->low) && isnan(y->high));
            assert_int_equal(y->at_bound, x->at_bound);
        }
    }
    calibration_free(cal);
    calibration_free(back);
    calibration_free(NULL);
}

static void what_is_no_machine_file_is_refused_by_line(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { "", "m.ini: holds no coefficients: is this a machine file?", LM_E_SYNTAX },
        { "[machine]\nmax_ranks = 1\n", "m.ini: holds no coefficients: is this a machine file?",
          LM_E_SYNTAX },
        { "[machine]\ncores = 1\n", "m.ini:2: [machine] has no key 'cores'", LM_E_NOTFOUND },
        { "[machine]\nmax_ranks = many\n", "m.ini:2: expected a whole number, found 'many'",
          LM_E_ARG },
        { "[network]\nname = n\n",
          "m.ini:1: [network]: no formula of that name; is this a machine file, and of this version? fit the observations "
          "again",
          LM_E_NOTFOUND },
        { "\n[convmeter.wait]\n",
          "m.ini:2: [convmeter.wait]: no formula of that name; is this a machine file, and of this version? fit the observations "
          "again",
          LM_E_NOTFOUND },
        { "[convmeter.grad_one]\nrows = 3\n",
          "m.ini:1: [convmeter.grad_one]: coefficient 'layers' is missing: cut short, or edited? fit the observations again",
          LM_E_NOTFOUND },
        { "[convmeter.grad_one]\nlayers = 1 s/layer\nnodes = 1 s/node\n",
          "m.ini:3: 'nodes' is no key of convmeter.grad_one: written by another version, or by hand? fit "
          "the observations again",
          LM_E_NOTFOUND },
        { "[convmeter.grad_one]\nlayers = 1 s/FLOP\n",
          "m.ini:2: layers: expected a number and 's/layer', found '1 s/FLOP'", LM_E_SYNTAX },
        { "[convmeter.grad_one]\nlayers = 1\n",
          "m.ini:2: layers: expected a number and 's/layer', found '1'", LM_E_SYNTAX },
        { "[convmeter.grad_one]\nlayers = one s/layer\n",
          "m.ini:2: layers: expected a finite number, found 'one'", LM_E_ARG },
        { "[convmeter.grad_one]\nlayers = nan s/layer\n",
          "m.ini:2: layers: expected a finite number, found 'nan'", LM_E_ARG },
        { "[convmeter.grad_one]\nlayers = 1 s/layer, perhaps\n",
          "m.ini:2: layers: unknown word 'perhaps'", LM_E_SYNTAX },
        { "[convmeter.grad_one]\nlayers = 1 s/layer, range 1\n",
          "m.ini:2: layers: unknown word 'range 1'", LM_E_SYNTAX },
        { "[convmeter.grad_one]\nlayers = 1 s/layer, se x\n",
          "m.ini:2: layers: expected a finite number, found 'x'", LM_E_ARG },
        { "[convmeter.grad_one]\nrows = -1\nlayers = 1 s/layer\n",
          "m.ini:2: rows: expected a whole number from 0 to 2^64-1, found '-1'", LM_E_ARG },
        { "[convmeter.grad_one]\ncondition = x\nlayers = 1 s/layer\n",
          "m.ini:2: condition: expected a finite number, found 'x'", LM_E_ARG },
        { "[nets.intervals]\nstep = 1 .. 2\n", "m.ini:1: [nets.intervals]: no model of that name",
          LM_E_NOTFOUND },
        { "[layermeter.intervals]\nspeed = 1 .. 2\n", "m.ini:2: speed: no quantity of that name",
          LM_E_NOTFOUND },
        { "[layermeter.intervals]\nstep = 0.9\n",
          "m.ini:2: step: expected two numbers with .. between, found '0.9'", LM_E_SYNTAX },
        { "[layermeter.intervals]\nstep = 0.9 .. 1.1, groups 5, width 2\n",
          "m.ini:2: step: unknown word 'width'", LM_E_SYNTAX },
        { "[layermeter.intervals]\nstep = 1.2 .. 1.1, groups 5\n",
          "m.ini:2: step: expected bounds around 1 and a factor per octave of 1 or more",
          LM_E_ARG },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        calibration *cal = NULL;
        lm_error     err = { LM_OK, "" };

        calibration_load(folder_file("m.ini", cases[i].text), &cal, &err);
        assert_error(err, cases[i].code, "%s", cases[i].message);
        assert_null(cal);
    }
}

static void a_machine_file_appears_whole_or_not_at_all(void **state)
{
    calibration *cal = calloc(1, sizeof *cal);
    lm_error     err;

    (void)state;
    assert_int_equal(calibration_save(cal, "gone/m.ini", &err), LM_E_IO);
    assert_error(err, LM_E_IO, "gone/m.ini: No such file or directory");
    assert_int_not_equal(access("gone/m.ini", F_OK), 0);
    calibration_free(cal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_follow_their_definitions),
        cmocka_unit_test(counts_are_read_at_their_batch),
        cmocka_unit_test(counts_that_cannot_be_read_are_named),
        cmocka_unit_test(forms_are_found_by_model_and_part),
        cmocka_unit_test(rows_of_one_configuration_make_one_point),
        cmocka_unit_test(flagged_times_give_way_to_the_same_without),
        cmocka_unit_test(parts_on_several_nodes_add_their_phases),
        cmocka_unit_test(steps_without_phases_and_evaluations_are_parts),
        cmocka_unit_test(what_is_left_out_together_may_be_said),
        cmocka_unit_test(single_layers_are_points_where_there_is_no_network),
        cmocka_unit_test(a_count_that_some_rows_lack_is_left_out),
        cmocka_unit_test(steps_of_other_kinds_are_left_out),
        cmocka_unit_test(long_names_do_not_join_different_batches),
        cmocka_unit_test(a_row_whose_network_cannot_be_counted_is_named),
        cmocka_unit_test(every_form_recovers_the_coefficients_behind_the_times),
        cmocka_unit_test(errors_on_networks_left_out_match_hand_computation),
        cmocka_unit_test(bare_collectives_stay_in_every_fit),
        cmocka_unit_test(one_network_alone_has_nothing_to_be_left_out_against),
        cmocka_unit_test(too_few_rows_for_any_formula_are_refused),
        cmocka_unit_test(counts_of_a_large_batch_are_those_of_binding_it),
        cmocka_unit_test(a_machine_file_keeps_every_bit_of_a_coefficient),
        cmocka_unit_test(what_is_no_machine_file_is_refused_by_line),
        cmocka_unit_test(a_machine_file_appears_whole_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, enter, nets_leave);
}
