/* The native step: where gradients lie, and the simulator's recurrence. */
#include "check.h"
#include "folder.h"

#include <math.h>
#include <string.h>

#include "measure/plan.h"
#include "measure/step.h"

static void check_bucket(const gradient_bucket *b, uint64_t bytes, size_t needs)
{
    assert_int_equal(b->bytes, bytes);
    assert_int_equal(b->needs, needs);
}

/* ---- where gradients lie --------------------------------------------------------------------- */

static void add_gradient(plan_kernel *k, size_t bytes)
{
    k->slot[k->n_slots++] = (slot){ .role = ROLE_GRADIENT, .bytes = bytes };
}

/* Layers c, b, a have backward kernels 0 1, 2 and 3, and d has none. c's one tensor is padded in
 * its kernel's layout; b's gradient is no kernel's; a has two; d follows a in the backward pass.
 * Regions begin at multiples of 256. */
static void gradients_lie_side_by_side_with_their_own_bytes(void **state)
{
    const weight_gradient want[]    = { { 80, LM_F32, 0, 2 },
                                        { 40, LM_F32, 2, 3 },
                                        { 16, LM_F32, 3, 4 },
                                        { 64, LM_F32, 3, 4 },
                                        { 8, LM_F32, 4, 4 } };
    static const uint64_t at[]      = { 0, 256, 512, 528, 1024 };
    plan_kernel           kernel[4] = { { .n_slots = 0 } };
    launch               *list      = calloc(4, sizeof *list);
    step_plan             p         = { .gradient = want, .n_gradients = 5 };
    gradient_bucket       got[5];
    char                 *memory;

    (void)state;
    assert_non_null(list);
    add_gradient(&kernel[0], 100);
    add_gradient(&kernel[3], 64);
    add_gradient(&kernel[3], 16);
    for (size_t i = 0; i < 4; i++) {
        kernel[i].kernel.op   = LM_OP_CONV;
        kernel[i].kernel.pass = LM_GRAD_WEIGHT;
        list[i]               = (launch){ .kernel = &kernel[i], .repeat = 1 };
    }
    p.launch[PHASE_BACKWARD] = list;
    p.n[PHASE_BACKWARD]      = 4;
    assert_int_equal(plan_make(&p, NULL), LM_OK);
    assert_int_equal(p.size[SPACE_GRADIENTS], 1280);
    assert_int_equal(plan_gradients_written(&p), 180);
    memory = malloc(plan_bytes(&p));
    plan_place(&p, memory);
    plan_gradients(&p, memory, got);
    for (size_t i = 0; i < 5; i++) {
        assert_ptr_equal(got[i].data, memory + plan_space_offset(&p, SPACE_GRADIENTS) + at[i]);
        check_bucket(&got[i], want[i].bytes, want[i].end);
    }
    assert_ptr_equal(list[0].at[0], got[0].data);
    assert_ptr_equal(list[3].at[0], got[2].data);
    free(memory);
    plan_free(&p);
}

/* Five outputs of 64 bytes, in 256 each, go round three regions; each kernel reads the output before its own. */
static void nothing_is_kept_of_a_pass_in_evaluation_mode(void **state)
{
    plan_kernel k = { .n_slots = 2 };

    (void)state;
    k.kernel.op = LM_OP_MAP;
    k.slot[0]   = (slot){ 1, ROLE_IN, 64, { .kind = FILL_ZERO } };
    k.slot[1]   = (slot){ 2, ROLE_OUT, 64, { .kind = FILL_ZERO } };
    for (int evaluation = 0; evaluation < 2; evaluation++) {
        launch   *list = calloc(5, sizeof *list);
        step_plan p    = { .evaluation = evaluation };
        char     *memory;

        assert_non_null(list);
        for (size_t i = 0; i < 5; i++)
            list[i] = (launch){ .kernel = &k, .repeat = 1 };
        p.launch[PHASE_FORWARD] = list;
        p.n[PHASE_FORWARD]      = 5;
        assert_int_equal(plan_make(&p, NULL), LM_OK);
        /* one region more: what is put in */
        assert_int_equal(p.size[SPACE_ACTIVATIONS] / 256, evaluation ? 1 : 6);
        assert_int_equal(p.size[SPACE_RING] / 256, evaluation ? 3 * (1 + 17) : 0);
        memory = malloc(plan_bytes(&p));
        plan_place(&p, memory);
        for (size_t i = 1; i < 5; i++)
            assert_ptr_equal(list[i].at[0], list[i - 1].at[1]);
        assert_true((list[3].at[1] == list[0].at[1]) == evaluation);
        assert_true(list[2].at[1] != list[0].at[1]);
        free(memory);
        plan_free(&p);
    }
}

/* Weights and activations lie a copy further on; the ring and scratch, which all layers share, stay. */
static void a_copy_moves_what_a_network_does_not_reuse(void **state)
{
    static const slot_role role[]  = { ROLE_IN, ROLE_WEIGHT, ROLE_OUT, ROLE_SCRATCH };
    static const bool      moves[] = { true, true, false, false };
    plan_kernel            k       = { .n_slots = 4 };
    launch                *list    = calloc(1, sizeof *list);
    step_plan              p       = { .evaluation = true };
    char                  *memory;

    (void)state;
    assert_non_null(list);
    k.kernel.op = LM_OP_MAP;
    for (int i = 0; i < 4; i++)
        k.slot[i] = (slot){ i, role[i], 64, { .kind = FILL_ZERO } };
    list[0]                 = (launch){ .kernel = &k, .repeat = 1 };
    p.launch[PHASE_FORWARD] = list;
    p.n[PHASE_FORWARD]      = 1;
    assert_int_equal(plan_make(&p, NULL), LM_OK);
    memory = malloc(2 * plan_bytes(&p));
    plan_place(&p, memory);
    for (int i = 0; i < 4; i++) {
        char *const first = list[0].at[i];

        plan_place_copy(&p, PHASE_FORWARD, memory, plan_bytes(&p));
        assert_ptr_equal(list[0].at[i], first + (moves[i] ? plan_bytes(&p) : 0));
        plan_place(&p, memory);
        assert_ptr_equal(list[0].at[i], first);
    }
    free(memory);
    plan_free(&p);
}

/* ---- the simulator --------------------------------------------------------------------------- */

/*
 * Four backward kernels of 0.1 s. Messages of S bytes on 2 ranks take 2 x 0.01 s and S x 1e-7 s.
 * Buckets of 1.5 MB: the first is closed by the first tensor (2 MB, ready at 0.1), the second by
 * the third (2 MB, ready at 0.3), the last holds 0.5 MB (ready at 0.4):
 *
 *   e_1 = 0.1 + 0.22 = 0.32, e_2 = max(0.32, 0.3) + 0.22 = 0.54, e_3 = 0.54 + 0.07 = 0.61
 *
 * of which 0.61 - 0.4 = 0.21 s are behind the backward pass.
 */
#define NO_MATTER  "flops = 0 s/FLOP\ninputs = 0 s/element\noutputs = 0 s/element\n"
#define NO_WEIGHTS "weights = 0 s/element\n"

static const char machine[] =
    "[machine]\nmax_ranks = 2\n"
    "[counts.forward]\n" NO_MATTER NO_WEIGHTS "layers = 0.05 s/layer\n"
    "[counts.backward]\n" NO_MATTER NO_WEIGHTS "layers = %g s/layer\n"
    "[counts.update]\nlayers = 0.01 s/layer\n" NO_WEIGHTS
    "[counts.sync]\nring_steps = 0.01 s/message\nring_bytes = 1e-7 s/byte\n"
    "[convmeter.forward]\n" NO_MATTER "one = 1 s/step\n"
    "[convmeter.backward]\n" NO_MATTER "one = 1 s/step\n"
    "[convmeter.grad_one]\nlayers = 0.01 s/layer\n"
    "[convmeter.grad_many]\nlayers = 0.02 s/layer\n" NO_WEIGHTS "nodes = 0.1 s/node\n";

typedef struct simulated {
    backend    *b;
    void       *work;
    native_step step;
    double      value[2 * N_PHASES];
    lm_error    err;
} simulated;

static lm_status simulate(simulated *s, const char *model, double backward, int64_t bucket_bytes,
                          const size_t needs[4])
{
    static const uint64_t bytes[4] = { 2000000, 1000000, 1000000, 500000 };
    char                  text[sizeof machine + 40];
    const char           *path   = "m.ini";
    const net_metrics     counts = { .layers = 4, .param_bytes = 4500000 };
    observation           row    = observation_blank;
    const backend_config  config = { .sim = { .machine          = path,
                                              .model            = model,
                                              .flops_per_second = 1e30,
                                              .bytes_per_second = 1e30,
                                              .launch_seconds   = 1 } };
    lm_kernel             k[4];
    weight_gradient       g[4];
    bench_case            what = { .point = &row, .metrics = &counts };
    lm_status             status;

    row.kind         = OBS_NETWORK;
    row.name         = "n";
    row.ranks        = 2;
    row.bucket_bytes = bucket_bytes;
    snprintf(text, sizeof text, machine, backward);
    folder_file(path, text);
    *s = (simulated){ .b = NULL };
    for (size_t i = 0; i < 4; i++) {
        k[i] = (lm_kernel){ .size = sizeof k[i], .op = LM_OP_MAP, .repeat = 1 };
        g[i] = (weight_gradient){ bytes[i], LM_F32, 0, needs[i] };
    }
    what.kernels[PHASE_BACKWARD]   = k;
    what.n_kernels[PHASE_BACKWARD] = 4;
    what.gradients                 = g;
    what.n_gradients               = 4;
    status                         = backend_sim.open(&config, &s->b, &s->err);
    if (!status)
        status = backend_sim.prepare(s->b, &what, &s->work, &s->err);
    if (!status)
        status = step_make_buckets(&s->step, s->b, s->work, &what, &s->err);
    if (!status)
        status = step_prepare(&s->step, s->b, &what, &s->err);
    if (!status)
        status = step_run(&s->step, s->b, s->work, s->value, &s->err);
    return status;
}

static void simulate_end(simulated *s)
{
    step_release(&s->step);
    if (s->work)
        backend_sim.release(s->b, s->work);
    if (s->b)
        backend_sim.close(s->b);
}

static void buckets_wait_for_their_gradients_and_for_each_other(void **state)
{
    static const size_t needs[4] = { 1, 2, 3, 4 };
    simulated           s;

    (void)state;
    simulate(&s, "counts", 0.1, 1500000, needs);
    assert_string_equal(s.err.text, "");
    assert_int_equal(s.step.sync.n_buckets, 3);
    assert_close(s.value[PHASE_FORWARD], 0.2, 1e-12);
    assert_close(s.value[PHASE_BACKWARD], 0.4, 1e-12);
    assert_close(s.value[PHASE_SYNC], 0.21, 1e-12);
    assert_close(s.value[PHASE_UPDATE], 0.04, 1e-12);
    assert_close(s.value[PHASE_STEP], 0.85, 1e-12);
    simulate_end(&s);
}

/* All gradients after half of the pass: 2 MB, closed by the first bucket's 1 MiB, then 2.5 MB:
 * 0.2 + 0.22 + 0.27 - 0.4. Ten times as long a pass hides them: less than
 * the clock tells is left. */
static void what_ends_before_the_backward_pass_is_hidden(void **state)
{
    static const size_t half[4] = { 2, 2, 2, 2 };
    simulated           s;

    (void)state;
    simulate(&s, "counts", 0.1, 25000000, half);
    assert_string_equal(s.err.text, "");
    assert_int_equal(s.step.sync.n_buckets, 2);
    assert_close(s.value[PHASE_SYNC], 0.29, 1e-12);
    simulate_end(&s);
    simulate(&s, "counts", 1, 25000000, half);
    assert_close(s.value[PHASE_SYNC], 0, 1e-12);
    assert_close(s.value[PHASE_STEP], 0.2 + 4 + 0.04, 1e-12);
    simulate_end(&s);
}

static void a_model_without_an_all_reduce_cannot_be_simulated(void **state)
{
    static const size_t needs[4] = { 1, 2, 3, 4 };
    simulated           s;

    (void)state;
    simulate(&s, "convmeter", 0.1, 1500000, needs);
    assert_error(s.err, LM_E_UNSUPPORTED,
                 "model 'convmeter' knows no all-reduce apart from the update: its buckets cannot "
                 "be simulated");
    simulate_end(&s);
}

static lm_status no_gradients(backend *self, void *work, const gradient_bucket **out, size_t *n,
                              lm_error *err)
{
    (void)self;
    (void)work;
    (void)out;
    (void)n;
    return lm_error_set(err, LM_E_UNSUPPORTED, "not to be asked");
}

static lm_status no_step(backend *self, void *work, const step_sync *sync, step_time *out,
                         lm_error *err)
{
    (void)self;
    (void)work;
    (void)sync;
    (void)out;
    return lm_error_set(err, LM_E_UNSUPPORTED, "not to be asked");
}

static lm_status no_buckets(backend *self, const bench_case *what, const gradient_bucket *bucket,
                            size_t n, void **work, lm_error *err)
{
    (void)self;
    (void)what;
    (void)bucket;
    (void)n;
    (void)work;
    return lm_error_set(err, LM_E_UNSUPPORTED, "not to be asked");
}

static void a_collective_must_reach_the_gradients(void **state)
{
    const backend_type gpu = {
        .name = "gpu", .gradients = no_gradients, .run_step = no_step, .on_gpu = 1
    };
    const backend_type host    = { .name = "host", .prepare_buckets = no_buckets };
    const backend_type near    = { .name = "near", .prepare_buckets = no_buckets, .on_gpu = 1 };
    const backend      compute = { &gpu }, far = { &host }, with = { &near };
    const settings     how = { { 0 } };
    lm_error           err;

    (void)state;
    assert_int_equal(step_check(&compute, &far, &how, &err), LM_E_UNSUPPORTED);
    assert_error(err, LM_E_UNSUPPORTED,
                 "backend 'host' cannot reach the gradients of 'gpu', which lie in other memory: "
                 "take 'bucket = 0'");
    assert_int_equal(step_check(&compute, &with, &how, &err), LM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_kept_of_a_pass_in_evaluation_mode),
        cmocka_unit_test(a_copy_moves_what_a_network_does_not_reuse),
        cmocka_unit_test(gradients_lie_side_by_side_with_their_own_bytes),
        cmocka_unit_test(buckets_wait_for_their_gradients_and_for_each_other),
        cmocka_unit_test(what_ends_before_the_backward_pass_is_hidden),
        cmocka_unit_test(a_collective_must_reach_the_gradients),
        cmocka_unit_test(a_model_without_an_all_reduce_cannot_be_simulated),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
