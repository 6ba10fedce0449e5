/** Single layers as learned models of them take them. */
#ifndef UNIT_LAYERWISE_CASES_H
#define UNIT_LAYERWISE_CASES_H

#include "nets.h"

#include <stdlib.h>
#include <string.h>

#include "kept_text.h"
#include "layerwise/layerwise_model.h"
#include "network/single.h"

#define MADE_LAYERS 8

/** Layers in a row, bound. */
typedef struct made {
    network           *net;
    bound_network     *bound;
    const bound_layer *layer[MADE_LAYERS];
    size_t             n;
} made;

static inline void make(const char *type, const char *geometry, const char *input, int64_t batch,
                        made *out)
{
    lm_error err = { LM_OK, "" };

    *out = (made){ .n = 0 };
    if (single_bind(type, geometry, input, batch, LM_F32, nets_registry, &out->net, &out->bound,
                    &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < out->bound->n_layers; i++)
        if (strcmp(out->bound->layer[i].decl->type, "input") != 0)
            out->layer[out->n++] = &out->bound->layer[i];
}

static inline void made_free(made *m)
{
    bound_network_free(m->bound);
    network_free(m->net);
}

/** The layers as a learned model is asked for them; `on` may be NULL. */
static inline layerwise_case in_phase(const made *m, phase f, const char *optimizer,
                                      const device *on)
{
    return (layerwise_case){ .layer     = m->layer,
                             .n_layers  = m->n,
                             .phase     = f,
                             .batch     = m->bound->options.batch,
                             .dtype     = LM_F32,
                             .optimizer = optimizer,
                             .settings  = "",
                             .on        = on,
                             .clock_mhz = NAN };
}

/** `settings` as on the command line; NULL or empty: the defaults. */
static inline layerwise_model *learn(const layerwise_data *d, const char *settings)
{
    double           setting[LAYERWISE_SETTINGS];
    layerwise_model *m   = NULL;
    lm_error         err = { LM_OK, "" };

    if (layerwise_settings(d->kind, settings, setting, &err) ||
        layerwise_learn(d, setting, 1, NULL, NULL, &m, &err))
        fail_msg("%s", err.text);
    return m;
}

/** To be freed. */
static inline char *text_of(const layerwise_model *m)
{
    return kept_written(&layerwise_kept, m->kind->name, m);
}

/** The text is cut up. */
static inline lm_status layerwise_read(const char *path, char *text, const layerwise_kind *kind,
                                       layerwise_model **out, lm_error *err)
{
    void           *read   = NULL;
    const lm_status status = kept_read(&layerwise_kept, kind->name, path, text, &read, err);

    *out = read;
    return status;
}

#endif
