/** Samples of devices at equal times, until a time, a signal or the loss of the last device. */
#ifndef SAMPLE_SAMPLING_H
#define SAMPLE_SAMPLING_H

#include <stdio.h>

#include "sample/sampler.h"

typedef struct sampling {
    const char *devices;  /**< as for sampler_open() */
    double      interval; /**< s between samples, above 0 */
    double      seconds;  /**< duration; INFINITY: until a signal */
    const char *path;     /**< file of the rows; NULL: `out`, which may be NULL, too */
    FILE       *out;
    /** Called after each sample; any value but LM_OK ends the watch. May be NULL. */
    lm_status (*take)(void *context, const char *index, const device_sample *s, lm_error *err);
    void *context;
    /** Reports the devices, and each lost device, a line each. */
    void (*say)(const char *text);
} sampling;

/**
 * Watches devices. SIGINT, SIGTERM and SIGHUP end it as `seconds` do: with whole rows, and LM_OK. A
 * lost device is reported and left out from then on.
 *
 * @return as sampler_open(); LM_E_IO for an existing file or one that cannot be written;
 * LM_E_NOTFOUND when the last device is lost
 */
lm_status sampling_run(const sampling *w, lm_error *err);

#endif
