/** layermeter fit of measured powers. */
#ifndef CLI_FIT_POWER_H
#define CLI_FIT_POWER_H

#include "cli/power_options.h"
#include "observe/points.h"

/**
 * Fits the power model where powers were measured; says on stderr what keeps some, or all, from it.
 * Rows of other clocks (settings `clock=`) than those the times are fitted to take part.
 *
 * @param told what options say of the device (power_options_read())
 * @param p    what the times were fitted to; `where` chose it, or NULL
 * @return what points_from() and power_fit() return
 */
lm_status fit_power(const observations *obs, workloads *loads, const points *p, const char *where,
                    const power_choice *told, calibration *cal, lm_error *err);

/** Its row in the table of fit. */
void add_power(table *t, const power_model *m);

#endif
