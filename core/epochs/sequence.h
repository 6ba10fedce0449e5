/** Repetitions of a period in a stretch, by dynamic programming; for core/epochs. */
#ifndef EPOCHS_SEQUENCE_H
#define EPOCHS_SEQUENCE_H

#include <stdint.h>

#include "epochs/stretch.h"

/** Where repetitions are, and what finding them takes. */
typedef struct sequence {
    float   *match, *score; /**< of each bin: how alike it is to the template, -1 to 1; the best */
    int32_t *back;          /**< sequence that ends there, and the place before it; -1 */
    size_t  *found, n;      /**< bins of the places */
} sequence;

/** Room for sequences over n bins with a period of so many; false when memory runs out. */
bool sequence_open(sequence *r, size_t n, double period);
void sequence_free(sequence *r);

/**
 * The best sequence over all of a stretch: template (`t`: width values) and sequence by turns,
 * first around the middle. False: there are not two places.
 */
bool sequence_find_all(const stretch *all, sequence *r, float *t);

#endif
