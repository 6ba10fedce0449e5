/** A PALEO file as plain structs: blocks unfolded, parents resolved, images as height, width. */
#ifndef FORMATS_PALEO_MODEL_H
#define FORMATS_PALEO_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>

#include "base/arena.h"

typedef enum paleo_kind {
    PALEO_INPUT,
    PALEO_CONVOLUTION,
    PALEO_MAX_POOL,
    PALEO_AVG_POOL,
    PALEO_DROPOUT,
    PALEO_CONCATENATE,
    PALEO_ELEMENTWISE,
    PALEO_SOFTMAX,
    PALEO_INNER_PRODUCT,
    PALEO_OTHER /**< unknown to PALEO */
} paleo_kind;

/** TensorFlow's two words, or numbers. */
typedef enum paleo_padding { PALEO_VALID, PALEO_SAME, PALEO_GIVEN } paleo_padding;

typedef struct paleo_layer {
    const char   *name, *type; /**< type as written */
    int           line;        /**< 0: not known */
    paleo_kind    kind;
    int64_t       height, width; /**< of INPUT */
    int64_t       in, out;       /**< channels or features; 0: not given, or any */
    int64_t       window[2], stride[2], pad[2];
    paleo_padding padding;
    const char   *activation; /**< NULL: none */
    bool          batch_norm;
    double        keep;   /**< of DROPOUT */
    int64_t       dim;    /**< of CONCATENATE, in N, H, W, C */
    const size_t *parent; /**< indices into paleo_model.layer */
    size_t        n_parents;
} paleo_layer;

typedef struct paleo_model {
    const char  *path;
    paleo_layer *layer; /**< in the file's order */
    size_t       n_layers;
    const char  *parallel; /**< a block that PALEO would spread over devices; NULL: none */
} paleo_model;

/** @param a owns what *out points to */
lm_status paleo_read(const char *path, arena *a, paleo_model *out, lm_error *err);

/** Sets "path:line: layer 'name': ..."; returns `code`. */
lm_status paleo_fail(const paleo_model *m, const paleo_layer *l, lm_error *err, lm_status code,
                     const char *fmt, ...) LM_PRINTF(5, 6);

#endif
