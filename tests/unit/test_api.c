/* layermeter.h as other programs see it: a machine of hand-made coefficients, no header of ours. */
#include "folder.h"

#include <pthread.h>
#include <stdbool.h>

#include <layermeter/layermeter.h>

static lm_library *library;
static lm_network *network;
static lm_machine *machine;

/* At batch b: 64 b FLOP forward; 2 layers; 32 weights of 128 bytes. */
static int enter(void **state)
{
    lm_error err = { LM_OK, "" };

    if (folder_enter(state))
        return -1;
    folder_file("n.ini", "[network]\nname = n\n[x]\ntype = input\nshape = 8\n"
                         "[l]\ntype = linear\nfeatures = 4\nbias = no\n[r]\ntype = relu\n");
    folder_file("m.ini", "[machine]\nmax_ranks = 8\n"
                         "[counts.forward]\nflops = 0.001 s/FLOP\ninputs = 0 s/element\n"
                         "outputs = 0 s/element\nweights = 0 s/element\nlayers = 0.5 s/layer\n"
                         "[counts.backward]\nflops = 0.002 s/FLOP\ninputs = 0 s/element\n"
                         "outputs = 0 s/element\nweights = 0 s/element\nlayers = 0 s/layer\n"
                         "[counts.update]\nlayers = 0 s/layer\nweights = 0.01 s/element\n"
                         "[counts.sync]\nring_steps = 0.25 s/message\nring_bytes = 0.001 s/byte\n");
    if (lm_library_open(NULL, &library, &err) ||
        lm_network_open(library, "n.ini", NULL, &network, &err) ||
        lm_machine_open("m.ini", &machine, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int leave(void **state)
{
    lm_machine_close(machine);
    lm_network_close(network);
    lm_library_close(library);
    return folder_leave(state);
}

static lm_predictor *predictor_of(const char *model, const lm_predictor_options *options)
{
    lm_predictor *p   = NULL;
    lm_error      err = { LM_OK, "" };

    lm_predictor_open(library, machine, network, model, options, &p, &err);
    assert_string_equal(err.text, "");
    return p;
}

/*
 * forward 0.064 b + 2 * 0.5, backward 0.128 b, update 0.32; a ring of N sends 2 (N - 1) messages
 * and 2 (N - 1) / N * 128 bytes: at N = 4, 6 * 0.25 + 192 * 0.001 = 1.692.
 */
static void a_step_is_the_sum_of_its_parts(void **state)
{
    lm_predictor *p    = predictor_of("counts", NULL);
    lm_step       step = lm_step_of(10, 4);
    lm_answer     a    = { .size = sizeof a };

    (void)state;
    assert_int_equal(lm_predict(p, &step, &a, NULL), LM_OK);
    assert_close(a.forward.value, 1.64, 1e-14);
    assert_close(a.backward.value, 1.28, 1e-14);
    assert_close(a.sync.value, 1.692, 1e-14);
    assert_close(a.exposed, 1.692, 1e-14);
    assert_close(a.update, 0.32, 1e-14);
    assert_close(a.grad.value, 2.012, 1e-14);
    assert_close(a.step.value, 4.932, 1e-14);
    assert_true(isnan(a.step.low) && isnan(a.step.high));
    assert_close(a.samples_per_second, 40 / 4.932, 1e-14);
    assert_close(a.measured + a.interpolated + a.extrapolated + a.assumed, 1, 1e-14);
    assert_int_equal(a.messages, 1);
    assert_true(a.size == sizeof a);
    lm_predictor_close(p);
}

/* Two micro-steps on two nodes of two devices: the passes twice, the rest once. */
static void micro_steps_and_devices_are_those_of_the_record(void **state)
{
    lm_predictor *p    = predictor_of("counts", NULL);
    lm_step       step = lm_step_of(10, 1);
    lm_answer     a    = { .size = sizeof a };

    (void)state;
    step.accumulation = 2;
    assert_int_equal(lm_predict(p, &step, &a, NULL), LM_OK);
    assert_close(a.forward.value, 3.28, 1e-14);
    assert_close(a.samples_per_second, 20 / a.step.value, 1e-14);
    step.nodes = step.devices = 2;
    assert_int_equal(lm_predict(p, &step, &a, NULL), LM_OK);
    assert_close(a.samples_per_second, 80 / a.step.value, 1e-14);
    lm_predictor_close(p);
}

static void a_curve_is_its_steps(void **state)
{
    const int64_t    nodes[]  = { 1, 2, 4, 8 };
    const lm_step    step     = lm_step_of(10, 1);
    const lm_scaling question = { .size = sizeof question, .step = &step, .dataset = 1000 };
    lm_predictor    *p        = predictor_of("counts", NULL);
    lm_point         point[4] = { { .size = sizeof *point } };
    int64_t          turning  = -1;

    (void)state;
    assert_int_equal(lm_scale(p, &question, nodes, 4, point, NULL), LM_OK);
    for (size_t i = 0; i < 4; i++) {
        lm_step   one = lm_step_of(10, nodes[i]);
        lm_answer a   = { .size = sizeof a };

        assert_int_equal(lm_predict(p, &one, &a, NULL), LM_OK);
        assert_true(point[i].step.value == a.step.value);
        assert_true(point[i].samples_per_second.value == a.samples_per_second);
        assert_true(point[i].nodes == nodes[i] && point[i].size == sizeof *point);
        assert_close(point[i].epoch_seconds, (double)point[i].steps_per_epoch * point[i].step.value,
                     1e-14);
    }
    assert_close(point[2].efficiency.value, 3.24 / 4.932, 1e-14);
    assert_int_equal(point[2].steps_per_epoch, 25);
    assert_int_equal(lm_turning_point(p, &question, &turning, NULL), LM_OK);
    assert_true(turning >= 0);
    lm_predictor_close(p);
}

static void parts_add_up_to_the_step(void **state)
{
    static const char *const by[] = { "layer", "block", "class", "term" };
    lm_predictor            *p    = predictor_of("counts", NULL);
    const lm_step            step = lm_step_of(10, 4);
    lm_explanation          *x    = NULL;
    lm_part                  part = { .size = sizeof part };
    lm_error                 err;

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        double all = 0;

        assert_int_equal(lm_explain(p, &step, by[k], &x, NULL), LM_OK);
        for (size_t i = 0; i < lm_explanation_parts(x); i++) {
            assert_int_equal(lm_explanation_part(x, i, &part, NULL), LM_OK);
            assert_close(part.forward + part.backward + part.grad, part.seconds, 1e-14);
            all += part.seconds;
        }
        assert_close(all, 4.932, 1e-13);
        lm_explanation_part(x, 999, &part, &err);
        assert_int_equal(err.code, LM_E_ARG);
        lm_explanation_close(x);
    }
    assert_int_equal(lm_explain(p, &step, "colour", &x, &err), LM_E_ARG);
    lm_predictor_close(p);
}

/* 100 steps of 10 samples: 3.24 s on one node, on four 25 steps of 4.932 s. */
static void a_run_is_planned(void **state)
{
    const int64_t nodes[] = { 1, 4 }, batch[] = { 10 };
    const lm_step step = lm_step_of(1, 1);
    lm_run        run  = { .size      = sizeof run,
                           .step      = &step,
                           .nodes     = nodes,
                           .n_nodes   = 2,
                           .batch     = batch,
                           .n_batches = 1,
                           .dataset   = 1000,
                           .price     = 3600 };
    lm_predictor *p    = predictor_of("counts", NULL);
    lm_plan       plan = { .size = sizeof plan };
    lm_error      err;

    (void)state;
    assert_int_equal(lm_plan_run(p, &run, &plan, NULL), LM_OK);
    assert_int_equal(plan.nodes, 1);
    assert_int_equal(plan.n_plans, 2);
    assert_close(plan.seconds.value, 324, 1e-14);
    assert_close(plan.cost.value, 324, 1e-14);
    run.deadline = 200;
    assert_int_equal(lm_plan_run(p, &run, &plan, NULL), LM_OK);
    assert_int_equal(plan.nodes, 4);
    assert_close(plan.seconds.value, 25 * 4.932, 1e-14);
    assert_close(plan.cost.value, 4 * 25 * 4.932, 1e-14);
    assert_close(plan.device_hours, 4 * 25 * 4.932 / 3600, 1e-14);
    run.deadline = 1;
    lm_plan_run(p, &run, &plan, &err);
    assert_error(err, LM_E_NOTFOUND, "none of 2 plans keeps to the limits");
    lm_predictor_close(p);
}

/* 32 weights with gradients and momentum, each 128 bytes; inputs of 32 bytes a sample. */
static void memory_and_counts_are_of_the_input(void **state)
{
    const lm_input          input = { .size = sizeof input, .batch = 3 };
    const lm_memory_options adam  = { .size = sizeof adam, .optimizer = "adam" };
    lm_counts               c     = { .size = sizeof c };
    lm_memory               m = { .size = sizeof m }, more = { .size = sizeof more };
    int64_t                 largest = 0;

    (void)state;
    assert_int_equal(lm_network_counts(network, &input, &c, NULL), LM_OK);
    assert_int_equal(c.flops_forward, 3 * 64);
    assert_int_equal(c.macs, 3 * 32);
    assert_int_equal(c.params, 32);
    assert_int_equal(c.param_bytes, 128);
    assert_int_equal(c.layers, 2);
    assert_int_equal(lm_memory_of_step(network, &input, NULL, &m, NULL), LM_OK);
    assert_int_equal(m.weights, 128);
    assert_int_equal(m.optimizer, 128);
    assert_int_equal(m.inputs, 3 * 32);
    assert_int_equal(lm_memory_of_step(network, &input, &adam, &more, NULL), LM_OK);
    assert_int_equal(more.peak, m.peak + 128);
    assert_int_equal(lm_largest_batch(network, NULL, NULL, m.peak, &largest, NULL), LM_OK);
    assert_int_equal(largest, 3);
}

static void what_is_wrong_is_said(void **state)
{
    lm_network   *n = NULL;
    lm_machine   *m = NULL;
    lm_predictor *p = NULL, *other = NULL;
    lm_step       step = lm_step_of(10, 1);
    lm_answer     a    = { .size = 4 };
    struct {
        lm_step  step;
        uint64_t more;
    } newer = { lm_step_of(10, 1), 0 };
    lm_error err;

    (void)state;
    lm_network_open(library, "resnet5", NULL, &n, &err);
    assert_int_equal(err.code, LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "no network 'resnet5'"));
    lm_machine_open("none.ini", &m, &err);
    assert_error(err, LM_E_IO, "none.ini: No such file or directory");
    lm_predictor_open(library, machine, network, "oracle", NULL, &p, &err);
    assert_int_equal(err.code, LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "; found 'oracle'"));
    lm_predictor_open(library, NULL, network, NULL, NULL, &p, &err);
    assert_error(err, LM_E_ARG, "the model 'layermeter' needs a machine");
    lm_predictor_open(library, NULL, network, "paleo", NULL, &p, &err);
    assert_error(err, LM_E_ARG, "the model 'paleo' needs a device");
    assert_true(!n && !m && !p);

    p = predictor_of("counts", NULL);
    lm_predict(p, &step, &a, &err);
    assert_error(err, LM_E_ARG, "out: a size of 4 is none of its versions: at least %zu", sizeof a);
    a.size = sizeof a;
    lm_predictor_open(library, machine, network, "layermeter", NULL, &other, &err);
    assert_int_equal(lm_predict(other, &step, &a, &err), LM_E_NOTFOUND);
    lm_predictor_close(other);
    lm_predict(p, NULL, &a, &err);
    assert_error(err, LM_E_ARG, "step: there is no record");
    step.batch = 0;
    lm_predict(p, &step, &a, &err);
    assert_error(err, LM_E_ARG, "batch 0: must be 1 or more");
    step.size = 8;
    assert_int_equal(lm_predict(p, &step, &a, &err), LM_E_ARG);
    newer.step.size = sizeof newer;
    assert_int_equal(lm_predict(p, &newer.step, &a, &err), LM_OK);
    newer.more = 1;
    lm_predict(p, &newer.step, &a, &err);
    assert_error(err, LM_E_ARG, "step: says more than version %s knows", lm_version());
    lm_predictor_close(p);
}

/* What a newer program's record has beyond ours is left as it is. */
static void a_larger_answer_keeps_its_end(void **state)
{
    struct {
        lm_answer a;
        uint64_t  more;
    } larger        = { .a = { .size = sizeof larger }, .more = 7 };
    lm_predictor *p = predictor_of("counts", NULL);
    const lm_step s = lm_step_of(10, 1);

    (void)state;
    assert_int_equal(lm_predict(p, &s, &larger.a, NULL), LM_OK);
    assert_close(larger.a.step.value, 3.24, 1e-14);
    assert_true(larger.more == 7 && larger.a.size == sizeof larger);
    lm_predictor_close(p);
}

/* A folder of networks is looked at before the shipped ones. */
static void networks_are_found_in_folders(void **state)
{
    static const char *const folder = ".";
    lm_library_options       with   = { .size = sizeof with, .folder = &folder, .n_folders = 1 };
    lm_library              *mine   = NULL;
    lm_network              *n      = NULL;
    lm_counts                c      = { .size = sizeof c };

    (void)state;
    assert_int_equal(lm_library_open(&with, &mine, NULL), LM_OK);
    assert_int_equal(lm_network_open(mine, "n", NULL, &n, NULL), LM_OK);
    assert_int_equal(lm_network_counts(n, NULL, &c, NULL), LM_OK);
    assert_int_equal(c.params, 32);
    lm_network_close(n);
    assert_int_equal(lm_network_open(mine, "resnet18", NULL, &n, NULL), LM_OK);
    lm_network_close(n);
    lm_library_close(mine);
}

/* A thread that opens and asks all by itself, or shares the network and the machine. */
typedef struct worker {
    bool   shares;
    double seconds;
} worker;

static void *work(void *context)
{
    worker       *w = context;
    lm_library   *l = NULL;
    lm_network   *n = NULL;
    lm_machine   *m = NULL;
    lm_predictor *p = NULL;

    if (w->shares ||
        (!lm_library_open(NULL, &l, NULL) && !lm_network_open(l, "n.ini", NULL, &n, NULL) &&
         !lm_machine_open("m.ini", &m, NULL)))
        lm_predictor_open(l ? l : library, m ? m : machine, n ? n : network, "counts", NULL, &p,
                          NULL);
    for (int64_t i = 1; p && i <= 64; i++) {
        const lm_step s = lm_step_of(i, 1 + i % 8);
        lm_answer     a = { .size = sizeof a };

        if (!lm_predict(p, &s, &a, NULL))
            w->seconds += a.step.value;
    }
    lm_predictor_close(p);
    lm_machine_close(m);
    lm_network_close(n);
    lm_library_close(l);
    return NULL;
}

static void threads_with_their_own_handles_agree(void **state)
{
    worker w[4] = {
        { .shares = false }, { .shares = false }, { .shares = true }, { .shares = true }
    };
    pthread_t thread[4];

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_true(w[0].seconds > 0);
    for (size_t i = 1; i < 4; i++)
        assert_true(w[i].seconds == w[0].seconds);
}

/* One machine for all threads, each of which asks with a predictor of its own. */
typedef struct asker {
    const lm_machine *of;
    double            seconds;
} asker;

static void *ask(void *context)
{
    asker        *w = context;
    lm_predictor *p = NULL;

    lm_predictor_open(library, w->of, network, "layermeter", NULL, &p, NULL);
    for (int64_t i = 1; p && i <= 64; i++) {
        const lm_step s = lm_step_of(i, 1);
        lm_answer     a = { .size = sizeof a };

        if (!lm_predict(p, &s, &a, NULL))
            w->seconds += a.step.value;
    }
    lm_predictor_close(p);
    return NULL;
}

static void threads_agree_on(const char *path)
{
    enum { THREADS = 6 };
    asker       w[THREADS + 1] = { { .seconds = 0 } };
    pthread_t   thread[THREADS];
    lm_machine *alone = NULL, *common = NULL;

    assert_int_equal(lm_machine_open(path, &alone, NULL), LM_OK);
    assert_int_equal(lm_machine_open(path, &common, NULL), LM_OK);
    w[THREADS].of = alone;
    ask(&w[THREADS]);
    assert_true(w[THREADS].seconds > 0);
    for (size_t i = 0; i < THREADS; i++) {
        w[i].of = common;
        assert_int_equal(pthread_create(&thread[i], NULL, ask, &w[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (size_t i = 0; i < THREADS; i++)
        assert_true(w[i].seconds == w[THREADS].seconds);
    lm_machine_close(alone);
    lm_machine_close(common);
}

static void threads_share_a_machine_of_kernel_prices(void **state)
{
    (void)state;
    threads_agree_on(folder_file("kernels.ini",
                                 "[machine]\nmax_ranks = 1\nmax_hosts = 1\ndtype = f32\n"
                                 "[kernels.gemm]\nrows = 100\nfloor = 1e-6 s/launch, floor\n"
                                 "bytes = 1e-6 s/byte, bandwidth\nlaunch = 1e-3 s/launch, host\n"
                                 "[kernels.map]\nrows = 100\nfloor = 3e-3 s/launch, floor\n"
                                 "bytes = 1e-7 s/byte, bandwidth\n"));
}

/* A machine of products, whose residual lies in a file beside it. */
static const char *machine_with_residual(void)
{
    char   text[8192];
    FILE  *file = fopen(INPUTS "/dense.residual", "rb");
    size_t n;

    assert_non_null(file);
    n = fread(text, 1, sizeof text, file);
    fclose(file);
    folder_bytes("dense.residual", text, n);
    return folder_file(
        "dense.ini", "[machine]\nmax_ranks = 1\nmax_hosts = 1\n[layermeter.single.dense]\n"
                     "rows = 900\nmape_percent = 25\ncall = 1e-4 s/call, rows 900\n"
                     "forward.macs = 1e-6 s/MAC, rows 900\nbackward.call = 1e-4 s/call, rows 900\n"
                     "grad_weight.macs = 1e-6 s/MAC, rows 900\n"
                     "update.momentum = 1e-9 s/element, rows 900\n"
                     "[layermeter.single.residual]\nfile = dense.residual\n"
                     "hash = bf75573904c53873\n");
}

static void threads_share_a_machine_with_a_residual(void **state)
{
    (void)state;
    threads_agree_on(machine_with_residual());
}

/* An open machine has read all its files: they may go. One whose residual is missing opens, and who
 * asks for the residual is told why. */
static void residuals_are_read_with_their_machine(void **state)
{
    const char   *path   = machine_with_residual();
    lm_machine   *opened = NULL, *asked = NULL, *without = NULL;
    lm_predictor *p      = NULL;
    lm_error      err    = { LM_OK, "" };
    asker         before = { .seconds = 0 }, behind = { .seconds = 0 };

    (void)state;
    assert_int_equal(lm_machine_open(path, &asked, NULL), LM_OK);
    assert_int_equal(lm_machine_open(path, &opened, NULL), LM_OK);
    before.of = asked;
    behind.of = opened;
    ask(&before);
    assert_int_equal(unlink("dense.residual"), 0);
    ask(&behind);
    assert_true(before.seconds > 0 && before.seconds == behind.seconds);
    assert_int_equal(lm_machine_open(path, &without, &err), LM_OK);
    assert_int_equal(lm_predictor_open(library, without, network, "layermeter", NULL, &p, &err),
                     LM_E_IO);
    assert_non_null(strstr(err.text, "dense.residual: No such file"));
    lm_machine_close(asked);
    lm_machine_close(opened);
    lm_machine_close(without);
}

static void nothing_is_closed_well(void **state)
{
    (void)state;
    lm_library_close(NULL);
    lm_network_close(NULL);
    lm_machine_close(NULL);
    lm_predictor_close(NULL);
    lm_explanation_close(NULL);
}

static void models_have_names(void **state)
{
    size_t n = 0;

    (void)state;
    assert_string_equal(lm_model_name(0), "layermeter");
    while (lm_model_name(n))
        n++;
    assert_true(n >= 5);
    assert_non_null(strchr(lm_version(), '.'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_the_sum_of_its_parts),
        cmocka_unit_test(micro_steps_and_devices_are_those_of_the_record),
        cmocka_unit_test(a_curve_is_its_steps),
        cmocka_unit_test(parts_add_up_to_the_step),
        cmocka_unit_test(a_run_is_planned),
        cmocka_unit_test(memory_and_counts_are_of_the_input),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_larger_answer_keeps_its_end),
        cmocka_unit_test(networks_are_found_in_folders),
        cmocka_unit_test(threads_with_their_own_handles_agree),
        cmocka_unit_test(threads_share_a_machine_of_kernel_prices),
        cmocka_unit_test(threads_share_a_machine_with_a_residual),
        cmocka_unit_test(residuals_are_read_with_their_machine),
        cmocka_unit_test(nothing_is_closed_well),
        cmocka_unit_test(models_have_names),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
