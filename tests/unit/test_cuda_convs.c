/* Convolutions of the GPU backend beside plain loops, and which of their algorithms are taken. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "gpu_agrees.h"

typedef struct conv_shape {
    int64_t n, c_in, c_out, groups, bias;
    int64_t in[3], window[3], stride[3], pad[3], dilation[3], out[3];
} conv_shape;

static const conv_shape convs[] = {
    { 2,
      8,
      16,
      1,
      1,
      { 1, 9, 7 },
      { 1, 3, 3 },
      { 1, 1, 1 },
      { 0, 1, 1 },
      { 1, 1, 1 },
      { 1, 9, 7 } },
    /* one axis; stride, and a last window that does not reach the end */
    { 2,
      8,
      8,
      1,
      0,
      { 1, 1, 20 },
      { 1, 1, 5 },
      { 1, 1, 3 },
      { 0, 0, 2 },
      { 1, 1, 1 },
      { 1, 1, 7 } },
    /* more padding behind than in front */
    { 2, 8, 8, 1, 0, { 1, 8, 8 }, { 1, 3, 3 }, { 1, 2, 2 }, { 0, 0, 0 }, { 1, 1, 1 }, { 1, 4, 4 } },
    { 2, 8, 8, 1, 0, { 1, 9, 9 }, { 1, 3, 3 }, { 1, 1, 1 }, { 0, 2, 2 }, { 1, 2, 2 }, { 1, 9, 9 } },
    { 1,
      16,
      32,
      4,
      1,
      { 1, 6, 6 },
      { 1, 3, 3 },
      { 1, 1, 1 },
      { 0, 1, 1 },
      { 1, 1, 1 },
      { 1, 6, 6 } },
    /* depthwise */
    { 2,
      16,
      16,
      16,
      0,
      { 1, 7, 7 },
      { 1, 3, 3 },
      { 1, 2, 2 },
      { 0, 1, 1 },
      { 1, 1, 1 },
      { 1, 4, 4 } },
    { 1, 8, 8, 1, 1, { 5, 6, 6 }, { 3, 3, 3 }, { 1, 2, 2 }, { 1, 1, 1 }, { 1, 1, 1 }, { 5, 3, 3 } },
    { 3,
      16,
      8,
      1,
      0,
      { 1, 5, 5 },
      { 1, 1, 1 },
      { 1, 1, 1 },
      { 0, 0, 0 },
      { 1, 1, 1 },
      { 1, 5, 5 } },
};

enum { N_CONVS = sizeof convs / sizeof convs[0] };

static lm_kernel conv_kernel(const conv_shape *s, lm_dtype type, lm_pass pass)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_CONV, .pass = pass, .dtype = type, .repeat = 1 };

    k.u.conv.n      = s->n;
    k.u.conv.c_in   = s->c_in;
    k.u.conv.c_out  = s->c_out;
    k.u.conv.groups = s->groups;
    k.u.conv.bias   = s->bias;
    memcpy(k.u.conv.in, s->in, sizeof s->in);
    memcpy(k.u.conv.out, s->out, sizeof s->out);
    memcpy(k.u.conv.window, s->window, sizeof s->window);
    memcpy(k.u.conv.stride, s->stride, sizeof s->stride);
    memcpy(k.u.conv.pad, s->pad, sizeof s->pad);
    memcpy(k.u.conv.dilation, s->dilation, sizeof s->dilation);
    return k;
}

static void conv_agrees(const conv_shape *s, lm_dtype type, lm_pass pass, settings how)
{
    const lm_kernel k      = conv_kernel(s, type, pass);
    const bool      nhwc   = how.value[SETTING_LAYOUT] != 0;
    const double    error  = verify_sum_error(&how, LM_OP_CONV, type);
    const size_t    before = gpu_left();
    double         *image = NULL, *filter = NULL, *result = NULL, *bias = NULL;
    gpu_case        c;

    if (!gpu_open_case(&c, &how, &k))
        return;
    if (pass != LM_GRAD_INPUT)
        image = gpu_give(&c, CUDA_SRC);
    if (pass != LM_GRAD_WEIGHT)
        filter = gpu_give(&c, CUDA_WEIGHTS);
    if (pass != LM_FORWARD)
        result = gpu_give(&c, CUDA_DIFF_DST);
    if (pass == LM_FORWARD && s->bias)
        bias = gpu_give(&c, CUDA_BIAS);
    for (int i = 0; i < 2; i++) /* what was there before does not count */
        gpu_run(&c);
    gpu_agrees(&c,
               pass == LM_FORWARD      ? CUDA_DST
               : pass == LM_GRAD_INPUT ? CUDA_DIFF_SRC
                                       : CUDA_DIFF_WEIGHTS,
               reference_conv(&k, nhwc, image, filter, result, bias),
               error + (bias ? element_epsilon(type) : 0));
    if (pass == LM_GRAD_WEIGHT && s->bias)
        gpu_agrees(&c, CUDA_DIFF_BIAS, reference_conv_bias(&k, nhwc, result), error);
    free(image);
    free(filter);
    free(result);
    free(bias);
    gpu_close_case(&c, before);
}

static void convolutions_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CONVS; i++)
        for (size_t t = 0; t < N_GPU_TYPES; t++)
            for (uint8_t layout = 0; layout < 2; layout++)
                for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
                    settings how = { { 0 } };

                    how.value[SETTING_LAYOUT] = layout;
                    conv_agrees(&convs[i], gpu_types[t], pass, how);
                }
}

static void convolutions_agree_with_tf32(void **state)
{
    settings how = { { 0 } };

    (void)state;
    how.value[SETTING_MATH] = 1;
    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++)
        conv_agrees(&convs[0], LM_F32, pass, how);
}

static void autotuned_convolutions_agree(void **state)
{
    settings how = { { 0 } };

    (void)state;
    how.value[SETTING_ALGORITHMS] = 1;
    for (size_t t = 0; t < N_GPU_TYPES; t++)
        for (lm_pass pass = 0; pass < LM_N_PASSES; pass++)
            conv_agrees(&convs[0], gpu_types[t], pass, how);
}

/* ---- choice ---------------------------------------------------------------------------------- */

#ifdef PORTS_FAKE
/* Its engines: 0 on tensor cores, 1 with shorter inputs, 2 with 64 KiB and results that vary, 3 of
 * the fallback heuristic, neither. */
static void engines_are_chosen_by_the_rules(void **state)
{
    static const struct {
        lm_dtype    type;
        uint8_t     math;
        size_t      limit;
        const char *implementation;
    } cases[] = {
        { LM_F32, 0, 1 << 20, "cudnn engine 2 varies 65536 B heuristic" },
        { LM_F32, 1, 1 << 20, "cudnn engine 0 tensor 4096 B heuristic" },
        { LM_F16, 0, 1 << 20, "cudnn engine 0 tensor 4096 B heuristic" },
        { LM_F16, 0, 100, "cudnn engine 1 tensor 0 B heuristic" },
        { LM_F32, 0, 4096, "cudnn engine 3 0 B heuristic" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const lm_kernel k     = conv_kernel(&convs[0], cases[i].type, LM_GRAD_INPUT);
        cuda_device     small = *gpu_device();
        settings        how   = { { 0 } };
        cuda_kernel     out;
        lm_error        err;

        small.workspace_limit   = cases[i].limit;
        how.value[SETTING_MATH] = cases[i].math;
        assert_int_equal(cuda_kernel_prepare(&small, &how, &k, USE_TRAINING, &out, &err), LM_OK);
        assert_string_equal(out.implementation, cases[i].implementation);
        cuda_kernel_release(&out);
    }
}

/* Of two, as f32 without tensor cores has them, or three. */
static void autotuning_is_recorded(void **state)
{
    const lm_kernel k   = conv_kernel(&convs[0], LM_F16, LM_FORWARD);
    settings        how = { { 0 } };
    cuda_kernel     out;
    lm_error        err;

    (void)state;
    how.value[SETTING_ALGORITHMS] = 1;
    assert_int_equal(cuda_kernel_prepare(gpu_device(), &how, &k, USE_TRAINING, &out, &err), LM_OK);
    assert_non_null(strstr(out.implementation, "autotuned"));
    cuda_kernel_release(&out);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_agree),
        cmocka_unit_test(convolutions_agree_with_tf32),
        cmocka_unit_test(autotuned_convolutions_agree),
#ifdef PORTS_FAKE
        cmocka_unit_test(engines_are_chosen_by_the_rules),
        cmocka_unit_test(autotuning_is_recorded),
#endif
    };

    return gpu_run_tests(tests);
}
