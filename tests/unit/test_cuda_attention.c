/* Attention of the GPU backend beside plain loops. */
#include "check.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_agrees.h"

static lm_kernel attention_kernel(lm_dtype type, lm_pass pass, int64_t kv_heads, int64_t causal)
{
    lm_kernel k = {
        .size = sizeof k, .op = LM_OP_ATTENTION, .pass = pass, .dtype = type, .repeat = 1
    };

    k.u.attention.batch    = 2;
    k.u.attention.heads    = 4;
    k.u.attention.kv_heads = kv_heads;
    k.u.attention.queries  = 32;
    k.u.attention.keys     = 64;
    k.u.attention.width = k.u.attention.value_width = 64;
    k.u.attention.causal                            = causal;
    return k;
}

/* Elements of a tensor's part of a buffer that holds several: as long as 256 bytes divide. */
static size_t part(lm_dtype type, size_t elements)
{
    const size_t size = (size_t)lm_dtype_bytes(type);

    return (size * elements + 255) / 256 * 256 / size;
}

static void attention_agrees(const lm_kernel *k)
{
    const settings how    = { { 0 } };
    const size_t   before = gpu_left();
    const size_t   n_k    = (size_t)(k->u.attention.batch * k->u.attention.kv_heads *
                                k->u.attention.keys * k->u.attention.width);
    const double   error  = 4 * element_epsilon(k->dtype) + 64 * (double)FLT_EPSILON;
    const size_t   rows =
        (size_t)(k->u.attention.batch * k->u.attention.heads * k->u.attention.queries);
    const size_t n_q   = rows * (size_t)k->u.attention.width;
    double      *stats = calloc(rows, sizeof *stats), *q, *kv, *d_o;
    reference    o, d[3];
    gpu_case     c;

    if (!gpu_open_case(&c, &how, k)) {
        free(stats);
        return;
    }
    q  = gpu_give(&c, CUDA_SRC);
    kv = gpu_give(&c, CUDA_SRC_OTHER);
    o  = reference_attention(k, q, kv, kv + part(k->dtype, n_k), stats);
    if (k->pass == LM_FORWARD) {
        double *got;

        gpu_run(&c);
        gpu_agrees_from(&c, CUDA_DST, 0, o, error, true);
        got = gpu_get(&c, gpu_slot(&c, CUDA_MEAN));
        for (size_t i = 0; i < rows; i++)
            assert_close(got[i], stats[i], 1e-2);
        free(got);
    } else {
        d_o = gpu_give(&c, CUDA_DIFF_DST);
        gpu_put(&c, gpu_slot(&c, CUDA_DST), o.value);
        gpu_put(&c, gpu_slot(&c, CUDA_MEAN), stats);
        for (int i = 0; i < 2; i++)
            gpu_run(&c);
        reference_attention_back(k, q, kv, kv + part(k->dtype, n_k), d_o, d);
        gpu_agrees_from(&c, CUDA_DIFF_SRC, 0, d[0], 2 * error, true);
        gpu_agrees_from(&c, CUDA_DIFF_SRC, part(k->dtype, n_q), d[1], 2 * error, true);
        gpu_agrees_from(&c, CUDA_DIFF_SRC, part(k->dtype, n_q) + part(k->dtype, n_k), d[2],
                        2 * error, true);
        reference_free(&o);
        free(d_o);
    }
    free(q);
    free(kv);
    free(stats);
    gpu_close_case(&c, before);
}

static void attentions_agree(void **state)
{
    (void)state;
    for (size_t t = 0; t < N_GPU_TYPES; t++)
        for (lm_pass pass = LM_FORWARD; pass <= LM_GRAD_INPUT; pass++)
            for (int64_t causal = 0; causal < 2; causal++)
                for (int64_t shared = 0; shared < 2; shared++) {
                    const lm_kernel k =
                        attention_kernel(gpu_types[t], pass, shared ? 2 : 4, causal);

                    attention_agrees(&k);
                }
}

/* The random numbers are the library's: what is known is that about a tenth is missing, and that
 * those that stay make up for it. Values of 1 give outputs of about 1. */
static void dropout_keeps_the_mean_of(lm_dtype type)
{
    const settings how    = { { 0 } };
    const size_t   before = gpu_left();
    lm_kernel      k      = attention_kernel(type, LM_FORWARD, 4, 0);
    double        *ones, *got, sum = 0, spread = 0;
    size_t         n;
    gpu_case       c;

    k.u.attention.dropout = 1;
    if (!gpu_open_case(&c, &how, &k))
        return;
    free(gpu_give(&c, CUDA_SRC));
    n    = gpu_elements(&c, gpu_slot(&c, CUDA_SRC_OTHER));
    ones = malloc(n * sizeof *ones);
    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
    gpu_put(&c, gpu_slot(&c, CUDA_SRC_OTHER), ones);
    gpu_run(&c);
    n   = gpu_elements(&c, gpu_slot(&c, CUDA_DST));
    got = gpu_get(&c, gpu_slot(&c, CUDA_DST));
    for (size_t i = 0; i < n; i++) {
        sum += got[i] / (double)n;
        spread = fmax(spread, fabs(got[i] - 1));
    }
    assert_close(sum, 1.0, 0.05);
    assert_true(spread > 0.01);
    free(ones);
    free(got);
    gpu_close_case(&c, before);
    k.pass = LM_GRAD_INPUT;
    if (!gpu_open_case(&c, &how, &k))
        return;
    gpu_run(&c);
    gpu_close_case(&c, before);
}

static void dropout_keeps_the_mean(void **state)
{
    (void)state;
    dropout_keeps_the_mean_of(LM_F16);
    dropout_keeps_the_mean_of(LM_F32);
}

static void keys_agree(lm_dtype type, int64_t keys, int64_t causal)
{
    for (lm_pass pass = LM_FORWARD; pass <= LM_GRAD_INPUT; pass++) {
        lm_kernel k = attention_kernel(type, pass, 1, causal);

        k.u.attention.batch   = 1;
        k.u.attention.heads   = 1;
        k.u.attention.keys    = keys;
        k.u.attention.queries = 49;
        attention_agrees(&k);
    }
}

/* Those of Swin's windows, a half block, ViT's patches and GPT-2's texts. */
static void any_number_of_keys_agrees(void **state)
{
    static const int64_t keys[] = { 49, 64, 197, 1024 };

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        for (size_t t = 0; t < N_GPU_TYPES; t++)
            for (int64_t causal = 0; causal < 2; causal++)
                keys_agree(gpu_types[t], keys[i], causal);
}

#ifdef PORTS_FAKE
/* Versions before 9.15 get a padding mask, gradients before 9.10 two. */
static void older_libraries_agree(void **state)
{
    static const char *const versions[] = { "90900", "91400" };

    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        setenv("LAYERMETER_FAKE_CUDNN", versions[i], 1);
        attentions_agree(state);
        keys_agree(LM_F16, 197, 1);
        keys_agree(LM_BF16, 256, 1);
        unsetenv("LAYERMETER_FAKE_CUDNN");
    }
}

/* Slots with lengths: one for each sample. */
static void lengths_are_those_of_queries_and_keys(void **state)
{
    static const struct {
        int     argument;
        int64_t length;
    } wanted[]         = { { CUDA_QUERIES, 32 }, { CUDA_KEYS, 197 } };
    const settings how = { { 0 } };
    lm_kernel      k   = attention_kernel(LM_BF16, LM_GRAD_INPUT, 4, 1);
    gpu_case       c;

    (void)state;
    k.u.attention.keys    = 197;
    k.u.attention.dropout = 1;
    setenv("LAYERMETER_FAKE_CUDNN", "91400", 1);
    gpu_prepare(&c, &how, &k, USE_TRAINING);
    unsetenv("LAYERMETER_FAKE_CUDNN");
    for (size_t i = 0; i < 2; i++) {
        const size_t s      = gpu_slot(&c, wanted[i].argument);
        double      *length = gpu_get(&c, s);

        assert_int_equal(c.kernel.base.slot[s].role, ROLE_STATE); /* the forward kernel's */
        assert_int_equal(gpu_elements(&c, s), k.u.attention.batch);
        for (int64_t j = 0; j < k.u.attention.batch; j++)
            assert_close(length[j], (double)wanted[i].length, 0);
        free(length);
    }
    gpu_release(&c);
    gpu_prepare(&c, &how, &k, USE_TRAINING); /* 9.19 */
    assert_false(gpu_has(&c, CUDA_QUERIES) || gpu_has(&c, CUDA_KEYS));
    gpu_release(&c);
}

static lm_status made_by(const char *version, lm_pass pass, int64_t keys, lm_error *err)
{
    const settings how = { { 0 } };
    lm_kernel      k   = attention_kernel(LM_BF16, pass, 4, 0);
    cuda_kernel    out;
    lm_status      status;

    k.u.attention.keys = keys;
    setenv("LAYERMETER_FAKE_CUDNN", version, 1);
    status = cuda_kernel_prepare(gpu_device(), &how, &k, false, &out, err);
    unsetenv("LAYERMETER_FAKE_CUDNN");
    if (!status)
        cuda_kernel_release(&out);
    return status;
}

static void what_older_libraries_lack_is_refused(void **state)
{
    lm_error err;

    (void)state;
    assert_int_equal(made_by("91400", LM_FORWARD, 1024, &err), LM_OK);
    assert_int_equal(made_by("90502", LM_GRAD_INPUT, 1024, &err), LM_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "before 9.6"));
    assert_int_equal(made_by("90600", LM_GRAD_INPUT, 1024, &err), LM_OK);
    assert_int_equal(made_by("91500", LM_FORWARD, 197, &err), LM_OK);
    assert_int_equal(made_by("91000", LM_GRAD_INPUT, 1024, &err), LM_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "9.10.0"));
    assert_int_equal(made_by("91001", LM_FORWARD, 197, &err), LM_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "9.10.1"));
    assert_int_equal(made_by("91002", LM_GRAD_INPUT, 1024, &err), LM_OK);
}
#endif

static void f32_has_a_form_of_its_own(void **state)
{
    const lm_kernel k   = attention_kernel(LM_F32, LM_FORWARD, 4, 0);
    const settings  how = { { 0 } };
    gpu_case        c;

    (void)state;
    gpu_prepare(&c, &how, &k, false);
    assert_non_null(strstr(c.kernel.implementation, "plain, cublaslt"));
    gpu_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attentions_agree),
        cmocka_unit_test(any_number_of_keys_agrees),
#ifdef PORTS_FAKE
        cmocka_unit_test(older_libraries_agree),
        cmocka_unit_test(lengths_are_those_of_queries_and_keys),
        cmocka_unit_test(what_older_libraries_lack_is_refused),
#endif
        cmocka_unit_test(dropout_keeps_the_mean),
        cmocka_unit_test(f32_has_a_form_of_its_own),
    };

    return gpu_run_tests(tests);
}
