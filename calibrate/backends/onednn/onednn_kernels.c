/* Kernels as oneDNN primitives or loops, with their buffers. */
#include "onednn_kernels.h"

#include <string.h>

#include "base/text.h"
#include "onednn_ops.h"

dnnl_data_type_t kernel_data_type(lm_dtype dtype)
{
    return dtype == LM_F32    ? dnnl_f32
           : dtype == LM_F16  ? dnnl_f16
           : dtype == LM_BF16 ? dnnl_bf16
                              : dnnl_data_type_undef;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static const fill normal = { .kind = FILL_NORMAL, .scale = 1.0 };
static const fill zero   = { .kind = FILL_ZERO };

static void add_loop_slot(prepared_kernel *k, slot_role role, uint64_t bytes, fill f)
{
    f.type                        = k->base.kernel.dtype;
    k->base.slot[k->base.n_slots] = (slot){ (int)k->base.n_slots, role, (size_t)bytes, f };
    k->base.n_slots++;
}

static bool is_forward(const prepared_kernel *k)
{
    return k->base.kernel.pass == LM_FORWARD;
}

/* Bytes of an element type that loops can sum; 0: another type. */
static size_t added_up(lm_dtype dtype)
{
    return dtype == LM_F32 ? sizeof(float) : dtype == LM_BF16 ? sizeof(uint16_t) : 0;
}

/* Prepares a map as a loop; false: there is no such loop. */
static bool prepare_map_loop(prepared_kernel *k)
{
    const int64_t  operands = k->base.kernel.u.map.operands;
    const size_t   size     = added_up(k->base.kernel.dtype);
    const uint64_t bytes    = lm_mul((uint64_t)k->base.kernel.u.map.elements, size);

    if (!size || operands < 0 || operands > LOOP_MAX_OPERANDS)
        return false;
    k->loop = (loop){ LOOP_MAP, k->base.kernel.u.map.elements, operands, size, 0 };
    for (int64_t i = 0; i < operands; i++) {
        slot_role role = i == 0 ? ROLE_IN : ROLE_IN_OTHER;

        if (i == 1 && !is_forward(k))
            role = ROLE_SAVED_IN;
        add_loop_slot(k, role, bytes, normal);
    }
    add_loop_slot(k, k->base.kernel.pass == LM_GRAD_WEIGHT ? ROLE_ASIDE : ROLE_OUT, bytes, normal);
    return true;
}

/* Prepares an update: weight, gradient, and a state tensor for each further operand of
 * optimizer_update(). */
static bool prepare_update_loop(prepared_kernel *k)
{
    const uint64_t bytes    = lm_mul((uint64_t)k->base.kernel.u.map.elements, sizeof(float));
    const int64_t  operands = k->base.kernel.u.map.operands;
    optimizer      o;

    if (k->base.kernel.dtype != LM_F32 || !optimizer_of_update(&k->base.kernel, &o))
        return false;
    k->loop = (loop){ LOOP_UPDATE, k->base.kernel.u.map.elements, o, sizeof(float), 0 };
    add_loop_slot(k, ROLE_WEIGHT, bytes, normal);
    add_loop_slot(k, ROLE_GRADIENT, bytes, normal);
    for (int64_t i = 2; i < operands; i++)
        add_loop_slot(k, ROLE_MOMENTUM, bytes, zero);
    return true;
}

static bool prepare_gather_loop(prepared_kernel *k)
{
    const lm_kernel *g     = &k->base.kernel;
    const uint64_t   width = lm_mul((uint64_t)g->u.gather.width, lm_dtype_bytes(g->dtype));
    const uint64_t   table = lm_mul((uint64_t)g->u.gather.table_rows, width);
    const uint64_t   rows  = lm_mul((uint64_t)g->u.gather.rows, width);
    const fill       index = { .kind = FILL_INDEX, .scale = (double)g->u.gather.table_rows };

    if (g->u.gather.table_rows < 1 || g->u.gather.table_rows > INT32_MAX)
        return false;
    if (is_forward(k) ? kernel_data_type(g->dtype) == dnnl_data_type_undef : g->dtype != LM_F32)
        return false;
    k->loop = (loop){ is_forward(k) ? LOOP_GATHER : LOOP_SCATTER, g->u.gather.rows,
                      g->u.gather.width, (size_t)lm_dtype_bytes(g->dtype), 0 };
    add_loop_slot(k, is_forward(k) ? ROLE_WEIGHT : ROLE_IN, is_forward(k) ? table : rows, normal);
    add_loop_slot(k, ROLE_STATE, lm_mul((uint64_t)g->u.gather.rows, sizeof(int32_t)), index);
    add_loop_slot(k, is_forward(k) ? ROLE_OUT : ROLE_GRADIENT, is_forward(k) ? rows : table,
                  normal);
    return true;
}

static bool prepare_reduce_loop(prepared_kernel *k)
{
    const int64_t  rows = k->base.kernel.u.reduce.rows, group = k->base.kernel.u.reduce.group;
    const int64_t  inner = k->base.kernel.u.reduce.inner;
    const size_t   size  = added_up(k->base.kernel.dtype);
    const uint64_t bytes = lm_mul((uint64_t)rows, size);

    if (!size || inner < 1 || rows % inner)
        return false;
    k->loop = (loop){ LOOP_REDUCE, rows, group, size, inner };
    add_loop_slot(k, ROLE_IN, lm_mul(bytes, (uint64_t)group), normal);
    add_loop_slot(k, k->base.kernel.pass == LM_GRAD_WEIGHT ? ROLE_GRADIENT : ROLE_OUT, bytes,
                  normal);
    add_loop_slot(k, ROLE_SCRATCH, LOOP_MAX_PARTS * sizeof(float), zero);
    return true;
}

static bool wants_loop(const lm_kernel *k, bool update)
{
    return update || k->op == LM_OP_GATHER || k->op == LM_OP_REDUCE ||
           (k->op == LM_OP_MAP && (k->u.map.operands < 1 || k->u.map.operands > 2));
}

static bool prepare_loop(prepared_kernel *k)
{
    if (k->base.use == USE_UPDATE)
        return prepare_update_loop(k);
    return k->base.kernel.op == LM_OP_GATHER   ? prepare_gather_loop(k)
           : k->base.kernel.op == LM_OP_REDUCE ? prepare_reduce_loop(k)
                                               : prepare_map_loop(k);
}

/* ---- both ------------------------------------------------------------------------------------ */

static lm_status create(const api_device *device, const lm_kernel *k, bool evaluation,
                        api_primitive *out, dnnl_status_t *cause)
{
    api_op    op;
    lm_status status = op_of_kernel(k, &op);

    if (status)
        return status;
    op.evaluation = evaluation;
    *cause        = api_create(device, &op, out);
    if (*cause == dnnl_success)
        return LM_OK;
    return *cause == dnnl_out_of_memory ? LM_E_NOMEM : LM_E_UNSUPPORTED;
}

static lm_status refuse(const lm_kernel *k, bool update, lm_status status, dnnl_status_t cause,
                        lm_error *err)
{
    char geometry[320], isa[32];

    if (status == LM_E_NOMEM)
        return lm_error_set(err, status, "out of memory for %s %s", kernel_op_name(k->op),
                            kernel_print_geometry(k, geometry, sizeof geometry));
    return lm_error_set(err, status, "oneDNN has no %s%s %s %s on %s (%s): %s",
                        update ? "update " : "", text_dtype_name(k->dtype), kernel_op_name(k->op),
                        kernel_pass_name(k->pass), api_isa(isa, sizeof isa), dnnl_status2str(cause),
                        kernel_print_geometry(k, geometry, sizeof geometry));
}

lm_status kernel_prepare(const api_device *device, const lm_kernel *k, kernel_use use,
                         prepared_kernel *out, lm_error *err)
{
    prepared_kernel new  = { .base = { .kernel = *k, .use = use } };
    dnnl_status_t cause  = dnnl_unimplemented;
    lm_status     status = LM_OK;

    if (wants_loop(k, use == USE_UPDATE)) {
        if (!prepare_loop(&new))
            status = LM_E_UNSUPPORTED;
    } else {
        status = create(device, k, use == USE_EVALUATION, &new.primitive, &cause);
        if (!status)
            op_add_slots(&new);
    }
    if (status)
        return refuse(k, use == USE_UPDATE, status, cause, err);
    *out = new;
    return LM_OK;
}

void kernel_release(prepared_kernel *k)
{
    api_destroy(&k->primitive);
}
