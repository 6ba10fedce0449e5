/** Results of a calibration, for people (report.txt) and programs (report.json). */
#ifndef CALIBRATE_REPORT_H
#define CALIBRATE_REPORT_H

#include "measure/trust.h"
#include "run/findings.h"
#include "run/folder.h"
#include "run/machines.h"

/** Costs of the run, and the gain of a longer one. */
typedef struct report_effort {
    double      budget;  /**< seconds given; 0: none, every point was to be measured */
    double      seconds; /**< that the run took */
    size_t      n_measured, n_skipped; /**< points of this run; skipped: of them without a time */
    size_t      n_before;              /**< points that the file held already */
    size_t      n_left;                /**< points of the sweep that were not measured */
    const char *asked_for;             /**< "resnet50, vgg16": what the design aimed at */
    double      width; /**< expected 90 % interval of their step, relative; NAN: not known */
    struct {
        double seconds; /**< more */
        size_t n_points;
        double width;
    } more[2];
    size_t               n_more;
    const trust_summary *seen;  /**< whether the times can be trusted */
    const machines      *wrote; /**< machine files */
} report_effort;

/** Writes both files; each appears whole or not at all. */
lm_status report_write(const run_folder *to, const findings *found, const report_effort *effort,
                       lm_error *err);

#endif
