/** Transfers machine files to a device with few measurements or none. */
#ifndef TRANSFER_CARRY_H
#define TRANSFER_CARRY_H

#include "base/lists.h"
#include "observe/points.h"
#include "transfer/correct.h"
#include "transfer/transfer.h"

/** The question. */
typedef struct carry_question {
    word_list   machine, from; /**< files, and the device of each */
    const char *to;            /**< device */
    const char *devices;       /**< datasheets; NULL: the shipped ones */
    /** measurements on the new device for the correction, and a selection of them; NULL: none */
    const char      *with, *where;
    transfer_options how; /**< without doubt_most */
} carry_question;

/** The result. Zero-initialise. */
typedef struct carried {
    device_list    *devices;
    calibration    *machine[TRANSFER_SOURCES];
    transfer_source from[TRANSFER_SOURCES];
    size_t          n;
    const device   *to;
    calibration    *cal; /**< of the new device */
    workloads      *loads;
    observations   *obs; /**< measurements for the correction; NULL: none */
    points          p;
    correct_row    *row;
    size_t          n_rows;
    correct_factors factors;
    correct_errors  errors;
    intervals       own; /**< intervals of the machines before widening */
    /** shares of the corrected time by factor, before the correction */
    double share[N_CORRECT];
    bool   of_layers; /**< there are also factors for single layers */
} carried;

/**
 * Transfers coefficients by datasheets, widens their intervals by the errors when each machine is
 * left out, and corrects them with measurements on the new device. Call carried_free() in either
 * case.
 *
 * @return LM_E_ARG for a file that was itself transferred and not corrected, and for measurements
 *         of another variant; LM_E_NOTFOUND for an unknown device
 */
lm_status carry_over(const carry_question *q, const registry *reg, carried *out, lm_error *err);
void      carried_free(carried *c);

/** Unit of the correction: "single layers" or "networks". */
const char *carried_groups_name(const carried *c);
/** Number of its factors. */
size_t carried_factors(const carried *c);

#endif
