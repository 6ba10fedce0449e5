/* Families of our own kernels: maps, rows of tables, copies. */
#include <math.h>
#include <stdio.h>

#include "cuda_loops.h"
#include "measure/map_function.h"
#include "network/autocast.h"
#include "network/mixed/fp8.h"
#include "ops/ops.h"

static bool is_forward(const cuda_kernel *k)
{
    return k->base.kernel.pass == LM_FORWARD;
}

/* Role of a product of the backward pass that is no gradient of an activation. */
static slot_role product_role(const cuda_kernel *k)
{
    return k->base.kernel.pass == LM_GRAD_WEIGHT ? ROLE_ASIDE : ROLE_OUT;
}

static uint64_t size_of(const cuda_kernel *k, int64_t elements)
{
    return lm_mul((uint64_t)elements, lm_dtype_bytes(k->base.kernel.dtype));
}

static lm_status unknown_type(const cuda_kernel *k, lm_error *err)
{
    return cuda_unsupported(k, "the backend cudnn", "element type", err);
}

/* ---- maps ---- */

/* Number of operands: the pointers of loop_args, without the result. */
enum { MAX_OPERANDS = LOOP_MAX_POINTERS - 1 };

static cuda_loop map_loop(const cuda_kernel *k)
{
    static const cuda_loop loops[] = {
        [MAP_RELU]       = LOOP_RELU,
        [MAP_SWISH]      = LOOP_SWISH,
        [MAP_GELU]       = LOOP_GELU,
        [MAP_RELU_BACK]  = LOOP_RELU_BACK,
        [MAP_SWISH_BACK] = LOOP_SWISH_BACK,
        [MAP_GELU_BACK]  = LOOP_GELU_BACK,
        [MAP_SUM]        = LOOP_SUM,
        [MAP_MANY]       = LOOP_MANY,
    };

    return loops[map_function_of(&k->base.kernel)];
}

static lm_status run_map(const cuda_kernel *k, const cuda_device *device, void *const *at,
                         lm_error *err)
{
    const int64_t operands = k->base.kernel.u.map.operands;
    loop_args     args     = { .n     = k->base.kernel.u.map.elements,
                               .width = operands,
                               .scale = operands ? 1.0f / sqrtf((float)operands) : 0.0f };

    for (size_t i = 0; i < k->base.n_slots; i++)
        args.at[i] = at[i];
    return cuda_loop_run(device, map_loop(k), k->base.kernel.dtype, &args, err);
}

/* ---- casts of autocast ---- */

static lm_status run_cast(const cuda_kernel *k, const cuda_device *device, void *const *at,
                          lm_error *err)
{
    const loop_args args = { .at = { at[0], at[1] }, .n = k->base.kernel.u.map.elements };
    bool            widens;

    (void)autocast_is_cast(&k->base.kernel, &widens);
    return cuda_loop_run(device, widens ? LOOP_CAST_UP : LOOP_CAST_DOWN, k->base.kernel.dtype,
                         &args, err);
}

/* Casts of weights from the optimizer's memory to copies, and of their gradients back. */
static void prepare_cast(cuda_kernel *k, bool widens)
{
    const lm_kernel *m       = &k->base.kernel;
    const bool       weights = m->pass == LM_GRAD_WEIGHT;
    const slot_role  from    = !weights ? ROLE_IN : widens ? ROLE_ASIDE : ROLE_WEIGHT;
    const slot_role  to      = !weights ? ROLE_OUT : widens ? ROLE_GRADIENT : ROLE_ASIDE;

    cuda_add_slot(k, CUDA_SRC, from, size_of(k, m->u.map.reads),
                  cuda_normal(widens ? m->dtype : LM_F32, 1.0));
    cuda_add_slot(k, CUDA_DST, to, size_of(k, m->u.map.writes),
                  cuda_normal(widens ? LM_F32 : m->dtype, 1.0));
    k->run = run_cast;
    snprintf(k->implementation, sizeof k->implementation, "own cast");
}

/* ---- casts to FP8 ---- */

/* Both copies lie in one buffer, the transposed one behind. */
static lm_status run_cast_f8(const cuda_kernel *k, const cuda_device *device, void *const *at,
                             lm_error *err)
{
    const lm_kernel *m          = &k->base.kernel;
    loop_args        args       = { .at    = { at[0], at[1], NULL, at[2], at[3] },
                                    .n     = m->u.map.elements / m->u.map.width,
                                    .width = m->u.map.width };
    lm_dtype         from       = LM_BF16;
    bool             transposed = false;

    (void)fp8_is_cast(m, &from, &transposed);
    if (transposed) {
        args.at[2]  = (char *)at[1] + m->u.map.elements;
        args.slices = 2;
    }
    return cuda_cast_f8(device, m->pass == LM_GRAD_INPUT ? LOOP_CAST_E5M2 : LOOP_CAST_E4M3, from,
                        &args, err);
}

static lm_status prepare_cast_f8(const cuda_device *device, cuda_kernel *k, lm_dtype from,
                                 lm_error *err)
{
    const lm_kernel *m       = &k->base.kernel;
    const bool       weights = m->pass == LM_GRAD_WEIGHT;
    const lm_status  status  = cuda_need_f8(device, err);

    if (status)
        return status;
    if (m->u.map.width % 16 || m->u.map.elements / m->u.map.width % 16)
        return cuda_unsupported(k, "the backend cudnn", "rows or width no multiple of 16", err);
    cuda_add_slot(k, CUDA_SRC, weights ? ROLE_WEIGHT : ROLE_IN, (uint64_t)m->u.map.reads,
                  cuda_normal(from, 1.0));
    cuda_add_slot(k, CUDA_DST, weights ? ROLE_ASIDE : ROLE_OUT, (uint64_t)m->u.map.writes,
                  cuda_normal(LM_F8, 1.0));
    cuda_add_slot(k, CUDA_FACTOR, ROLE_STATE, sizeof(float), (fill){ FILL_ONE, LM_F32, 0 });
    cuda_add_slot(k, CUDA_LARGEST, ROLE_STATE, sizeof(float), (fill){ FILL_ZERO, LM_F32, 0 });
    k->run = run_cast_f8;
    snprintf(k->implementation, sizeof k->implementation, "own cast to %s",
             m->pass == LM_GRAD_INPUT ? "e5m2" : "e4m3");
    return LM_OK;
}

lm_status ops_map(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const lm_kernel *m        = &k->base.kernel;
    const int64_t    operands = m->u.map.operands;
    const uint64_t   bytes    = size_of(k, m->u.map.elements);
    const fill       normal   = cuda_normal(m->dtype, 1.0);
    lm_dtype         from;
    bool             widens;

    (void)how;
    if (fp8_is_cast(m, &from, &widens))
        return prepare_cast_f8(device, k, from, err);
    if (!cuda_loops_know(m->dtype))
        return unknown_type(k, err);
    if (operands < 0 || operands > MAX_OPERANDS)
        return cuda_unsupported(k, "the backend cudnn", "more than 9 operands", err);
    if (autocast_is_cast(m, &widens)) {
        prepare_cast(k, widens);
        return LM_OK;
    }
    for (int64_t i = 0; i < operands; i++) {
        slot_role role = i == 0 ? ROLE_IN : ROLE_IN_OTHER;

        if (i == 1 && !is_forward(k))
            role = ROLE_SAVED_IN;
        cuda_add_slot(k, (cuda_argument)(CUDA_OPERAND + (int)i), role, bytes, normal);
    }
    cuda_add_slot(k, CUDA_DST, product_role(k), bytes, normal);
    k->run = run_map;
    snprintf(k->implementation, sizeof k->implementation, "own map");
    return LM_OK;
}

/* ---- rows of tables ---- */

static lm_status run_gather(const cuda_kernel *k, const cuda_device *device, void *const *at,
                            lm_error *err)
{
    const loop_args args = { .at    = { at[0], at[1], at[2] },
                             .n     = k->base.kernel.u.gather.rows,
                             .width = k->base.kernel.u.gather.width };

    return cuda_loop_run(device, is_forward(k) ? LOOP_GATHER : LOOP_SCATTER, k->base.kernel.dtype,
                         &args, err);
}

lm_status ops_gather(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const lm_kernel *g      = &k->base.kernel;
    const uint64_t   width  = size_of(k, g->u.gather.width);
    const uint64_t   table  = lm_mul((uint64_t)g->u.gather.table_rows, width);
    const uint64_t   rows   = lm_mul((uint64_t)g->u.gather.rows, width);
    const fill       index  = { .kind = FILL_INDEX, .scale = (double)g->u.gather.table_rows };
    const fill       normal = cuda_normal(g->dtype, 1.0);

    (void)device;
    (void)how;
    if (!cuda_loops_know(g->dtype))
        return unknown_type(k, err);
    if (g->u.gather.table_rows < 1 || g->u.gather.table_rows > INT32_MAX)
        return cuda_unsupported(k, "the backend cudnn", "rows of the table", err);
    cuda_add_slot(k, CUDA_SRC, is_forward(k) ? ROLE_WEIGHT : ROLE_IN, is_forward(k) ? table : rows,
                  normal);
    cuda_add_slot(k, CUDA_INDEX, ROLE_STATE, lm_mul((uint64_t)g->u.gather.rows, sizeof(int32_t)),
                  index);
    cuda_add_slot(k, CUDA_DST, is_forward(k) ? ROLE_OUT : ROLE_GRADIENT,
                  is_forward(k) ? rows : table, normal);
    k->run = run_gather;
    snprintf(k->implementation, sizeof k->implementation, "own %s",
             is_forward(k) ? "gather" : "scatter");
    return LM_OK;
}

/* ---- copies ---- */

static lm_status run_copy(const cuda_kernel *k, const cuda_device *device, void *const *at,
                          lm_error *err)
{
    const cudaError_t status = cudaMemcpyAsync(at[1], at[0], (size_t)k->base.kernel.u.copy.bytes,
                                               cudaMemcpyDeviceToDevice, device->stream);

    return status == cudaSuccess ? LM_OK : cuda_failed(err, "cudaMemcpyAsync", status);
}

lm_status ops_copy(const cuda_device *device, const settings *how, cuda_kernel *k, lm_error *err)
{
    const uint64_t bytes = (uint64_t)k->base.kernel.u.copy.bytes;
    const fill     f     = cuda_normal(k->base.kernel.dtype, 1.0);

    (void)device;
    (void)how;
    if (k->base.kernel.u.copy.bytes < 1)
        return cuda_unsupported(k, "the backend cudnn", "nothing to copy", err);
    cuda_add_slot(k, CUDA_SRC, ROLE_IN, bytes, f);
    cuda_add_slot(k, CUDA_DST, product_role(k), bytes, f);
    k->run = run_copy;
    snprintf(k->implementation, sizeof k->implementation, "cudaMemcpyAsync");
    return LM_OK;
}
