/* Gradients by the order in which the backward pass completes them. */
#include "observe/gradients.h"

#include <stdlib.h>

#include "base/no_memory.h"
#include "network/kernels.h"

/* Work of each gradient at one batch: N_TERMS terms each. */
typedef struct walk {
    const term_settings *settings;
    gradient_list        order;
    size_t              *layer_of; /* layer of each gradient */
    size_t               kernel;   /* number of backward kernels so far */
    size_t               at;       /* next gradient to be completed */
    size_t               layer;    /* layer of the last kernel */
    double              *sum;
} walk;

static void visit(void *context, size_t layer, term_phase phase, const lm_kernel *k,
                  term_chain *chain)
{
    walk  *w               = context;
    double unused[N_TERMS] = { 0 };

    if (phase != TERMS_BACKWARD)
        return;
    while (w->at < w->order.n && w->order.gradient[w->at].end <= w->kernel)
        w->layer_of[w->at++] = w->layer;
    w->layer = layer;
    w->kernel++;
    /* kernels behind the last gradient complete none */
    terms_add(k, w->settings, chain, w->at < w->order.n ? &w->sum[w->at * N_TERMS] : unused);
}

static void walk_free(walk *w)
{
    gradient_list_free(&w->order);
    free(w->layer_of);
    free(w->sum);
}

static lm_status walk_of(const bound_network *net, const term_settings *s, walk *out, lm_error *err)
{
    walk      w      = { .settings = s, .layer = net->n_layers ? net->n_layers - 1 : 0 };
    lm_status status = kernels_gradients(net, &w.order, err);

    if (!status) {
        w.layer_of = calloc(w.order.n + 1, sizeof *w.layer_of);
        w.sum      = calloc((w.order.n + 1) * N_TERMS, sizeof *w.sum);
        if (!w.layer_of || !w.sum)
            status = no_memory(err);
    }
    /* any optimizer: only the backward pass counts here */
    if (!status)
        status = terms_visit(net, OPTIMIZER_SGD, visit, &w, err);
    for (; !status && w.at < w.order.n; w.at++)
        w.layer_of[w.at] = w.layer;
    *out = w;
    return status;
}

static lm_status count_layers(const bound_network *net, net_metrics **out, lm_error *err)
{
    lm_status status = LM_OK;

    *out = calloc(net->n_layers + 1, sizeof **out);
    if (!*out)
        return no_memory(err);
    for (size_t i = 0; i < net->n_layers && !status; i++)
        status = metrics_of_layer(&net->layer[i], &(*out)[i], err);
    return status;
}

/* Stores the terms that are not 0 at both batches. */
static lm_status pack(const walk *one, const walk *two, gradient_schedule *s, lm_error *err)
{
    size_t n = 0;

    if (two && two->order.n != one->order.n)
        return lm_error_set(err, LM_E_UNSUPPORTED, "trained tensors come and go with the batch");
    s->n        = one->order.n;
    s->gradient = calloc(s->n + 1, sizeof *s->gradient);
    for (size_t i = 0; i < s->n * N_TERMS; i++)
        n += one->sum[i] != 0 || (two && two->sum[i] != 0);
    s->item = malloc((n + 1) * sizeof *s->item);
    if (!s->gradient || !s->item)
        return no_memory(err);
    n = 0;
    for (size_t g = 0; g < s->n; g++) {
        const weight_gradient *from = &one->order.gradient[g];

        s->gradient[g] = (scheduled_gradient){ from->bytes, from->dtype, one->layer_of[g], n, n };
        for (size_t t = 0; t < N_TERMS; t++) {
            const double a = one->sum[g * N_TERMS + t], b = two ? two->sum[g * N_TERMS + t] : a;

            if (a != 0 || b != 0)
                s->item[n++] = (growing_term){ (uint32_t)t, a, b - a };
        }
        s->gradient[g].end = n;
    }
    return LM_OK;
}

lm_status gradient_schedule_of(bound_network *const bound[2], const term_settings *settings,
                               gradient_schedule **out, lm_error *err)
{
    gradient_schedule *s   = calloc(1, sizeof *s);
    walk               one = { .sum = NULL }, two = { .sum = NULL };
    lm_status          status = s ? LM_OK : no_memory(err);

    if (!status)
        status = walk_of(bound[0], settings, &one, err);
    if (!status)
        status = count_layers(bound[0], &s->first, err);
    if (!status && bound[1])
        status = walk_of(bound[1], settings, &two, err);
    if (!status && bound[1])
        status = count_layers(bound[1], &s->second, err);
    if (!status)
        status = pack(&one, bound[1] ? &two : NULL, s, err);
    walk_free(&one);
    walk_free(&two);
    if (status) {
        gradient_schedule_free(s);
        return status;
    }
    s->n_layers = bound[0]->n_layers;
    s->tokens   = metrics_tokens(bound[0]) > 0;
    s->batch    = bound[1] ? 0 : bound[0]->options.batch;
    *out        = s;
    return LM_OK;
}

void gradient_schedule_free(gradient_schedule *s)
{
    if (!s)
        return;
    free_all(s->gradient, s->item, s->first, s->second, s);
}

/* Samples in addition to those of `first`. */
static double samples_more(const gradient_schedule *s, int64_t batch)
{
    return s->batch ? 0 : (double)(batch - 1);
}

void gradient_schedule_by_terms(const gradient_schedule *s, int64_t batch, const double *price,
                                double *ready)
{
    const double more    = samples_more(s, batch);
    double       seconds = 0;

    for (size_t g = 0; g < s->n; g++) {
        for (size_t i = s->gradient[g].begin; i < s->gradient[g].end; i++)
            seconds += price[s->item[i].term] * (s->item[i].first + more * s->item[i].step);
        ready[g] = seconds;
    }
}

/* Gradients of a layer, at a batch. */
static net_metrics layer_counts(const gradient_schedule *s, size_t layer, double more)
{
    net_counts a = { s->first[layer] }, b;

    if (!s->second)
        return a.metrics;
    b.metrics = s->second[layer];
    for (size_t i = 0; i < NET_COUNTS; i++)
        a.value[i] += (uint64_t)more * (b.value[i] - a.value[i]);
    return a.metrics;
}

void gradient_schedule_by_features(const gradient_schedule *s, int64_t batch, const feature *f,
                                   const double *coefficient, size_t n_features, double *ready)
{
    const double more    = samples_more(s, batch);
    size_t       layer   = s->n_layers; /* layers from here on are done */
    double       seconds = 0;

    for (size_t g = 0; g < s->n; g++) {
        while (layer > s->gradient[g].layer) {
            const workload load = { .counts = layer_counts(s, --layer, more), .nodes = 1 };

            for (size_t k = 0; k < n_features; k++)
                if (feature_of_layers(f[k]))
                    seconds += feature_seconds(f[k], coefficient[k], &load);
        }
        ready[g] = seconds;
    }
}

void gradient_schedule_by_layers(const gradient_schedule *s, const double *seconds, double *ready)
{
    size_t layer = s->n_layers; /* layers from here on are done */
    double sum   = 0;

    for (size_t g = 0; g < s->n; g++) {
        while (layer > s->gradient[g].layer)
            sum += seconds[--layer];
        ready[g] = sum;
    }
}

lm_status gradient_schedule_even(uint64_t bytes, lm_dtype dtype, size_t pieces,
                                 gradient_schedule **out, lm_error *err)
{
    gradient_schedule *s = calloc(1, sizeof *s);

    if (!s || !(s->gradient = calloc(pieces + 1, sizeof *s->gradient))) {
        free(s);
        return no_memory(err);
    }
    for (size_t i = 0; i < pieces; i++)
        s->gradient[i] =
            (scheduled_gradient){ .bytes = bytes / pieces + (i < bytes % pieces), .dtype = dtype };
    s->n    = pieces;
    s->even = true;
    *out    = s;
    return LM_OK;
}

void gradient_schedule_evenly(const gradient_schedule *s, double backward, double *ready)
{
    for (size_t i = 0; i < s->n; i++)
        ready[i] = backward * (double)(i + 1) / (double)s->n;
}
