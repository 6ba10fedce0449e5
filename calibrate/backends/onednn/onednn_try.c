/* One kernel, once, on known contents. */
#include "onednn_try.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "measure/kernel_kinds.h"
#include "network/autocast.h"
#include "ranks/pulse.h"

typedef struct attempt {
    const api_device *device;
    const team       *team;
    prepared_kernel   kernel;
    void             *memory[MAX_SLOTS], *plain[MAX_SLOTS];
} attempt;

/* Loops number their arguments (loop_run()). */
static verify_tensor tensor_of_loop(const prepared_kernel *k, int argument)
{
    static const verify_tensor rows[]   = { VERIFY_SRC, VERIFY_INDEX, VERIFY_DST };
    static const verify_tensor sums[]   = { VERIFY_SRC, VERIFY_DST, VERIFY_NONE };
    static const verify_tensor update[] = { VERIFY_SRC, VERIFY_DIFF_OTHER };
    const verify_tensor        operand  = (verify_tensor)(VERIFY_OPERAND + argument);

    if (k->base.kernel.op == LM_OP_GATHER)
        return rows[argument];
    if (k->base.kernel.op == LM_OP_REDUCE)
        return sums[argument];
    if (k->base.use == USE_UPDATE)
        return argument < 2 ? update[argument] : operand;
    return argument < k->base.kernel.u.map.operands ? operand : VERIFY_DST;
}

static verify_tensor tensor_of_map(const prepared_kernel *k, int argument)
{
    const bool back = k->base.kernel.u.map.operands == 2 && k->base.kernel.pass != LM_FORWARD;

    if (argument == DNNL_ARG_DST || argument == DNNL_ARG_DIFF_SRC)
        return VERIFY_DST;
    if (argument == DNNL_ARG_DIFF_DST)
        return VERIFY_OPERAND;
    return argument == DNNL_ARG_SRC_1 || back ? (verify_tensor)(VERIFY_OPERAND + 1)
                                              : VERIFY_OPERAND;
}

static verify_tensor tensor_of(const prepared_kernel *k, int argument)
{
    static const struct {
        int           argument;
        verify_tensor tensor;
    } names[] = {
        { DNNL_ARG_SRC, VERIFY_SRC },
        { DNNL_ARG_WEIGHTS, VERIFY_OTHER },
        { DNNL_ARG_BIAS, VERIFY_BIAS },
        { DNNL_ARG_DST, VERIFY_DST },
        { DNNL_ARG_DIFF_DST, VERIFY_DIFF_DST },
        { DNNL_ARG_DIFF_SRC, VERIFY_DIFF_SRC },
        { DNNL_ARG_DIFF_WEIGHTS, VERIFY_DIFF_OTHER },
        { DNNL_ARG_DIFF_BIAS, VERIFY_DIFF_BIAS },
        { DNNL_ARG_MEAN, VERIFY_MEAN },
        { DNNL_ARG_VARIANCE, VERIFY_VARIANCE },
        { DNNL_ARG_SCALE, VERIFY_SCALE },
        { DNNL_ARG_SHIFT, VERIFY_SHIFT },
        { DNNL_ARG_DIFF_SCALE, VERIFY_DIFF_SCALE },
        { DNNL_ARG_DIFF_SHIFT, VERIFY_DIFF_SHIFT },
    };
    bool widens;

    if (argument == DNNL_ARG_SCRATCHPAD || argument == DNNL_ARG_WORKSPACE)
        return VERIFY_NONE;
    if (!k->primitive.run)
        return tensor_of_loop(k, argument);
    if (k->base.kernel.op == LM_OP_MAP && !autocast_is_cast(&k->base.kernel, &widens))
        return tensor_of_map(k, argument);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].argument == argument)
            return names[i].tensor;
    return VERIFY_NONE;
}

static lm_dtype type_of(const attempt *a, const slot *s)
{
    const lm_kernel *k = &a->kernel.base.kernel;

    return s->fill.kind == FILL_INDEX ? LM_I32 : k->op == LM_OP_COPY ? k->dtype : s->fill.type;
}

/* Layouts that the library may choose. Products have theirs by request, all others are flat. */
static bool is_blocked(const attempt *a)
{
    const lm_op op = a->kernel.base.kernel.op;

    return op == LM_OP_CONV || op == LM_OP_POOL || op == LM_OP_NORM;
}

static lm_status failed(dnnl_status_t cause, lm_error *err)
{
    return lm_error_set(err, cause == dnnl_out_of_memory ? LM_E_NOMEM : LM_E_UNSUPPORTED,
                        "oneDNN: %s", dnnl_status2str(cause));
}

/* Elements of the tensor, without padding. */
static size_t elements_of(const attempt *a, const slot *s)
{
    const size_t each = (size_t)lm_dtype_bytes(type_of(a, s));

    return is_blocked(a) ? api_elements(&a->kernel.primitive, s->argument)
           : each        ? s->bytes / each
                         : 0;
}

static lm_status give(attempt *a, size_t i, verify_trial *t, lm_error *err)
{
    const slot         *s      = &a->kernel.base.slot[i];
    const verify_tensor tensor = tensor_of(&a->kernel, s->argument);
    dnnl_status_t       cause  = dnnl_success;

    if (posix_memalign(&a->memory[i], 64, s->bytes) || posix_memalign(&a->plain[i], 64, s->bytes))
        return no_memory(err);
    fill_run(&s->fill, a->team, 1000003 * i, a->memory[i], s->bytes);
    if (!verify_give(t, tensor, type_of(a, s), elements_of(a, s), a->plain[i]))
        return LM_OK;
    if (is_blocked(a))
        cause = api_reorder(a->device, &a->kernel.primitive, s->argument, a->plain[i], a->memory[i],
                            false);
    else
        memcpy(a->memory[i], a->plain[i], s->bytes);
    return cause == dnnl_success ? LM_OK : failed(cause, err);
}

static lm_status take(attempt *a, size_t i, verify_trial *t, lm_error *err)
{
    const slot         *s      = &a->kernel.base.slot[i];
    const verify_tensor tensor = tensor_of(&a->kernel, s->argument);
    dnnl_status_t       cause  = dnnl_success;

    if (tensor == VERIFY_NONE)
        return LM_OK;
    if (is_blocked(a))
        cause = api_reorder(a->device, &a->kernel.primitive, s->argument, a->plain[i], a->memory[i],
                            true);
    verify_take(t, tensor, type_of(a, s), elements_of(a, s),
                is_blocked(a) ? a->plain[i] : a->memory[i]);
    return cause == dnnl_success ? LM_OK : failed(cause, err);
}

static dnnl_status_t execute(attempt *a)
{
    dnnl_exec_arg_t argument[MAX_SLOTS] = { { 0 } };
    const size_t    n                   = a->kernel.base.n_slots;
    dnnl_status_t   cause               = dnnl_success;

    for (size_t i = 0; i < n && cause == dnnl_success; i++) {
        argument[i].arg = a->kernel.base.slot[i].argument;
        cause           = api_memory(a->device, &a->kernel.primitive, argument[i].arg, a->memory[i],
                                     &argument[i].memory);
    }
    if (cause == dnnl_success)
        cause =
            dnnl_primitive_execute(a->kernel.primitive.run, a->device->stream, (int)n, argument);
    if (cause == dnnl_success)
        cause = dnnl_stream_wait(a->device->stream);
    for (size_t i = 0; i < n; i++)
        if (argument[i].memory)
            dnnl_memory_destroy(argument[i].memory);
    return cause;
}

static lm_status run(attempt *a, verify_trial *t, lm_error *err)
{
    const size_t  n      = a->kernel.base.n_slots;
    lm_status     status = LM_OK;
    dnnl_status_t cause  = dnnl_success;

    for (size_t i = 0; i < n && !status; i++)
        status = give(a, i, t, err);
    if (!status && a->kernel.primitive.run)
        cause = execute(a);
    else if (!status)
        loop_run(&a->kernel.loop, a->team, a->memory);
    if (cause != dnnl_success)
        status = failed(cause, err);
    for (size_t i = 0; i < n && !status; i++)
        status = take(a, i, t, err);
    return status;
}

/* The library has no adaptive windows: onednn_ops.c takes as many of the longest. */
static bool has_no_counterpart(const lm_kernel *k)
{
    return (k->op == LM_OP_NORM && k->u.norm.rms) ||
           (k->op == LM_OP_POOL && k->u.pool.mode == LM_POOL_MAX && k->pass != LM_FORWARD) ||
           (k->op == LM_OP_POOL && pool_is_adaptive(k));
}

lm_status onednn_try(const api_device *device, const team *t, verify_trial *trial, lm_error *err)
{
    attempt   a = { .device = device, .team = t };
    lm_status status;

    if (has_no_counterpart(&trial->kernel))
        return lm_error_set(err, LM_E_UNSUPPORTED, "no counterpart");
    status = kernel_prepare(device, &trial->kernel, trial->use, &a.kernel, err);
    if (status)
        return status;
    pulse_allow(0); /* it is prepared, and small */
    status = run(&a, trial, err);
    for (size_t i = 0; i < MAX_SLOTS; i++) {
        free(a.memory[i]);
        free(a.plain[i]);
    }
    kernel_release(&a.kernel);
    return status;
}
