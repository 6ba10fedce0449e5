/** Machine files carried over to a device that was hardly measured, or not at all. */
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
    const char *with, *where;  /**< times of the new device that correct, and which; NULL: none */
    transfer_options how;      /**< without doubt_most */
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
    observations   *obs; /**< that correct; NULL: none */
    points          p;
    correct_row    *row;
    size_t          n_rows;
    correct_factors factors;
    correct_errors  errors;
    intervals       own;              /**< of the machines, before they are widened */
    double          share[N_CORRECT]; /**< of what corrects, before */
    bool            of_layers;        /**< factors of single layers, too */
} carried;

/**
 * Carries coefficients over by datasheets, widens their intervals by what leaving each machine out
 * shows, and corrects them by times of the new device. carried_free() in either case.
 *
 * @return LM_E_ARG for a file that was itself carried over and not corrected, for times of another variant; LM_E_NOTFOUND
 *         for an unknown device
 */
lm_status carry_over(const carry_question *q, const registry *reg, carried *out, lm_error *err);
void      carried_free(carried *c);

/** "single layers" or "networks": what corrects. */
const char *carried_groups_name(const carried *c);
/** Number of its factors. */
size_t carried_factors(const carried *c);

#endif
