/* Networks as sums of their layers' own prices. */
#include "single/whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

/* Columns that both classes have by these names. */
#define CALL            "call"
#define BACKWARD_CALL   "backward.call"
#define ACTIVATION      "forward.activation"
#define ACTIVATION_GRAD "backward.activation"

typedef struct walk {
    const layer_model   *m;
    layer_asker         *by; /* asker of `m` */
    const bound_network *net;
    const layer_prices
                 *usual; /**< class of what is no product: convolutions where they are known */
    const char   *optimizer;
    double        updated; /* elements, of all layers */
    whole_learned learned;
    whole_seconds sum;
    lm_error     *err;
} walk;

/* NAN where the class has no such column. */
static double price(const layer_prices *p, const char *name)
{
    const size_t at = columns_find(&p->columns, name);

    return at == COLUMN_NONE ? NAN : p->columns.column[at].price;
}

/* The image in front of the layer, if its input is a flattened image. */
static const lm_tensor *image_behind(const walk *w, const bound_layer *l)
{
    const bound_layer *before;

    if (!l->decl->n_inputs || l->decl->input[0].layer >= w->net->n_layers)
        return NULL;
    before = &w->net->layer[l->decl->input[0].layer];
    if (before->decl != &w->net->net->layer[l->decl->input[0].layer] || before->n_inputs != 1 ||
        before->n_kernels[LM_FORWARD] || before->input[0].rank < 4 || before->output[0].rank != 2)
        return NULL;
    return &before->input[0];
}

static size_t by_resource(const column *c)
{
    return (size_t)c->resource;
}

/* Adds `factor` times the price of a pass to `to`, by resource; returns its seconds, NAN without a
 * price. */
static double pass_seconds(walk *w, const layer_shape *s, const layer_run *run, double factor,
                           double *to)
{
    double by[N_RESOURCES] = { 0 }, sum = 0;

    if (layer_model_split(w->by, s, run, by_resource, by, NULL))
        return NAN;
    for (int r = 0; r < N_RESOURCES; r++) {
        to[r] += factor * by[r];
        sum += factor * by[r];
    }
    return sum;
}

/* Factor of the residual on the price of a single layer's pass. The run trains its inputs as the
 * layers did when the residual was learned. */
static lm_status learned_factor(walk *w, const layer_shape *s, const layer_run *pass, double *out)
{
    lm_status status = LM_OK;

    *out = 1;
    for (int trains = 0; trains < 2 && *out == 1 && !status; trains++) {
        const layer_run run = { .forward         = pass->forward,
                                .backward        = pass->backward,
                                .update          = pass->update,
                                .evaluation      = pass->evaluation,
                                .optimizer       = pass->optimizer,
                                .alone           = true,
                                .input_gradient  = true,
                                .trains_inputs   = trains,
                                .multiprocessors = w->m->multiprocessors };

        status = learned_ratio(w->by, s, &run, out, w->err);
    }
    return status;
}

static lm_status unlike(const walk *w, const bound_layer *l)
{
    return lm_error_set(w->err, LM_E_NOTFOUND,
                        "layer '%s': nothing like it was among the single layers that were "
                        "measured: measure some, then fit again",
                        l->decl->name);
}

/* Host seconds of a single layer. */
static double host_seconds(walk *w, const layer_shape *s, layer_run run)
{
    const columns *c     = &w->m->of[layer_model_class(w->m, s)].columns;
    rows          *r     = &w->by->spare;
    double         floor = 0;

    run.alone  = true;
    run.update = false;
    rows_clear(r);
    if (!layer_model_row(w->m, s, &run, r) || rows_check(r, NULL))
        return 0;
    for (size_t i = 0; i < r->n_items; i++)
        if (c->column[r->item[i].column].floor)
            floor += c->column[r->item[i].column].price * r->item[i].value;
    return floor;
}

/* Factor of the residual on a backward pass: as learned, else from whole steps. */
static lm_status backward_factor(walk *w, const layer_shape *s, double *out)
{
    const layer_run alone = { .backward = true };
    const layer_run step  = {
         .forward = true, .backward = true, .update = true, .optimizer = w->optimizer
    };
    lm_status status = learned_factor(w, s, &alone, out);

    return status || *out != 1 || w->learned < WHOLE_LEARNED_STEPS
               ? status
               : learned_factor(w, s, &step, out);
}

/* Adds the passes of a layer of a class with prices. */
static lm_status add_passes(walk *w, const bound_layer *l, const layer_shape *s)
{
    const bool product   = s->kind != SHAPE_WORK;
    layer_run  run       = { .forward         = true,
                             .evaluation      = w->net->options.evaluation,
                             .input_gradient  = l->needs_grad_input,
                             .optimizer       = w->optimizer,
                             .multiprocessors = w->m->multiprocessors };
    double     factor[2] = { 1, 1 }, host, seconds;
    lm_status  status    = LM_OK;

    if (w->learned)
        status = learned_factor(w, s, &(layer_run){ .forward = true, .evaluation = run.evaluation },
                                &factor[0]);
    if (w->learned && !run.evaluation && !status)
        status = backward_factor(w, s, &factor[1]);
    seconds = pass_seconds(w, s, &run, factor[0], w->sum.by);
    host    = host_seconds(w, s, run);
    w->sum.forward += seconds;
    w->sum.part[WHOLE_HOST] += host;
    w->sum.part[product ? WHOLE_PRODUCTS : WHOLE_OTHERS] += seconds;
    run.backward = l->trained || l->needs_grad_input;
    if (run.backward) {
        w->sum.part[WHOLE_HOST_BACK] += host_seconds(w, s, run) - host;
        run.forward = false;
        seconds     = pass_seconds(w, s, &run, factor[1], w->sum.by);
        w->sum.backward += seconds;
        w->sum.part[product ? WHOLE_PRODUCTS_BACK : WHOLE_OTHERS_BACK] += seconds;
    }
    run.forward = run.backward = false;
    run.update                 = l->trained && l->n_weights;
    run.together               = w->updated;
    if (run.update) {
        seconds = layer_model_seconds(w->by, s, &run);
        w->sum.update += seconds;
        w->sum.part[WHOLE_UPDATE] += seconds;
    }
    return status;
}

static lm_status add_product(walk *w, const bound_layer *l, layer_shape *s)
{
    /* products have their own price; else windows over the whole image */
    const lm_tensor *image =
        s->kind == SHAPE_DENSE && !w->m->of[LAYER_PRODUCT].present ? image_behind(w, l) : NULL;
    const bool conv = w->m->of[0].present;
    size_t class    = layer_model_class(w->m, s);

    if (s->kind == SHAPE_DENSE && conv &&
        (image || class == N_LAYER_CLASSES || !w->m->of[class].present)) {
        shape_as_conv(s, image);
        class = 0;
    }
    if (class == N_LAYER_CLASSES || !w->m->of[class].present)
        return unlike(w, l);
    return add_passes(w, l, s);
}

/* Seconds of traffic: half the price of a function that reads and writes, per element read or
 * written. */
static double traffic(const bound_layer *l, lm_pass pass, double element)
{
    double sum = 0;

    for (size_t i = 0; i < l->n_kernels[pass]; i++) {
        const lm_kernel *k    = &l->kernels[pass][i];
        const lm_work    work = lm_kernel_work(k);

        sum += (k->repeat > 1 ? k->repeat : 1) *
               (double)lm_add(work.read_bytes, work.written_bytes) /
               (double)lm_dtype_bytes(k->dtype);
    }
    return sum / 2 * element;
}

static void add_traffic(walk *w, double forward, double backward)
{
    w->sum.forward += forward;
    w->sum.backward += backward;
    w->sum.by[RESOURCE_BANDWIDTH] += forward + backward;
    w->sum.part[WHOLE_OTHERS] += forward;
    w->sum.part[WHOLE_OTHERS_BACK] += backward;
}

static bool priced_product(const walk *w)
{
    const columns *c  = &w->m->of[LAYER_OTHER].columns;
    const size_t   at = columns_find(c, "forward.product.flops");

    return at != COLUMN_NONE && c->column[at].rows > 0;
}

/* Adds products within other layers (attention) at the prices of products with weights, if their
 * own were not measured. */
static void add_inner_products(walk *w, const bound_layer *l, layer_work *work)
{
    const layer_run run = { .forward = true, .multiprocessors = w->m->multiprocessors };

    if (!w->m->of[LAYER_PRODUCT].present || priced_product(w))
        return;
    for (lm_pass p = 0; p < LM_N_PASSES; p++) {
        double sum = 0;

        for (size_t i = 0; i < l->n_kernels[p]; i++) {
            const lm_kernel *k = &l->kernels[p][i];
            layer_shape      s = { .kind = SHAPE_DENSE, .groups = 1 };

            if (k->op != LM_OP_GEMM)
                continue;
            s.n       = k->u.gemm.batch * k->u.gemm.m;
            s.c_in    = k->u.gemm.k;
            s.c_out   = k->u.gemm.n;
            s.inputs  = (double)s.n * (double)s.c_in;
            s.outputs = (double)s.n * (double)s.c_out;
            s.weights = (double)s.c_in * (double)s.c_out;
            sum += (k->repeat > 1 ? k->repeat : 1) * pass_seconds(w, &s, &run, 1, w->sum.by);
        }
        *(p == LM_FORWARD ? &w->sum.forward : &w->sum.backward) += sum;
        w->sum.part[p == LM_FORWARD ? WHOLE_PRODUCTS : WHOLE_PRODUCTS_BACK] += sum;
        work->of[WORK_PRODUCT][p] = (kernel_work){ 0 };
    }
    work->inference[WORK_PRODUCT] = (kernel_work){ 0 };
}

/* Adds the sums of gradients of tensors with several readers: for each further reader two tensors
 * are read and one written. */
static lm_status add_sums(walk *w)
{
    const bound_network *net    = w->net;
    size_t              *reader = calloc(net->n_layers + 1, sizeof *reader);
    layer_work           work   = { 0 };
    const layer_shape    s      = { .kind = SHAPE_WORK, .n = 1, .work = &work };
    const layer_run      run    = { .forward = true, .multiprocessors = w->m->multiprocessors };

    if (!reader)
        return no_memory(w->err);
    for (size_t i = 0; i < net->n_layers; i++)
        for (size_t k = 0; k < net->layer[i].decl->n_inputs; k++)
            if (net->layer[i].decl->input[k].layer < net->n_layers)
                reader[net->layer[i].decl->input[k].layer]++;
    for (size_t i = 0; i < net->n_layers; i++)
        if (reader[i] > 1 && net->layer[i].n_outputs == 1 &&
            (net->layer[i].trained || net->layer[i].needs_grad_input)) {
            work.of[WORK_MAP][LM_FORWARD].launches += (double)(reader[i] - 1);
            work.of[WORK_MAP][LM_FORWARD].bytes +=
                3 * (double)(reader[i] - 1) * (double)lm_bytes(&net->layer[i].output[0]);
        }
    free(reader);
    if (w->m->of[LAYER_OTHER].present && layer_prices_train(&w->m->of[LAYER_OTHER]))
        w->sum.part[WHOLE_OTHERS_BACK] += pass_seconds(w, &s, &run, 1, w->sum.by);
    return LM_OK;
}

static lm_status add_layer(walk *w, const bound_layer *l)
{
    double      element, grad;
    layer_shape s;

    if (l->idle)
        return LM_OK;
    shape_of_layer(l, &s);
    if (s.kind != SHAPE_OTHER)
        return add_product(w, l, &s);
    if (w->m->of[LAYER_OTHER].present) {
        layer_work work;

        shape_by_work(l, &work, &s);
        if (s.kind == SHAPE_WORK) {
            add_inner_products(w, l, &work);
            return add_passes(w, l, &s);
        }
    }
    if (!w->usual)
        return unlike(w, l);
    for (lm_pass p = 0; p < LM_N_PASSES; p++)
        for (size_t i = 0; i < l->n_kernels[p]; i++)
            if (lm_kernel_macs(&l->kernels[p][i]))
                return lm_error_set(w->err, LM_E_NOTFOUND,
                                    "layer '%s': products of its kind (%s) have no prices among "
                                    "those of single layers",
                                    l->decl->name, l->decl->type);
    element = price(w->usual, ACTIVATION);
    grad    = price(w->usual, ACTIVATION_GRAD);
    grad    = isnan(grad) ? element : grad;
    if (l->n_kernels[LM_FORWARD] == 1 && l->kernels[LM_FORWARD]->op == LM_OP_MAP &&
        l->n_inputs == 1) {
        const double elements = (double)lm_elements(&l->output[0]);

        add_traffic(w, elements * element, l->needs_grad_input ? elements * grad : 0);
        return LM_OK;
    }
    add_traffic(w, traffic(l, LM_FORWARD, element),
                traffic(l, LM_GRAD_INPUT, element) + traffic(l, LM_GRAD_WEIGHT, element));
    return LM_OK;
}

static double updated_of(const bound_network *net)
{
    double sum = 0;

    for (size_t i = 0; i < net->n_layers; i++)
        for (size_t k = 0; net->layer[i].trained && k < net->layer[i].n_weights; k++)
            if (!(net->layer[i].weights[k].flags & LM_FROZEN))
                sum += (double)lm_elements(&net->layer[i].weights[k].tensor);
    return sum;
}

lm_status whole_predict(layer_asker *by, const bound_network *net, const char *updated_by,
                        whole_learned learned, whole_seconds *out, lm_error *err)
{
    const layer_model  *m = by->m;
    walk                w = { m, by, net, .optimizer = updated_by, .updated = updated_of(net), .learned = learned, .err = err };
    const layer_prices *calls  = NULL;
    lm_status           status = LM_OK;

    for (size_t c = N_LAYER_CLASSES; c-- > 0;)
        if (m->of[c].present) {
            calls = &m->of[c];
            if (layer_classes[c] != &layer_class_other)
                w.usual = calls;
        }
    if (!calls)
        return lm_error_set(err, LM_E_NOTFOUND, "no single layers were measured");
    for (size_t i = 0; i < net->n_layers && !status; i++)
        status = add_layer(&w, &net->layer[i]);
    if (!status && !net->options.evaluation)
        status = add_sums(&w);
    if (!status && isnan(w.sum.update)) /* only this price can be missing here */
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "updates by '%s' have no price: measure steps of single layers with "
                              "it, then fit again",
                              updated_by);
    w.sum.forward += price(calls, CALL);
    w.sum.by[RESOURCE_HOST] += price(calls, CALL);
    if (!net->options.evaluation) {
        w.sum.backward += layer_prices_train(calls) ? price(calls, BACKWARD_CALL) : NAN;
        w.sum.by[RESOURCE_HOST] += price(calls, BACKWARD_CALL);
    }
    if (!status)
        *out = w.sum;
    return status;
}
