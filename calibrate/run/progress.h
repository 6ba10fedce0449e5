/** Progress of a run: a line for each point, with the remaining time. */
#ifndef CALIBRATE_PROGRESS_H
#define CALIBRATE_PROGRESS_H

#include "measure/harness.h"

typedef struct progress {
    bool quiet;
} progress;

/**
 * Reports on stderr that point `number` of `total` (0: unknown) was measured, with `left` seconds
 * remaining.
 */
void progress_point(const progress *p, size_t number, size_t total, const sweep_point *point,
                    const point_result *r, double left);

/** Reports on stderr that a point was measured again, and the reason. */
void progress_again(const progress *p, const char *why, const sweep_point *point,
                    const point_result *r);

/** Description of a point: "resnet50 3x224x224 batch 8, 2 ranks, bf16, layout=nhwc". */
void print_point(const observation *row, char *buffer, size_t size);

#endif
