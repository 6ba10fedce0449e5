/** Single layers as shapes, and as counts in columns. */
#ifndef UNIT_SINGLE_SHAPE_H
#define UNIT_SINGLE_SHAPE_H

#include "nets.h"

#include "counts/shape.h"
#include "network/single.h"
#include "single/model.h"

/* A pass by itself, and all that a step does. */
static const layer_run forward = { .forward = true, .alone = true };
static const layer_run step    = { .forward        = true,
                                   .backward       = true,
                                   .update         = true,
                                   .alone          = true,
                                   .input_gradient = true,
                                   .trains_inputs  = true,
                                   .optimizer      = "adam" };

/** A layer by itself; `work` NULL: only its shape. */
static inline layer_shape shape(const char *type, const char *geometry, const char *input,
                                int64_t batch, layer_work *work)
{
    network       *net;
    bound_network *bound;
    layer_shape    s;
    lm_error       err = { 0 };

    if (single_bind(type, geometry, input, batch, LM_F32, nets_registry, &net, &bound, &err))
        fail_msg("%s", err.text);
    shape_of_chain(bound, work, &s);
    bound_network_free(bound);
    network_free(net);
    return s;
}

/* One row of a class, and which alternative of a part is looked at. */
typedef struct counted {
    columns c;
    rows    r;
} counted;

static inline counted count(const layer_class *class, const layer_shape *s, const layer_run *run)
{
    counted k = { .c = { 0 } };

    assert_true(layer_class_make(class, &k.c));
    rows_begin(&k.r, NAN, 1, 0);
    layer_update_need(&k.c, run, s);
    class->add_call(&k.c, &k.r, run, s);
    class->add_layer(&k.c, &k.r, run, s);
    assert_int_equal(rows_check(&k.r, NULL), LM_OK);
    return k;
}

static inline void discard(counted *k)
{
    rows_free(&k->r);
    columns_free(&k->c);
}

/* Sum over the row of a column's counts, in all alternatives: each is in one of them. */
static inline double of(const counted *k, const char *name)
{
    const size_t at  = columns_find(&k->c, name);
    double       sum = 0;

    if (at == COLUMN_NONE)
        fail_msg("no column '%s'", name);
    for (size_t i = 0; i < k->r.n_items; i++)
        sum += k->r.item[i].column == at ? k->r.item[i].value : 0;
    return sum;
}

#endif
