/* PALEO's model: what it counts in layers, its times and schemes, and how its percents are all.
 */
#include "nets.h"
#include "steps.h"

#include <math.h>

#include "models/paleo_points.h"
#include "models/paleo_step.h"
#include "predict/scaling.h"

static void assert_work(const paleo_work *w, double flops, double bytes)
{
    assert_close(w->flops, flops, 1e-12);
    assert_close(w->bytes, bytes, 1e-12);
}

static paleo_counts counts_of(const bound_text *m, const char *name)
{
    return paleo_of_layer(m->bound, (size_t)(nets_layer(m, name) - m->bound->layer));
}

/* 8x8x2 -> 4x4x3 at batch 5: the gradient of the input sees 7x7 pixels, one row and column more to
 * be even, holes in between, and moves (8 + 2)^2 of them. */
static void a_strided_convolution_pays_for_zeros_between_and_around(void **state)
{
    bound_text         m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 2x8x8\n"
                                             "[d]\ntype = dropout\n[c]\ntype = conv2d\nfilters = 3\nkernel = 3\n"
                                             "stride = 2\npadding = 1\nbias = no\n",
                                     5);
    const paleo_counts c = counts_of(&m, "c"), drop = counts_of(&m, "d");
    const paleo_work   both = paleo_backward(&c);

    (void)state;
    assert_work(&c.pass[LM_FORWARD], 2 * 9 * 2 * 240, 4 * (5 * 2 * 100 + 54 + 240));
    assert_work(&c.pass[LM_GRAD_WEIGHT], 8640, 4 * (1000 + 240 + 54));
    assert_work(&c.pass[LM_GRAD_INPUT], 2 * 9 * 3 * 640 + 2 * 240, 4 * (5 * 3 * 100 + 54 + 640));
    assert_work(&both, 8640 + 35040, 5176 + 8776);
    assert_close(c.params, 54 + 3, 0); /* a bias that is not there */
    assert_close(c.param_bytes, 4 * 57, 0);
    assert_work(&drop.pass[LM_FORWARD], 640, 4 * 2 * 640);
    assert_work(&drop.pass[LM_GRAD_INPUT], 640, 4 * 2 * 640);
    nets_free(&m);
}

/* 25 times the FLOPs of its forward pass, for the gradient of 5x5 pixels by one. */
static void a_convolution_over_all_pixels_counts_them_again(void **state)
{
    bound_text         m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 2x5x5\n"
                                             "[r]\ntype = relu\n[c]\ntype = conv2d\nfilters = 4\nkernel = 5\n",
                                     1);
    const paleo_counts c = counts_of(&m, "c"), relu = counts_of(&m, "r");

    (void)state;
    assert_work(&c.pass[LM_FORWARD], 400, 4 * (50 + 200 + 4));
    assert_work(&c.pass[LM_GRAD_INPUT], 25 * 400, 4 * (4 * 81 + 200 + 50));
    assert_work(&relu.pass[LM_FORWARD], 0, 0);
    assert_int_equal(relu.unknown, 1);
    assert_int_equal(paleo_of_network(m.bound).unknown, 1);
    nets_free(&m);
}

/* 6x6, window 3, stride 2: TensorFlow's SAME has one row and column of zeros behind, which
 * PALEO halves to none forward; the gradient of the filter has one on either side. */
static void zeros_of_a_layer_before_belong_to_the_window(void **state)
{
    bound_text         m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 1x6x6\n"
                                             "[p]\ntype = pad\nbefore = 0, 0\nafter = 1, 1\n"
                                             "[c]\ntype = conv2d\nfilters = 1\nkernel = 3\nstride = 2\n"
                                             "[q]\ntype = pad\nbefore = 0, 0\nafter = 1, 1\n"
                                             "[m]\ntype = max_pool2d\nkernel = 2\nstride = 2\n",
                                     1);
    const paleo_counts c = counts_of(&m, "c"), pool = counts_of(&m, "m"), pad = counts_of(&m, "p");

    (void)state;
    assert_work(&c.pass[LM_FORWARD], 2 * 9 * 9, 4 * (36 + 9 + 9));
    assert_work(&c.pass[LM_GRAD_WEIGHT], 162, 4 * (64 + 9 + 9));
    assert_work(&c.pass[LM_GRAD_INPUT], 0, 0); /* behind the data */
    assert_work(&pool.pass[LM_FORWARD], 2 * 4 * 4, 4 * (9 + 4));
    assert_work(&pool.pass[LM_GRAD_INPUT], 2 * 4 * 4, 4 * (9 + 4));
    assert_int_equal(pad.unknown, 0);
    nets_free(&m);
}

static void a_linear_layer_is_three_products_even_behind_the_data(void **state)
{
    bound_text         m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 7x8\n"
                                             "[l]\ntype = linear\nfeatures = 4\n[k]\ntype = linear\nfeatures = 8\n"
                                             "[j]\ntype = linear\nfeatures = 4\nshares = l\n",
                                     2);
    const paleo_counts l = counts_of(&m, "l"), all = paleo_of_network(m.bound);

    (void)state;
    for (int pass = 0; pass < LM_N_PASSES; pass++)
        assert_work(&l.pass[pass], 2 * 14 * 8 * 4, 4 * (14 * 8 + 32 + 14 * 4));
    assert_close(all.params, (32 + 4) + (32 + 8), 0); /* those that are shared count once */
    nets_free(&m);
}

/* The transposed convolution of 4x4x2 -> 2x2x3: forward is that one's gradient over 3x3 pixels. */
static void a_transposed_convolution_swaps_the_passes(void **state)
{
    bound_text         m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 3x2x2\n"
                                             "[t]\ntype = conv_transpose2d\nfilters = 2\nkernel = 2\nstride = 2\n",
                                     1);
    const paleo_counts t = counts_of(&m, "t");

    (void)state;
    assert_work(&t.pass[LM_FORWARD], 2 * 4 * 3 * 32 + 2 * 12, 4 * (3 * 25 + 24 + 32));
    assert_work(&t.pass[LM_GRAD_INPUT], 2 * 4 * 2 * 12, 4 * (32 + 24 + 12));
    assert_work(&t.pass[LM_GRAD_WEIGHT], 768 * 4.0 / 9, 4 * (75 + 32 * 4.0 / 9 + 24));
    assert_close(t.params, 24 + 3, 0);
    nets_free(&m);
}

static const paleo_platform platform = {
    .peak      = 1e9,
    .bandwidth = 1e9,
    .link      = 100,
    .ppp_comp  = 0.5,
    .ppp_comm  = 0.25,
    .scheme    = PALEO_TREE,
};

/* 2 s and 1 s (a GB of memory is 2^30 bytes), at half the peak; 800 bytes over 25 bytes/s. */
static void times_are_work_over_peaks_and_percents(void **state)
{
    static const struct {
        paleo_scheme scheme;
        double       at_1, at_5;
    } cases[] = {
        { PALEO_ONE_TO_ALL, 0, 8 * 32 },
        { PALEO_TREE, 0, 2 * 3 * 32 },
        { PALEO_BUTTERFLY, 0, 3 * 32 },
        { PALEO_BUTTERFLY_MIXING, 32, 32 },
    };
    const paleo_counts c = { .pass        = { { 2e9, 1073741824 }, { 1e9, 0 }, { 0, 1073741824 } },
                             .params      = 200,
                             .param_bytes = 800 };
    paleo_platform     p = platform;
    paleo_times        t = paleo_step(&c, &p, 1);

    (void)state;
    assert_close(t.forward, 6, 1e-12);
    assert_close(t.backward, 4, 1e-12);
    assert_close(t.update, 400e-9 + 2400 / 1073741824.0, 1e-15);
    assert_close(t.step, t.forward + t.backward + t.update, 1e-15);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        p.scheme = cases[i].scheme;
        assert_close(paleo_step(&c, &p, 1).sync, cases[i].at_1, 1e-12);
        assert_close(paleo_step(&c, &p, 5).sync, cases[i].at_5, 1e-12);
    }
    p.link = NAN;
    assert_true(isnan(paleo_step(&c, &p, 2).sync));
}

static void schemes_have_names(void **state)
{
    static const char *const known[] = { "one_to_all", "tree", "butterfly", "butterfly_mixing" };
    paleo_scheme             s;
    lm_error                 err;

    (void)state;
    for (int i = 0; i < N_PALEO_SCHEMES; i++) {
        assert_int_equal(paleo_scheme_parse(known[i], &s, &err), LM_OK);
        assert_int_equal(s, i);
    }
    assert_int_equal(paleo_scheme_parse("ring", &s, &err), LM_E_ARG);
    assert_string_equal(err.text,
                        "expected one_to_all, tree, butterfly or butterfly_mixing, found 'ring'");
}

/* 1.5 / 1.25: minimises (x - 1)^2 + (x / 2 - 1)^2. */
static void one_percent_has_the_least_relative_squares(void **state)
{
    const paleo_point times[] = { { .computed = 1, .measured = 1 },
                                  { .computed = 1, .measured = 2 } };
    double            comp, comm;

    (void)state;
    assert_int_equal(paleo_fit(times, 2, &comp, &comm, NULL), LM_OK);
    assert_close(comp, 1 / 1.2, 1e-12);
    assert_true(isnan(comm));
}

static void both_percents_come_back_from_times_that_they_made(void **state)
{
    paleo_point times[6];
    double      comp, comm;

    (void)state;
    for (int i = 0; i < 6; i++) {
        times[i]          = (paleo_point){ .computed = 1 + i, .sent = i % 3, .fixed = 0.1 * i };
        times[i].measured = times[i].computed / 0.62 + times[i].sent / 0.72 + times[i].fixed;
    }
    assert_int_equal(paleo_fit(times, 6, &comp, &comm, NULL), LM_OK);
    assert_close(comp, 0.62, 1e-12);
    assert_close(comm, 0.72, 1e-12);
    for (int i = 0; i < 6; i++)
        times[i] = (paleo_point){ .sent = 1, .measured = 4 };
    assert_int_equal(paleo_fit(times, 6, &comp, &comm, NULL), LM_OK);
    assert_true(isnan(comp));
    assert_close(comm, 0.25, 1e-12);
}

static void times_that_tell_no_percent_are_refused(void **state)
{
    const paleo_point update = { .fixed = 2, .measured = 3 };
    const paleo_point hasty  = { .computed = 1, .fixed = 2, .measured = 1 };
    double            comp, comm;
    lm_error          err;

    (void)state;
    assert_int_equal(paleo_fit(&update, 1, &comp, &comm, &err), LM_E_ARG);
    assert_string_equal(err.text, "no times that tell a percent of peak");
    assert_int_equal(paleo_fit(NULL, 0, &comp, &comm, &err), LM_E_ARG);
    assert_int_equal(paleo_fit(&hasty, 1, &comp, &comm, &err), LM_E_ARG);
    assert_string_equal(err.text,
                        "the times are shorter than any percent of peak allows: is it the "
                        "right device, are they in seconds?");
}

/* Rows of a network by its times on a platform, which must then come back, whatever is left out. */
static void add_rows(char *text, size_t size, const bound_text *m, const char *name, int64_t ranks)
{
    const paleo_counts c = paleo_of_network(m->bound);
    const paleo_times  t = paleo_step(&c, &platform, ranks);
    const size_t       n = strlen(text);

    snprintf(text + n, size - n,
             "network,%s,forward,%.17g,%lld,%lld,\nnetwork,%s,backward,%.17g,%lld,%lld,\n", name,
             t.forward, (long long)m->bound->options.batch, (long long)ranks, name, t.backward,
             (long long)m->bound->options.batch, (long long)ranks);
    if (ranks > 1)
        snprintf(text + strlen(text), size - strlen(text), "network,%s,sync,%.17g,%lld,%lld,\n",
                 name, t.sync, (long long)m->bound->options.batch, (long long)ranks);
}

static void points_are_predicted_by_those_of_other_folds(void **state)
{
    static const char a[]        = "[network]\nname = a\n[x]\ntype = input\nshape = 3x9x9\n"
                                   "[c]\ntype = conv2d\nfilters = 2\nkernel = 3\n[r]\ntype = relu\n"
                                   "[d]\ntype = conv2d\nfilters = 2\nkernel = 3\nstride = 2\n";
    static const char b[]        = "[network]\nname = b\n[x]\ntype = input\nshape = 8\n"
                                   "[l]\ntype = linear\nfeatures = 5\n";
    char              text[4000] = "kind,name,phase,seconds,batch,ranks,bytes\n";
    double            seconds[8][N_PHASES];
    bound_text        a7 = nets_bind(a, 7), a2 = nets_bind(a, 2), b3 = nets_bind(b, 3);
    lm_error          err   = { LM_OK, "" };
    device_list      *list  = NULL;
    workloads        *loads = NULL;
    observations     *obs   = NULL;
    points            p     = { 0 };
    split             by;
    split_rule        rule;

    (void)state;
    folder_file("a.ini", a);
    folder_file("b.ini", b);
    add_rows(text, sizeof text, &a7, "a.ini", 1);
    add_rows(text, sizeof text, &a2, "a.ini", 4);
    add_rows(text, sizeof text, &b3, "b.ini", 1);
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "collective,allreduce,sync,%.17g,,8,1000\n", 6 * 1000 / 25.0); /* 2 log2(8) */
    folder_file("o.csv", text);
    assert_int_equal(
        devices_load(folder_file("d.ini", "[D]\nf32 = 1 GFLOP/s\nbandwidth = 1 GB/s\n"), &list,
                     &err),
        LM_OK);
    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    assert_int_equal(observations_load("o.csv", &obs, &err), LM_OK);
    assert_int_equal(points_from(obs, loads, &p, &err), LM_OK);
    assert_int_equal(p.n_points, 4);
    for (int all = 0; all < 2; all++) {
        assert_int_equal(split_rule_parse(all ? "none" : "network", &rule, &err), LM_OK);
        assert_int_equal(split_new(&p, &rule, &by, &err), LM_OK);
        assert_int_equal(paleo_predict_points(&p, &by, nets_registry, &list->device[0], PALEO_TREE,
                                              seconds, &err),
                         LM_OK);
        for (size_t i = 0; i < p.n_points; i++)
            for (phase f = 0; f < N_PHASES; f++)
                if (!isnan(p.point[i].seconds[f]) && (all || i < 3))
                    assert_close(1e6 * seconds[i][f] / p.point[i].seconds[f], 1e6, 1e-9);
        assert_close(seconds[1][PHASE_STEP],
                     seconds[1][PHASE_FORWARD] + seconds[1][PHASE_BACKWARD] +
                         seconds[1][PHASE_UPDATE] + seconds[1][PHASE_SYNC],
                     1e-12);
        assert_true(isnan(seconds[0][PHASE_SYNC])); /* one node */
        assert_true(isnan(seconds[3][PHASE_SYNC]) == !all);
        split_free(&by);
    }
    list->device[0].figure[DEVICE_F32] = NAN;
    assert_int_equal(split_new(&p, &rule, &by, &err), LM_OK);
    assert_int_equal(
        paleo_predict_points(&p, &by, nets_registry, &list->device[0], PALEO_TREE, seconds, &err),
        LM_E_NOTFOUND);
    assert_string_equal(err.text, "d.ini:1: 'D' has no f32");
    split_free(&by);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
    devices_free(list);
    nets_free(&b3);
    nets_free(&a2);
    nets_free(&a7);
}

/* 5x5 over 5x5 pixels at batch 3, as in the middle of a network: 50 x 4 products a sample forward,
 * 25 times that for the gradient of the input; a bandwidth at which bytes count for nothing. */
static void layers_by_themselves_are_points_too(void **state)
{
    double        seconds[1][N_PHASES];
    lm_error      err   = { LM_OK, "" };
    device_list  *list  = NULL;
    workloads    *loads = NULL;
    observations *obs   = NULL;
    points        p     = { 0 };
    split         by;

    (void)state;
    folder_file("o.csv", "kind,name,phase,seconds,batch,input,geometry\n"
                         "layer,conv2d,forward,2,3,2x5x5,filters=4 kernel=5\n");
    assert_int_equal(
        devices_load(folder_file("d.ini", "[D]\nf32 = 1200 FLOP/s\nbandwidth = 1000 PB/s\n"), &list,
                     &err),
        LM_OK);
    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    assert_int_equal(observations_load("o.csv", &obs, &err), LM_OK);
    assert_int_equal(points_from(obs, loads, &p, &err), LM_OK);
    assert_int_equal(split_new(&p, &(split_rule){ .kind = SPLIT_NONE }, &by, &err), LM_OK);
    assert_int_equal(
        paleo_predict_points(&p, &by, nets_registry, &list->device[0], PALEO_TREE, seconds, &err),
        LM_OK);
    assert_close(seconds[0][PHASE_FORWARD], 2, 1e-9); /* 1200 FLOP at half the peak */
    assert_close(seconds[0][PHASE_BACKWARD], 2 + 25 * 2, 1e-9);
    split_free(&by);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
    devices_free(list);
}

/* Strong scaling takes the batch apart, so that curves and turning points go by the same steps. */
static void curves_go_by_its_steps(void **state)
{
    static const char net[] = "[network]\nname = n\n[x]\ntype = input\nshape = 8\n"
                              "[l]\ntype = linear\nfeatures = 4\n[r]\ntype = relu\n";
    predictor         who   = { .model   = "paleo",
                                .network = "n.ini",
                                .dtype   = LM_F32,
                                .link    = { .bytes_per_second = platform.link } };
    workloads        *loads = NULL;
    prediction        p;
    scale_point       s;
    int64_t           turning;
    lm_error          err = { LM_OK, "" };
    bound_text        ten;
    char              text[80];

    (void)state;
    ten = nets_bind(net, 10);
    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    who.loads   = loads;
    who.network = folder_file("n.ini", net);
    assert_int_equal(paleo_open_with(&who, &platform, &err), LM_OK);
    assert_int_equal(step_at(&who, 10, 4, &p, &err), LM_OK);
    {
        const paleo_counts c = paleo_of_network(ten.bound);
        const paleo_times  t = paleo_step(&c, &platform, 4);

        assert_close(p.forward, t.forward, 1e-15);
        assert_close(p.backward, t.backward, 1e-15);
        assert_close(p.sync, 2 * 2 * 36 * 4 / 25.0, 1e-12);
        assert_close(p.grad, t.update + t.sync, 1e-12);
        assert_close(p.step, t.step, 1e-12);
    }
    assert_true(isnan(p.low[PHASE_STEP]) && isnan(p.high[PHASE_STEP]));
    assert_string_equal(grounds_beyond(&p.grounds, text, sizeof text),
                        "1 layer costs nothing here");
    assert_int_equal(curve_at(&who, SCALING_STRONG, 40, 4, 100, &s, &err), LM_OK);
    assert_int_equal(s.step.batch, 10);
    assert_close(s.step.step, p.step, 0);
    assert_int_equal(turning_at(&who, SCALING_STRONG, 40, &turning, &err), LM_OK);
    assert_int_equal(turning, 1); /* the link takes seconds, the network nanoseconds */
    who.link = (interconnect){ 0 };
    assert_int_equal(step_at(&who, 10, 1, &p, &err), LM_OK);
    assert_int_equal(step_at(&who, 10, 2, &p, &err), LM_E_NOTFOUND);
    assert_string_equal(err.text, "2 devices exchange gradients, and a datasheet tells no network between "
                                  "them: give its rate, --bandwidth 10Gbit/s");
    predictor_close(&who);
    workloads_free(loads);
    nets_free(&ten);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strided_convolution_pays_for_zeros_between_and_around),
        cmocka_unit_test(a_convolution_over_all_pixels_counts_them_again),
        cmocka_unit_test(zeros_of_a_layer_before_belong_to_the_window),
        cmocka_unit_test(a_linear_layer_is_three_products_even_behind_the_data),
        cmocka_unit_test(a_transposed_convolution_swaps_the_passes),
        cmocka_unit_test(times_are_work_over_peaks_and_percents),
        cmocka_unit_test(schemes_have_names),
        cmocka_unit_test(one_percent_has_the_least_relative_squares),
        cmocka_unit_test(both_percents_come_back_from_times_that_they_made),
        cmocka_unit_test(times_that_tell_no_percent_are_refused),
        cmocka_unit_test(points_are_predicted_by_those_of_other_folds),
        cmocka_unit_test(layers_by_themselves_are_points_too),
        cmocka_unit_test(curves_go_by_its_steps),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
