/* Our own kernels, compiled for one device. */
#include "cuda_loops.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvrtc.h>

#include "cuda_source.h"

#include "base/no_memory.h"

enum { N_TYPES = 3, THREADS = 256, BLOCKS_A_MULTIPROCESSOR = 8 };

static const char *const names[N_LOOPS] = {
    [LOOP_RELU]                 = "map_relu",
    [LOOP_SWISH]                = "map_swish",
    [LOOP_GELU]                 = "map_gelu",
    [LOOP_SUM]                  = "map_sum",
    [LOOP_RELU_BACK]            = "map_relu_back",
    [LOOP_SWISH_BACK]           = "map_swish_back",
    [LOOP_GELU_BACK]            = "map_gelu_back",
    [LOOP_CAST_DOWN]            = "cast_down",
    [LOOP_CAST_UP]              = "cast_up",
    [LOOP_CAST_E4M3]            = "cast_e4m3",
    [LOOP_CAST_E5M2]            = "cast_e5m2",
    [LOOP_MANY]                 = "map_many",
    [LOOP_SGD]                  = "update_sgd",
    [LOOP_MOMENTUM]             = "update_momentum",
    [LOOP_ADAM]                 = "update_adam",
    [LOOP_ADAGRAD]              = "update_adagrad",
    [LOOP_ADADELTA]             = "update_adadelta",
    [LOOP_RMSPROP]              = "update_rmsprop",
    [LOOP_PASS_AFFINE]          = "pass_affine",
    [LOOP_PASS_ROOT]            = "pass_root",
    [LOOP_PASS_LINEAR]          = "pass_linear",
    [LOOP_PASS_TIMES]           = "pass_times",
    [LOOP_PASS_OVER]            = "pass_over",
    [LOOP_PASS_PRODUCT]         = "pass_product",
    [LOOP_PASS_QUOTIENT]        = "pass_quotient",
    [LOOP_GATHER]               = "gather",
    [LOOP_SCATTER]              = "scatter",
    [LOOP_SUM_ROWS]             = "sum_rows",
    [LOOP_SUM_COLUMNS]          = "sum_columns",
    [LOOP_SUM_SLICES]           = "sum_slices",
    [LOOP_ATTEND]               = "attend",
    [LOOP_ATTEND_BACK]          = "attend_back",
    [LOOP_POOL_ADAPTIVE]        = "pool_adaptive",
    [LOOP_POOL_ADAPTIVE_BACK]   = "pool_adaptive_back",
    [LOOP_DEPTHWISE]            = "depthwise_any",
    [LOOP_DEPTHWISE_1]          = "depthwise_1",
    [LOOP_DEPTHWISE_3]          = "depthwise_3",
    [LOOP_DEPTHWISE_5]          = "depthwise_5",
    [LOOP_DEPTHWISE_BACK]       = "depthwise_back_any",
    [LOOP_DEPTHWISE_BACK_ANY_1] = "depthwise_back_any_1",
    [LOOP_DEPTHWISE_BACK_ANY_2] = "depthwise_back_any_2",
    [LOOP_DEPTHWISE_BACK_1]     = "depthwise_back_1",
    [LOOP_DEPTHWISE_BACK_1_1]   = "depthwise_back_1_1",
    [LOOP_DEPTHWISE_BACK_1_2]   = "depthwise_back_1_2",
    [LOOP_DEPTHWISE_BACK_3]     = "depthwise_back_3",
    [LOOP_DEPTHWISE_BACK_3_1]   = "depthwise_back_3_1",
    [LOOP_DEPTHWISE_BACK_3_2]   = "depthwise_back_3_2",
    [LOOP_DEPTHWISE_BACK_5]     = "depthwise_back_5",
    [LOOP_DEPTHWISE_BACK_5_1]   = "depthwise_back_5_1",
    [LOOP_DEPTHWISE_BACK_5_2]   = "depthwise_back_5_2",
    [LOOP_DEPTHWISE_WEIGHTS]    = "depthwise_weights",
    [LOOP_FILL_NORMAL]          = "fill_normal",
    [LOOP_FILL_VALUE]           = "fill_value",
};

static const char *const type_names[N_TYPES] = { "f32", "f16", "bf16" };

struct cuda_loops {
    cuda_driver driver;
    CUmodule    module;
    CUfunction  function[N_LOOPS][N_TYPES], fill_index, fill_f8, delay;
};

static int type_number(lm_dtype type)
{
    return type == LM_F32 ? 0 : type == LM_F16 ? 1 : type == LM_BF16 ? 2 : -1;
}

bool cuda_loops_know(lm_dtype type)
{
    return type_number(type) >= 0;
}

/* ---- compile ---- */

static lm_status nvrtc_failed(lm_error *err, const char *what, nvrtcResult cause)
{
    return lm_error_set(err, cause == NVRTC_ERROR_OUT_OF_MEMORY ? LM_E_NOMEM : LM_E_UNSUPPORTED,
                        "NVRTC: %s: %s", what, nvrtcGetErrorString(cause));
}

/* The first line of the compiler's log that is about an error. */
static lm_status refused(nvrtcProgram program, const char *option, lm_error *err)
{
    size_t    bytes = 0;
    char     *log   = NULL, *line;
    lm_status status;

    if (nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS)
        log = calloc(bytes + 1, 1);
    if (log && nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS)
        log[0] = '\0';
    line = log ? strstr(log, "error") : NULL;
    line = line ? line : log;
    if (line)
        line[strcspn(line, "\n")] = '\0';
    status = lm_error_set(err, LM_E_UNSUPPORTED, "NVRTC cannot compile our kernels with %s: %s",
                          option, line ? line : "no reason given");
    free(log);
    return status;
}

/* The newest architecture this NVRTC knows. */
static nvrtcResult newest(int *out)
{
    int        *list = NULL;
    int         n    = 0;
    nvrtcResult status;

    *out   = 0;
    status = nvrtcGetNumSupportedArchs(&n);
    if (status == NVRTC_SUCCESS) {
        list   = calloc((size_t)n + 1, sizeof *list);
        status = list ? nvrtcGetSupportedArchs(list) : NVRTC_ERROR_OUT_OF_MEMORY;
    }
    for (int i = 0; i < n && status == NVRTC_SUCCESS; i++)
        *out = list[i] > *out ? list[i] : *out;
    free(list);
    return status;
}

static lm_status get_image(nvrtcProgram program, bool ptx, char **out, lm_error *err)
{
    size_t      bytes = 0;
    nvrtcResult status =
        ptx ? nvrtcGetPTXSize(program, &bytes) : nvrtcGetCUBINSize(program, &bytes);
    char *image;

    if (status != NVRTC_SUCCESS)
        return nvrtc_failed(err, "size of the kernels", status);
    image = calloc(bytes + 1, 1);
    if (!image)
        return no_memory(err);
    status = ptx ? nvrtcGetPTX(program, image) : nvrtcGetCUBIN(program, image);
    if (status != NVRTC_SUCCESS) {
        free(image);
        return nvrtc_failed(err, "the kernels", status);
    }
    *out = image;
    return LM_OK;
}

/* A device newer than this NVRTC gets what the driver can translate. */
lm_status cuda_source_compile(int major, int minor, char **out, lm_error *err)
{
    static const char *const headers[]      = { cuda_source_loop_args, cuda_source_loops_body,
                                                cuda_source_loops_pool, cuda_source_loops_depthwise };
    static const char *const header_names[] = { "loop_args.h", "loops_body.cu", "loops_pool.cu",
                                                "loops_depthwise.cu" };
    const int                n_headers      = sizeof headers / sizeof headers[0];
    const int                wanted         = 10 * major + minor;
    nvrtcProgram             program        = NULL;
    int                      known          = 0;
    nvrtcResult              cause          = newest(&known);
    char                     option[40];
    const char *const        options[] = { option, "--std=c++14" };
    lm_status                status;

    if (cause == NVRTC_SUCCESS)
        cause = nvrtcCreateProgram(&program, cuda_source_loops, "loops.cu", n_headers, headers,
                                   header_names);
    if (cause != NVRTC_SUCCESS)
        return nvrtc_failed(err, "our kernels", cause);
    snprintf(option, sizeof option, "--gpu-architecture=%s_%d", wanted > known ? "compute" : "sm",
             wanted > known ? known : wanted);
    cause = nvrtcCompileProgram(program, 2, options);
    if (cause == NVRTC_SUCCESS)
        status = get_image(program, wanted > known, out, err);
    else
        status = refused(program, option, err);
    nvrtcDestroyProgram(&program);
    return status;
}

/* ---- open, close ---- */

static lm_status find_functions(cuda_loops *l, lm_error *err)
{
    char     name[48] = "fill_index";
    CUresult status   = l->driver.module_get_function(&l->fill_index, l->module, name);

    if (status == CUDA_SUCCESS)
        status = l->driver.module_get_function(&l->delay, l->module, "delay");
    if (status == CUDA_SUCCESS)
        status = l->driver.module_get_function(&l->fill_f8, l->module, "fill_normal_f8");
    for (int i = 0; i < N_LOOPS && status == CUDA_SUCCESS; i++)
        for (int t = 0; t < N_TYPES && status == CUDA_SUCCESS; t++) {
            snprintf(name, sizeof name, "%s_%s", names[i], type_names[t]);
            status = l->driver.module_get_function(&l->function[i][t], l->module, name);
        }
    return status == CUDA_SUCCESS ? LM_OK : cuda_driver_failed(&l->driver, err, name, status);
}

lm_status cuda_loops_open(const cuda_device *device, const cuda_driver *driver, cuda_loops **out,
                          lm_error *err)
{
    cuda_loops *l     = calloc(1, sizeof *l);
    char       *image = NULL;
    CUresult    cause;
    lm_status   status;

    if (!l)
        return no_memory(err);
    l->driver = *driver;
    status    = cuda_source_compile(device->major, device->minor, &image, err);
    if (status)
        goto out;
    cause = driver->module_load_data(&l->module, image);
    if (cause != CUDA_SUCCESS) {
        status = cuda_driver_failed(driver, err, "our kernels", cause);
        goto out;
    }
    status = find_functions(l, err);
    if (status)
        goto out;
    *out = l;
    l    = NULL;
out:
    free(image);
    cuda_loops_close(l);
    return status;
}

void cuda_loops_close(cuda_loops *loops)
{
    if (!loops)
        return;
    if (loops->module)
        loops->driver.module_unload(loops->module);
    free(loops);
}

/* ---- run ---- */

static unsigned at_most(long long n, long long limit)
{
    return (unsigned)(n < 1 ? 1 : n < limit ? n : limit);
}

static lm_status start(const cuda_device *device, CUfunction function, unsigned blocks,
                       unsigned threads, unsigned rows, const loop_args *args, const char *name,
                       lm_error *err)
{
    const cuda_driver *driver      = &device->loops->driver;
    loop_args          copy        = *args;
    void              *arguments[] = { &copy };
    const CUresult     status = driver->launch_kernel(function, blocks, 1, 1, threads, rows, 1, 0,
                                                      device->stream, arguments, NULL);

    return status == CUDA_SUCCESS ? LM_OK : cuda_driver_failed(driver, err, name, status);
}

unsigned cuda_loop_lanes(long long wanted, unsigned most)
{
    unsigned lanes = 1;

    while (lanes < most && lanes < wanted)
        lanes *= 2;
    return lanes;
}

lm_status cuda_loop_rows(const cuda_device *device, cuda_loop loop, lm_dtype type, unsigned lanes,
                         long long rows, const loop_args *args, lm_error *err)
{
    const unsigned in_block = THREADS / lanes;
    const int      t        = type_number(type);

    if (t < 0)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s: element type", names[loop]);
    return start(device, device->loops->function[loop][t],
                 at_most((rows + in_block - 1) / in_block,
                         (long long)device->multiprocessors * BLOCKS_A_MULTIPROCESSOR),
                 lanes, in_block, args, names[loop], err);
}

lm_status cuda_loop_blocks(const cuda_device *device, cuda_loop loop, lm_dtype type,
                           long long blocks, unsigned lanes, unsigned rows, const loop_args *args,
                           lm_error *err)
{
    const int t = type_number(type);

    if (t < 0 || blocks < 1 || blocks > INT32_MAX)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s: %s", names[loop],
                            t < 0 ? "element type" : "number of blocks");
    return start(device, device->loops->function[loop][t], (unsigned)blocks, lanes, rows, args,
                 names[loop], err);
}

lm_status cuda_loop_run(const cuda_device *device, cuda_loop loop, lm_dtype type,
                        const loop_args *args, lm_error *err)
{
    const int       t       = type_number(type);
    const size_t    element = t < 0 ? 1 : (size_t)lm_dtype_bytes(type);
    const long long vector = (long long)(16 / element), each = THREADS * vector;

    /* a block, or a part of one, for each row: a thread for each vector, at least a warp */
    if (loop == LOOP_GATHER || loop == LOOP_SCATTER)
        return cuda_loop_rows(
            device, loop, type,
            cuda_loop_lanes(args->width < 32 * vector ? 32 : args->width / vector, THREADS),
            args->n, args, err);
    if (t < 0)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s: element type", names[loop]);
    return start(device, device->loops->function[loop][t],
                 at_most((args->n + each - 1) / each,
                         (long long)device->multiprocessors * BLOCKS_A_MULTIPROCESSOR),
                 THREADS, 1, args, names[loop], err);
}

lm_status cuda_cast_f8(const cuda_device *device, cuda_loop loop, lm_dtype from,
                       const loop_args *args, lm_error *err)
{
    const long long tiles = (args->n + 31) / 32 * ((args->width + 31) / 32);
    const int       t     = type_number(from);

    if (t < 0)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s: element type", names[loop]);
    return start(device, device->loops->function[loop][t],
                 at_most((tiles * 32 + THREADS - 1) / THREADS,
                         (long long)device->multiprocessors * BLOCKS_A_MULTIPROCESSOR),
                 THREADS, 1, args, names[loop], err);
}

lm_status cuda_delay(const cuda_device *device, long long nanoseconds, lm_error *err)
{
    const loop_args args = { .n = nanoseconds };

    return start(device, device->loops->delay, 1, 1, 1, &args, "delay", err);
}

static lm_status fill_bytes(const cuda_device *device, int value, void *at, size_t bytes,
                            lm_error *err)
{
    const cudaError_t status =
        bytes ? cudaMemsetAsync(at, value, bytes, device->stream) : cudaSuccess;

    return status == cudaSuccess ? LM_OK : cuda_failed(err, "fill", status);
}

lm_status cuda_fill(const cuda_device *device, const fill *f, unsigned long long position, void *at,
                    size_t bytes, lm_error *err)
{
    loop_args args = { .at = { at }, .position = position, .scale = (float)f->scale };

    if (f->kind == FILL_NONE || !bytes)
        return LM_OK;
    if (f->kind == FILL_ZERO)
        return fill_bytes(device, 0, at, bytes, err);
    if (f->kind == FILL_INDEX || f->kind == FILL_LENGTH) {
        args.n     = (long long)(bytes / sizeof(int));
        args.width = f->kind == FILL_INDEX ? (long long)f->scale : 1;
        args.head  = f->kind == FILL_INDEX ? 0 : (long long)f->scale;
        return start(device, device->loops->fill_index,
                     at_most(args.n / THREADS + 1,
                             (long long)device->multiprocessors * BLOCKS_A_MULTIPROCESSOR),
                     THREADS, 1, &args, "fill_index", err);
    }
    if (f->type == LM_F8 && f->kind == FILL_NORMAL && bytes % 4 == 0) {
        args.n = (long long)(bytes / 4);
        return start(device, device->loops->fill_f8,
                     at_most(args.n / THREADS + 1,
                             (long long)device->multiprocessors * BLOCKS_A_MULTIPROCESSOR),
                     THREADS, 1, &args, "fill_normal_f8", err);
    }
    if (!cuda_loops_know(f->type))
        return fill_bytes(device, 1, at, bytes, err);
    args.n = (long long)(bytes / lm_dtype_bytes(f->type));
    if (f->kind == FILL_ONE)
        args.scale = 1.0f;
    return cuda_loop_run(device, f->kind == FILL_ONE ? LOOP_FILL_VALUE : LOOP_FILL_NORMAL, f->type,
                         &args, err);
}
