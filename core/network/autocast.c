/* Automatic mixed precision: which layers run in 16 bit, and the casts between them. */
#include "network/autocast.h"

#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "layers/schema.h"
#include "network/mixed/fp8.h"

/* Rules by layer type; those of "reduce" by operation. Other layers with matrix products or
 * convolutions run in 16 bit on each kind of device. All others are unchanged.
 *
 * GPU: "CUDA Ops that can autocast to float32" and "... to float16" of the documentation of
 * torch.amp. batch_norm is not among them: it takes 16 bit and keeps its statistics in 32.
 * logsumexp is in PyTorch's dispatch table, but not in the documentation. PyTorch refuses
 * binary_cross_entropy on GPUs; the rule is the CPU's. bilinear takes the widest type of its inputs
 * and weights, and weights are in 32 bit. Among reductions the norms l1 and l2 and the sum of
 * squares are in the list. Means and maxima are not.
 *
 * CPU: "CPU Ops that can autocast to float32" and "... to bfloat16". Norms, softmax and functions
 * of one argument are not among them. tests/accuracy/autocast.py compares with PyTorch. */
static const struct {
    const char   *type, *op;
    autocast_rule on[N_AUTOCAST_KINDS]; /* of a GPU, of a CPU */
} rules[] = {
    { "cross_entropy", NULL, { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "nll_loss", NULL, { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "mse_loss", NULL, { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "l1_loss", NULL, { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "smooth_l1_loss", NULL, { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "bce_loss", NULL, { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "bce_with_logits_loss", NULL, { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "kl_div_loss", NULL, { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "ctc_loss", NULL, { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "bilinear", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "prelu", NULL, { AUTOCAST_LOWER, AUTOCAST_LOWER } },
    { "reduce", "prod", { AUTOCAST_FULL, AUTOCAST_FULL } },
    { "max_pool3d", NULL, { AUTOCAST_WIDEST, AUTOCAST_FULL } },
    { "avg_pool3d", NULL, { AUTOCAST_WIDEST, AUTOCAST_FULL } },
    { "adaptive_max_pool3d", NULL, { AUTOCAST_WIDEST, AUTOCAST_FULL } },
    { "adaptive_avg_pool3d", NULL, { AUTOCAST_WIDEST, AUTOCAST_FULL } },
    { "layer_norm", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "group_norm", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "softmax", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "log_softmax", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "softmin", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "softplus", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "exp", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "log", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "pow", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "reciprocal", NULL, { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "reduce", "sum", { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "reduce", "l1", { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "reduce", "l2", { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "reduce", "sumsquare", { AUTOCAST_FULL, AUTOCAST_WIDEST } },
    { "reduce", "logsumexp", { AUTOCAST_FULL, AUTOCAST_WIDEST } },
};

/* Has the layer's parameter "op" this value? */
static bool does(const bound_layer *l, const char *op)
{
    const uint32_t i = schema_find(l->entry->own, "op");
    const char    *name;

    if (i >= l->entry->own->n_params || l->param[i].kind != LM_ENUM)
        return false;
    name = schema_param(l->entry->own, i).choices;
    for (int64_t skip = l->param[i].u.i[0]; skip > 0; skip--)
        name = strchr(name, '|') + 1;
    return strcspn(name, "|") == strlen(op) && !strncmp(name, op, strlen(op));
}

static bool is_product(lm_op op)
{
    return op == LM_OP_CONV || op == LM_OP_GEMM || op == LM_OP_ATTENTION;
}

autocast_rule autocast_rule_of(const bound_layer *l, autocast_kind on)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(l->decl->type, rules[i].type) && (!rules[i].op || does(l, rules[i].op)))
            return rules[i].on[on];
    for (size_t i = 0; i < l->n_kernels[LM_FORWARD]; i++)
        if (is_product(l->kernels[LM_FORWARD][i].op))
            return AUTOCAST_LOWER;
    return AUTOCAST_WIDEST;
}

/* ---- which layers run in 16 bit --------------------------------------------------------------- */

void autocast_halves(const bound_network *full, bool *is_half)
{
    for (size_t l = 0; l < full->n_layers; l++) {
        const bound_layer  *b    = &full->layer[l];
        const autocast_rule rule = autocast_rule_of(b, full->options.on);
        bool                wide = false, any = false;

        for (size_t i = 0; i < b->decl->n_inputs; i++)
            if (lm_dtype_is_real(b->input[i].dtype)) {
                any = true;
                wide |= !is_half[b->decl->input[i].layer];
            }
        is_half[l] = rule == AUTOCAST_LOWER || (rule == AUTOCAST_WIDEST && any && !wide);
    }
}

bool autocast_casts(const bound_network *full, const bound_network *half, const bool *is_half,
                    size_t l, size_t i)
{
    const net_edge       e    = full->layer[l].decl->input[i];
    const bound_network *here = is_half[l] ? half : full;
    const bound_network *from = is_half[e.layer] ? half : full;

    return here->layer[l].input[i].dtype != from->layer[e.layer].output[e.output].dtype &&
           autocast_rule_of(&full->layer[l], full->options.on) != AUTOCAST_WIDEST;
}

lm_dtype autocast_half(lm_dtype mixed)
{
    return mixed == LM_F8 ? LM_BF16 : mixed;
}

lm_status autocast_check(const bind_options *o, lm_error *err)
{
    if (o->mixed != LM_F16 && o->mixed != LM_BF16 && o->mixed != LM_F8)
        return lm_error_set(err, LM_E_ARG, "mixed precision: expected f16, bf16 or f8, found '%s'",
                            text_dtype_name(o->mixed));
    if (o->mixed == LM_F8 && o->on == AUTOCAST_CPU)
        return lm_error_set(err, LM_E_ARG,
                            "mixed precision: a CPU has no products of f8: take bf16");
    if (o->dtype != LM_F32)
        return lm_error_set(err, LM_E_ARG, "mixed precision: the weights are f32, not %s",
                            text_dtype_name(o->dtype));
    return LM_OK;
}

lm_dtype autocast_of_settings(const char *settings)
{
    return setting_dtype(settings, "mixed");
}

/* ---- casts ------------------------------------------------------------------------------------ */

lm_kernel autocast_kernel(lm_dtype half, bool widens, uint64_t elements, lm_pass pass)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_MAP, .pass = pass, .dtype = half, .repeat = 1 };

    k.u.map.elements = (int64_t)elements;
    k.u.map.operands = 1;
    k.u.map.reads    = widens ? (int64_t)elements : 2 * (int64_t)elements;
    k.u.map.writes   = widens ? 2 * (int64_t)elements : (int64_t)elements;
    return k;
}

bool autocast_is_cast(const lm_kernel *k, bool *widens)
{
    const int64_t n = k->u.map.elements;

    if (k->op != LM_OP_MAP || k->u.map.operands != 1 || k->u.map.flops_per_element != 0 ||
        (k->dtype != LM_F16 && k->dtype != LM_BF16))
        return false;
    *widens = k->u.map.reads == n && k->u.map.writes == 2 * n;
    return *widens || (k->u.map.reads == 2 * n && k->u.map.writes == n);
}

size_t autocast_fp8(const bound_network *full, const bound_network *half, size_t l)
{
    const bound_layer *b = &full->layer[l];

    return b->lowered && !b->idle && !b->passes &&
                   autocast_rule_of(b, full->options.on) == AUTOCAST_LOWER
               ? fp8_products(&half->layer[l])
               : 0;
}

/* ---- joining ---------------------------------------------------------------------------------- */

typedef struct joining {
    bound_network *full, *half;
    bool          *is_half;
    size_t        *fp8; /* by layer: its products in FP8 */
    lm_dtype       type;
    lm_error      *err;
} joining;

/* The list of kernels of one pass of a layer. */
typedef struct pass_list {
    lm_kernel *kernel;
    size_t     n;
    lm_work   *cost;
} pass_list;

static void add_kernel(pass_list *to, lm_kernel k)
{
    const lm_work work = lm_kernel_work(&k);

    to->kernel[to->n++]     = k;
    to->cost->flops         = lm_add(to->cost->flops, work.flops);
    to->cost->read_bytes    = lm_add(to->cost->read_bytes, work.read_bytes);
    to->cost->written_bytes = lm_add(to->cost->written_bytes, work.written_bytes);
}

static void add_cast(const joining *j, pass_list *to, bool widens, const lm_tensor *of,
                     lm_pass pass)
{
    add_kernel(to, autocast_kernel(j->type, widens, lm_elements(of), pass));
}

static void add_all(pass_list *to, const lm_kernel *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to->kernel[to->n++] = from[i];
}

static void add_scales(pass_list *to, size_t products, uint64_t tensors)
{
    add_kernel(to, fp8_scales(products * tensors));
}

static bool goes_back(const bound_layer *b)
{
    return b->n_kernels[LM_GRAD_INPUT] || b->n_kernels[LM_GRAD_WEIGHT];
}

static bool lowers(const joining *j, const bound_layer *b)
{
    return autocast_rule_of(b, j->full->options.on) == AUTOCAST_LOWER;
}

/* Does this layer cast weight `i`? True for its own. A shared weight is cast here only if its owner
 * runs in 32 bit: otherwise all readers use the owner's copy. */
static bool casts_weight(const joining *j, const bound_layer *b, size_t i)
{
    return lowers(j, b) && lm_dtype_is_real(b->weights[i].tensor.dtype) &&
           (i < b->n_weights || !lowers(j, b->shares));
}

/* Is the copy in FP8? Biases stay in 16 bit. */
static bool copies_in_fp8(const joining *j, size_t l, size_t i)
{
    return j->fp8[l] && j->full->layer[l].weights[i].tensor.rank > 1;
}

/* Does this layer make a copy of weight `i`? Not if the owner's copy has the same type. */
static bool copies_weight(const joining *j, size_t l, size_t i)
{
    const bound_layer *b = &j->full->layer[l];

    if (casts_weight(j, b, i))
        return true;
    return lowers(j, b) && lm_dtype_is_real(b->weights[i].tensor.dtype) && i >= b->n_weights &&
           !j->fp8[b->shares - j->full->layer] != !j->fp8[l];
}

/* Adds the copy of a weight from f32. The input gradient needs a transposed one, too. */
static void add_copy(const joining *j, size_t l, size_t i, pass_list *to)
{
    const bound_layer *b      = &j->full->layer[l];
    const lm_tensor   *w      = &b->weights[i].tensor;
    const uint64_t     rows   = (uint64_t)w->dim[0];
    const int          copies = j->half->layer[l].n_kernels[LM_GRAD_INPUT] ? 2 : 1;

    if (copies_in_fp8(j, l, i))
        add_kernel(to, fp8_cast(w->dtype, rows, lm_elements(w) / rows, copies, LM_GRAD_WEIGHT));
    else
        add_cast(j, to, false, w, LM_GRAD_WEIGHT);
}

/* The last kernels of a weight gradient add to the gradient of another user of the weight. */
static size_t additions(const bound_layer *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n_shared && b->n_kernels[LM_GRAD_WEIGHT]; i++)
        n += !(b->weights[b->n_weights + i].flags & LM_FROZEN);
    return n;
}

static void list_forward(const joining *j, size_t l, pass_list *to)
{
    const bound_layer *b = &j->full->layer[l];

    for (size_t i = 0; i < b->n_weights + b->n_shared; i++)
        if (copies_weight(j, l, i))
            add_copy(j, l, i, to);
    for (size_t i = 0; i < b->decl->n_inputs; i++)
        if (autocast_casts(j->full, j->half, j->is_half, l, i))
            add_cast(j, to, !j->is_half[l], &b->input[i], LM_FORWARD);
}

static void list_input_gradient(const joining *j, size_t l, pass_list *to)
{
    const bound_layer *b = &j->full->layer[l];

    for (size_t i = 0; i < b->decl->n_inputs && b->needs_grad_input; i++)
        if (b->wants_gradient[i] && autocast_casts(j->full, j->half, j->is_half, l, i))
            add_cast(j, to, j->is_half[l], &b->input[i], LM_GRAD_INPUT);
}

static void list_weight_gradient(const joining *j, size_t l, pass_list *to)
{
    const bound_layer *b = &j->full->layer[l];

    for (size_t i = 0; i < b->n_weights + b->n_shared && b->trained; i++)
        if (casts_weight(j, b, i) && !(b->weights[i].flags & LM_FROZEN))
            add_cast(j, to, true, &b->weights[i].tensor, LM_GRAD_WEIGHT);
}

/* Adds the cast of a product's other factor: an activation, or the gradient of the output, once for
 * both passes that read it. The weight gradient reads a transposed copy. */
static void add_factor(const joining *j, size_t l, lm_pass pass, const lm_kernel *k, pass_list *to)
{
    const bound_layer *half   = &j->half->layer[l];
    const bool         inputs = half->n_kernels[LM_GRAD_INPUT] > 0;
    const bool         trains = half->n_kernels[LM_GRAD_WEIGHT] > 0;
    const uint64_t     m = (uint64_t)k->u.gemm.m, depth = (uint64_t)k->u.gemm.k;

    if (pass == LM_FORWARD)
        add_kernel(to, fp8_cast(LM_BF16, m, depth, trains ? 2 : 1, LM_FORWARD));
    else if (pass == LM_GRAD_INPUT)
        add_kernel(to, fp8_cast(LM_BF16, m, depth, trains ? 2 : 1, LM_GRAD_INPUT));
    else if (!inputs) /* k: rows of the batch */
        add_kernel(to, fp8_cast(LM_BF16, depth, m, 1, LM_GRAD_INPUT));
}

/* Adds kernels of a layer with products in FP8, and reduces the layer's cost by the traffic that
 * they save. */
static void add_in_fp8(const joining *j, size_t l, lm_pass pass, const lm_kernel *from, size_t n,
                       pass_list *to)
{
    for (size_t i = 0; i < n; i++) {
        const lm_work in_half = lm_kernel_work(&from[i]);

        if (!fp8_is_weighed(&from[i])) {
            add_all(to, &from[i], 1);
            continue;
        }
        add_factor(j, l, pass, &from[i], to);
        to->cost->flops -= in_half.flops;
        to->cost->read_bytes -= in_half.read_bytes;
        to->cost->written_bytes -= in_half.written_bytes;
        add_kernel(to, fp8_product(&from[i]));
    }
}

/* Updates of the scales: by the last FP8 layer in the forward pass, by the first one in the
 * backward pass. */
static void list_scales(const joining *j, size_t l, lm_pass pass, pass_list *to)
{
    const bound_layer *half = j->half->layer;
    const bool         last =
        half[l].n_kernels[LM_GRAD_WEIGHT] ? pass == LM_GRAD_WEIGHT : pass == LM_GRAD_INPUT;
    size_t all = 0, until = 0;
    bool   first = goes_back(&half[l]); /* the first FP8 layer with a backward pass */

    if (!j->fp8[l] || j->full->options.evaluation)
        return;
    for (size_t i = 0; i < j->full->n_layers; i++) {
        all += j->fp8[i];
        until += i <= l ? j->fp8[i] : 0;
        first &= i >= l || !j->fp8[i] || !goes_back(&half[i]);
    }
    if (pass == LM_FORWARD && until == all)
        add_scales(to, all, FP8_FORWARD_TENSORS);
    if (last && first)
        add_scales(to, all, FP8_BACKWARD_TENSORS);
}

/* Joins one pass of a layer: its kernels in their element type, with casts before and after
 * them. */
static lm_status join_pass(const joining *j, size_t l, lm_pass pass, lm_work *cost)
{
    bound_layer       *b    = &j->full->layer[l];
    const bound_layer *runs = j->is_half[l] ? &j->half->layer[l] : b;
    const bool         adds = pass == LM_GRAD_WEIGHT && b->n_shared;
    const size_t       n = runs->n_kernels[pass], added = adds ? additions(runs) : 0;
    const bound_layer *sum  = adds && !lowers(j, b->shares) ? b : runs;
    const size_t       room = 2 * n + b->n_weights + b->n_shared + b->decl->n_inputs + 1;
    pass_list          to   = { arena_array(j->full->arena, room + 1, sizeof *to.kernel), 0, cost };

    if (!to.kernel)
        return no_memory(j->err);
    if (pass == LM_FORWARD)
        list_forward(j, l, &to);
    if (j->fp8[l])
        add_in_fp8(j, l, pass, runs->kernels[pass], n - added, &to);
    else
        add_all(&to, runs->kernels[pass], n - added);
    if (pass == LM_GRAD_INPUT)
        list_input_gradient(j, l, &to);
    else if (pass == LM_GRAD_WEIGHT)
        list_weight_gradient(j, l, &to);
    if (added)
        add_all(&to, sum->kernels[pass] + sum->n_kernels[pass] - added, added);
    list_scales(j, l, pass, &to);
    b->kernels[pass]   = to.kernel;
    b->n_kernels[pass] = to.n;
    return cost->flops == UINT64_MAX || cost->read_bytes == UINT64_MAX ||
                   cost->written_bytes == UINT64_MAX
               ? lm_error_set(j->err, LM_E_OVERFLOW, "work does not fit 64 bits")
               : LM_OK;
}

static lm_status join_layer(const joining *j, size_t l)
{
    bound_layer       *b      = &j->full->layer[l];
    const bound_layer *runs   = j->is_half[l] ? &j->half->layer[l] : b;
    lm_cost            cost   = runs->cost;
    lm_status          status = LM_OK;

    if (!b->lowered || b->idle || b->passes)
        return LM_OK;
    for (lm_pass p = 0; p < LM_N_PASSES && !status; p++)
        status = join_pass(j, l, p, &cost.pass[p]);
    b->cost = cost;
    return status;
}

/* Joins tensors. Called last, because casts depend on their original types. */
static void join_tensors(const joining *j)
{
    for (size_t l = 0; l < j->full->n_layers; l++)
        if (j->is_half[l]) {
            j->full->layer[l].input  = j->half->layer[l].input;
            j->full->layer[l].output = j->half->layer[l].output;
        }
}

lm_status autocast_join(bound_network *full, bound_network *half, lm_dtype mixed, lm_error *err)
{
    joining   j      = { .full = full, .half = half, .type = autocast_half(mixed), .err = err };
    lm_status status = LM_OK;

    full->half          = half;
    full->options.mixed = mixed;
    j.is_half           = arena_array(full->arena, full->n_layers + 1, sizeof *j.is_half);
    j.fp8               = arena_array(full->arena, full->n_layers + 1, sizeof *j.fp8);
    if (!j.is_half || !j.fp8)
        return no_memory(err);
    autocast_halves(full, j.is_half);
    for (size_t l = 0; l < full->n_layers && mixed == LM_F8; l++)
        j.fp8[l] = autocast_fp8(full, half, l);
    for (size_t l = 0; l < full->n_layers && !status; l++)
        status = join_layer(&j, l);
    if (!status)
        join_tensors(&j);
    return status;
}
