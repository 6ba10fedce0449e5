/** Networks from text, bound with the plugins of the tree. */
#ifndef UNIT_NETS_H
#define UNIT_NETS_H

#include "check.h"
#include "folder.h"

#include "layers/loader.h"
#include "network/bind.h"

static registry *nets_registry;

/** Group setup: a folder, and all plugins. */
static inline int nets_enter(void **state)
{
    lm_error err = { LM_OK, "" };

    if (registry_new(&nets_registry, NULL) || loader_open_all(nets_registry, NULL, 0, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    return folder_enter(state);
}

static inline int nets_leave(void **state)
{
    registry_free(nets_registry);
    return folder_leave(state);
}

/** A network with what it was made from. */
typedef struct bound_text {
    network       *net;
    bound_network *bound; /**< NULL: refused */
    lm_error       err;
} bound_text;

/** Binds the network that `text` describes; messages call it n.ini. */
static inline bound_text nets_bind_with(const char *text, const bind_options *options)
{
    bound_text made = { NULL, NULL, { LM_OK, "" } };

    if (!network_load(folder_file("n.ini", text), NULL, &made.net, &made.err))
        bind_network(made.net, nets_registry, options, &made.bound, &made.err);
    return made;
}

static inline bound_text nets_bind(const char *text, int64_t batch)
{
    return nets_bind_with(text, &(bind_options){ .batch = batch, .dtype = LM_F32 });
}

/** A network of models/, with arguments. */
static inline bound_text nets_open(const char *name, const bind_options *options)
{
    bound_text made = { NULL, NULL, { LM_OK, "" } };

    if (!network_open(name, nets_registry, NULL, &made.net, &made.err))
        bind_network(made.net, nets_registry, options, &made.bound, &made.err);
    return made;
}

/** The part of it that one of `tp` ranks has, in bf16. */
static inline bound_text nets_part(const char *name, int64_t batch, int64_t tp, bool sp)
{
    return nets_open(
        name, &(bind_options){ .batch = batch, .dtype = LM_BF16, .shard = { .tp = tp, .sp = sp } });
}

static inline void nets_free(bound_text *made)
{
    bound_network_free(made->bound);
    network_free(made->net);
}

static inline const bound_layer *nets_layer(const bound_text *made, const char *name)
{
    assert_string_equal(made->err.text, "");
    for (size_t i = 0; i < made->bound->n_layers; i++)
        if (!strcmp(made->bound->layer[i].decl->name, name))
            return &made->bound->layer[i];
    fail_msg("no layer '%s'", name);
    return NULL;
}

#endif
