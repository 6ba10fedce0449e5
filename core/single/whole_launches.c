/* Networks as sums of single kernels, launch after launch. */
#include <math.h>

#include "counts/terms.h"
#include "layers/kernel_text.h"
#include "single/launch.h"
#include "single/whole.h"

/* Launches of one phase, and seconds of their work by resource; the last entry has starts. */
typedef struct walk {
    layer_asker         *asker;
    const bound_network *net;
    bool                 host;
    stream_cost          sum[N_TERM_PHASES];
    double               by[N_TERM_PHASES][N_RESOURCES + 1];
    lm_status            status;
    lm_error            *err;
} walk;

static size_t by_resource(const column *c)
{
    return launch_starts(c) ? N_RESOURCES : c->floor ? RESOURCE_HOST : c->resource;
}

static void add_kernel(void *context, size_t layer, term_phase phase, const lm_kernel *k,
                       term_chain *chain)
{
    walk             *w                   = context;
    const layer_shape s                   = launch_shape_of(k, "");
    const layer_run   run                 = launch_run(w->asker->m, &s);
    double            by[N_RESOURCES + 1] = { 0 };
    launch_cost       cost;

    (void)chain;
    if (!w->status)
        w->status = launch_cost_of(w->asker, k, "", true, &cost, w->err);
    if (w->status)
        return;
    if (isnan(cost.work) || layer_model_busy(w->asker, &s, &run, by_resource, by, NULL)) {
        w->status = lm_error_set(w->err, LM_E_NOTFOUND,
                                 "layer '%s': kernels of its kind (%s %s) have no prices among "
                                 "those of single kernels: measure some, then fit again",
                                 w->net->layer[layer].decl->name, kernel_op_name(k->op),
                                 kernel_pass_name(k->pass));
        return;
    }
    if (!w->host)
        cost.floor = by[RESOURCE_HOST] = 0;
    stream_add(&w->sum[phase], k->repeat, &cost);
    for (int r = 0; r < N_RESOURCES; r++)
        w->by[phase][r] += k->repeat * by[r];
}

/* Divides the seconds of a stream: host, and device by resource. */
static void share_out(const walk *w, term_phase p, double to[N_RESOURCES])
{
    double sum = 0;

    for (int r = 0; r < N_RESOURCES; r++)
        sum += w->by[p][r];
    for (int r = 0; r < N_RESOURCES && sum > 0; r++)
        to[r] += stream_seconds(&w->sum[p]) * w->by[p][r] / sum;
}

lm_status whole_by_launches(layer_asker *by, const bound_network *net, optimizer o, bool host,
                            whole_seconds *out, lm_error *err)
{
    walk      w      = { .asker = by, .net = net, .host = host, .err = err };
    lm_status status = terms_visit(net, o, add_kernel, &w, err);

    if (status || w.status)
        return status ? status : w.status;
    *out = (whole_seconds){ .forward  = stream_seconds(&w.sum[TERMS_FORWARD]),
                            .backward = stream_seconds(&w.sum[TERMS_BACKWARD]),
                            .update   = stream_seconds(&w.sum[TERMS_UPDATE]) };
    share_out(&w, TERMS_FORWARD, out->by);
    share_out(&w, TERMS_BACKWARD, out->by);
    return LM_OK;
}
