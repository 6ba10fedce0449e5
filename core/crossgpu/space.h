/**
 * Features of runs and of pairs of GPUs, in numbers that are comparable between GPUs.
 *
 * A metric's unit is the last word of its name. A figure of the device's datasheet divides it out:
 * the power limit for _w, the clock for _mhz, the memory for _mib and other bytes; _percent is
 * divided by 100. Times (_us, _ms, _s) are divided by the run's seconds; their square root is
 * taken, as for shares of a whole (Hellinger 1909). Other metrics become asinh: themselves up to
 * about 1, logarithms beyond. The run's seconds follow.
 *
 * A pair has two logarithms for each figure that all datasheets have: the ratio of the two devices,
 * and the first device's figure (of units that some devices lack, one more than their number). The ratio of peaks tells the distance for runs bound by
 * arithmetic, that of bandwidths for runs bound by traffic.
 *
 * Groups of features, as Hur & Lee (2024) compare them: static ones are those of a pair of devices,
 * dynamic ones the metrics of the run. The run's seconds belong to both.
 */
#ifndef CROSSGPU_SPACE_H
#define CROSSGPU_SPACE_H

#include <stdbool.h>

#include "crossgpu/runs.h"
#include "device/device.h"

/** Figures of datasheets in use; the first two are required. */
enum {
    FIGURE_PEAK,
    FIGURE_BANDWIDTH,
    FIGURE_MEMORY,
    FIGURE_MULTIPROCESSORS,
    FIGURE_CLOCK,
    FIGURE_POWER,
    FIGURE_F64,
    FIGURE_F16,
    FIGURE_L2,
    FIGURE_CORES,
    FIGURE_TENSOR_CORES,
    FIGURE_BUS,
    FIGURE_L1,
    FIGURE_SHARED,
    FIGURE_THREADS,
    FIGURE_RT_CORES,
    FIGURE_BASE_CLOCK,
    FIGURE_CAPABILITY,   /**< "7.5" as a number */
    FIGURE_MEMORY_CLOCK, /**< device_memory_clock() */
    N_FIGURES
};

/** Groups of features. */
enum { FEATURES_STATIC = 1, FEATURES_DYNAMIC = 2, FEATURES_BOTH = 3 };

/** Adds a group by its name, "static" or "dynamic". LM_E_ARG. */
lm_status features_add(const char *name, unsigned *features, lm_error *err);

/** The name of a figure in files, "f32". */
const char *figure_name(size_t figure);

/** Is the figure known? Only of units that some devices lack 0 is a figure. */
bool figure_known(size_t figure, double value);

/** A GPU to learn from or to predict for. */
typedef struct gpu {
    char   name[64];          /**< as named in runs, or by the user */
    double figure[N_FIGURES]; /**< NAN: not in its datasheet */
} gpu;

/** Figures of a device. LM_E_NOTFOUND if it is unknown, or has no peak or bandwidth. */
lm_status gpu_find(const device_list *devices, const char *name, gpu *out, lm_error *err);

typedef enum metric_unit {
    UNIT_PERCENT,
    UNIT_WATTS,
    UNIT_MHZ,
    UNIT_BYTES,
    UNIT_SECONDS,
    UNIT_NONE
} metric_unit;

typedef struct space_metric {
    char        name[96];
    metric_unit unit;
    double      scale;
    double      low, high; /**< range of the feature in the rows learned from */
} space_metric;

typedef struct space {
    space_metric *metric;
    size_t        n_metrics;
    unsigned      features;        /**< groups in use */
    bool          uses[N_FIGURES]; /**< all devices learned from have it */
} space;

/** Chooses the metrics of runs: those in every run that are not constant. of[i] is the number of
 * run i's device. Names of the others are appended to `left_out` (of `size`). No metric is an error
 * (LM_E_ARG) if dynamic features alone are wanted. */
lm_status space_of(const runs *r, const gpu *devices, const size_t *of, size_t n_devices,
                   unsigned features, space *out, char *left_out, size_t size, lm_error *err);
void      space_free(space *s);

/** Sets a metric's unit by its name and by the figures that all devices have. */
void space_metric_unit(const space *s, space_metric *m);

/** n_metrics + 1, the last being the run's seconds; and those of a pair of devices. */
size_t space_n_run(const space *s);
size_t space_n_pair(const space *s);

/** Places of the metrics of `s` among the columns of `r`. LM_E_NOTFOUND for a missing one, with the
 * nearest name. `place`: n_metrics. */
lm_status space_place(const space *s, const runs *r, size_t *place, lm_error *err);

/** Features of a run: space_n_run(). LM_E_ARG for a missing metric, or a device without the figure
 * of its unit. */
lm_status space_run(const space *s, const runs *r, const gpu_run *of, const size_t *place,
                    const gpu *on, double *out, lm_error *err);

/** Features of a pair of devices, as logarithms: space_n_pair(). LM_E_NOTFOUND for a figure missing
 * in a datasheet. */
lm_status space_pair(const space *s, const gpu *from, const gpu *to, double *out, lm_error *err);

#endif
