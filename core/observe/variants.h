/** Element types and settings of networks: each has coefficients of its own. */
#ifndef OBSERVE_VARIANTS_H
#define OBSERVE_VARIANTS_H

#include "observe/points.h"

#define VARIANT_TEXT 240

/** "dtype=bf16 layout=nhwc math=tf32": what of a row needs coefficients of its own. `progress` is
 * none of it: only all-reduces in buckets know it, to which nothing is fitted. */
void variant_print(const observation *row, char out[VARIANT_TEXT]);

/** Those of the networks, the one with the most points first, of equals the first of the file. */
typedef struct variants {
    char (*text)[VARIANT_TEXT];
    size_t *n_points;
    size_t  n;
} variants;

lm_status variants_of(const points *p, variants *out, lm_error *err);
void      variants_free(variants *v);

/**
 * Keeps the networks' points that have all of `where`, words of variant_print() separated by blanks
 * or commas, and all bare all-reduces, to which bytes are bytes.
 *
 * @return LM_E_ARG if no network has them; the text lists what there is
 */
lm_status points_where(points *p, const char *where, lm_error *err);

/** LM_E_ARG if there are several variants, which one fit must not mix; `path` begins the text,
 * which names the remedy. */
lm_status points_check_variants(const points *p, const char *path, lm_error *err);

#endif
