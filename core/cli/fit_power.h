/** layermeter fit of measured powers. */
#ifndef CLI_FIT_POWER_H
#define CLI_FIT_POWER_H

#include "cli/power_options.h"
#include "observe/points.h"

/**
 * Fits the power model where powers were measured; says on stderr what keeps some, or all, from it.
 * Rows of other clocks (settings `clock=`) than those the times are fitted to take part.
 *
 * @param p      what the times were fitted to; `where` chose it, or NULL
 * @param device its name, as an option tells it; NULL: as the file does
 * @param told   what options say of it (power_options_read())
 * @return what points_from() and power_fit() return
 */
lm_status fit_power(const observations *obs, workloads *loads, const points *p, const char *where,
                    const char *device, const power_choice *told, calibration *cal, lm_error *err);

/** Its row in the table of fit. */
void add_power(table *t, const power_model *m);

#endif
