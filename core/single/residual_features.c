/* Features of residuals. */
#include "single/residual_features.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define FARTHEST 20 /* logarithm for a way of e^20 times the cheapest price, or without price */

/* Marks the first column of each way, if there are several. */
static void see_choice(void *context, const row_way *way)
{
    bool *choice = context;

    if (way->choice && way->n)
        choice[way->item->column] = true;
}

/* Adds features of columns that belong to alternative ways. */
static lm_status add_others(residual_space *s, const rows *r, const columns *c, lm_error *err)
{
    bool     *choice = calloc(c->n + 1, sizeof *choice);
    lm_status status = choice ? LM_OK : no_memory(err);

    for (size_t i = 0; i < r->n && !status; i++)
        rows_ways(r, i, c, see_choice, choice);
    for (size_t j = 0; j < c->n && !status; j++)
        if (choice[j])
            status = residual_space_other(s, c->column[j].name, err);
    free(choice);
    return status;
}

/* Word of a column: "adam" for update.adam, "gelu" for floor.gelu. NULL: another column, or an
 * update's calls. */
static const char *word_of(const char *of, const char **prefix)
{
    static const struct {
        const char *column, *prefix;
    } words[] = { { "update.", RESIDUAL_OPTIMIZER }, { "floor.", RESIDUAL_TAG } };

    for (size_t i = 0; i < 2; i++) {
        const char *name = of + strlen(words[i].column);

        *prefix = words[i].prefix;
        if (!strncmp(of, words[i].column, strlen(words[i].column)))
            return i || !strchr(name, '.') ? name : NULL;
    }
    return NULL;
}

/* Adds figures that all devices have, if there are several devices. */
static lm_status add_figures(const residual_source *from, size_t n, residual_space *out,
                             lm_error *err)
{
    lm_status status = LM_OK;

    for (layer_figure f = 0; f < N_LAYER_FIGURES && n > 1 && !status; f++) {
        bool all = true;

        for (size_t i = 0; i < n; i++)
            all &= from[i].device && from[i].device->figure[f] > 0;
        if (all)
            status = residual_space_word(out, RESIDUAL_DEVICE, layer_figure_name(f), err);
    }
    return status;
}

lm_status residual_features_new(size_t class, const residual_source *from, size_t n,
                                residual_space *out, lm_error *err)
{
    feature_list fixed;
    lm_status    status;

    residual_features_fixed(class, &fixed);
    residual_space_begin(out, fixed.of, fixed.n);
    status = add_figures(from, n, out, err);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < from[i].r->columns.n && !status; j++) {
            const char *prefix, *word = word_of(from[i].r->columns.column[j].name, &prefix);

            if (word)
                status = residual_space_word(out, prefix, word, err);
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < from[i].r->columns.n && !status; j++)
            status = residual_space_share(out, from[i].r->columns.column[j].name, err);
    for (size_t i = 0; i < n && !status; i++)
        status = add_others(out, &from[i].r->rows, &from[i].r->columns, err);
    return status;
}

/* ---- values ---- */

/* Counts of a shape; a count that does not apply is 1. */
typedef struct sizes {
    double batch, in, out, groups, image, height, pixels, window, stride, dilation, sum, inputs,
        outputs, weights, flops, bytes;
} sizes;

/* Sizes of kernels: rows of statistics count as channels, their lengths as images. */
static sizes sizes_of_work(const layer_shape *s)
{
    kernel_work sum = { 0 };
    sizes       z   = { (double)s->n, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

    for (work_kind k = 0; k < N_WORK_KINDS; k++) {
        const kernel_work *w = &s->work->of[k][LM_FORWARD];

        sum.flops += w->flops;
        sum.bytes += w->bytes;
        sum.rows += w->rows;
        sum.elements += w->elements;
    }
    z.in      = fmax(1, sum.rows);
    z.out     = fmax(1, s->outputs);
    z.image   = sum.rows > 0 ? sum.elements / sum.rows : 1;
    z.inputs  = fmax(1, s->inputs);
    z.sum     = z.inputs / z.out; /* pooling: the window */
    z.outputs = z.out;
    z.weights = fmax(1, s->weights);
    z.flops   = fmax(1, sum.flops);
    z.bytes   = fmax(1, sum.bytes);
    return z;
}

static sizes sizes_of(const layer_shape *s)
{
    const bool conv = s->kind == SHAPE_CONV;
    sizes      z    = { .batch    = (double)s->n,
                        .in       = (double)s->c_in,
                        .out      = (double)s->c_out,
                        .groups   = conv ? (double)s->groups : 1,
                        .image    = conv ? (double)lm_volume(s->in) : 1,
                        .height   = conv ? (double)s->in[1] : 1,
                        .pixels   = conv ? (double)lm_volume(s->out) : 1,
                        .window   = conv ? (double)lm_volume(s->window) : 1,
                        .stride   = conv ? (double)lm_volume(s->stride) : 1,
                        .dilation = conv ? (double)lm_volume(s->dilation) : 1,
                        .inputs   = s->inputs,
                        .outputs  = s->outputs,
                        .weights  = s->weights,
                        .flops    = shape_flops(s),
                        .bytes    = shape_bytes(s) + 4 * s->weights };

    z.sum = z.in / z.groups * z.window; /* summands of one output */
    return s->kind == SHAPE_WORK ? sizes_of_work(s) : z;
}

static void put_sizes(feature_list *l, const layer_shape *s, double seconds)
{
    const sizes z = sizes_of(s);

    feature_put_count(l, "batch", z.batch);
    feature_put_count(l, "channels_in", z.in);
    feature_put_count(l, "channels_out", z.out);
    feature_put_count(l, "groups", z.groups);
    feature_put_count(l, "image", z.image);
    feature_put_count(l, "height", z.height);
    feature_put_count(l, "pixels", z.pixels);
    feature_put_count(l, "window", z.window);
    feature_put_count(l, "stride", z.stride);
    feature_put_count(l, "dilation", z.dilation);
    feature_put_count(l, "sum", z.sum);
    feature_put_count(l, "inputs", z.inputs);
    feature_put_count(l, "outputs", z.outputs);
    feature_put_count(l, "weights", z.weights);
    feature_put_count(l, "flops", z.flops);
    feature_put_count(l, "bytes", z.bytes);
    feature_put_count(l, "intensity", z.flops / z.bytes);
    feature_put_count(l, "seconds", seconds);
}

static void put_flags(feature_list *l, const layer_shape *s, const layer_run *run)
{
    /* by set of forward, backward and update */
    static const char *const phases[] = {
        "phase.forward", "phase.backward",       "phase.forward_backward",
        "phase.update",  "phase.forward_update", "phase.backward_update",
        "phase.step"
    };
    const unsigned phase    = (unsigned)run->forward + 2U * run->backward + 4U * run->update;
    bool           lopsided = false;

    for (int i = 0; i < 3 && s->kind == SHAPE_CONV; i++)
        lopsided |= s->behind[i] > s->before[i];
    feature_put(l, "bias", FEATURE_FLAG, s->bias);
    feature_put(l, "activation", FEATURE_FLAG, s->activation);
    feature_put(l, "loss", FEATURE_FLAG, s->loss);
    feature_put(l, "lopsided", FEATURE_FLAG, lopsided);
    feature_put(l, "alone", FEATURE_FLAG, run->alone);
    feature_put(l, "input_gradient", FEATURE_FLAG, run->input_gradient);
    feature_put(l, "trains_inputs", FEATURE_FLAG, run->trains_inputs);
    for (unsigned i = 1; i < 8; i++)
        feature_put(l, phases[i - 1], FEATURE_FLAG, i == phase);
}

static void put_rests(feature_list *l, const layer_shape *s)
{
    const double n = (double)s->n, a = (double)s->c_in, b = fmax(1, (double)s->c_out);
    double       padding = 0;

    for (int i = 0; i < 3 && s->kind == SHAPE_CONV; i++)
        padding += (double)(s->before[i] + s->behind[i]);
    feature_put(l, "padding", FEATURE_FREE, padding);
    feature_put(l, "channels_in.rest4", FEATURE_FREE, feature_rest(a, 4));
    feature_put(l, "channels_in.rest32", FEATURE_FREE, feature_rest(a, 32));
    feature_put(l, "channels_out.rest4", FEATURE_FREE, feature_rest(b, 4));
    feature_put(l, "channels_out.rest32", FEATURE_FREE, feature_rest(b, 32));
    feature_put(l, "batch.rest32", FEATURE_FREE, feature_rest(n, 32));
    feature_put(l, "channels_out.fill64", FEATURE_FREE,
                1 - feature_rest(b, 64) / (b + feature_rest(b, 64)));
}

static void list_features(const layer_shape *s, const layer_run *run, double seconds,
                          feature_list *out)
{
    out->n = 0;
    put_sizes(out, s, seconds);
    put_flags(out, s, run);
    put_rests(out, s);
    feature_put(out, "evaluation", FEATURE_FREE, run->evaluation);
}

void residual_features_fixed(size_t class, feature_list *out)
{
    if (layer_classes[class]->launch)
        launch_feature_names(class, out);
    else
        list_features(&(layer_shape){ .kind = SHAPE_DENSE }, &(layer_run){ .forward = true }, 1,
                      out);
}

const char *residual_word(const priced_row *row, const char **prefix)
{
    const layer_shape *s      = row->shape;
    const bool         launch = s->kind == SHAPE_LAUNCH;

    if (prefix)
        *prefix = launch ? RESIDUAL_TAG : RESIDUAL_OPTIMIZER;
    if (launch)
        return *s->tag && kernel_class_of(s->kernel->op)->tagged ? s->tag : NULL;
    return row->run->update ? row->run->optimizer : NULL;
}

static lm_status figure_features(const residual_space *s, const layer_device *d, double *x,
                                 lm_error *err)
{
    for (size_t i = s->figures; i < s->words; i++) {
        const char        *name  = s->feature[i].name + strlen(RESIDUAL_DEVICE);
        const layer_figure f     = layer_figure_parse(name);
        const double       value = d && f < N_LAYER_FIGURES ? d->figure[f] : 0;

        if (!(value > 0))
            return lm_error_set(err, LM_E_NOTFOUND,
                                "the residual of single layers asks for the device's %s, which is "
                                "not known: give its datasheet and fit again",
                                name);
        x[i] = log(value);
    }
    return LM_OK;
}

typedef struct seeing {
    const residual_space *s;
    const priced_row     *row;
    double               *x;
} seeing;

static void see_way(void *context, const row_way *way)
{
    const seeing         *to = context;
    const residual_space *s  = to->s;

    for (size_t i = 0; way->chosen && i < way->n; i++) {
        const size_t j = way->item[i].column;

        if (s->share_of[j] < s->n)
            to->x[s->share_of[j]] +=
                to->row->columns->column[j].price * way->item[i].value / to->row->seconds;
    }
    if (way->choice && way->n && s->other_of[way->item->column] < s->n)
        to->x[s->other_of[way->item->column]] =
            way->least > 0 ? fmin(FARTHEST, log(way->seconds / way->least)) : FARTHEST;
}

lm_status residual_features(const residual_space *s, const priced_row *row, double *x,
                            lm_error *err)
{
    seeing       to     = { s, row, x };
    lm_status    status = figure_features(s, row->device, x, err);
    const char  *prefix, *word;
    feature_list fixed;

    assert(row->columns->n <= s->n_columns);
    if (status)
        return status;
    if (row->shape->kind == SHAPE_LAUNCH)
        launch_features(row->shape->kernel, row->run->multiprocessors, row->seconds, &fixed);
    else
        list_features(row->shape, row->run, row->seconds, &fixed);
    memcpy(x, fixed.value, fixed.n * sizeof *x);
    word = residual_word(row, &prefix);
    residual_space_say(s, prefix, word, x);
    for (size_t i = s->shares; i < s->n; i++)
        x[i] = i < s->others ? 0 : FARTHEST;
    rows_ways(row->rows, row->at, row->columns, see_way, &to);
    return LM_OK;
}
