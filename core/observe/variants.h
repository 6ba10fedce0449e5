/** Element types and settings of networks: each combination has its own coefficients. */
#ifndef OBSERVE_VARIANTS_H
#define OBSERVE_VARIANTS_H

#include "observe/points.h"

#define VARIANT_TEXT 240

/**
 * Writes the words of a row that need their own coefficients: "dtype=bf16 layout=nhwc math=tf32".
 * `progress` is not among them: it matters only for all-reduces in buckets, to which nothing is
 * fitted.
 */
void variant_print(const observation *row, char out[VARIANT_TEXT]);

/** Variants of the networks, those with the most points first, then in the file's order. */
typedef struct variants {
    struct variant {
        char   text[VARIANT_TEXT];
        size_t n_points;
    } * of;
    size_t n;
} variants;

lm_status variants_of(const points *p, variants *out, lm_error *err);
void      variants_free(variants *v);

/**
 * Keeps the points of networks with all words in `where`: words of variant_print(), separated by
 * blanks or commas. Also keeps all separately measured collectives: they do not depend on the
 * element type.
 *
 * @return LM_E_ARG if no network has them; the text lists the variants
 */
lm_status points_where(points *p, const char *where, lm_error *err);
/** The same, of rows of all clocks and of none; `where` names no clock. */
lm_status points_where_but_clocks(points *p, const char *where, lm_error *err);

/**
 * LM_E_ARG for several variants, which one fit must not mix. The text begins with `path` and names
 * the remedy.
 */
lm_status points_check_variants(const points *p, const char *path, lm_error *err);
/** The same, but rows of several clocks are allowed, to be learned together. */
lm_status points_check_but_clocks(const points *p, const char *path, lm_error *err);

#endif
