/** Machines that are left out, each predicted by all others and its datasheet. */
#ifndef JUDGE_DEVICES_H
#define JUDGE_DEVICES_H

#include "device/device.h"
#include "fit/comparison.h"
#include "fit/split.h"
#include "layerwise/layerwise.h"

/** Machines at most. */
#define VALIDATE_DEVICES 16

/** A machine: its observations, and what it was measured on. */
typedef struct measured_device {
    const char   *path;
    const device *on;
    observations *obs;
    points        p;
    calibration  *cal; /**< fitted to them */
} measured_device;

/** Reads its file; `fit`: and fits it. `where` as of --where; NULL: all rows. To be freed in any
 * case. */
lm_status measured_device_read(measured_device *m, const char *where, bool fit, workloads *loads,
                               lm_error *err);
void      measured_device_free(measured_device *m);

/** All points of all machines, one behind the other, and by which machine each is told. Zero to
 * begin with. */
typedef struct devices_left_out {
    measured_device machine[VALIDATE_DEVICES];
    size_t          n;
    points          all; /**< shares what its points hold with those of the machines */
    split           by;
    comparison     *at; /**< of the default model; 0 where it was not carried over */
} devices_left_out;

/**
 * Reads each file; `carry`: fits it, and predicts it by coefficients carried over from all others
 * by datasheets (transfer.h). `where` as of --where; NULL: all rows.
 *
 * @param name a device for each file
 */
lm_status devices_leave_out(const char *const *path, const char *const *name, size_t n,
                            const char *where, bool carry, const device_list *list,
                            workloads *loads, devices_left_out *out, lm_error *err);
/** The same by a learned model: each machine by what the layers of all others taught, and its
 * datasheet. `setting` as of layerwise_settings(); `out` for all points. */
lm_status devices_leave_out_learned(const devices_left_out *d, const layerwise_kind *kind,
                                    const double *setting, comparison *out, lm_error *err);
void      devices_left_out_free(devices_left_out *d);

#endif
