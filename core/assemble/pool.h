/** Machines that share what they teach: one residual of single layers, and learned models. */
#ifndef ASSEMBLE_POOL_H
#define ASSEMBLE_POOL_H

#include "base/lists.h"
#include "judge/devices.h"
#include "learn/lesson.h"
#include "models/layerwise_points.h"
#include "single/model.h"

/** Zeroed to begin with. */
typedef struct pool {
    measured_device machine[VALIDATE_DEVICES];
    size_t          n;
} pool;

/**
 * Reads files, a machine each, and fits each file's prices of single layers. pool_free() in either
 * case.
 *
 * @param on    devices, one for each file; none: what the files say
 * @param where as of --where; NULL: all rows
 * @return LM_E_ARG where a file has no single layers; LM_E_NOTFOUND for a device without a
 *         datasheet, what fit_all() returns
 */
lm_status pool_read(pool *p, const word_list *path, const word_list *on, const char *where,
                    workloads *loads, const device_list *list, lm_error *err);
void      pool_free(pool *p);

/** Learns one residual from all of them. */
lm_status pool_learn(pool *p, residual_trees found[N_LAYER_CLASSES], lm_error *err);

/** As sources of learned models, and where these are to be kept. */
void pool_sources(const pool *p, layerwise_source from[VALIDATE_DEVICES],
                  calibration *cal[VALIDATE_DEVICES]);

/** Are there times enough for any task of a learned model? */
bool pool_teaches(const layerwise_data *d);
/** Learns a model, which each of n calibrations keeps from then on; *out is the first one's. */
lm_status pool_teach(const layerwise_data *d, const double *setting, calibration *const *cal,
                     size_t n, const layerwise_model **out, lm_error *err);

#endif
