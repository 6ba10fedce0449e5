/* Curves over nodes from hand-made coefficients: where they turn, between which bounds, and what
 * bounds their points. */
#include "linear_net.h"
#include "machine/machine.h"
#include "steps.h"

/* Seconds of each thing, and what stands at the end of the machine file. */
typedef struct rates {
    double      flop, layer, weight, message, byte;
    const char *more;
} rates;

/* Forward F flop 64 b + 2 layer, backward nothing, update 32 weight; a ring of N sends 2 (N - 1)
 * messages and 2 (N - 1) / N 128 bytes. */
static calibration *machine(const rates *r)
{
    char         text[2000];
    calibration *cal = NULL;
    lm_error     err = { LM_OK, "" };

    snprintf(text, sizeof text,
             "[machine]\nmax_ranks = 8\n"
             "[counts.forward]\nflops = %.17g s/FLOP\ninputs = 0 s/element\noutputs = 0 s/element\n"
             "weights = 0 s/element\nlayers = %.17g s/layer\n"
             "[counts.backward]\nflops = 0 s/FLOP\ninputs = 0 s/element\noutputs = 0 s/element\n"
             "weights = 0 s/element\nlayers = 0 s/layer\n"
             "[counts.update]\nlayers = 0 s/layer\nweights = %.17g s/element\n"
             "[counts.sync]\nring_steps = %.17g s/message\nring_bytes = %.17g s/byte\n%s",
             r->flop, r->layer, r->weight, r->message, r->byte, r->more ? r->more : "");
    machine_load(folder_file("m.ini", text), &cal, &err);
    assert_string_equal(err.text, "");
    return cal;
}

static predictor who(const calibration *cal)
{
    return (predictor){ .by      = step_model_of(cal, "counts"),
                        .cal     = cal,
                        .loads   = loads,
                        .model   = "counts",
                        .network = "n.ini",
                        .dtype   = LM_F32 };
}

static scale_curve begin(const predictor *p, const scale_question *q)
{
    scale_curve c;
    lm_error    err = { LM_OK, "" };

    scale_curve_begin(p, q, &c, &err);
    assert_string_equal(err.text, "");
    return c;
}

static scale_point at(scale_curve *c, int64_t nodes)
{
    scale_point out;
    lm_error    err = { LM_OK, "" };

    scale_curve_at(c, nodes, &out, &err);
    assert_string_equal(err.text, "");
    return out;
}

static turning_point turning(const calibration *cal, const scale_question *q)
{
    const predictor p = who(cal);
    scale_curve     c = begin(&p, q);
    turning_point   out;

    assert_int_equal(scale_curve_turning(&c, &out, NULL), LM_OK);
    return out;
}

/*
 * All that computes is shared out, K / N, and a ring takes c1 (N - 1): the shortest step has
 * N = sqrt(K / c1) nodes. A doubling gains less than a twentieth of the epoch when
 * K / 2N + c1 (2N - 1) > 0.95 (K / N + c1 (N - 1)), that is N (1.05 N - 0.05) > 0.45 K / c1.
 * K / c1 = 10^4: 100 nodes, and 66.
 */
static void a_ring_is_the_shortest_at_the_root_of_work_over_latency(void **state)
{
    const int64_t whole = 1 << 30; /* ceil() matters little */
    const double  c1 = 0.001, work = 1e4 * c1;
    calibration  *cal = machine(&(rates){ .flop = work / 64 / (double)whole, .message = c1 / 2 });
    const scale_question q     = scale_strong(whole, whole);
    const predictor      p     = who(cal);
    scale_curve          c     = begin(&p, &q);
    double               least = HUGE_VAL;
    int64_t              best  = 0;

    (void)state;
    for (int64_t n = 1; n <= 1000; n++) {
        const double step = at(&c, n).step.step;

        if (step < least) {
            least = step;
            best  = n;
        }
    }
    assert_int_equal(best, 100);
    assert_int_equal(turning(cal, &q).nodes, 66);
    calibration_free(cal);
}

/*
 * A tree takes c1 log2 N: K / N + c1 log2 N is the least at N = K ln 2 / c1. A doubling gains less
 * than a twentieth of the epoch when N (1 + 0.05 log2 N) > 0.45 K / c1. K / c1 = 100 / ln 2 =
 * 144.27: 100 nodes, and 51, as 50 (1.2822) < 64.92 < 51 (1.2836).
 */
static void a_tree_is_the_shortest_at_work_times_ln_2_over_latency(void **state)
{
    static const int64_t nodes[] = { 2, 4, 8, 16, 64 };
    const int64_t        whole   = 1 << 30;
    const double         c1 = 0.001, work = 100 / log(2) * c1;
    calibration         *cal = machine(&(rates){ .flop = work / 64 / (double)whole });
    const scale_question q   = scale_strong(whole, whole);
    const predictor      p   = who(cal);
    collective_time      rows[10];
    scale_curve          c;
    double               least = HUGE_VAL;
    int64_t              best  = 0;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        rows[i] = (collective_time){ { COLLECTIVE_ALLREDUCE, i % 2 ? 64 : 1e4, nodes[i / 2], 1, 1 },
                                     "default",
                                     c1 * log2((double)nodes[i / 2]) };
    assert_int_equal(collective_fit(rows, 10, &cal->collectives, NULL), LM_OK);
    c = begin(&p, &q);
    for (int64_t n = 1; n <= 1000; n++) {
        const double step = at(&c, n).step.step;

        if (step < least) {
            least = step;
            best  = n;
        }
    }
    assert_in_range(best, 98, 102); /* the minimum is flat, the fit not exact to the last digit */
    assert_int_equal(turning(cal, &q).nodes, 51);
    calibration_free(cal);
}

/* By the definition, number by number. */
static int64_t brute(const calibration *cal, const scale_question *q, int64_t most)
{
    const predictor p = who(cal);
    scale_curve     c = begin(&p, q);

    for (int64_t n = 1; n <= most; n++) {
        const double now = at(&c, n).samples_per_second, twice = at(&c, 2 * n).samples_per_second;

        if (q->kind == SCALING_WEAK ? !(twice >= 1.1 * now) : !(1 / twice <= 0.95 / now))
            return n;
    }
    return 0;
}

/* Shares of batches that do not divide, micro-steps, several devices, buckets. */
static void turning_points_are_the_first_by_the_definition(void **state)
{
    static const int64_t whole[] = { 7, 100, 1000, 4096, 99991 };
    static const int64_t most[]  = { 1, 3, 16 };
    static const rates   rate[]  = {
           { .flop = 1e-3, .layer = 0.5, .weight = 0.01, .message = 0.013, .byte = 1e-4 },
           { .flop = 1e-3, .layer = 1e-3, .weight = 1e-4, .message = 0.3 },
           { .flop = 1e-4, .layer = 0.02, .weight = 0.01, .message = 1e-3, .byte = 0.02 },
           { .flop = 1e-3, .layer = 0.1, .message = 0.004 },
    };
    size_t found = 0;

    (void)state;
    for (size_t r = 0; r < sizeof rate / sizeof rate[0]; r++) {
        calibration *cal = machine(&rate[r]);

        for (size_t i = 0; i < 2 * 5 * 3 * 3; i++) {
            scale_question q = scale_strong(whole[i / 3 % 5], 1000000);
            int64_t        mine;

            q.kind          = (scaling_kind)(i / 30);
            q.setup.batch   = most[i % 3];
            q.setup.devices = i / 15 % 2 ? 4 : 1;
            assert_int_equal(sync_policy_parse(i % 2 ? "once" : "tensor", &q.setup.sync, NULL),
                             LM_OK);
            mine = turning(cal, &q).nodes;
            found += mine > 0 && mine <= 400;
            assert_int_equal(mine <= 400 ? mine : 0, brute(cal, &q, 400));
        }
        calibration_free(cal);
    }
    assert_true(found >= 200); /* most of them turn within what is tried here */
}

/*
 * T0 + 2 a (N - 1) with T0 = 0.064 * 10 + 2 = 2.64 turns above (0.9 T0 - 1.8 a) / (0.4 a): at 0.01
 * above 589.5. All-reduces twice and half as long are a = 0.02 and 0.005: above 292.5 and 1183.5.
 * Nothing else has bounds that matter: the interval of the step would not tell them apart.
 */
static void a_turning_point_lies_between_those_of_slow_and_fast_all_reduces(void **state)
{
    rates                r   = { .flop    = 1e-3,
                                 .layer   = 1,
                                 .message = 0.01,
                                 .more    = "[counts.intervals]\nforward = 0.5 .. 3, groups 3\n"
                                                             "sync = 0.5 .. 2, groups 3\nstep_many = 0.9 .. 1.2, groups 3\n" };
    calibration         *cal = machine(&r);
    const scale_question q   = scale_weak(10, 1000000);
    turning_point        tp  = turning(cal, &q);

    (void)state;
    assert_int_equal(tp.nodes, 590);
    assert_int_equal(tp.low, 293);
    assert_int_equal(tp.high, 1184);
    calibration_free(cal);
    r.more = NULL; /* nobody knows */
    cal    = machine(&r);
    tp     = turning(cal, &q);
    assert_int_equal(tp.nodes, 590);
    assert_int_equal(tp.low, -1);
    assert_int_equal(tp.high, -1);
    calibration_free(cal);
}

/* Batch 10 on 5 nodes: 2.64 + 8 * 0.01; the ring alone by 0.5 to 2: 2.68 to 2.8. One node: 2.64. */
static void efficiency_is_bounded_by_the_all_reduces_alone(void **state)
{
    calibration         *cal = machine(&(rates){ .flop    = 1e-3,
                                                 .layer   = 1,
                                                 .message = 0.01,
                                                 .more    = "[counts.intervals]\n"
                                                                    "sync = 0.5 .. 2, groups 3\n"
                                                                    "step_many = 0.8 .. 1.6, groups 3\n" });
    const scale_question q   = scale_weak(10, 1000);
    const predictor      p   = who(cal);
    scale_curve          c   = begin(&p, &q);
    const scale_point    one = at(&c, 1), five = at(&c, 5);

    (void)state;
    assert_close(five.efficiency, 2.64 / 2.72, 1e-13);
    assert_close(five.efficiencies.low, 2.64 / 2.8, 1e-13);
    assert_close(five.efficiencies.high, 2.64 / 2.68, 1e-13);
    assert_close(five.samples.low, 50 / (1.6 * 2.72), 1e-13);
    assert_close(five.samples.high, 50 / (0.8 * 2.72), 1e-13);
    assert_true(one.efficiencies.low == 1 && one.efficiencies.high == 1);
    calibration_free(cal);
}

/* Two devices of one node have a ring of their own: 2.64 + 0.02. Four of them: 2.64 + 0.06. */
static void speed_ups_compare_with_one_node_of_as_many_devices(void **state)
{
    calibration    *cal = machine(&(rates){ .flop = 1e-3, .layer = 1, .message = 0.01 });
    scale_question  q   = scale_weak(10, 1000);
    const predictor p   = who(cal);
    scale_curve     c;
    scale_point     two;

    (void)state;
    q.setup.devices = 2;
    c               = begin(&p, &q);
    two             = at(&c, 2);
    assert_int_equal(two.global_batch, 40);
    assert_close(two.samples_per_second, 40 / 2.7, 1e-13);
    assert_close(two.speedup, 2 * 2.66 / 2.7, 1e-13);
    assert_close(two.efficiency, 2.66 / 2.7, 1e-13);
    calibration_free(cal);
}

/*
 * Arithmetic 0.064 b, launches 2 layers, traffic 32 weights; of 4 ranks 6 messages and 192 bytes.
 */
static void the_largest_share_is_the_bottleneck(void **state)
{
    static const struct {
        rates      r;
        int64_t    batch, nodes, devices;
        bottleneck most;
        sync_bound sync;
        double     share;
    } cases[] = {
        { { 1e-3, 0.01, 0, 0, 0, 0 }, 10, 1, 1, BOTTLENECK_ARITHMETIC, 0, 0.64 / 0.66 },
        { { 1e-3, 0.5, 0, 0, 0, 0 }, 10, 1, 1, BOTTLENECK_LAUNCH, 0, 1 / 1.64 },
        { { 1e-3, 0.5, 0, 0, 0, 0 }, 20, 1, 1, BOTTLENECK_ARITHMETIC, 0, 1.28 / 2.28 },
        { { 1e-3, 0, 0.1, 0, 0, 0 }, 10, 1, 1, BOTTLENECK_TRAFFIC, 0, 3.2 / 3.84 },
        { { 1e-3, 0, 0, 0.2, 0, 0 },
          10,
          4,
          1,
          BOTTLENECK_INTER_NODE,
          SYNC_BOUND_LATENCY,
          1.2 / 1.84 },
        { { 1e-3, 0, 0, 0.2, 0, 0 },
          10,
          1,
          4,
          BOTTLENECK_INTRA_NODE,
          SYNC_BOUND_LATENCY,
          1.2 / 1.84 },
        { { 1e-3, 0, 0, 0.01, 0.01, 0 },
          10,
          2,
          2,
          BOTTLENECK_INTER_NODE,
          SYNC_BOUND_BANDWIDTH,
          1.98 / 2.62 },
        { { 1e-3, 0, 0, 0, 1e-4, 0 },
          10,
          4,
          1,
          BOTTLENECK_ARITHMETIC,
          SYNC_BOUND_BANDWIDTH,
          0.64 / 0.6592 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        calibration    *cal = machine(&cases[i].r);
        const predictor p   = who(cal);
        scale_question  q   = scale_weak(cases[i].batch, 1000);
        scale_curve     c;
        scale_point     out;

        q.setup.devices = cases[i].devices;
        c               = begin(&p, &q);
        out             = at(&c, cases[i].nodes);
        assert_string_equal(bottleneck_name(out.bottleneck.most), bottleneck_name(cases[i].most));
        assert_string_equal(sync_bound_name(out.bottleneck.sync), sync_bound_name(cases[i].sync));
        assert_close(out.bottleneck.share, cases[i].share, 1e-12);
        calibration_free(cal);
    }
}

/* A step's bounds add up to it: what explain_step() says share by share. */
static void bottlenecks_agree_with_explanations(void **state)
{
    calibration *cal = machine(
        &(rates){ .flop = 1e-3, .layer = 0.1, .weight = 0.02, .message = 1e-3, .byte = 1e-4 });
    const predictor p = who(cal);

    (void)state;
    for (int64_t batch = 1; batch < 200; batch = 3 * batch + 1) {
        step_setup         s = step_setup_of(batch, 1);
        bottleneck_profile profile;
        bottleneck_of      found;
        explanation       *e;
        double             sum[N_TERM_BOUNDS] = { 0 };

        s.sync.accumulation = 1 + batch % 3;
        assert_int_equal(bottleneck_profile_of(&p, &s, &profile, NULL), LM_OK);
        assert_int_equal(explain_step(&p, &s, &e, NULL), LM_OK);
        for (size_t i = 0; i < e->n_shares; i++)
            sum[e->share[i].bound] += e->share[i].seconds;
        found = bottleneck_find(&p, &profile, &s, &e->step);
        assert_close(found.share, sum[found.most] / e->step.step, 1e-12);
        for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
            assert_true(sum[k] <= sum[found.most]);
        explanation_free(e);
    }
    calibration_free(cal);
}

/* 48 samples in micro-steps of 10 at most: one device takes 5 of ceil(48 / 5) = 10, two take 24 in
 * 3 of 8, five take 10 at once; 64 have 16 too many. */
static void a_global_batch_is_shared_out_in_equal_micro_steps(void **state)
{
    static const struct {
        int64_t nodes, batch, micro, idle;
    } cases[] = {
        { 1, 10, 5, 0 }, { 2, 8, 3, 0 }, { 5, 10, 1, 0 }, { 48, 1, 1, 0 }, { 64, 1, 1, 16 }
    };
    calibration    *cal = machine(&(rates){ .flop = 1e-3 });
    scale_question  q   = scale_strong(48, 1000);
    const predictor p   = who(cal);
    scale_curve     c;

    (void)state;
    q.kind        = SCALING_GLOBAL;
    q.setup.batch = 10;
    c             = begin(&p, &q);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const scale_point out = at(&c, cases[i].nodes);

        assert_int_equal(out.step.batch, cases[i].batch);
        assert_int_equal(out.accumulation, cases[i].micro);
        assert_int_equal(out.idle, cases[i].idle);
        assert_int_equal(out.global_batch, 48);
    }
    calibration_free(cal);
}

static void a_batch_over_the_data_set_says_what_would_fit(void **state)
{
    scale_question q = scale_weak(32, 1000);
    lm_error       err;

    (void)state;
    q.setup.devices = 2;
    assert_int_equal(scale_fits_dataset(&q, 15, &err), LM_OK);
    assert_int_equal(scale_fits_dataset(&q, 16, &err), LM_E_ARG);
    assert_error(
        err, LM_E_ARG,
        "16 nodes take 1024 samples a step, more than the 1000 of the data set: at most 15 "
        "nodes can, or a smaller --batch, or another --dataset");
    q.setup.batch = 501;
    assert_int_equal(scale_fits_dataset(&q, 1, &err), LM_E_ARG);
    assert_error(
        err, LM_E_ARG,
        "a batch of 1002 is more than the 1000 samples of the data set: give a smaller one, "
        "or a --dataset");
    q = scale_strong(1001, 1000);
    assert_int_equal(scale_fits_dataset(&q, 64, &err), LM_E_ARG);
}

/* 8 ranks: 8 nodes of one device, 2 of three. Of an all-reduce that was fitted its own numbers. */
static void measured_nodes_are_those_of_the_all_reduce(void **state)
{
    static const collective_time rows[] = {
        { { COLLECTIVE_ALLREDUCE, 1e3, 1, 2, 1 }, "default", 1e-4 },
        { { COLLECTIVE_ALLREDUCE, 1e6, 1, 2, 1 }, "default", 1e-3 },
        { { COLLECTIVE_ALLREDUCE, 1e3, 6, 1, 1 }, "default", 2e-4 },
        { { COLLECTIVE_ALLREDUCE, 1e6, 6, 1, 1 }, "default", 3e-3 },
        { { COLLECTIVE_ALLREDUCE, 1e3, 3, 1, 1 }, "default", 2e-4 },
        { { COLLECTIVE_ALLREDUCE, 1e6, 3, 1, 1 }, "default", 3e-3 },
    };
    calibration *cal = machine(&(rates){ .message = 1e-3 });

    (void)state;
    assert_int_equal(calibration_nodes(cal, "counts", 1), 8);
    assert_int_equal(calibration_nodes(cal, "counts", 3), 2);
    assert_int_equal(calibration_nodes(cal, "counts", 16), 1);
    assert_int_equal(collective_fit(rows, 2, &cal->collectives, NULL), LM_OK);
    assert_int_equal(calibration_nodes(cal, "counts", 1), 1); /* within a node only */
    collective_free(cal->collectives);
    assert_int_equal(collective_fit(rows, 6, &cal->collectives, NULL), LM_OK);
    assert_int_equal(calibration_nodes(cal, "counts", 1), 6);
    calibration_free(cal);
}

/* Batches, nodes, policies and micro-steps in an order that comes back to each. */
static void a_scan_predicts_what_each_step_by_itself_does(void **state)
{
    static const char *const policy[] = { "once", "tensor", "ddp:64B", "ddp:64B",
                                          "horovod:200B:1ms" };
    calibration             *cal      = machine(&(rates){ .flop    = 1e-3,
                                                          .layer   = 0.1,
                                                          .weight  = 0.02,
                                                          .message = 1e-3,
                                                          .byte    = 1e-4,
                                                          .more    = "[counts.intervals]\n"
                                                                                      "forward = 0.5 .. 3, groups 3\n"
                                                                                      "backward = 0.7 .. 2, groups 3\n"
                                                                                      "update = 0.7 .. 2, groups 3\n"
                                                                                      "sync = 0.5 .. 2, groups 3\n" });
    const predictor          alone    = who(cal);
    predictor                scan     = alone;

    (void)state;
    assert_int_equal(step_scan_new(&scan.scan, NULL), LM_OK);
    for (unsigned i = 0; i < 600; i++) {
        step_setup s = step_setup_of(1 + i * i % 5, 1 + i % 4);
        prediction a, b, c;
        char       text[2][200];

        s.devices           = 1 + i / 7 % 2;
        s.sync.accumulation = 1 + i % 2;
        s.optimizer         = i % 11 ? OPTIMIZER_MOMENTUM : OPTIMIZER_ADAM;
        assert_int_equal(sync_policy_parse(policy[i / 3 % 5], &s.sync, NULL), LM_OK);
        assert_int_equal(predict_step(&alone, &s, &a, NULL), LM_OK);
        assert_int_equal(predict_step(&scan, &s, &b, NULL), LM_OK);
        assert_int_equal(predict_seconds(&scan, &s, &c, NULL), LM_OK);
        assert_true(a.step == b.step && a.step == c.step && a.sync == b.sync);
        assert_true(a.exposed == b.exposed && a.grad == b.grad);
        assert_true(a.slow == b.slow && a.fast == b.fast && a.slow == c.slow && a.fast == c.fast);
        assert_true(a.slow >= a.step && a.fast <= a.step);
        for (phase q = 0; q < N_TIMES; q++)
            assert_true((a.low[q] == b.low[q] && a.high[q] == b.high[q]) ||
                        (isnan(a.low[q]) && isnan(b.low[q])));
        assert_memory_equal(&a.grounds.ledger, &b.grounds.ledger, sizeof a.grounds.ledger);
        assert_string_equal(grounds_beyond(&a.grounds, text[0], sizeof text[0]),
                            grounds_beyond(&b.grounds, text[1], sizeof text[1]));
    }
    step_scan_free(scan.scan);
    calibration_free(cal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_is_the_shortest_at_the_root_of_work_over_latency),
        cmocka_unit_test(a_tree_is_the_shortest_at_work_times_ln_2_over_latency),
        cmocka_unit_test(turning_points_are_the_first_by_the_definition),
        cmocka_unit_test(a_turning_point_lies_between_those_of_slow_and_fast_all_reduces),
        cmocka_unit_test(efficiency_is_bounded_by_the_all_reduces_alone),
        cmocka_unit_test(speed_ups_compare_with_one_node_of_as_many_devices),
        cmocka_unit_test(the_largest_share_is_the_bottleneck),
        cmocka_unit_test(bottlenecks_agree_with_explanations),
        cmocka_unit_test(a_global_batch_is_shared_out_in_equal_micro_steps),
        cmocka_unit_test(a_batch_over_the_data_set_says_what_would_fit),
        cmocka_unit_test(measured_nodes_are_those_of_the_all_reduce),
        cmocka_unit_test(a_scan_predicts_what_each_step_by_itself_does),
    };

    return cmocka_run_group_tests(tests, linear_net_enter, linear_net_leave);
}
