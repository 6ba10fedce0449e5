/*
 * The real cuDNN takes our convolutions' graphs, on a machine without a GPU: since 9.8 it makes
 * plans for a device that is described to it. Nothing runs. What it compiles at run time, norms
 * and attention, is taken by a driver for plans alone (tests/gpu/driver.c).
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_kernels.h"

/* An H200, as CUDA's device attributes describe it, under the names cuDNN gives them. */
static const char device_json[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
    "\"deviceName\":\"NVIDIA H200\",\"deviceVer\":900,\"driverVer\":13000,"
    "\"multiProcessorCount\":132,\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,"
    "\"l2CacheSize\":62914560,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
    "\"maxSharedMemoryPerBlockOptin\":232448,\"reservedSharedMemoryPerBlock\":1024,"
    "\"maxRegistersPerSM\":65536,\"regsPerBlock\":65536,\"pciDeviceId\":0,\"maxCtasPerSM\":32,"
    "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"isTccDriver\":0,"
    "\"supportCoopLaunch\":1,\"totalGlobalMem\":150000000000,\"cudaDeviceId\":0}";

static cuda_device device;

static bool describe(void)
{
    if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device.properties) !=
        CUDNN_STATUS_SUCCESS)
        return false;
    device.workspace_limit = (size_t)1 << 30;
    return cudnnBackendSetAttribute(device.properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                    CUDNN_TYPE_CHAR, (int64_t)strlen(device_json),
                                    device_json) == CUDNN_STATUS_SUCCESS &&
           cudnnBackendFinalize(device.properties) == CUDNN_STATUS_SUCCESS;
}

typedef struct shape {
    int64_t groups, in[3], window[3], stride[3], pad[3], dilation[3], out[3];
} shape;

static const shape shapes[] = {
    { 1, { 1, 28, 28 }, { 1, 3, 3 }, { 1, 1, 1 }, { 0, 1, 1 }, { 1, 1, 1 }, { 1, 28, 28 } },
    { 64, { 1, 28, 28 }, { 1, 3, 3 }, { 1, 1, 1 }, { 0, 1, 1 }, { 1, 1, 1 }, { 1, 28, 28 } },
    { 1, { 1, 28, 28 }, { 1, 3, 3 }, { 1, 2, 2 }, { 0, 0, 0 }, { 1, 1, 1 }, { 1, 14, 14 } },
    { 1, { 8, 28, 28 }, { 3, 3, 3 }, { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 }, { 8, 28, 28 } },
    { 4, { 1, 1, 64 }, { 1, 1, 5 }, { 1, 1, 1 }, { 0, 0, 4 }, { 1, 1, 2 }, { 1, 1, 64 } },
};

/* cuDNN compiles depthwise convolutions, which takes up to a second each. Half of them have each pair of type,
 * layout, pass and bias. */
static bool is_tried(const shape *s, size_t type, size_t layout, size_t pass)
{
    return s->groups < 64 || (type + layout + pass) % 2 == 0;
}

static void cudnn_plans_every_convolution(void **state)
{
    static const lm_dtype types[] = { LM_F32, LM_F16, LM_BF16 };

    (void)state;
    for (size_t i = 0; i < 3 * 2 * 3 * sizeof shapes / sizeof shapes[0]; i++) {
        const shape *s   = &shapes[i / 18];
        lm_kernel    k   = { .size = sizeof k, .op = LM_OP_CONV, .repeat = 1 };
        settings     how = { { 0 } };
        cuda_kernel  out;
        lm_error     err;

        if (!is_tried(s, i % 3, i / 3 % 2, i / 6 % 3))
            continue;
        k.dtype                   = types[i % 3];
        how.value[SETTING_LAYOUT] = (uint8_t)(i / 3 % 2);
        k.pass                    = (lm_pass)(i / 6 % 3);
        k.u.conv.n                = 8;
        k.u.conv.c_in = k.u.conv.c_out = 64;
        k.u.conv.groups                = s->groups;
        k.u.conv.bias                  = i % 3 == (i / 6 + 1) % 3;
        memcpy(k.u.conv.in, s->in, sizeof s->in);
        memcpy(k.u.conv.out, s->out, sizeof s->out);
        memcpy(k.u.conv.window, s->window, sizeof s->window);
        memcpy(k.u.conv.stride, s->stride, sizeof s->stride);
        memcpy(k.u.conv.pad, s->pad, sizeof s->pad);
        memcpy(k.u.conv.dilation, s->dilation, sizeof s->dilation);
        if (cuda_kernel_prepare(&device, &how, &k, USE_TRAINING, &out, &err))
            fail_msg("%s", err.text);
        /* depthwise in NCHW is our own, but for some in f16: test_cuda_convs.c */
        if (s->groups < 64 || how.value[SETTING_LAYOUT])
            assert_non_null(strstr(out.implementation, "cudnn engine"));
        if (k.dtype == LM_F32) /* not without tf32 */
            assert_null(strstr(out.implementation, "tensor"));
        cuda_kernel_release(&out);
    }
}

static void plan(const lm_kernel *k)
{
    const settings how = { { 0 } };
    cuda_kernel    out;
    lm_error       err;

    if (cuda_kernel_prepare(&device, &how, k, USE_TRAINING, &out, &err))
        fail_msg("%s", err.text);
    assert_non_null(strstr(out.implementation, "cudnn engine"));
    cuda_kernel_release(&out);
}

/* Blocks have 128 keys: for the others versions before 9.15 need a padding mask. Half of the cases, as each takes half a
 * second, have each three of pass, mask, dropout and sharing, with each number of keys. */
static void cudnn_plans_attention(void **state)
{
    static const int64_t  keys[]  = { 49, 197, 1024 };
    static const lm_dtype types[] = { LM_F16, LM_BF16 };

    (void)state;
    for (size_t i = 0; i < 3 * 2 * 2 * 2 * 2; i++) { /* keys, passes, causal, dropout, shared */
        lm_kernel k = { .size = sizeof k, .op = LM_OP_ATTENTION, .repeat = 1 };

        if ((i / 3 + i / 6 + i / 12 + i / 24) % 2)
            continue;
        k.pass                    = i / 3 % 2 ? LM_GRAD_INPUT : LM_FORWARD;
        k.dtype                   = types[(i / 3 + i / 6) % 2];
        k.u.attention.causal      = (int64_t)(i / 6 % 2);
        k.u.attention.dropout     = (int64_t)(i / 12 % 2);
        k.u.attention.batch       = 4;
        k.u.attention.heads       = 12;
        k.u.attention.kv_heads    = i / 24 ? 4 : 12;
        k.u.attention.queries     = 197;
        k.u.attention.keys        = keys[i % 3];
        k.u.attention.width       = 64;
        k.u.attention.value_width = 64;
        plan(&k);
    }
}

static void cudnn_plans_layer_norm(void **state)
{
    (void)state;
    for (lm_pass pass = LM_FORWARD; pass <= LM_GRAD_INPUT; pass++) {
        lm_kernel k = {
            .size = sizeof k, .op = LM_OP_NORM, .pass = pass, .dtype = LM_BF16, .repeat = 1
        };

        k.u.norm.rows  = 788;
        k.u.norm.group = k.u.norm.inner = 768;
        plan(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(cudnn_plans_every_convolution),
                                        cmocka_unit_test(cudnn_plans_attention),
                                        cmocka_unit_test(cudnn_plans_layer_norm) };
    int                     failed;

    if (!describe()) {
        printf("skipped: this cuDNN plans for devices that are there alone\n");
        return 77;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)cudnnBackendDestroyDescriptor(device.properties);
    return failed;
}
