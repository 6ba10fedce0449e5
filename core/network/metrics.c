/* Exact counts of a bound network. */
#include "network/metrics.h"

#include <string.h>

/* Number of members of net_metrics: all are counts that can be added. */
#define N_COUNTS (sizeof(net_metrics) / sizeof(uint64_t))

static void accumulate(net_metrics *sum, const net_metrics *one)
{
    uint64_t a[N_COUNTS], b[N_COUNTS];

    memcpy(a, sum, sizeof a);
    memcpy(b, one, sizeof b);
    for (size_t i = 0; i < N_COUNTS; i++)
        a[i] = lm_add(a[i], b[i]);
    memcpy(sum, a, sizeof a);
}

static bool saturated(const net_metrics *m)
{
    uint64_t a[N_COUNTS];

    memcpy(a, m, sizeof a);
    for (size_t i = 0; i < N_COUNTS; i++)
        if (a[i] == UINT64_MAX)
            return true;
    return false;
}

typedef enum product { CONV, LINEAR, MATMUL, N_PRODUCTS } product;

static product product_of(const lm_kernel *k)
{
    if (k->op == LM_OP_CONV)
        return CONV;
    return k->op == LM_OP_GEMM && !k->u.gemm.activations ? LINEAR : MATMUL;
}

/* Multiply-accumulates of one pass by kind. Returns their sum. */
static uint64_t pass_macs(const bound_layer *l, lm_pass pass, uint64_t macs[N_PRODUCTS])
{
    for (product p = 0; p < N_PRODUCTS; p++)
        macs[p] = 0;
    for (size_t i = 0; i < l->n_kernels[pass]; i++) {
        const lm_kernel *k    = &l->kernels[pass][i];
        const product    kind = product_of(k);

        macs[kind] = lm_add(macs[kind], lm_mul(k->repeat, lm_kernel_macs(k)));
    }
    return lm_add(lm_add(macs[CONV], macs[LINEAR]), macs[MATMUL]);
}

/* FLOPs of a pass without multiply-accumulates. */
static uint64_t other_flops(const bound_layer *l, lm_pass pass, uint64_t macs)
{
    const uint64_t all = l->cost.pass[pass].flops, products = lm_mul(2, macs);

    return all > products ? all - products : 0;
}

static void count_weights(const bound_layer *l, net_metrics *m)
{
    for (size_t i = 0; i < l->n_weights; i++) {
        const lm_weight *w = &l->weights[i];

        if (w->flags & LM_FROZEN)
            continue;
        m->params      = lm_add(m->params, lm_elements(&w->tensor));
        m->param_bytes = lm_add(m->param_bytes, lm_bytes(&w->tensor));
        m->param_tensors++;
    }
}

lm_status metrics_of_layer(const bound_layer *l, net_metrics *out, lm_error *err)
{
    net_metrics m = { 0 };
    uint64_t    of[LM_N_PASSES][N_PRODUCTS], macs[LM_N_PASSES], work = 0;

    if (l->idle) {
        *out = m;
        return LM_OK;
    }
    count_weights(l, &m);
    for (lm_pass p = 0; p < LM_N_PASSES; p++) {
        macs[p] = pass_macs(l, p, of[p]);
        work    = lm_add(work, l->cost.pass[p].flops);

        m.read_bytes    = lm_add(m.read_bytes, l->cost.pass[p].read_bytes);
        m.written_bytes = lm_add(m.written_bytes, l->cost.pass[p].written_bytes);
    }
    m.macs_conv            = of[LM_FORWARD][CONV];
    m.macs_linear          = of[LM_FORWARD][LINEAR];
    m.macs_matmul          = of[LM_FORWARD][MATMUL];
    m.flops_forward        = lm_mul(2, macs[LM_FORWARD]);
    m.flops_grad_input     = lm_mul(2, macs[LM_GRAD_INPUT]);
    m.flops_grad_weight    = lm_mul(2, macs[LM_GRAD_WEIGHT]);
    m.flops_backward       = lm_add(m.flops_grad_input, m.flops_grad_weight);
    m.other_flops_forward  = other_flops(l, LM_FORWARD, macs[LM_FORWARD]);
    m.other_flops_backward = lm_add(other_flops(l, LM_GRAD_INPUT, macs[LM_GRAD_INPUT]),
                                    other_flops(l, LM_GRAD_WEIGHT, macs[LM_GRAD_WEIGHT]));
    if (m.macs_conv) {
        m.conv_inputs  = lm_elements(&l->input[0]);
        m.conv_outputs = lm_elements(&l->output[0]);
    } else if (m.macs_linear) {
        m.linear_inputs  = lm_elements(&l->input[0]);
        m.linear_outputs = lm_elements(&l->output[0]);
    }
    if (l->counted) {
        m.layers = 1;
        for (uint32_t i = 0; i < l->n_outputs; i++)
            m.activation_bytes = lm_add(m.activation_bytes, lm_bytes(&l->output[i]));
    }
    m.layers_not_lowered = !l->lowered && work > 0;
    if (saturated(&m))
        return lm_error_set(err, LM_E_OVERFLOW, "layer '%s': a count does not fit 64 bits",
                            l->decl->name);
    *out = m;
    return LM_OK;
}

bool metrics_in_block(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);

    return !strncmp(name, prefix, n) && (name[n] == '\0' || name[n] == '.');
}

lm_status metrics_of_network(const bound_network *net, const char *prefix, net_metrics *out,
                             lm_error *err)
{
    net_metrics sum   = { 0 };
    size_t      found = 0;
    lm_status   status;

    for (size_t i = 0; i < net->n_layers; i++) {
        net_metrics one;

        if (prefix && !metrics_in_block(net->layer[i].decl->name, prefix))
            continue;
        found++;
        if ((status = metrics_of_layer(&net->layer[i], &one, err)))
            return status;
        accumulate(&sum, &one);
    }
    if (!found)
        return lm_error_set(err, LM_E_NOTFOUND, "%s: no layer '%s' and none under it",
                            net->net->path, prefix ? prefix : "");
    if (saturated(&sum))
        return lm_error_set(err, LM_E_OVERFLOW, "%s: a total does not fit 64 bits", net->net->path);
    *out = sum;
    return LM_OK;
}

int64_t metrics_tokens(const bound_network *net)
{
    for (size_t i = 0; i < net->n_layers; i++) {
        const uint32_t   flags = net->layer[i].entry->type.flags;
        const lm_tensor *data  = net->layer[i].output;

        if (flags & LM_SOURCE && !(flags & LM_CONSTANT))
            return data->rank == 2 && !lm_dtype_is_real(data->dtype) ? data->dim[1] : 0;
    }
    return 0;
}
