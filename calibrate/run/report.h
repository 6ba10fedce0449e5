/** Results of a calibration, for people (report.txt) and programs (report.json). */
#ifndef CALIBRATE_REPORT_H
#define CALIBRATE_REPORT_H

#include "measure/trust.h"
#include "run/findings.h"
#include "run/folder.h"
#include "run/machines.h"

/** Time of the run, and the gain of a longer one. */
typedef struct report_effort {
    double      budget;                /**< seconds; 0: none, each point should be measured */
    double      seconds;               /**< that the run took */
    size_t      n_measured, n_skipped; /**< points of this run; skipped: those without a time */
    size_t      n_before;              /**< points that were in the file before */
    size_t      n_left;                /**< points of the sweep that were not measured */
    const char *asked_for;             /**< "resnet50, vgg16": the wanted networks */
    double      width; /**< expected 90 % interval of their steps, relative; NAN: unknown */
    struct {
        double seconds; /**< further seconds */
        size_t n_points;
        double width;
    } more[2];
    size_t               n_more;
    const trust_summary *seen;  /**< trust in the times */
    const machines      *wrote; /**< machine files */
} report_effort;

/** Writes both files; each appears whole or not at all. */
lm_status report_write(const run_folder *to, const findings *found, const report_effort *effort,
                       lm_error *err);

#endif
