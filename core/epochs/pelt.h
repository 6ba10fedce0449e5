/** Change points of the mean; for core/epochs. */
#ifndef EPOCHS_PELT_H
#define EPOCHS_PELT_H

#include <stddef.h>

#include <layermeter/error.h>

/**
 * Where the mean of x changes: the segmentation of least squared deviations from the segments'
 * means plus `penalty` for each segment, exactly (PELT: Killick, Fearnhead & Eckley 2012, "Optimal
 * detection of changepoints with a linear computational cost").
 *
 * @param shortest segments have this many values or more, >= 1
 * @param end      malloc'ed: ends of the segments, the last is n
 */
lm_status pelt(const float *x, size_t n, double penalty, size_t shortest, size_t **end,
               size_t *n_end, lm_error *err);

#endif
