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

/* Depthwise: c_in, c_out; images, bias; in, window, stride, pad, dilation, out: height, width. In NCHW
 * by our own kernels, one for each window of 1, 3, 5 and any, and stride of 1, 2 and any. */
static const int64_t depthwise[][16] = {
    { 8, 8, 2, 1, 9, 7, 3, 3, 1, 1, 1, 1, 1, 1, 9, 7 },
    { 6, 12, 2, 1, 9, 8, 3, 3, 2, 2, 1, 1, 1, 1, 5, 4 },
    { 6, 6, 9, 0, 9, 9, 3, 3, 3, 3, 0, 0, 1, 1, 3, 3 },
    { 6, 6, 2, 0, 8, 8, 3, 3, 2, 2, 0, 0, 1, 1, 4, 4 }, /* more padding behind */
    { 4, 8, 2, 1, 8, 9, 5, 5, 1, 1, 2, 2, 1, 1, 8, 9 },
    { 4, 4, 3, 0, 8, 9, 5, 5, 2, 2, 2, 2, 1, 1, 4, 5 },
    { 4, 4, 1, 1, 8, 9, 5, 5, 2, 1, 2, 2, 1, 1, 4, 9 },
    { 4, 4, 2, 1, 9, 10, 7, 7, 1, 1, 3, 3, 1, 1, 9, 10 },
    { 3, 6, 2, 0, 9, 10, 7, 7, 2, 2, 3, 3, 1, 1, 5, 5 },
    { 3, 9, 2, 1, 9, 11, 7, 3, 3, 2, 3, 1, 1, 1, 3, 6 },
    { 4, 8, 2, 1, 5, 6, 1, 1, 1, 1, 0, 0, 1, 1, 5, 6 },
    { 4, 4, 2, 0, 6, 6, 1, 1, 2, 2, 0, 0, 1, 1, 3, 3 },
    { 4, 4, 2, 0, 7, 7, 1, 1, 3, 3, 0, 0, 1, 1, 3, 3 },
    { 4, 4, 2, 1, 9, 9, 3, 3, 1, 1, 2, 2, 2, 2, 9, 9 }, /* dilated */
    { 4, 4, 2, 1, 8, 9, 4, 2, 1, 1, 5, 2, 3, 2, 9, 11 },
    { 4, 4, 2, 1, 2, 2, 7, 7, 1, 1, 3, 3, 1, 1, 2, 2 },   /* beyond both sides */
    { 4, 8, 2, 1, 1, 20, 1, 5, 1, 3, 0, 2, 1, 1, 1, 7 },  /* one axis */
    { 32, 32, 2, 1, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, 7, 7 }, /* f16: by cuDNN */
};

enum { N_DEPTHWISE = sizeof depthwise / sizeof depthwise[0] };

static conv_shape depthwise_shape(const int64_t *v)
{
    return (conv_shape){ .n        = v[2],
                         .c_in     = v[0],
                         .c_out    = v[1],
                         .groups   = v[0],
                         .bias     = v[3],
                         .in       = { 1, v[4], v[5] },
                         .window   = { 1, v[6], v[7] },
                         .stride   = { 1, v[8], v[9] },
                         .pad      = { 0, v[10], v[11] },
                         .dilation = { 1, v[12], v[13] },
                         .out      = { 1, v[14], v[15] } };
}

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

static void depthwise_convolutions_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_DEPTHWISE; i++)
        for (size_t t = 0; t < N_GPU_TYPES; t++)
            for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
                const conv_shape s   = depthwise_shape(depthwise[i]);
                const settings   how = { { 0 } };

                conv_agrees(&s, gpu_types[t], pass, how);
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

static void implementation_is(const lm_kernel *k, uint8_t layout, const char *begin)
{
    settings    how = { { 0 } };
    cuda_kernel out;
    lm_error    err;

    how.value[SETTING_LAYOUT]     = layout;
    how.value[SETTING_ALGORITHMS] = 1; /* changes nothing */
    assert_int_equal(cuda_kernel_prepare(gpu_device(), &how, k, USE_TRAINING, &out, &err), LM_OK);
    if (strncmp(out.implementation, begin, strlen(begin)) != 0)
        fail_msg("\"%s\", not \"%s\"", out.implementation, begin);
    cuda_kernel_release(&out);
}

/* A kernel of ours for each window and stride, in every type. */
static void depthwise_kernels_are_chosen_by_window_and_stride(void **state)
{
    static const struct {
        size_t      shape;
        const char *forward, *back;
    } cases[] = {
        { 0, "own depthwise, window 3, stride *", "own depthwise, window 3, stride 1" },
        { 1, "own depthwise, window 3, stride *", "own depthwise, window 3, stride 2" },
        { 2, "own depthwise, window 3, stride *", "own depthwise, window 3, stride *" },
        { 4, "own depthwise, window 5, stride *", "own depthwise, window 5, stride 1" },
        { 5, "own depthwise, window 5, stride *", "own depthwise, window 5, stride 2" },
        { 6, "own depthwise, window 5, stride *", "own depthwise, window 5, stride *" },
        { 7, "own depthwise, window *, stride *", "own depthwise, window *, stride 1" },
        { 8, "own depthwise, window *, stride *", "own depthwise, window *, stride 2" },
        { 9, "own depthwise, window *, stride *", "own depthwise, window *, stride *" },
        { 10, "own depthwise, window 1, stride *", "own depthwise, window 1, stride 1" },
        { 11, "own depthwise, window 1, stride *", "own depthwise, window 1, stride 2" },
        { 12, "own depthwise, window 1, stride *", "own depthwise, window 1, stride *" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t t = 0; t < N_GPU_TYPES; t++) {
            const conv_shape s   = depthwise_shape(depthwise[cases[i].shape]);
            const lm_kernel  k[] = { conv_kernel(&s, gpu_types[t], LM_FORWARD),
                                     conv_kernel(&s, gpu_types[t], LM_GRAD_INPUT),
                                     conv_kernel(&s, gpu_types[t], LM_GRAD_WEIGHT) };

            implementation_is(&k[0], 0, cases[i].forward);
            implementation_is(&k[1], 0, cases[i].back);
            implementation_is(&k[2], 0, "own depthwise");
            for (size_t p = 0; p < 3; p++)
                implementation_is(&k[p], 1, "cudnn");
        }
}

/* Grouped, or of one channel, or of three axes: none of ours. */
static void what_is_not_depthwise_is_cudnns(void **state)
{
    conv_shape s = depthwise_shape(depthwise[0]);
    lm_kernel  k;

    (void)state;
    s.groups = 4;
    k        = conv_kernel(&s, LM_F32, LM_FORWARD);
    implementation_is(&k, 0, "cudnn");
    s.groups = s.c_in = 1;
    k                 = conv_kernel(&s, LM_F32, LM_FORWARD);
    implementation_is(&k, 0, "cudnn");
    s       = depthwise_shape(depthwise[0]);
    s.in[0] = s.out[0] = 2;
    k                  = conv_kernel(&s, LM_F32, LM_FORWARD);
    implementation_is(&k, 0, "cudnn");
}

/* Both sides of each limit of PyTorch's rule for f16. */
static void half_depthwise_is_cudnns_by_pytorchs_rule(void **state)
{
    static const struct {
        int64_t images, channels, high, wide, window, across, stride, down, dilation;
        bool    own;
    } cases[] = {
        /* stride 1 */
        { 2, 32, 7, 7, 3, 3, 1, 1, 1, false },
        { 2, 31, 7, 7, 3, 3, 1, 1, 1, true },
        { 2, 32, 7, 6, 3, 3, 1, 1, 1, true },
        { 2, 32, 6, 7, 3, 3, 1, 1, 1, false },
        { 2, 32, 7, 7, 1, 1, 1, 1, 1, false },
        { 2, 32, 7, 7, 5, 5, 1, 1, 1, false },
        { 2, 32, 7, 7, 7, 7, 1, 1, 1, true },
        { 2, 32, 7, 7, 3, 5, 1, 1, 1, true },
        { 2, 32, 9, 9, 3, 3, 1, 1, 2, true },
        { 2, 32, 9, 9, 3, 3, 1, 2, 1, true },
        /* one axis */
        { 2, 32, 1, 5, 1, 3, 1, 1, 1, false },
        { 2, 32, 1, 5, 1, 3, 1, 2, 1, false },
        { 2, 31, 1, 5, 1, 3, 1, 1, 1, true },
        { 2, 32, 1, 9, 1, 3, 2, 1, 1, true },
        /* stride 2, 3 */
        { 1, 32, 7, 7, 3, 3, 2, 2, 1, false },
        { 1, 32, 7, 7, 5, 5, 2, 2, 1, false },
        { 2, 32, 7, 7, 3, 3, 2, 2, 1, true },
        { 1, 32, 7, 7, 3, 3, 3, 3, 1, true },
        { 2, 512, 7, 7, 3, 3, 2, 2, 1, false },
        { 2, 511, 7, 7, 3, 3, 2, 2, 1, true },
        { 2, 256, 28, 28, 5, 5, 2, 2, 1, false },
        { 2, 256, 28, 27, 5, 5, 2, 2, 1, true },
        { 2, 255, 28, 28, 5, 5, 2, 2, 1, true },
        { 1, 32, 28, 28, 1, 1, 2, 2, 1, false },
        { 1, 32, 28, 29, 1, 1, 2, 2, 1, true },
        { 16, 128, 7, 7, 1, 1, 2, 2, 1, false },
        { 17, 128, 7, 7, 1, 1, 2, 2, 1, true },
        { 16, 127, 7, 7, 1, 1, 2, 2, 1, true },
        { 16, 128, 7, 8, 1, 1, 2, 2, 1, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t    reach[] = { (cases[i].window - 1) * cases[i].dilation,
                                     (cases[i].across - 1) * cases[i].dilation };
        const int64_t    shape[] = { cases[i].channels,
                                     cases[i].channels,
                                     cases[i].images,
                                     0,
                                     cases[i].high,
                                     cases[i].wide,
                                     cases[i].window,
                                     cases[i].across,
                                     cases[i].down,
                                     cases[i].stride,
                                     reach[0] / 2,
                                     reach[1] / 2,
                                     cases[i].dilation,
                                     cases[i].dilation,
                                     (cases[i].high - 1) / cases[i].down + 1,
                                     (cases[i].wide - 1) / cases[i].stride + 1 };
        const conv_shape s       = depthwise_shape(shape);
        const lm_kernel  half    = conv_kernel(&s, LM_F16, LM_FORWARD);
        const lm_kernel  other   = conv_kernel(&s, LM_BF16, LM_GRAD_WEIGHT);

        implementation_is(&half, 0, cases[i].own ? "own depthwise" : "cudnn");
        implementation_is(&other, 0, "own depthwise");
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
        cmocka_unit_test(depthwise_convolutions_agree),
        cmocka_unit_test(convolutions_agree_with_tf32),
        cmocka_unit_test(autotuned_convolutions_agree),
#ifdef PORTS_FAKE
        cmocka_unit_test(engines_are_chosen_by_the_rules),
        cmocka_unit_test(depthwise_kernels_are_chosen_by_window_and_stride),
        cmocka_unit_test(what_is_not_depthwise_is_cudnns),
        cmocka_unit_test(half_depthwise_is_cudnns_by_pytorchs_rule),
        cmocka_unit_test(autotuning_is_recorded),
#endif
    };

    return gpu_run_tests(tests);
}
