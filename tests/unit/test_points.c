/* Rows of observations as points. */
#include "fit_nets.h"

#include "fit/fit.h"
#include "machine/machine.h"

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
    assert_true(point_seconds(&p.point[0], PHASE_FORWARD) == 1);
    assert_true(point_seconds(&p.point[0], PHASE_UPDATE) == 4);
    assert_true(point_seconds(&p.point[0], PHASE_GRAD_ONE) == 4);
    assert_true(isnan(point_seconds(&p.point[0], PHASE_GRAD)));
    assert_true(isnan(point_seconds(&p.point[0], PHASE_SYNC)));
    assert_true(isnan(point_seconds(&p.point[1], PHASE_BACKWARD)));
    assert_true(point_seconds(&p.point[5], PHASE_SYNC) == 9);
    assert_true(
        isnan(point_seconds(&p.point[6], PHASE_SYNC))); /* the ring is not what training uses */
    assert_true(isnan(point_seconds(&p.point[5], PHASE_FORWARD)));
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
    assert_true(point_seconds(&p.point[0], PHASE_GRAD) == 6);
    assert_true(point_seconds(&p.point[0], PHASE_BACKWARD_GRAD) == 7);
    assert_true(point_seconds(&p.point[0], PHASE_SYNC) == 2);
    assert_true(isnan(point_seconds(&p.point[0], PHASE_GRAD_ONE)));
    assert_true(isnan(point_seconds(&p.point[1], PHASE_GRAD))); /* no sync there */
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
                                  "network,n0.ini,step,1,2,1\nnetwork,n0.ini,inference,0.5,2,1\n"
                                  "network,n1.ini,forward,3,2,1\nnetwork,n1.ini,backward,4,2,1\n"
                                  "network,n1.ini,step,5,2,1\nnetwork,n2.ini,step,6,2,4\n"
                                  "network,n3.ini,forward,7,2,1\nnetwork,n3.ini,backward,8,2,1\n"
                                  "network,n3.ini,update,9,2,1\nnetwork,n3.ini,step,10,2,1\n",
                           loads, &obs);

    (void)state;
    assert_int_equal(p.n_points, 4);
    assert_true(point_seconds(&p.point[0], PHASE_STEP) == 1);
    assert_true(point_seconds(&p.point[0], PHASE_INFERENCE) == 0.5);
    assert_true(isnan(point_seconds(&p.point[0], PHASE_FORWARD)));
    assert_true(point_seconds(&p.point[1], PHASE_STEP) == 5); /* without its update */
    assert_true(isnan(point_seconds(&p.point[1], PHASE_INFERENCE)));
    assert_true(isnan(point_seconds(&p.point[2], PHASE_STEP))); /* of several nodes */
    assert_true(isnan(point_seconds(&p.point[3], PHASE_STEP)));
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
    assert_true(point_seconds(&p.point[0], PHASE_INFERENCE) == 1);
    assert_true(point_seconds(&p.point[0], PHASE_GRAD_INPUT) == 4);
    assert_true(point_seconds(&p.point[0], PHASE_GRAD_WEIGHT) == 5);
    assert_true(isnan(point_seconds(&p.point[0], PHASE_BACKWARD)));
    assert_true(point_seconds(&p.point[1], PHASE_STEP) == 2);
    assert_true(point_seconds(&p.point[2], PHASE_STEP) == 3); /* of any optimizer */
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
    f = &cal->fitted[form_find("nnls", PHASE_INFERENCE)];
    assert_close(f->coefficient[0].value / 2e-12, 1, 1e-9);
    assert_close(f->coefficient[3].value, 1e-3, 1e-12);
    for (size_t k = 1; k <= 2; k++) {
        assert_true(f->coefficient[k].value == 0 && !f->coefficient[k].determined);
        assert_true(isnan(f->coefficient[k].low) && isnan(f->coefficient[k].high));
    }
    assert_close(f->held_out_mape, 0, 1e-9);
    assert_int_equal(machine_save(cal, "c.ini", &err), LM_OK);
    calibration_free(cal);
    assert_int_equal(machine_load("c.ini", &cal, &err), LM_OK);
    assert_true(isnan(cal->fitted[form_find("nnls", PHASE_INFERENCE)].coefficient[1].low));
    assert_close(calibration_seconds(cal, form_find("nnls", PHASE_INFERENCE), &p.point[3].load),
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
    assert_true(point_seconds(&p.point[0], PHASE_SYNC) == 2);
    assert_true(point_seconds(&p.point[1], PHASE_BACKWARD) == 4);
    assert_true(isnan(point_seconds(&p.point[1], PHASE_UPDATE)));
    assert_true(point_seconds(&p.point[2], PHASE_FORWARD) == 6);
    assert_true(isnan(point_seconds(&p.point[2], PHASE_BACKWARD)));
    assert_true(isnan(point_seconds(&p.point[2], PHASE_SYNC)));
    assert_true(point_seconds(&p.point[2], PHASE_UPDATE) == 9);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

/* Names so long that the key of a configuration is cut must still not join what differs. */
/* Of a small network at one sample a CPU's last-level cache holds all that a step keeps; at a million
 * samples it does not, and on GPUs there is no such term. */
static void updates_on_a_cpu_are_told_apart_by_what_its_cache_holds(void **state)
{
    const workload_name cpu      = { .name = "n1.ini", .dtype = LM_F32, .on = AUTOCAST_CPU },
                        gpu      = { .name = "n1.ini", .dtype = LM_F32, .on = AUTOCAST_GPU };
    const workload_name *of[]    = { &cpu, &cpu, &gpu };
    const int64_t        batch[] = { 1, 1000000, 1 };
    full_workload       *full    = malloc(sizeof *full);
    workloads           *loads   = NULL;
    char                 name[64];
    lm_error             err = { LM_OK, "" };

    (void)state;
    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(workloads_full(loads, of[i], batch[i], &term_settings_default,
                                        OPTIMIZER_MOMENTUM, full, &err),
                         LM_OK);
        assert_true(full->load.update.n > 0);
        assert_string_equal(term_name(full->load.update.item[0].term, name, sizeof name),
                            i == 0 ? "update_held.bytes.grad_weight" : "update.bytes.grad_weight");
    }
    workloads_free(loads);
    free(full);
}

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

/* A block tells of its network as much as that of the block. */
static void a_block_is_left_out_with_its_network_if_that_was_measured(void **state)
{
    workloads    *loads = new_loads();
    observations *obs;
    points        p = join("kind,name,phase,seconds,batch\n"
                                  "network,n1.ini:block=b.1,forward,1,2\n"
                                  "network,n0.ini:block=b.1,forward,2,2\n"
                                  "network,n0.ini,forward,3,2\n",
                           loads, &obs);

    (void)state;
    assert_int_equal(p.n_groups, 2);
    assert_string_equal(p.group[0], "n1.ini:block=b.1");
    assert_string_equal(p.group[1], "n0.ini");
    assert_int_equal(p.point[1].group, p.point[2].group);
    assert_int_equal(p.point[1].load.counts.layers, 2);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_one_configuration_make_one_point),
        cmocka_unit_test(flagged_times_give_way_to_the_same_without),
        cmocka_unit_test(parts_on_several_nodes_add_their_phases),
        cmocka_unit_test(steps_without_phases_and_evaluations_are_parts),
        cmocka_unit_test(what_is_left_out_together_may_be_said),
        cmocka_unit_test(a_block_is_left_out_with_its_network_if_that_was_measured),
        cmocka_unit_test(single_layers_are_points_where_there_is_no_network),
        cmocka_unit_test(a_count_that_some_rows_lack_is_left_out),
        cmocka_unit_test(steps_of_other_kinds_are_left_out),
        cmocka_unit_test(updates_on_a_cpu_are_told_apart_by_what_its_cache_holds),
        cmocka_unit_test(long_names_do_not_join_different_batches),
        cmocka_unit_test(a_row_whose_network_cannot_be_counted_is_named),
    };

    return cmocka_run_group_tests(tests, fit_nets_enter, nets_leave);
}
