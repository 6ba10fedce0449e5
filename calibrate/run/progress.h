/** Progress of a run: a line for each point, with the remaining time. */
#ifndef CALIBRATE_PROGRESS_H
#define CALIBRATE_PROGRESS_H

#include "measure/harness.h"

typedef struct progress {
    bool quiet;
} progress;

/** Point `number` of `total` (0: nobody knows of how many) is measured, `left` seconds are to come:
 * a line on stderr. */
void progress_point(const progress *p, size_t number, size_t total, const sweep_point *point,
                    const point_result *r, double left);

/** A point was measured again, because of `why`: a line on stderr. */
void progress_again(const progress *p, const char *why, const sweep_point *point,
                    const point_result *r);

/** "resnet50 3x224x224 batch 8, 2 ranks, bf16, layout=nhwc": a point in words. */
void print_point(const observation *row, char *buffer, size_t size);

#endif
