/* The host of an eager framework beside its device. */
#include "program/host_clock.h"

#include <math.h>

double host_pass(host_clock *c, bool queue, host_work work, double seconds)
{
    const double begin = c->device, issued = c->host + work.seconds;

    if (!queue) {
        c->host = c->device = begin + work.seconds + seconds;
        return c->device - begin;
    }
    c->device = begin + seconds;
    if (work.operations > 0) {
        c->device = fmax(c->device, c->host + work.seconds / work.operations + seconds);
        c->device = fmax(c->device, issued + seconds / work.operations);
    }
    c->host = issued;
    return c->device - begin;
}

bool host_assumes(const host_time *h, host_part part)
{
    return part == HOST_INFERENCE && !(h->seconds[part] > 0);
}

double host_seconds(const host_time *h, host_part part)
{
    return h->seconds[host_assumes(h, part) ? HOST_FORWARD : part];
}

host_work host_work_of(const host_time *h, const host_operations *n, host_part part)
{
    return (host_work){ n->n[part],
                        n->n[part] * host_seconds(h, part) + n->planes[part] * h->plane };
}

/* Operations per tensor, as in torch/optim (_single_tensor_sgd and others). Momentum: mul_, add_,
 * add_. Adam: two for each moment, sqrt, div, add_, addcdiv_, and one for the step's number. */
static double operations_of_update(optimizer o)
{
    switch (o) {
    case OPTIMIZER_SGD: return 1;
    case OPTIMIZER_MOMENTUM: return 3;
    case OPTIMIZER_ADAM: return 9;
    case OPTIMIZER_ADAGRAD: return 5;
    case OPTIMIZER_RMSPROP: return 5;
    case OPTIMIZER_ADADELTA: return 11;
    case OPTIMIZER_ADAFACTOR:
    case OPTIMIZER_MUON: break; /* not counted */
    }
    return 0;
}

static double planes_of(const lm_kernel *k)
{
    return k->op == LM_OP_NORM && k->u.norm.inner > 0
               ? (double)k->u.norm.rows * ((double)k->u.norm.group / (double)k->u.norm.inner)
               : 0;
}

/* Adds the kernels of a layer's pass. Returns whether one of them is a convolution. */
static bool add_launches(const bound_layer *l, lm_pass pass, host_part part, host_operations *to)
{
    bool convolves = false;

    for (size_t i = 0; i < l->n_kernels[pass]; i++) {
        const lm_kernel *k = &l->kernels[pass][i];

        to->n[part] += k->repeat;
        to->planes[part] += k->repeat * planes_of(k);
        convolves = convolves || k->op == LM_OP_CONV;
    }
    return convolves;
}

host_operations host_operations_of(const bound_network *net, optimizer o, const host_time *h)
{
    host_operations all     = { 0 };
    double          tensors = 0;

    for (size_t i = 0; i < net->n_layers; i++) {
        const bound_layer *l = &net->layer[i];
        bool               input, weight;

        if (net->options.evaluation) {
            add_launches(l, LM_FORWARD, HOST_INFERENCE, &all);
            continue;
        }
        add_launches(l, LM_FORWARD, HOST_FORWARD, &all);
        input  = add_launches(l, LM_GRAD_INPUT, HOST_BACKWARD, &all);
        weight = add_launches(l, LM_GRAD_WEIGHT, HOST_BACKWARD, &all);
        all.n[HOST_BACKWARD] -= input && weight;
        for (size_t w = 0; w < l->n_weights; w++)
            tensors += !(l->weights[w].flags & LM_FROZEN);
    }
    all.n[HOST_UPDATE] = operations_of_update(o) * (h->foreach && tensors > 0 ? 1 : tensors);
    return all;
}

lm_status host_operations_at(workloads *loads, const workload_name *of, int64_t batch, optimizer o,
                             const host_time *h, host_operations *out, lm_error *err)
{
    bound_network *bound;
    lm_status      status;

    if ((status = workloads_bind_at(loads, of, batch, &bound, err)))
        return status;
    *out = host_operations_of(bound, o, h);
    bound_network_free(bound);
    return LM_OK;
}

static void print_rows(size_t rows, double mape, const char *one, const char *more, bool elsewhere,
                       FILE *out)
{
    fprintf(out, ", by %zu %s", rows, rows == 1 ? one : more);
    if (elsewhere)
        fprintf(out, " with another device");
    else if (isnan(mape))
        fprintf(out, " of one network");
    else
        fprintf(out, "; %s of networks left out are off by %.3g %%", more, 100 * mape);
}

void host_print(const host_time *h, FILE *out)
{
    fprintf(
        out,
        "%s takes %.3g us (forward), %.3g us (backward) and %.3g us (update) of the host for an "
        "operation",
        h->framework, 1e6 * h->seconds[HOST_FORWARD], 1e6 * h->seconds[HOST_BACKWARD],
        1e6 * h->seconds[HOST_UPDATE]);
    if (h->plane > 0)
        fprintf(out, ", and %.2g us for a plane of a norm", 1e6 * h->plane);
    print_rows(h->rows, h->mape, "step", "steps", h->elsewhere, out);
    if (host_assumes(h, HOST_INFERENCE)) {
        fprintf(out, "; in inference the time of the forward pass is assumed\n");
        return;
    }
    fprintf(out, "; %.3g us in inference", 1e6 * h->seconds[HOST_INFERENCE]);
    print_rows(h->inference_rows, h->inference_mape, "pass", "passes", h->elsewhere, out);
    fputc('\n', out);
}
