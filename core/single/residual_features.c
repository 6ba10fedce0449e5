/* What residuals of single layers are learned from. */
#include "single/residual_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define FARTHEST 20 /* of a way that costs e^20 times the cheapest, and of none */

enum {
    BATCH,
    CHANNELS_IN,
    CHANNELS_OUT,
    GROUPS,
    IMAGE,
    HEIGHT,
    PIXELS,
    WINDOW,
    STRIDE,
    DILATION,
    SUM, /* what is added up for one output */
    INPUTS,
    OUTPUTS,
    WEIGHTS,
    FLOPS,
    BYTES,
    INTENSITY,
    SECONDS,
    BIAS,
    ACTIVATION,
    LOSS,
    LOPSIDED,
    ALONE,
    INPUT_GRADIENT,
    TRAINS_INPUTS,
    PHASES, /* each set of forward, backward and update is one */
    PADDING = PHASES + 7,
    REST_IN4,
    REST_IN32,
    REST_OUT4,
    REST_OUT32,
    REST_BATCH32,
    FILL_OUT64,
    EVALUATION,
    N_FIXED
};

static const named_feature fixed[N_FIXED] = {
    [BATCH]          = { "batch", FEATURE_COUNT },
    [CHANNELS_IN]    = { "channels_in", FEATURE_COUNT },
    [CHANNELS_OUT]   = { "channels_out", FEATURE_COUNT },
    [GROUPS]         = { "groups", FEATURE_COUNT },
    [IMAGE]          = { "image", FEATURE_COUNT },
    [HEIGHT]         = { "height", FEATURE_COUNT },
    [PIXELS]         = { "pixels", FEATURE_COUNT },
    [WINDOW]         = { "window", FEATURE_COUNT },
    [STRIDE]         = { "stride", FEATURE_COUNT },
    [DILATION]       = { "dilation", FEATURE_COUNT },
    [SUM]            = { "sum", FEATURE_COUNT },
    [INPUTS]         = { "inputs", FEATURE_COUNT },
    [OUTPUTS]        = { "outputs", FEATURE_COUNT },
    [WEIGHTS]        = { "weights", FEATURE_COUNT },
    [FLOPS]          = { "flops", FEATURE_COUNT },
    [BYTES]          = { "bytes", FEATURE_COUNT },
    [INTENSITY]      = { "intensity", FEATURE_COUNT },
    [SECONDS]        = { "seconds", FEATURE_COUNT },
    [BIAS]           = { "bias", FEATURE_FLAG },
    [ACTIVATION]     = { "activation", FEATURE_FLAG },
    [LOSS]           = { "loss", FEATURE_FLAG },
    [LOPSIDED]       = { "lopsided", FEATURE_FLAG },
    [ALONE]          = { "alone", FEATURE_FLAG },
    [INPUT_GRADIENT] = { "input_gradient", FEATURE_FLAG },
    [TRAINS_INPUTS]  = { "trains_inputs", FEATURE_FLAG },
    [PHASES + 0]     = { "phase.forward", FEATURE_FLAG },
    [PHASES + 1]     = { "phase.backward", FEATURE_FLAG },
    [PHASES + 2]     = { "phase.forward_backward", FEATURE_FLAG },
    [PHASES + 3]     = { "phase.update", FEATURE_FLAG },
    [PHASES + 4]     = { "phase.forward_update", FEATURE_FLAG },
    [PHASES + 5]     = { "phase.backward_update", FEATURE_FLAG },
    [PHASES + 6]     = { "phase.step", FEATURE_FLAG },
    [PADDING]        = { "padding", FEATURE_FREE },
    [REST_IN4]       = { "channels_in.rest4", FEATURE_FREE },
    [REST_IN32]      = { "channels_in.rest32", FEATURE_FREE },
    [REST_OUT4]      = { "channels_out.rest4", FEATURE_FREE },
    [REST_OUT32]     = { "channels_out.rest32", FEATURE_FREE },
    [REST_BATCH32]   = { "batch.rest32", FEATURE_FREE },
    [FILL_OUT64]     = { "channels_out.fill64", FEATURE_FREE },
    [EVALUATION]     = { "evaluation", FEATURE_FREE },
};

/* Which columns begin a way that is one of several. */
static void see_choice(void *context, const row_way *way)
{
    bool *choice = context;

    if (way->choice && way->n)
        choice[way->item->column] = true;
}

/* All that may be learned from, of columns that can be one of several ways. */
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

/* "adam" of column update.adam; NULL: of no optimizer, or of its calls. */
static const char *optimizer_of(const char *of)
{
    const char *name = of + strlen("update.");

    return optimizer_column(of) && !strchr(name, '.') ? name : NULL;
}

/* What all devices have, where there are several. */
static lm_status add_figures(const feature_source *from, size_t n, residual_space *out,
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

lm_status residual_features_new(const feature_source *from, size_t n, residual_space *out,
                                lm_error *err)
{
    lm_status status;

    residual_space_begin(out, fixed, N_FIXED);
    status = add_figures(from, n, out, err);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < from[i].columns->n && !status; j++) {
            const char *word = optimizer_of(from[i].columns->column[j].name);

            if (word)
                status = residual_space_word(out, RESIDUAL_OPTIMIZER, word, err);
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < from[i].columns->n && !status; j++)
            status = residual_space_share(out, from[i].columns->column[j].name, err);
    for (size_t i = 0; i < n && !status; i++)
        status = add_others(out, from[i].rows, from[i].columns, err);
    return status;
}

const named_feature *residual_features_fixed(size_t *n)
{
    *n = N_FIXED;
    return fixed;
}

/* ---- values -------------------------------------------------------------------------------------
 */

/* How far x is below the next multiple of t. */
static double rest(double x, double t)
{
    return t * ceil(x / t) - x;
}

/* Of kernels: rows that statistics are taken of stand for channels, their lengths for images; what
 * does not apply is 1. */
static void work_features(const layer_shape *s, double *x)
{
    kernel_work sum = { 0 };

    for (work_kind k = 0; k < N_WORK_KINDS; k++) {
        const kernel_work *w = &s->work->of[k][LM_FORWARD];

        sum.flops += w->flops;
        sum.bytes += w->bytes;
        sum.rows += w->rows;
        sum.elements += w->elements;
    }
    x[CHANNELS_IN]  = fmax(1, sum.rows);
    x[CHANNELS_OUT] = fmax(1, s->outputs);
    x[IMAGE]        = sum.rows > 0 ? sum.elements / sum.rows : 1;
    x[SUM]          = fmax(1, s->inputs) / x[CHANNELS_OUT]; /* of pooling: the window */
    x[INPUTS]       = fmax(1, s->inputs);
    x[OUTPUTS]      = x[CHANNELS_OUT];
    x[WEIGHTS]      = fmax(1, s->weights);
    x[FLOPS]        = fmax(1, sum.flops);
    x[BYTES]        = fmax(1, sum.bytes);
    x[INTENSITY]    = x[FLOPS] / x[BYTES];
}

static void count_features(const priced_row *row, double *x)
{
    const layer_shape *s     = row->shape;
    const bool         conv  = s->kind == SHAPE_CONV;
    const double       flops = shape_flops(s), bytes = shape_bytes(s) + 4 * s->weights;

    x[BATCH]        = (double)s->n;
    x[CHANNELS_IN]  = (double)s->c_in;
    x[CHANNELS_OUT] = (double)s->c_out;
    x[GROUPS]       = conv ? (double)s->groups : 1;
    x[IMAGE]        = conv ? (double)lm_volume(s->in) : 1;
    x[HEIGHT]       = conv ? (double)s->in[1] : 1;
    x[PIXELS]       = conv ? (double)lm_volume(s->out) : 1;
    x[WINDOW]       = conv ? (double)lm_volume(s->window) : 1;
    x[STRIDE]       = conv ? (double)lm_volume(s->stride) : 1;
    x[DILATION]     = conv ? (double)lm_volume(s->dilation) : 1;
    x[SUM]          = x[CHANNELS_IN] / x[GROUPS] * x[WINDOW];
    x[INPUTS]       = s->inputs;
    x[OUTPUTS]      = s->outputs;
    x[WEIGHTS]      = s->weights;
    x[FLOPS]        = flops;
    x[BYTES]        = bytes;
    x[INTENSITY]    = flops / bytes;
    x[SECONDS]      = row->seconds;
    if (s->kind == SHAPE_WORK)
        work_features(s, x);
    for (size_t i = 0; i <= SECONDS; i++)
        x[i] = log(x[i]);
}

static void flag_features(const residual_space *s, const priced_row *row, double *x)
{
    const layer_run *run   = row->run;
    const unsigned   phase = (unsigned)run->forward + 2U * run->backward + 4U * run->update;

    x[BIAS]           = row->shape->bias;
    x[ACTIVATION]     = row->shape->activation;
    x[LOSS]           = row->shape->loss;
    x[ALONE]          = run->alone;
    x[INPUT_GRADIENT] = run->input_gradient;
    x[TRAINS_INPUTS]  = run->trains_inputs;
    x[EVALUATION]     = run->evaluation;
    x[LOPSIDED]       = 0;
    for (int i = 0; i < 3 && row->shape->kind == SHAPE_CONV; i++)
        x[LOPSIDED] = fmax(x[LOPSIDED], row->shape->behind[i] > row->shape->before[i]);
    for (unsigned i = 1; i < 8; i++)
        x[PHASES + i - 1] = i == phase;
    residual_space_say(s, RESIDUAL_OPTIMIZER, run->update ? run->optimizer : NULL, x);
}

static void tile_features(const layer_shape *s, double *x)
{
    const double n = (double)s->n, a = (double)s->c_in, b = fmax(1, (double)s->c_out);

    x[PADDING] = 0;
    for (int i = 0; i < 3 && s->kind == SHAPE_CONV; i++)
        x[PADDING] += (double)(s->before[i] + s->behind[i]);
    x[REST_IN4]     = rest(a, 4);
    x[REST_IN32]    = rest(a, 32);
    x[REST_OUT4]    = rest(b, 4);
    x[REST_OUT32]   = rest(b, 32);
    x[REST_BATCH32] = rest(n, 32);
    x[FILL_OUT64]   = 1 - rest(b, 64) / (b + rest(b, 64));
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

lm_status residual_features(residual_space *s, const priced_row *row, double *x, lm_error *err)
{
    seeing    to     = { s, row, x };
    lm_status status = residual_space_columns(s, row->columns, err);

    if (!status)
        status = figure_features(s, row->device, x, err);

    if (status)
        return status;
    count_features(row, x);
    flag_features(s, row, x);
    tile_features(row->shape, x);
    for (size_t i = s->shares; i < s->n; i++)
        x[i] = i < s->others ? 0 : FARTHEST;
    rows_ways(row->rows, row->at, row->columns, see_way, &to);
    return LM_OK;
}
