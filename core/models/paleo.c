/* PALEO's model of a training step. paleo.h has the formulas, their source and their errors. */
#include "models/paleo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "solve/lsq.h"

/* PALEO divides bytes by 2^30 and the bandwidth in GB/s. */
#define MEMORY_GB (1073741824.0 / 1e9)

/* ---- layers ---- */

static const lm_kernel *kernel_of(const bound_layer *l, lm_op op)
{
    for (size_t i = 0; i < l->n_kernels[LM_FORWARD]; i++)
        if (l->kernels[LM_FORWARD][i].op == op)
            return &l->kernels[LM_FORWARD][i];
    return NULL;
}

/* The layer that input 0 comes from; NULL for none. */
static const bound_layer *source_of(const bound_network *net, const bound_layer *l)
{
    return l->decl->n_inputs ? &net->layer[l->decl->input[0].layer] : NULL;
}

/* The input of a convolution. A `pad` layer before it counts as padding of the window, as PALEO's
 * SAME; *in is then the tensor without padding. */
static const bound_layer *behind_padding(const bound_network *net, const bound_layer *l,
                                         const lm_tensor **in)
{
    const bound_layer *from = source_of(net, l);

    *in = &l->input[0];
    if (!from || strcmp(from->entry->type.name, "pad") != 0)
        return from;
    *in = &from->input[0];
    return source_of(net, from);
}

/* A convolution along one axis: pixels in and out, zeros in front, reach of the window. */
typedef struct axis {
    double in, out, front, reach, window;
    double spread; /* the output with zeros between its pixels, as the gradients see it */
} axis;

/* PALEO: conv.py, _compute_padding(). One more zero makes odd margins even. Where PALEO refuses,
 * the missing zeros are added. */
static double spread_output(const axis *a, double stride)
{
    const double spread = (a->out - 1) * stride + 1;
    const double before = a->reach - a->front;
    const double after  = a->in + a->reach - spread - before;

    return spread + fabs(before - after);
}

/* The tensor `in` has no zeros. The kernel's input may have those of a `pad` layer. */
static axis axis_of(const lm_kernel *k, const lm_tensor *in, int i)
{
    const int    d      = (int)in->rank - 3 + i;
    const double padded = (double)k->u.conv.in[i];
    axis         a      = { .in     = d >= 2 ? (double)in->dim[d] : padded,
                            .out    = (double)k->u.conv.out[i],
                            .window = (double)k->u.conv.window[i],
                            .reach  = (double)(k->u.conv.dilation[i] * (k->u.conv.window[i] - 1)) };

    a.front  = floor((padded - a.in + 2 * (double)k->u.conv.pad[i]) / 2);
    a.spread = spread_output(&a, (double)k->u.conv.stride[i]);
    return a;
}

/* Work of a convolution and of its two gradients: 2 FLOPs per tap, and the bytes touched. */
typedef struct convolution {
    paleo_work forward, to_input, to_weight, to_weight_spread;
    double     weights;
} convolution;

static convolution convolution_of(const lm_kernel *k, const lm_tensor *in)
{
    const double n = (double)k->u.conv.n, c_in = (double)k->u.conv.c_in;
    const double c_out = (double)k->u.conv.c_out, groups = (double)k->u.conv.groups;
    const double size   = (double)lm_dtype_bytes(k->dtype);
    double       inputs = n * c_in, outputs = n * c_out, taps = 1;
    double       padded = n * c_in, weight_padded = n * c_in, spread_padded = n * c_out, filled = 1;
    convolution  c;

    for (int i = 0; i < 3; i++) {
        const axis a = axis_of(k, in, i);

        inputs *= a.in;
        outputs *= a.out;
        taps *= a.window;
        filled *= a.out / a.spread; /* share of pixels that are not inserted zeros */
        padded *= a.in + 2 * a.front;
        weight_padded *= fmax(a.in, a.spread + a.reach);
        spread_padded *= a.in + a.reach;
    }
    c.weights = taps * c_in * c_out / groups;
    c.forward =
        (paleo_work){ 2 * taps * outputs * c_in / groups, size * (padded + c.weights + outputs) };
    c.to_weight = (paleo_work){ c.forward.flops, size * (weight_padded + outputs + c.weights) };
    c.to_input  = (paleo_work){ 2 * taps * inputs * c_out / groups + (filled < 1 ? 2 * outputs : 0),
                                size * (spread_padded + c.weights + inputs) };
    /* a transposed convolution: over its output, without the zeros inserted into its input */
    c.to_weight_spread = (paleo_work){ 2 * taps * inputs * c_out / groups * filled,
                                       size * (spread_padded + inputs * filled + c.weights) };
    return c;
}

static void count_weights(paleo_counts *out, const bound_layer *l, double params, double size)
{
    if (l->shares) /* counted at the layer that owns them */
        return;
    out->params      = params;
    out->param_bytes = params * size;
}

static void count_convolution(const bound_network *net, const bound_layer *l, const lm_kernel *k,
                              paleo_counts *out)
{
    const double       size       = (double)lm_dtype_bytes(k->dtype);
    const bool         transposed = k->pass == LM_GRAD_INPUT;
    const lm_tensor   *in;
    const bound_layer *from = behind_padding(net, l, &in);
    const bool         data = from && network_source_type(from->decl->type);
    /* a transposed convolution is that of its output */
    const convolution c = convolution_of(k, transposed ? &l->output[0] : in);

    out->pass[LM_FORWARD]     = transposed ? c.to_input : c.forward;
    out->pass[LM_GRAD_WEIGHT] = transposed ? c.to_weight_spread : c.to_weight;
    if (transposed)
        out->pass[LM_GRAD_INPUT] = c.forward;
    else if (!data || net->options.input_gradient)
        out->pass[LM_GRAD_INPUT] = c.to_input;
    count_weights(out, l, c.weights + (double)k->u.conv.c_out, size);
}

static void count_linear(const bound_layer *l, paleo_counts *out)
{
    const lm_tensor *x = &l->input[0], *y = &l->output[0];
    const double     size = (double)lm_dtype_bytes(x->dtype);
    const double     in = (double)x->dim[x->rank - 1], features = (double)y->dim[y->rank - 1];
    const paleo_work w = { 2 * (double)lm_elements(x) * features,
                           size *
                               ((double)lm_elements(x) + in * features + (double)lm_elements(y)) };

    for (int pass = 0; pass < LM_N_PASSES; pass++)
        out->pass[pass] = w;
    count_weights(out, l, in * features + features, size);
}

static void count_pool(const bound_network *net, const bound_layer *l, const lm_kernel *k,
                       paleo_counts *out)
{
    const double size   = (double)lm_dtype_bytes(k->dtype);
    const double maps   = (double)k->u.pool.n * (double)k->u.pool.channels;
    const double pixels = (double)lm_volume(k->u.pool.out);
    const double taps =
        k->u.pool.taps ? (double)k->u.pool.taps : pixels * (double)lm_volume(k->u.pool.window);
    const lm_tensor *in;

    behind_padding(net, l, &in);
    out->pass[LM_FORWARD] =
        (paleo_work){ 2 * maps * taps, size * ((double)lm_elements(in) + maps * pixels) };
    out->pass[LM_GRAD_INPUT] = out->pass[LM_FORWARD];
}

static void count_dropout(const bound_layer *l, paleo_counts *out)
{
    const double n = (double)lm_elements(&l->input[0]);

    out->pass[LM_FORWARD]    = (paleo_work){ n, 2 * n * (double)lm_dtype_bytes(l->input[0].dtype) };
    out->pass[LM_GRAD_INPUT] = out->pass[LM_FORWARD];
}

paleo_counts paleo_of_layer(const bound_network *net, size_t layer)
{
    const bound_layer *l    = &net->layer[layer];
    const lm_kernel   *conv = kernel_of(l, LM_OP_CONV), *pool = kernel_of(l, LM_OP_POOL);
    paleo_counts       out = { .params = 0 };

    if (conv)
        count_convolution(net, l, conv, &out);
    else if (pool)
        count_pool(net, l, pool, &out);
    else if (!strcmp(l->entry->type.name, "linear"))
        count_linear(l, &out);
    else if (!strcmp(l->entry->type.name, "dropout"))
        count_dropout(l, &out);
    else
        out.unknown = l->n_kernels[LM_FORWARD] > 0 && strcmp(l->entry->type.name, "pad") != 0;
    return out;
}

static void add_work(paleo_work *sum, const paleo_work *w)
{
    sum->flops += w->flops;
    sum->bytes += w->bytes;
}

paleo_counts paleo_of_network(const bound_network *net)
{
    paleo_counts sum = { .params = 0 };

    for (size_t i = 0; i < net->n_layers; i++) {
        const paleo_counts c = paleo_of_layer(net, i);

        for (int pass = 0; pass < LM_N_PASSES; pass++)
            add_work(&sum.pass[pass], &c.pass[pass]);
        sum.params += c.params;
        sum.param_bytes += c.param_bytes;
        sum.unknown += c.unknown;
    }
    return sum;
}

paleo_work paleo_backward(const paleo_counts *c)
{
    paleo_work sum = c->pass[LM_GRAD_INPUT];

    add_work(&sum, &c->pass[LM_GRAD_WEIGHT]);
    return sum;
}

paleo_work paleo_update(const paleo_counts *c)
{
    return (paleo_work){ 2 * c->params, 3 * c->param_bytes };
}

/* ---- times ---- */

/* Seconds of work on a platform, at a fraction of its peaks. */
static double paleo_seconds(const paleo_work *w, const paleo_platform *p, double ppp)
{
    return (w->flops / p->peak + w->bytes / (p->bandwidth * MEMORY_GB)) / ppp;
}

paleo_times paleo_step(const paleo_counts *c, const paleo_platform *p, int64_t workers)
{
    const paleo_work backward = paleo_backward(c);
    const paleo_work update   = paleo_update(c);
    const double     n        = paleo_scheme_rounds(p->scheme, workers);
    paleo_times      t        = { .forward  = paleo_seconds(&c->pass[LM_FORWARD], p, p->ppp_comp),
                                  .backward = paleo_seconds(&backward, p, p->ppp_comp),
                                  .update   = paleo_seconds(&update, p, 1),
                                  .sync     = n > 0 ? n * c->param_bytes / p->link / p->ppp_comm : 0 };

    t.step = t.forward + t.backward + t.update + t.sync;
    return t;
}

/* ---- percents of peak ---- */

lm_status paleo_fit(const paleo_point *row, size_t n, double *ppp_comp, double *ppp_comm,
                    lm_error *err)
{
    double      *cell       = malloc((4 * n + 1) * sizeof *cell), *rest, *weight;
    double       inverse[2] = { NAN, NAN };
    lsq_solution found;
    lsq_problem  problem  = { .a = cell, .rows = n };
    bool         computed = false, sent = false;
    lm_status    status;

    if (!cell)
        return no_memory(err);
    rest   = cell + 2 * n;
    weight = rest + n;
    for (size_t i = 0; i < n; i++) {
        computed |= row[i].computed > 0;
        sent |= row[i].sent > 0;
    }
    problem.columns = (size_t)computed + sent;
    for (size_t i = 0; i < n; i++) {
        double *a = cell + i * problem.columns;

        if (computed)
            *a++ = row[i].computed;
        if (sent)
            *a = row[i].sent;
        rest[i]   = row[i].measured - row[i].fixed;
        weight[i] = 1 / row[i].measured;
    }
    problem.b      = rest;
    problem.weight = weight;
    status         = problem.columns ? lsq_fit(&problem, true, &found, err)
                                     : lm_error_set(err, LM_E_ARG, "no times that tell a percent of peak");
    for (size_t k = 0; k < problem.columns && !status; k++)
        inverse[computed ? k : 1] = found.x[k]; /* 1 / ppp of the parts that some point has */
    if (!status && inverse[0] <= 0)
        status = lm_error_set(err, LM_E_ARG,
                              "the times are shorter than any percent of peak allows: is it the "
                              "right device, are they in seconds?");
    if (!status) {
        *ppp_comp = 1 / inverse[0];
        *ppp_comm = 1 / inverse[1];
    }
    free(cell);
    return status;
}
