/**
 * What a run on one GPU says of the same on another, as numbers that mean the same on all of them.
 *
 * Metrics lose their unit, which is the last word of their name, by what the datasheet of the run's
 * own device has: _w by its power limit, _mhz by its clock, _mib and other bytes by its memory,
 * _percent by 100; times (_us, _ms, _s) by the run's own, of which the square root is taken, as
 * shares of a whole are (Hellinger 1909). Others are taken as they are up to about 1, and as
 * logarithms beyond it (asinh). Then the run's seconds, and for each figure of datasheets its ratio
 * on the two devices and what it is on the first, as logarithms: the ratio of peaks is how far
 * apart they are where arithmetic bounds the run, that of bandwidths where traffic does.
 */
#ifndef CROSSGPU_SPACE_H
#define CROSSGPU_SPACE_H

#include <stdbool.h>

#include "crossgpu/runs.h"
#include "devices/device.h"

/** Figures of datasheets that are looked at; the first two must be there. */
enum {
    FIGURE_PEAK,
    FIGURE_BANDWIDTH,
    FIGURE_MEMORY,
    FIGURE_MULTIPROCESSORS,
    FIGURE_CLOCK,
    FIGURE_POWER,
    N_FIGURES
};

/** The name of a figure in files, "f32". */
const char *figure_name(size_t figure);

/** A device as learned from, or predicted for. */
typedef struct gpu {
    char   name[64];          /**< as runs, or the user, name it */
    double figure[N_FIGURES]; /**< NAN: its datasheet lacks it */
} gpu;

/** Takes a device's figures. LM_E_NOTFOUND if it is not known, or lacks peak or bandwidth. */
lm_status gpu_find(const device_list *devices, const char *name, gpu *out, lm_error *err);

typedef enum metric_unit {
    UNIT_PERCENT,
    UNIT_WATTS,
    UNIT_MHZ,
    UNIT_BYTES,
    UNIT_SECONDS,
    UNIT_NONE
} metric_unit;

/** By the last word of its name; *scale: of base units (W, Hz, B, s). */
metric_unit metric_unit_of(const char *name, double *scale);

typedef struct space_metric {
    char        name[96];
    metric_unit unit;
    double      scale;
    double      low, high; /**< as features, of what was learned from */
} space_metric;

typedef struct space {
    space_metric *metric;
    size_t        n_metrics;
    bool          uses[N_FIGURES]; /**< all devices that were learned from have it */
} space;

/**
 * Chooses the metrics of runs: those that every run has and that are not the same in all. `devices`
 * has that of each run (of[i]). The names of those left out are appended to `left_out` (of `size`).
 * No metric is no error.
 */
lm_status space_of(const runs *r, const gpu *devices, const size_t *of, size_t n_devices,
                   space *out, char *left_out, size_t size, lm_error *err);
void      space_free(space *s);

/** Sets a metric's unit by its name and the figures that all devices have. */
void space_metric_unit(const space *s, space_metric *m);

/** n_metrics + 1, the run's seconds being the last; and of a pair of devices. */
size_t space_n_run(const space *s);
size_t space_n_pair(const space *s);

/** Where the metrics of `s` are among the columns of `r`. LM_E_NOTFOUND for one that is missing,
 * with what comes near. `place`: n_metrics. */
lm_status space_place(const space *s, const runs *r, size_t *place, lm_error *err);

/** Features of a run: space_n_run(). LM_E_ARG for a metric that it lacks, or a device without the
 * figure that its unit needs. */
lm_status space_run(const space *s, const runs *r, const gpu_run *of, const size_t *place,
                    const gpu *on, double *out, lm_error *err);

/** Features of a pair of devices, as logarithms: space_n_pair(). LM_E_NOTFOUND for a figure that a
 * datasheet lacks. */
lm_status space_pair(const space *s, const gpu *from, const gpu *to, double *out, lm_error *err);

#endif
