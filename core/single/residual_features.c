/* What residuals of single layers are learned from. */
#include "single/residual_features.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEYOND    1.25 /* factor by which counts may leave what was learned from */
#define FARTHEST  20   /* of a way that costs e^20 times the cheapest, and of none */
#define OPTIMIZER "optimizer."
#define SHARE     "share."
#define OTHER     "other."

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
    LAST_COUNT = SECONDS,
    BIAS,
    ACTIVATION,
    LOSS,
    LOPSIDED,
    ALONE,
    INPUT_GRADIENT,
    TRAINS_INPUTS,
    PHASES, /* each set of forward, backward and update is one */
    LAST_FLAG = PHASES + 6,
    PADDING,
    REST_IN4,
    REST_IN32,
    REST_OUT4,
    REST_OUT32,
    REST_BATCH32,
    FILL_OUT64,
    N_FIXED
};

static const char *const fixed[N_FIXED] = {
    [BATCH]          = "batch",
    [CHANNELS_IN]    = "channels_in",
    [CHANNELS_OUT]   = "channels_out",
    [GROUPS]         = "groups",
    [IMAGE]          = "image",
    [HEIGHT]         = "height",
    [PIXELS]         = "pixels",
    [WINDOW]         = "window",
    [STRIDE]         = "stride",
    [DILATION]       = "dilation",
    [SUM]            = "sum",
    [INPUTS]         = "inputs",
    [OUTPUTS]        = "outputs",
    [WEIGHTS]        = "weights",
    [FLOPS]          = "flops",
    [BYTES]          = "bytes",
    [INTENSITY]      = "intensity",
    [SECONDS]        = "seconds",
    [BIAS]           = "bias",
    [ACTIVATION]     = "activation",
    [LOSS]           = "loss",
    [LOPSIDED]       = "lopsided",
    [ALONE]          = "alone",
    [INPUT_GRADIENT] = "input_gradient",
    [TRAINS_INPUTS]  = "trains_inputs",
    [PHASES + 0]     = "phase.forward",
    [PHASES + 1]     = "phase.backward",
    [PHASES + 2]     = "phase.forward_backward",
    [PHASES + 3]     = "phase.update",
    [PHASES + 4]     = "phase.forward_update",
    [PHASES + 5]     = "phase.backward_update",
    [PHASES + 6]     = "phase.step",
    [PADDING]        = "padding",
    [REST_IN4]       = "channels_in.rest4",
    [REST_IN32]      = "channels_in.rest32",
    [REST_OUT4]      = "channels_out.rest4",
    [REST_OUT32]     = "channels_out.rest32",
    [REST_BATCH32]   = "batch.rest32",
    [FILL_OUT64]     = "channels_out.fill64",
};

/* ---- names --------------------------------------------------------------------------------------
 */

static bool begins(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

static size_t find(const residual_space *s, size_t from, const char *name)
{
    while (from < s->n && strcmp(s->feature[from].name, name) != 0)
        from++;
    return from;
}

bool residual_space_append(residual_space *s, const char *name)
{
    const bool   share = begins(name, SHARE), other = begins(name, OTHER);
    feature_kind kind = FEATURE_FREE;

    if (s->n == RESIDUAL_FEATURES || strlen(name) >= RESIDUAL_NAME || find(s, 0, name) < s->n)
        return false;
    if (s->n < N_FIXED) {
        if (strcmp(fixed[s->n], name) != 0)
            return false;
        kind = s->n <= LAST_COUNT ? FEATURE_COUNT : s->n <= LAST_FLAG ? FEATURE_FLAG : FEATURE_FREE;
    } else if (begins(name, OPTIMIZER) && s->shares == s->n) {
        kind = FEATURE_FLAG;
    } else if (!(share && s->others == s->n) && !other) {
        return false;
    }
    s->feature[s->n] = (residual_feature){ .kind = kind, .low = HUGE_VAL, .high = -HUGE_VAL };
    strcpy(s->feature[s->n++].name, name);
    /* both begin behind what can stand in front of them */
    if (!share && !other)
        s->shares = s->n;
    if (!other)
        s->others = s->n;
    return true;
}

bool residual_space_whole(const residual_space *s)
{
    return s->n >= N_FIXED;
}

/* "share.forward.direct" of column forward.direct.flops: what columns of one way have in common. */
static void group_name(const char *prefix, const char *of, char out[RESIDUAL_NAME])
{
    const char  *dot  = strchr(of, '.');
    const char  *end  = dot ? strchr(dot + 1, '.') : NULL;
    const size_t size = end ? (size_t)(end - of) : strlen(of);

    snprintf(out, RESIDUAL_NAME, "%s%.*s", prefix, size > 38 ? 38 : (int)size, of);
}

static lm_status too_many(lm_error *err)
{
    return lm_error_set(err, LM_E_ARG, "more than %d features to learn a residual from",
                        RESIDUAL_FEATURES);
}

static bool need(residual_space *s, const char *name)
{
    return find(s, 0, name) < s->n || residual_space_append(s, name);
}

/* Which columns begin a way that is one of several. */
static void see_choice(void *context, const row_way *way)
{
    bool *choice = context;

    if (way->choice && way->n)
        choice[way->item->column] = true;
}

static lm_status add_others(residual_space *s, const rows *r, const columns *c, lm_error *err)
{
    bool     *choice = calloc(c->n + 1, sizeof *choice);
    double   *none   = calloc(c->n + 1, sizeof *none);
    char      name[RESIDUAL_NAME];
    lm_status status = choice && none ? LM_OK : lm_error_set(err, LM_E_NOMEM, "out of memory");

    for (size_t i = 0; i < r->n && !status; i++)
        rows_ways(r, i, none, see_choice, choice);
    for (size_t j = 0; j < c->n && !status; j++) {
        group_name(OTHER, c->column[j].name, name);
        if (choice[j] && !need(s, name))
            status = too_many(err);
    }
    free(choice);
    free(none);
    return status;
}

lm_status residual_space_new(const rows *r, const columns *c, residual_space *out, lm_error *err)
{
    char name[RESIDUAL_NAME];

    *out = (residual_space){ .n = 0 };
    for (size_t i = 0; i < N_FIXED; i++)
        residual_space_append(out, fixed[i]);
    for (size_t j = 0; j < c->n; j++)
        if (optimizer_column(c->column[j].name)) {
            snprintf(name, sizeof name, OPTIMIZER "%.36s", c->column[j].name + strlen("update."));
            if (!strchr(name + strlen(OPTIMIZER), '.') && !need(out, name))
                return too_many(err);
        }
    for (size_t j = 0; j < c->n; j++) {
        group_name(SHARE, c->column[j].name, name);
        if (!need(out, name))
            return too_many(err);
    }
    return add_others(out, r, c, err);
}

void residual_space_free(residual_space *s)
{
    free(s->share_of);
    free(s->other_of);
    s->share_of = s->other_of = NULL;
    s->n_columns              = 0;
}

/* Columns of optimizers come as they are met. */
static lm_status know_columns(residual_space *s, const columns *c, lm_error *err)
{
    uint16_t *share, *other;

    if (c->n <= s->n_columns)
        return LM_OK;
    share = realloc(s->share_of, c->n * sizeof *share);
    if (share)
        s->share_of = share;
    other = realloc(s->other_of, c->n * sizeof *other);
    if (other)
        s->other_of = other;
    if (!share || !other)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    for (; s->n_columns < c->n; s->n_columns++) {
        char name[RESIDUAL_NAME];

        group_name(SHARE, c->column[s->n_columns].name, name);
        share[s->n_columns] = (uint16_t)find(s, s->shares, name);
        group_name(OTHER, c->column[s->n_columns].name, name);
        other[s->n_columns] = (uint16_t)find(s, s->others, name);
    }
    return LM_OK;
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
    for (size_t i = 0; i <= LAST_COUNT; i++)
        x[i] = log(x[i]);
}

static void flag_features(const residual_space *s, const priced_row *row, double *x)
{
    const layer_run *run   = row->run;
    const unsigned   phase = (unsigned)run->forward + 2U * run->backward + 4U * run->update;
    char             name[RESIDUAL_NAME];

    x[BIAS]           = row->shape->bias;
    x[ACTIVATION]     = row->shape->activation;
    x[LOSS]           = row->shape->loss;
    x[ALONE]          = run->alone;
    x[INPUT_GRADIENT] = run->input_gradient;
    x[TRAINS_INPUTS]  = run->trains_inputs;
    x[LOPSIDED]       = 0;
    for (int i = 0; i < 3 && row->shape->kind == SHAPE_CONV; i++)
        x[LOPSIDED] = fmax(x[LOPSIDED], row->shape->behind[i] > row->shape->before[i]);
    for (unsigned i = 1; i < 8; i++)
        x[PHASES + i - 1] = i == phase;
    snprintf(name, sizeof name, OPTIMIZER "%.36s", run->optimizer ? run->optimizer : "");
    for (size_t i = N_FIXED; i < s->shares; i++)
        x[i] = run->update && !strcmp(s->feature[i].name, name);
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
            to->x[s->share_of[j]] += to->row->price[j] * way->item[i].value / to->row->seconds;
    }
    if (way->choice && way->n && s->other_of[way->item->column] < s->n)
        to->x[s->other_of[way->item->column]] =
            way->least > 0 ? fmin(FARTHEST, log(way->seconds / way->least)) : FARTHEST;
}

lm_status residual_features(residual_space *s, const priced_row *row, double *x, lm_error *err)
{
    seeing          to     = { s, row, x };
    const lm_status status = know_columns(s, row->columns, err);

    if (status)
        return status;
    count_features(row, x);
    flag_features(s, row, x);
    tile_features(row->shape, x);
    for (size_t i = s->shares; i < s->n; i++)
        x[i] = i < s->others ? 0 : FARTHEST;
    rows_ways(row->rows, row->at, row->price, see_way, &to);
    return LM_OK;
}

/* ---- ranges -------------------------------------------------------------------------------------
 */

void residual_space_widen(residual_space *s, const double *x)
{
    for (size_t i = 0; i < s->n; i++) {
        s->feature[i].low  = fmin(s->feature[i].low, x[i]);
        s->feature[i].high = fmax(s->feature[i].high, x[i]);
    }
}

bool residual_space_holds(const residual_space *s, const layer_run *run, const double *x)
{
    bool known = !run->update;

    for (size_t i = 0; i < s->n; i++) {
        const residual_feature *f      = &s->feature[i];
        const double            beyond = f->kind == FEATURE_COUNT ? log(BEYOND) : 0;

        if (f->kind != FEATURE_FREE && !(x[i] >= f->low - beyond && x[i] <= f->high + beyond))
            return false;
        known |= i >= N_FIXED && i < s->shares && x[i] > 0;
    }
    return known;
}
