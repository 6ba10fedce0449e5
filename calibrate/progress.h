/** What a run says of itself while it measures: a line for each point, with the time left. */
#ifndef CALIBRATE_PROGRESS_H
#define CALIBRATE_PROGRESS_H

#include "harness.h"

typedef struct progress {
    bool    quiet;
    int64_t began;       /**< CLOCK_MONOTONIC */
    double  total, done; /**< expected seconds of all points, and of those measured */
} progress;

progress progress_begin(bool quiet);

/** So many expected seconds more (or fewer) are to come. */
void progress_expect(progress *p, double seconds);

/** Point `at` of `n` is measured: a line on stderr. */
void progress_point(progress *p, size_t at, size_t n, const sweep_point *point,
                    const point_result *r);

/** A point was measured again, because of `why`: a line on stderr. */
void progress_again(progress *p, const char *why, const sweep_point *point, const point_result *r);

/** "resnet50 3x224x224 batch 8, 2 ranks": a point in words. */
void print_point(const observation *row, char *buffer, size_t size);

#endif
