/*
 * Which kernels of networks the real cuDNN plans for a device that is described to it, without a GPU. Nothing runs.
 * Convolutions; and norms of rows and attention in 16 bits, which it compiles at run time: they need a driver that
 * takes code (driver.c, in LD_LIBRARY_PATH). Its classic calls (batch norm, pools, softmax) plan nothing.
 *
 *   gpu_plans DEVICE DTYPE LAYOUT BATCH[,BATCH...] NETWORK...     A100, H100 or B200; f32, f16 or bf16; nchw or nhwc
 *
 * Prints "device,dtype,layout,kernels,planned" of the distinct kernels; those that are refused on stderr, with why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cuda_kernels.h"
#include "layers/kernel_text.h"
#include "layers/loader.h"
#include "measure/plan.h"
#include "network/kernels.h"

/* As CUDA's device attributes describe them, under the names cuDNN gives these: numbers of their datasheets, limits of
 * their compute capability (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"). */
static const struct {
    const char *name, *json;
} devices[] = {
#define DEVICE(name, version, processors, clock, memory_clock, cache, shared, bytes)                                  \
    {                                                                                                                 \
        name,                                                                                                         \
            "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"deviceName\":\"NVIDIA " name \
            "\",\"deviceVer\":" version ",\"driverVer\":13000,\"multiProcessorCount\":" processors                    \
            ",\"smClockRateKHz\":" clock ",\"memClockRateKHz\":" memory_clock                                         \
            ",\"l2CacheSize\":" cache                                                                                 \
            ",\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":" shared             \
            ",\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"regsPerBlock\":65536,"              \
            "\"pciDeviceId\":0,\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"             \
            "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":" bytes                                     \
            ",\"cudaDeviceId\":0}"                                                                                    \
    }
    DEVICE("A100", "800", "108", "1410000", "1593000", "41943040", "166912", "85000000000"),
    DEVICE("H100", "900", "132", "1980000", "2619000", "52428800", "232448", "85000000000"),
    DEVICE("B200", "1000", "148", "1965000", "3996000", "132644864", "232448", "192000000000"),
};

typedef struct asking {
    registry   *reg;
    cuda_device device;
    settings    how;
    lm_dtype    dtype;
    kernel_list seen;
    size_t      planned;
} asking;

static bool describe(asking *a, const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if (!strcmp(devices[i].name, name)) {
            const char *json = devices[i].json;

            a->device.workspace_limit = (size_t)1 << 30;
            return cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR,
                                                &a->device.properties) == CUDNN_STATUS_SUCCESS &&
                   cudnnBackendSetAttribute(
                       a->device.properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                       CUDNN_TYPE_CHAR, (int64_t)strlen(json), json) == CUDNN_STATUS_SUCCESS &&
                   cudnnBackendFinalize(a->device.properties) == CUDNN_STATUS_SUCCESS;
        }
    return false;
}

static bool is_new(const asking *a, const lm_kernel *k)
{
    for (size_t i = 0; i < a->seen.n; i++)
        if (kernels_equal(&a->seen.kernel[i], k))
            return false;
    return true;
}

static bool is_planned(const lm_kernel *k)
{
    return k->op == LM_OP_CONV || (k->op == LM_OP_ATTENTION && k->dtype != LM_F32) ||
           (k->op == LM_OP_NORM && k->u.norm.inner == k->u.norm.group);
}

static lm_status ask(asking *a, const lm_kernel *k, lm_error *err)
{
    cuda_kernel out;
    lm_error    why;
    char        geometry[400];
    lm_status   status;

    if (!is_planned(k) || !is_new(a, k))
        return LM_OK;
    status = cuda_kernel_prepare(&a->device, &a->how, k, USE_TRAINING, &out, &why);
    if (!status && !strstr(out.implementation, "cudnn")) { /* a kernel of our own */
        cuda_kernel_release(&out);
        return LM_OK;
    }
    if (kernel_list_add(&a->seen, k, err))
        return err->code;
    if (!status) {
        a->planned++;
        cuda_kernel_release(&out);
    } else {
        fprintf(stderr, "refused: %s %s %s: %s\n", text_dtype_name(k->dtype),
                kernel_pass_name(k->pass), kernel_print_geometry(k, geometry, sizeof geometry),
                why.text);
    }
    return LM_OK;
}

static lm_status ask_network(asking *a, const char *name, int64_t batch, lm_error *err)
{
    const bind_options with  = { .batch = batch, .dtype = a->dtype };
    network           *net   = NULL;
    bound_network     *bound = NULL;
    kernel_list        all   = { NULL, 0, 0 };
    lm_status          status;

    if (!(status = network_open(name, a->reg, NULL, &net, err)) &&
        !(status = bind_network(net, a->reg, &with, &bound, err)) &&
        !(status = kernels_forward(bound, &all, err)))
        status = kernels_backward(bound, &all, err);
    for (size_t i = 0; i < all.n && !status; i++)
        status = ask(a, &all.kernel[i], err);
    kernel_list_free(&all);
    bound_network_free(bound);
    network_free(net);
    return status;
}

int main(int argc, char **argv)
{
    asking    a = { .planned = 0 };
    lm_error  err;
    lm_status status = LM_OK;

    if (argc < 6 || text_dtype(argv[2], &a.dtype, &err) ||
        setting_parse(SETTING_LAYOUT, argv[3], &a.how.value[SETTING_LAYOUT], &err)) {
        fprintf(stderr, "gpu_plans DEVICE DTYPE LAYOUT BATCH[,BATCH...] NETWORK...\n");
        return 2;
    }
    if (!describe(&a, argv[1])) {
        fprintf(stderr,
                "skipped: no such device, or this cuDNN plans for devices that are there alone\n");
        return 77;
    }
    if (registry_new(&a.reg, &err) || loader_open_all(a.reg, NULL, 0, &err))
        status = LM_E_IO;
    for (const char *b = argv[4]; *b && !status; b += strcspn(b, ","), b += *b == ',')
        for (int i = 5; i < argc && !status; i++)
            status = ask_network(&a, argv[i], strtoll(b, NULL, 10), &err);
    if (status) {
        fprintf(stderr, "gpu_plans: %s\n", err.text);
        return 1;
    }
    printf("%s,%s,%s,%zu,%zu\n", argv[1], argv[2], argv[3], a.seen.n, a.planned);
    kernel_list_free(&a.seen);
    registry_free(a.reg);
    (void)cudnnBackendDestroyDescriptor(a.device.properties);
    return 0;
}
