/** Looks at devices at equal times, until a time, a signal or the last device's end. */
#ifndef SAMPLE_SAMPLING_H
#define SAMPLE_SAMPLING_H

#include <stdio.h>

#include "sample/sampler.h"

typedef struct sampling {
    const char *devices;  /**< as sampler_open() takes them */
    double      interval; /**< s between looks, above 0 */
    double      seconds;  /**< so long; INFINITY: until a signal */
    const char *path;     /**< where rows go; NULL: to `out`, which may be NULL, too */
    FILE       *out;
    /** Called behind each look; anything but LM_OK ends the watch. NULL: nothing is. */
    lm_status (*take)(void *context, const char *index, const device_sample *s, lm_error *err);
    void *context;
    /** Which devices there are, and one that is lost: a line each. */
    void (*say)(const char *text);
} sampling;

/**
 * Watches. SIGINT, SIGTERM and SIGHUP end it as `seconds` do: with whole rows, and LM_OK. A device
 * that is lost is told and left out from there on.
 *
 * @return what sampler_open() returns; LM_E_IO for a file that is there already or cannot be
 * written; LM_E_NOTFOUND when the last device is lost
 */
lm_status sampling_run(const sampling *w, lm_error *err);

#endif
