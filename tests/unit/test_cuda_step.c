/* The GPU backend's native step: what all-reduces are given, in which order, and what fails. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_case.h"
#include "cuda_shelf.h"
#include "cuda_step.h"
#include "gpu_case.h"
#ifdef PORTS_FAKE
#include "fake_tensor.h"
#endif

enum { LAYERS = 3, WIDTH = 4, MAX_TABLE = 700 };

/* Rows of the tables whose gradients the backward kernels make. */
static const int64_t table[LAYERS] = { 5, 700, 33 };

static const cuda_device *device;

/* ---- a case ---------------------------------------------------------------------------------- */

typedef struct tables {
    lm_kernel       forward[1], backward[LAYERS + 1], update[LAYERS];
    weight_gradient gradient[LAYERS];
    bench_case      what;
    observation     point;
} tables;

static lm_kernel map_kernel(int64_t n, int64_t operands, lm_pass pass)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_MAP, .pass = pass, .dtype = LM_F32, .repeat = 1 };

    k.u.map.elements          = n;
    k.u.map.operands          = operands;
    k.u.map.flops_per_element = 1;
    return k;
}

/* A map, and tables whose rows are added to; between the tables' gradients one of a map. */
static void tables_make(tables *n, bool replay)
{
    *n            = (tables){ .point = { .kind = OBS_NETWORK } };
    n->forward[0] = map_kernel(1000, 1, LM_FORWARD);
    for (size_t i = 0; i < LAYERS; i++) {
        lm_kernel *k = &n->backward[i < 2 ? i : 3];

        *k                                   = (lm_kernel){ .size   = sizeof *k,
                                                            .op     = LM_OP_GATHER,
                                                            .pass   = LM_GRAD_WEIGHT,
                                                            .dtype  = LM_F32,
                                                            .repeat = 1 };
        k->u.gather.rows                     = 100;
        k->u.gather.width                    = WIDTH;
        k->u.gather.table_rows               = table[i];
        n->update[i]                         = map_kernel(table[i] * WIDTH, 3, LM_GRAD_WEIGHT);
        n->update[i].u.map.flops_per_element = 4; /* momentum */
        n->gradient[i] = (weight_gradient){ .bytes = (uint64_t)(table[i] * WIDTH) * 4,
                                            .dtype = LM_F32,
                                            .begin = i < 2 ? i : 3,
                                            .end   = i < 2 ? i + 1 : 4 };
    }
    n->backward[2] = map_kernel(1000, 2, LM_GRAD_INPUT);

    n->what = (bench_case){ .point = &n->point, .gradients = n->gradient, .n_gradients = LAYERS };

    n->what.kernels[PHASE_FORWARD]    = n->forward;
    n->what.n_kernels[PHASE_FORWARD]  = 1;
    n->what.kernels[PHASE_BACKWARD]   = n->backward;
    n->what.n_kernels[PHASE_BACKWARD] = LAYERS + 1;
    n->what.kernels[PHASE_UPDATE]     = n->update;
    n->what.n_kernels[PHASE_UPDATE]   = LAYERS;

    n->what.how.value[SETTING_LAUNCH] = replay;
}

/* ---- a collective that copies each bucket as it finds it
 * ------------------------------------------
 */

typedef struct copier {
    backend                base;
    backend_type           type;
    const gradient_bucket *bucket;
    cudaStream_t           stream;
    cudaEvent_t            ready, done;
    void                  *copy[LAYERS];
    size_t                 n_started, n_finished, fails_at; /* fails_at: counted from 1 */
} copier;

static copier *copier_of(backend *self)
{
    return (copier *)(void *)self;
}

static lm_status start_bucket(backend *self, void *work, size_t i, void *stream, lm_error *err)
{
    copier *c = copier_of(self);

    (void)work;
    assert_int_equal(i, c->n_started);
    c->n_started++;
    if (c->n_started == c->fails_at)
        return lm_error_set(err, LM_E_IO, "bucket %zu was lost", i);
    assert_int_equal(cudaEventRecord(c->ready, stream), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(c->stream, c->ready, 0), cudaSuccess);
    assert_int_equal(cudaMemcpyAsync(c->copy[i], c->bucket[i].data, (size_t)c->bucket[i].bytes,
                                     cudaMemcpyDeviceToDevice, c->stream),
                     cudaSuccess);
    return LM_OK;
}

static lm_status finish_buckets(backend *self, void *work, void *stream, lm_error *err)
{
    copier *c = copier_of(self);

    (void)work;
    (void)err;
    c->n_finished++;
    assert_int_equal(cudaEventRecord(c->done, c->stream), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(stream, c->done, 0), cudaSuccess);
    return LM_OK;
}

static void copier_open(copier *c, const gradient_bucket *bucket)
{
    lm_error err;

    *c           = (copier){ .type   = { .name           = "copier",
                                         .start_bucket   = start_bucket,
                                         .finish_buckets = finish_buckets },
                             .bucket = bucket };
    c->base.type = &c->type;
    assert_int_equal(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaEventCreate(&c->ready), cudaSuccess);
    assert_int_equal(cudaEventCreate(&c->done), cudaSuccess);
    for (size_t i = 0; i < LAYERS; i++)
        assert_int_equal(cuda_borrow(device, (size_t)bucket[i].bytes, &c->copy[i], &err), LM_OK);
}

static void copier_close(copier *c)
{
    assert_int_equal(cudaStreamSynchronize(c->stream), cudaSuccess);
    for (size_t i = 0; i < LAYERS; i++)
        cuda_give_back(device, c->copy[i]);
    cudaEventDestroy(c->ready);
    cudaEventDestroy(c->done);
    cudaStreamDestroy(c->stream);
}

static void fetch(const void *at, size_t bytes, float *out)
{
    assert_true(bytes <= MAX_TABLE * WIDTH * sizeof *out);
    assert_int_equal(cudaMemcpy(out, at, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static bool is_duration(const backend_time *t)
{
    return isfinite(t->wall) && t->wall >= 0 && isnan(t->cpu);
}

static void check_step(bool replay)
{
    static float before[MAX_TABLE * WIDTH], copied[MAX_TABLE * WIDTH], after[MAX_TABLE * WIDTH];
    tables       n;
    cuda_case   *c = NULL;
    copier       collective;
    step_time    t;
    lm_error     err;
    step_sync    sync;

    tables_make(&n, replay);
    assert_int_equal(cuda_case_new(device, &n.what, &c, &err), LM_OK);
    copier_open(&collective, c->gradient);
    sync =
        (step_sync){ .collective = &collective.base, .bucket = c->gradient, .n_buckets = LAYERS };
    for (size_t times = 1; times <= 2; times++) {
        fetch(c->gradient[1].data, (size_t)c->gradient[1].bytes, before);
        collective.n_started = 0;
        assert_int_equal(cuda_step_run(c, &sync, &t, &err), LM_OK);
        assert_int_equal(collective.n_started, LAYERS);
        assert_int_equal(collective.n_finished, times);
        assert_true(is_duration(&t.forward) && is_duration(&t.backward));
        assert_true(is_duration(&t.exposed) && is_duration(&t.update));
        /* the step has ended: so have the all-reduces, each with what the backward pass made */
        for (size_t i = 0; i < LAYERS; i++) {
            fetch(collective.copy[i], (size_t)c->gradient[i].bytes, copied);
            fetch(c->gradient[i].data, (size_t)c->gradient[i].bytes, after);
            assert_memory_equal(copied, after, (size_t)c->gradient[i].bytes);
        }
        fetch(c->gradient[1].data, (size_t)c->gradient[1].bytes, after);
        assert_memory_not_equal(before, after, (size_t)c->gradient[1].bytes);
    }
    assert_int_equal(c->n_pieces, replay ? 3 + 3 : 0); /* whole phases, and the backward in three */
    copier_close(&collective);
    cuda_case_free(c);
}

static void all_reduces_find_what_the_backward_pass_made(void **state)
{
    (void)state;
    check_step(false);
    check_step(true);
}

static void a_step_without_buckets_has_nothing_exposed(void **state)
{
    tables     n;
    cuda_case *c = NULL;
    step_time  t;
    lm_error   err;

    (void)state;
    tables_make(&n, false);
    assert_int_equal(cuda_case_new(device, &n.what, &c, &err), LM_OK);
    assert_int_equal(cuda_step_run(c, NULL, &t, &err), LM_OK);
    assert_close(t.exposed.wall, 0, 0);
    assert_true(is_duration(&t.update));
    cuda_case_free(c);
}

static void the_first_failure_is_told_and_every_bucket_started(void **state)
{
    tables     n;
    cuda_case *c = NULL;
    copier     collective;
    step_time  t;
    lm_error   err;
    step_sync  sync;

    (void)state;
    tables_make(&n, false);
    assert_int_equal(cuda_case_new(device, &n.what, &c, &err), LM_OK);
    copier_open(&collective, c->gradient);
    collective.fails_at = 2;
    sync =
        (step_sync){ .collective = &collective.base, .bucket = c->gradient, .n_buckets = LAYERS };
    assert_int_equal(cuda_step_run(c, &sync, &t, &err), LM_E_IO);
    assert_string_equal(err.text, "bucket 1 was lost");
    assert_int_equal(collective.n_started, LAYERS);
    assert_int_equal(collective.n_finished, 1);
    copier_close(&collective);
    cuda_case_free(c);
}

#ifdef PORTS_FAKE
static void make_and_free(const bench_case *what, size_t plans, size_t choices)
{
    const size_t plans_before = fake_plans, choices_before = fake_choices;
    cuda_case   *c = NULL;
    lm_error     err;

    if (cuda_case_new(device, what, &c, &err))
        fail_msg("%s", err.text);
    cuda_case_free(c);
    assert_int_equal(fake_plans - plans_before, plans);
    assert_int_equal(fake_choices - choices_before, choices);
}

static void take_and_give(const settings *how, const lm_kernel *k, size_t plans)
{
    const size_t before = fake_plans;
    cuda_kernel *kept   = NULL;
    lm_error     err;

    if (cuda_shelf_take(device, how, k, USE_TRAINING, &kept, &err))
        fail_msg("%s", err.text);
    cuda_shelf_give(device, kept);
    assert_int_equal(fake_plans - before, plans);
}

/* A convolution and two equal products: one plan and one choice, until another setting asks for another
 * implementation, and again when too many others came between. */
static void kernels_stay_prepared_from_point_to_point(void **state)
{
    lm_kernel    k[3]   = { { .size = sizeof k[0], .op = LM_OP_CONV, .dtype = LM_F32, .repeat = 1 },
                            { .size = sizeof k[0], .op = LM_OP_GEMM, .dtype = LM_F32, .repeat = 1 } };
    observation  point  = { .kind = OBS_NETWORK };
    bench_case   what   = { .point = &point };
    const size_t before = fake_descriptors;
    size_t       kept;

    (void)state;
    k[0].u.conv.n    = 2;
    k[0].u.conv.c_in = k[0].u.conv.c_out = 8;
    k[0].u.conv.groups                   = 1;
    for (int a = 0; a < 3; a++) {
        k[0].u.conv.in[a] = k[0].u.conv.out[a] = a ? 6 : 1;
        k[0].u.conv.window[a] = k[0].u.conv.stride[a] = k[0].u.conv.dilation[a] = 1;
    }
    k[1].u.gemm.batch = 1;
    k[1].u.gemm.m = k[1].u.gemm.n = k[1].u.gemm.k = 8;
    k[2]                                          = k[1];
    what.kernels[PHASE_FORWARD]                   = k;
    what.n_kernels[PHASE_FORWARD]                 = 3;
    make_and_free(&what, 1, 1);
    kept = fake_descriptors;
    assert_true(kept > before);
    make_and_free(&what, 0, 0);
    what.how.value[SETTING_LAUNCH] = 1;
    make_and_free(&what, 0, 0);
    assert_int_equal(fake_descriptors, kept); /* what it was run on is forgotten */
    what.how.value[SETTING_LAYOUT] = 1;
    make_and_free(&what, 1, 1);
    what.how.value[SETTING_MATH] = 1;
    make_and_free(&what, 1, 1);
    what.evaluation = true;
    make_and_free(&what, 1, 1);
    for (size_t i = 0; i <= CUDA_SHELF_MOST; i++) {
        k[0].u.conv.n = (int64_t)i + 3;
        take_and_give(&what.how, &k[0], 1);
    }
    take_and_give(&what.how, &k[0], 0);
    k[0].u.conv.n = 3; /* long ago */
    take_and_give(&what.how, &k[0], 1);
}
#endif

static int open_device(void **state)
{
    (void)state;
    device = gpu_open(&gpu_why);
    return device ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    gpu_close();
#ifdef PORTS_FAKE
    assert_int_equal(fake_descriptors, 0);
#endif
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduces_find_what_the_backward_pass_made),
        cmocka_unit_test(a_step_without_buckets_has_nothing_exposed),
        cmocka_unit_test(the_first_failure_is_told_and_every_bucket_started),
#ifdef PORTS_FAKE
        cmocka_unit_test(kernels_stay_prepared_from_point_to_point),
#endif
    };

    if (!gpu_open(&gpu_why)) {
        printf("skipped: %s\n", gpu_why.text);
        return 77;
    }
    gpu_close();
    return cmocka_run_group_tests(tests, open_device, close_device);
}
