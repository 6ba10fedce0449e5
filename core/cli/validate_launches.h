/** layermeter validate, of observations of single kernels and streams of them. */
#ifndef CLI_VALIDATE_LAUNCHES_H
#define CLI_VALIDATE_LAUNCHES_H

#include "fit/calibration.h"
#include "fit/launch_models.h"
#include "report/table.h"

/** What is asked. */
typedef struct launch_question {
    const observations *obs;
    const split_rule   *rule;
    const calibration  *given; /**< prices made elsewhere; NULL: none */
    char *const        *model; /**< names */
    size_t              n_models;
} launch_question;

/**
 * Fills a table: errors by kind of operator, or its `group`, and pass, then of all. Streams, by
 * group and phase, are predicted by prices alone: those given, or of a fit to all kernels of the
 * file.
 */
lm_status validate_launches(const launch_question *q, table *t, lm_error *err);

#endif
