/** Element types and settings of networks: each has coefficients of its own. */
#ifndef OBSERVE_VARIANTS_H
#define OBSERVE_VARIANTS_H

#include "observe/points.h"

#define VARIANT_TEXT 240

/** "dtype=bf16 layout=nhwc math=tf32": the words of a row that need coefficients of their own.
 * `progress` is none of them: it matters for all-reduces in buckets alone, to which nothing is
 * fitted. */
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
 * Keeps the points of networks that have all words of `where` (words of variant_print(), separated
 * by blanks or commas), and all bare collectives, for which bytes are bytes.
 *
 * @return LM_E_ARG if no network has them; the text lists the variants
 */
lm_status points_where(points *p, const char *where, lm_error *err);

/** LM_E_ARG for several variants, which one fit must not mix. The text begins with `path` and names
 * the remedy. */
lm_status points_check_variants(const points *p, const char *path, lm_error *err);
/** The same, where rows of several clocks are learned together. */
lm_status points_check_but_clocks(const points *p, const char *path, lm_error *err);

#endif
