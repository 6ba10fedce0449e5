/* What a step is made of, and what it stands on, by hand: coefficients are powers of two, so that
 * sums are exact. */
#include "nets.h"
#include "steps.h"

#include "machine/machine.h"
#include "models/paleo_step.h"
#include "predict/explain.h"

static workloads   *loads;
static calibration *cal;

/*
 * 8 -> 4 without bias, then a ReLU, at batch b. Forward the product takes 64 b FLOP, and 48 b bytes
 * beside 128 of weights, which are as cheap: a cache holds so few; the ReLU reads and writes 16 b bytes each. Backward the ReLU reads two
 * tensors of 16 b and writes one; the weights' gradient is the forward product once more. An update
 * with momentum moves 5 x 128 bytes.
 */
static const char machine[] =
    "[machine]\nmax_ranks = 8\ndtype = f32\n"
    "[layermeter.forward]\n"
    "gemm.flops.forward = 0.0009765625 s/FLOP, known 1, range 1 .. 1000\n"
    "gemv.weights.forward = 0.0078125 s/byte, known 0.5, range 1 .. 1000\n"
    "gemm.bytes.forward = 0.001953125 s/byte, known 0.75, range 1 .. 1000\n"
    "gemm.launches.forward = 0.25 s/launch, known 1, range 1 .. 10\n"
    "map_after.bytes.forward = 0.00390625 s/byte, known 1, range 1 .. 160\n"
    "after.launches.forward = 0.5 s/launch, known 0, range 1 .. 10\n"
    "[layermeter.backward]\n"
    "gemm.flops.grad_weight = 0.0009765625 s/FLOP, known 1, range 1 .. 1000\n"
    "gemv.weights.grad_weight = 0.0078125 s/byte, known 1, range 1 .. 1000\n"
    "gemm.bytes.grad_weight = 0.001953125 s/byte, known 1, range 1 .. 1000\n"
    "gemm.launches.grad_weight = 0.25 s/launch, known 1, range 1 .. 10\n"
    "map.bytes.grad_input = 0.00390625 s/byte, known 1, range 1 .. 1000\n"
    "other.launches.grad_input = 0.5 s/launch, known 1, range 1 .. 10\n"
    "[layermeter.update]\n"
    "update.bytes.grad_weight = 0.00390625 s/byte, known 1, range 1 .. 1000\n"
    "update.launches.grad_weight = 0.125 s/launch, known 1, range 1 .. 10\n"
    "[layermeter.sync]\n"
    "ring_steps = 0.25 s/message, range 2 .. 14\nring_bytes = 0.0078125 s/byte, range 1 .. 1000\n"
    "[convmeter.forward]\n"
    "flops = 0.0009765625 s/FLOP, range 1 .. 1000\ninputs = 0 s/element, range 0 .. 0\n"
    "outputs = 0 s/element, range 0 .. 0\none = 3 s/step, range 1 .. 1\n"
    "[convmeter.backward]\n"
    "flops = 0 s/FLOP, range 1 .. 1000\ninputs = 0 s/element, range 0 .. 0\n"
    "outputs = 0 s/element, range 0 .. 0\none = -1 s/step, undetermined, range 1 .. 1\n"
    "[convmeter.grad_one]\nlayers = 0.5 s/layer\n";

static int enter(void **state)
{
    lm_error err = { LM_OK, "" };

    if (nets_enter(state))
        return -1;
    folder_file("n.ini", "[network]\nname = n\n[x]\ntype = input\nshape = 8\n"
                         "[a.l]\ntype = linear\nfeatures = 4\nbias = no\n[a.r]\ntype = relu\n");
    if (machine_load(folder_file("m.ini", machine), &cal, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    return workloads_new(nets_registry, &loads, NULL);
}

static int leave(void **state)
{
    workloads_free(loads);
    calibration_free(cal);
    return nets_leave(state);
}

static predictor who(const char *model)
{
    return (predictor){ .by      = step_model_of(cal, model),
                        .cal     = cal,
                        .loads   = loads,
                        .model   = model,
                        .network = "n.ini",
                        .dtype   = LM_F32 };
}

static explanation *explained_at(const predictor *p, int64_t batch, int64_t nodes)
{
    explanation *e   = NULL;
    lm_error     err = { LM_OK, "" };

    explain_step(p,
                 &(step_setup){ .batch             = batch,
                                .nodes             = nodes,
                                .devices           = 1,
                                .sync.accumulation = 1,
                                .optimizer         = OPTIMIZER_MOMENTUM },
                 &e, &err);
    assert_string_equal(err.text, "");
    return e;
}

static const explained *find(const explained *row, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(row[i].name, name))
            return &row[i];
    fail_msg("no row '%s'", name);
    return NULL;
}

/*
 * l: 640 FLOP / 1024 + (128 + 480) bytes / 512 + 1/4 = .625 + 1.1875 + .25
 * r: 320 bytes / 256 + 1/2 = 1.75 forward; 480 / 256 + 1/2 = 2.375 backward
 * update: 640 / 256 + 1/8 = 2.625
 * sync of 4 nodes: 6 messages / 4 = 1.5 of no layer; 2 * 3/4 * 128 bytes / 128 = 1.5 of l
 */
static void layers_hold_what_their_kernels_take(void **state)
{
    const predictor  p = who("layermeter");
    explanation     *e = explained_at(&p, 10, 4);
    explained       *row;
    const explained *x;
    size_t           n;

    (void)state;
    assert_int_equal(explain_by(e, EXPLAIN_LAYER, &row, &n, NULL), LM_OK);
    assert_int_equal(n, 3);
    x = find(row, n, "a.l");
    assert_string_equal(x->type, "linear");
    assert_true(x->part[PHASE_FORWARD] == 2.0625 && x->part[PHASE_BACKWARD] == 2.0625);
    assert_true(x->part[PHASE_UPDATE] == 2.625 && x->part[PHASE_SYNC] == 1.5);
    assert_true(x->seconds == 8.25);
    /* arithmetic 2 x .625; launches 2 x .25 + .125; the rest is traffic */
    assert_true(x->bound[BOUND_ARITHMETIC] == 1.25 && x->bound[BOUND_LAUNCH] == 0.625);
    assert_true(x->bound[BOUND_TRAFFIC] == 8.25 - 1.875);
    assert_string_equal(explained_bound(x), "traffic");
    x = find(row, n, "a.r");
    assert_true(x->part[PHASE_FORWARD] == 1.75 && x->part[PHASE_BACKWARD] == 2.375);
    x = find(row, n, "(step)");
    assert_true(x->part[PHASE_SYNC] == 1.5 && x->seconds == 1.5);
    assert_string_equal(explained_bound(x), "launch");
    assert_true(row[0].seconds >= row[1].seconds && row[1].seconds >= row[2].seconds);
    free(row);
    explanation_free(e);
}

static void every_way_to_add_up_gives_the_prediction(void **state)
{
    static const struct {
        const char *model;
        int64_t     batch, nodes;
    } cases[] = { { "layermeter", 1, 1 },
                  { "layermeter", 2, 2 },
                  { "layermeter", 10, 4 },
                  { "convmeter", 1, 1 },
                  { "convmeter", 10, 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const predictor p = who(cases[i].model);
        explanation    *e = explained_at(&p, cases[i].batch, cases[i].nodes);
        prediction      step;

        assert_int_equal(step_at(&p, cases[i].batch, cases[i].nodes, &step, NULL), LM_OK);
        assert_true(e->step.step == step.step);
        for (explain_key key = 0; key < N_EXPLAIN_KEYS; key++) {
            explained  all = { .seconds = 0 };
            explained *row;
            size_t     n;

            assert_int_equal(explain_by(e, key, &row, &n, NULL), LM_OK);
            for (size_t r = 0; r < n; r++)
                explained_add(&all, &row[r]);
            assert_true(all.seconds == step.step);
            assert_true(all.part[PHASE_FORWARD] == step.forward);
            assert_true(all.part[PHASE_BACKWARD] == step.backward);
            for (certainty c = 0; c < N_CERTAINTIES; c++)
                assert_true(all.ledger.seconds[c] == step.grounds.ledger.seconds[c]);
            free(row);
        }
        explanation_free(e);
    }
}

static void classes_are_of_whole_kernels(void **state)
{
    const predictor p = who("layermeter");
    explanation    *e = explained_at(&p, 10, 1);
    explained      *row;
    size_t          n;

    (void)state;
    assert_int_equal(explain_by(e, EXPLAIN_CLASS, &row, &n, NULL), LM_OK);
    assert_int_equal(n, 4);
    assert_true(find(row, n, "gemm")->seconds == 2 * 2.0625);
    assert_true(find(row, n, "map_after")->seconds == 1.75);
    assert_true(find(row, n, "map")->seconds == 2.375);
    assert_true(find(row, n, "update")->seconds == 2.625);
    free(row);
    assert_int_equal(explain_by(e, EXPLAIN_TERM, &row, &n, NULL), LM_OK);
    assert_int_equal(n, 12);
    assert_true(find(row, n, "forward gemm.bytes.forward")->count == 608);
    assert_true(find(row, n, "forward gemm.bytes.forward")->coefficient == 1.0 / 512);
    assert_string_equal(find(row, n, "forward gemm.bytes.forward")->unit, "byte");
    free(row);
    explanation_free(e);
}

/* Forward: of 160 bytes at most were measured 320; launches behind the product are wholly their
 * family's. Of the rest the measurements tell. */
static void the_ledger_says_what_a_step_stands_on(void **state)
{
    predictor  p = who("layermeter");
    prediction step;
    char       text[LEDGER_TEXT];

    (void)state;
    assert_int_equal(step_at(&p, 10, 1, &step, NULL), LM_OK);
    assert_true(step.step == 10.875);
    assert_true(step.grounds.ledger.seconds[CERTAINTY_EXTRAPOLATED] == 1.25);
    assert_true(step.grounds.ledger.seconds[CERTAINTY_ASSUMED] == 0.5);
    assert_true(step.grounds.ledger.seconds[CERTAINTY_INTERPOLATED] == 10.875 - 1.75);
    assert_close(ledger_share(&step.grounds.ledger, CERTAINTY_ASSUMED), 0.5 / 10.875, 1e-15);
    assert_string_equal(ledger_print(&step.grounds.ledger, text), "0/84/11/5");
    /* of another element type nothing was measured */
    p.dtype = LM_F64;
    assert_int_equal(step_at(&p, 1, 1, &step, NULL), LM_OK);
    assert_true(step.grounds.ledger.seconds[CERTAINTY_INTERPOLATED] == 0);
    assert_true(step.grounds.ledger.seconds[CERTAINTY_EXTRAPOLATED] == 0);
    assert_true(step.grounds.ledger.seconds[CERTAINTY_ASSUMED] == step.step);
    /* coefficients may be below 0, and the data unable to tell them: 3.625 - 1 + 2 * .5, of which
     * the last has no range */
    p = who("convmeter");
    assert_int_equal(step_at(&p, 10, 1, &step, NULL), LM_OK);
    assert_true(step.step == 3.625);
    assert_true(step.grounds.ledger.seconds[CERTAINTY_INTERPOLATED] == 3.625);
    assert_true(step.grounds.ledger.seconds[CERTAINTY_ASSUMED] == 2);
    assert_true(isnan(ledger_share(&(ledger){ { 0 } }, CERTAINTY_ASSUMED)));
    assert_string_equal(ledger_print(&(ledger){ { 0 } }, text), "-");
    /* rounded by themselves these add up to 101, and those to 99 */
    assert_string_equal(ledger_print(&(ledger){ { 0, 0.7, 85.8, 13.5 } }, text), "0/1/86/13");
    assert_string_equal(ledger_print(&(ledger){ { 0.4, 33.2, 33.1, 33.3 } }, text), "1/33/33/33");
}

static void ranges_have_a_tolerance(void **state)
{
    const coefficient c    = { .low = 100, .high = 200, .determined = true, .known = NAN };
    const coefficient none = { .low = NAN, .high = NAN, .determined = true, .known = 1 };

    (void)state;
    assert_true(range_beyond(&c, 209) == 1 && range_beyond(&c, 96) == 1);
    assert_true(range_beyond(&c, 400) == 2 && range_beyond(&c, 50) == 0.5);
    assert_true(range_beyond(&none, 1e9) == 1);
    assert_int_equal(certainty_of(&c, 150, false), CERTAINTY_INTERPOLATED);
    assert_int_equal(certainty_of(&c, 150, true), CERTAINTY_EXTRAPOLATED);
    assert_int_equal(certainty_of(&c, 400, false), CERTAINTY_EXTRAPOLATED);
    assert_int_equal(certainty_of(&none, 150, false), CERTAINTY_ASSUMED);
}

/* PALEO: l takes 640 FLOP and 4 (80 + 32 + 40) bytes a pass; the ReLU nothing. */
static void paleo_is_taken_apart_into_arithmetic_and_traffic(void **state)
{
    const paleo_platform platform = {
        .peak = 1e3, .bandwidth = 1e9, .ppp_comp = 0.5, .ppp_comm = 1, .scheme = PALEO_TREE
    };
    predictor    p;
    explanation *e;
    explained   *row;
    size_t       n;
    lm_error     err;

    (void)state;
    p = (predictor){ .model   = "paleo",
                     .loads   = loads,
                     .network = "n.ini",
                     .dtype   = LM_F32,
                     .link    = { .bytes_per_second = 1e6 } };
    assert_int_equal(paleo_open_with(&p, &platform, &err), LM_OK);
    e = explained_at(&p, 10, 2);
    assert_int_equal(explain_by(e, EXPLAIN_LAYER, &row, &n, NULL), LM_OK);
    assert_int_equal(n, 1);
    assert_string_equal(row[0].name, "a.l");
    assert_close(row[0].seconds, e->step.step, 1e-14);
    assert_close(row[0].part[PHASE_SYNC], e->step.sync, 1e-14);
    /* forward and both gradients at half of 1000 FLOP/s, an update of 2 x 36 at all of it */
    assert_close(row[0].bound[BOUND_ARITHMETIC], 3 * 640 / 500.0 + 72 / 1e3, 1e-14);
    assert_close(row[0].ledger.seconds[CERTAINTY_ASSUMED], e->step.step, 1e-14);
    free(row);
    explanation_free(e);
    predictor_close(&p);
}

static void blocks_end_at_the_first_number(void **state)
{
    static const char *const cases[][2] = {
        { "conv1", "conv1" },
        { "layer1.0.conv1", "layer1.0" },
        { "layer1.0.downsample.0", "layer1.0" },
        { "features.0", "features" },
        { "encoder.layer.11.attention.self.query", "encoder.layer.11" },
        { "features.denseblock1.denselayer2.conv1", "features.denseblock1.denselayer2" },
        { "0.conv", "0" },
    };
    char out[80];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        explain_block(cases[i][0], out, sizeof out);
        assert_string_equal(out, cases[i][1]);
    }
}

static void keys_go_there_and_back(void **state)
{
    explain_key key;
    lm_error    err;

    (void)state;
    for (explain_key k = 0; k < N_EXPLAIN_KEYS; k++) {
        assert_int_equal(explain_key_parse(explain_key_name(k), &key, NULL), LM_OK);
        assert_int_equal(key, k);
    }
    assert_int_equal(explain_key_parse("kernel", &key, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "expected layer, block, class or term, found 'kernel'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_hold_what_their_kernels_take),
        cmocka_unit_test(every_way_to_add_up_gives_the_prediction),
        cmocka_unit_test(classes_are_of_whole_kernels),
        cmocka_unit_test(the_ledger_says_what_a_step_stands_on),
        cmocka_unit_test(ranges_have_a_tolerance),
        cmocka_unit_test(paleo_is_taken_apart_into_arithmetic_and_traffic),
        cmocka_unit_test(blocks_end_at_the_first_number),
        cmocka_unit_test(keys_go_there_and_back),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
