/*
 * Layers whose algorithms nobody has written down here: pooling, norms, functions of elements,
 * recurrent layers, attention, embeddings. Each kind of kernel in each pass has a price of a
 * launch, a byte and a FLOP. Many kinds are rare among what is measured: their prices are held near
 * to one of all kinds for launches, one for bytes, one for FLOPs.
 */
#include <stdio.h>
#include <string.h>

#include "single/classes.h"
#include "single/work.h"

enum { CALL, TRAIN_CALL, ALL_LAUNCHES, ALL_BYTES, ALL_FLOPS, KERNELS };

#define N_COUNTS  3 /* launches, bytes, FLOPs */
#define N_COLUMNS (KERNELS + N_WORK_KINDS * LM_N_PASSES * N_COUNTS)

static const struct {
    const char *name, *unit;
    resource    resource;
} fixed[KERNELS] = {
    [CALL]         = { "call", "call", RESOURCE_HOST },
    [TRAIN_CALL]   = { "backward.call", "call", RESOURCE_HOST },
    [ALL_LAUNCHES] = { "all.launches", "launch", RESOURCE_HOST },
    [ALL_BYTES]    = { "all.bytes", "byte", RESOURCE_BANDWIDTH },
    [ALL_FLOPS]    = { "all.flops", "FLOP", RESOURCE_FLOPS },
};

static const char *const passes[LM_N_PASSES] = { "forward", "grad_input", "grad_weight" };
static const char *const counts[N_COUNTS]    = { "launches", "bytes", "flops" };

static size_t column_at(work_kind kind, lm_pass pass, size_t count)
{
    return KERNELS + ((size_t)kind * LM_N_PASSES + (size_t)pass) * N_COUNTS + count;
}

/* "forward.norm.bytes" */
static void name_of(work_kind kind, lm_pass pass, size_t count, char name[64])
{
    snprintf(name, 64, "%s.%s.%s", passes[pass], work_kind_name(kind), counts[count]);
}

static bool make(columns *c)
{
    char name[64];

    for (size_t j = 0; j < KERNELS; j++)
        if (columns_need(c, fixed[j].name, fixed[j].unit, fixed[j].resource) != j)
            return false;
    for (work_kind k = 0; k < N_WORK_KINDS; k++)
        for (lm_pass p = 0; p < LM_N_PASSES; p++)
            for (size_t i = 0; i < N_COUNTS; i++) {
                const size_t family = ALL_LAUNCHES + i;
                const size_t at     = column_at(k, p, i);

                name_of(k, p, i, name);
                if (columns_need(c, name, fixed[family].unit, fixed[family].resource) != at)
                    return false;
                c->column[at].parent = family;
            }
    return true;
}

static bool known(const char *name)
{
    char text[64];

    for (size_t j = 0; j < KERNELS; j++)
        if (!strcmp(fixed[j].name, name))
            return true;
    for (work_kind k = 0; k < N_WORK_KINDS; k++)
        for (lm_pass p = 0; p < LM_N_PASSES; p++)
            for (size_t i = 0; i < N_COUNTS; i++) {
                name_of(k, p, i, text);
                if (!strcmp(text, name))
                    return true;
            }
    return optimizer_column(name);
}

/* No part has alternatives: nothing to begin with is needed. */
static void begin(columns *c, const layer_rates *rates)
{
    (void)c;
    (void)rates;
}

static bool has(const layer_shape *s)
{
    return s->kind == SHAPE_WORK;
}

static void add_call(columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    (void)c;
    (void)s;
    rows_item(r, CALL, 1);
    rows_item(r, TRAIN_CALL, run->backward);
}

static void add_pass(rows *r, const layer_work *w, lm_pass p)
{
    for (work_kind k = 0; k < N_WORK_KINDS; k++) {
        rows_item(r, column_at(k, p, 0), w->of[k][p].launches);
        rows_item(r, column_at(k, p, 1), w->of[k][p].bytes);
        rows_item(r, column_at(k, p, 2), w->of[k][p].flops);
    }
}

static void add_layer(columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    rows_part(r);
    rows_alternative(r);
    if (run->update && s->weights > 0)
        optimizer_item(c, r, run->optimizer,
                       s->weights + (run->trains_inputs ? s->inputs + s->outputs : 0), run->alone);
    if (run->forward)
        add_pass(r, s->work, LM_FORWARD);
    if (run->backward && run->input_gradient)
        add_pass(r, s->work, LM_GRAD_INPUT);
    if (run->backward)
        add_pass(r, s->work, LM_GRAD_WEIGHT);
}

const layer_class layer_class_other = { .name      = "other",
                                        .options   = { .p      = 1,
                                                       .huber  = 0.2,
                                                       .power  = 1,
                                                       .ridge  = 0.01,
                                                       .rounds = 8,
                                                       .least  = 1,
                                                       .sample = 4000,
                                                       .seed   = 1 },
                                        .fewest    = 20,
                                        .has       = has,
                                        .make      = make,
                                        .known     = known,
                                        .begin     = begin,
                                        .add_call  = add_call,
                                        .add_layer = add_layer };
