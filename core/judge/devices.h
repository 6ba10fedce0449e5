/** Machines left out in turn, each predicted from all others and its datasheet. */
#ifndef JUDGE_DEVICES_H
#define JUDGE_DEVICES_H

#include "device/device.h"
#include "fit/comparison.h"
#include "fit/split.h"
#include "layerwise/layerwise.h"

/** Maximum number of machines. */
#define VALIDATE_DEVICES 16

/** A machine: its observations and its device. */
typedef struct measured_device {
    const char   *path;
    const device *on;
    observations *obs;
    points        p;
    calibration  *cal; /**< fit to the observations */
} measured_device;

/** Reads a machine's file; `fit`: also fits it. `where` as --where; NULL: all rows. Free it in any
 * case. */
lm_status measured_device_read(measured_device *m, const char *where, bool fit, workloads *loads,
                               lm_error *err);
void      measured_device_free(measured_device *m);

/** All points of all machines in one list, with their predictions. Zero-initialise. */
typedef struct devices_left_out {
    measured_device machine[VALIDATE_DEVICES];
    size_t          n;
    points          all; /**< contents of the points belong to the machines */
    split           by;
    comparison     *at; /**< predictions of the default model; 0: no transfer */
} devices_left_out;

/**
 * Reads each file; `carry`: also fits it, and predicts it by coefficients transferred from all
 * others (transfer.h). `where` as --where; NULL: all rows.
 *
 * @param name a device for each file
 */
lm_status devices_leave_out(const char *const *path, const char *const *name, size_t n,
                            const char *where, bool carry, const device_list *list,
                            workloads *loads, devices_left_out *out, lm_error *err);
/** The same with a learned model: each machine is predicted from the layers of all others and its
 * datasheet. `setting` as for layerwise_settings(); `out` for all points. */
lm_status devices_leave_out_learned(const devices_left_out *d, const layerwise_kind *kind,
                                    const double *setting, comparison *out, lm_error *err);
void      devices_left_out_free(devices_left_out *d);

#endif
