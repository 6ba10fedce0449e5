/** Memory of small networks, to compare with sums by hand. */
#ifndef UNIT_MEMORY_BY_HAND_H
#define UNIT_MEMORY_BY_HAND_H

#include "nets.h"

#include "network/memory.h"

/* The head of a network, up to its input's shape. */
#define X   "[network]\nname = n\n[x]\ntype = input\nshape = "
#define SGD ((memory_options){ .optimizer = OPTIMIZER_SGD })

typedef struct measured {
    memory_use      use;
    memory_of_layer layer[16];
    lm_error        err;
} measured;

static inline measured measure_with(const bound_text *m, memory_options o, const bind_options *b)
{
    measured made = { .err = { LM_OK, "" } };

    assert_string_equal(m->err.text, "");
    assert_true(m->net->n_layers <= 16);
    memory_of_step(m->net, nets_registry, b, &o, &made.use, made.layer, &made.err);
    return made;
}

static inline measured measure(const bound_text *m, memory_options o, int64_t batch)
{
    return measure_with(m, o, &(bind_options){ .batch = batch, .dtype = LM_F32 });
}

static inline measured succeed(const bound_text *m, memory_options o, int64_t batch)
{
    const measured made = measure(m, o, batch);

    assert_string_equal(made.err.text, "");
    return made;
}

static inline const memory_of_layer *at(const bound_text *m, const measured *made, const char *name)
{
    return &made->layer[nets_layer(m, name) - m->bound->layer];
}

/* At batch 2: x 32 bytes, fc1 and relu 64 each, fc2 16; weights 8x4 and 2x8, 128 and 64 bytes. */
static const char chain[] = X "4\n"
                              "[fc1]\ntype = linear\nfeatures = 8\nbias = no\n"
                              "[relu]\ntype = relu\n"
                              "[fc2]\ntype = linear\nfeatures = 2\nbias = no\n";

#endif
