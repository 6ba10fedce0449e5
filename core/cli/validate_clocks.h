/** layermeter validate --phase clocks. */
#ifndef CLI_VALIDATE_CLOCKS_H
#define CLI_VALIDATE_CLOCKS_H

#include "fit/calibration.h"
#include "observe/points.h"
#include "report/table.h"

/** What `validate --phase` calls it. */
#define PHASE_CLOCKS "clocks"

/**
 * Power, energy, and the time they are of, as a machine file's power model says them of every
 * measured power, at the row's clock: errors by group, or with `each` a row a power. Rows whose
 * clock was held (settings `clock=`) are beside that carried over from the same at the usual clock,
 * power and time, where the file has it.
 *
 * @param path of the observations, for messages
 * @return LM_E_NOTFOUND where the machine file knows no power, or no row has one
 */
lm_status validate_clocks(const points *p, const calibration *cal, const char *path, bool each,
                          table *t, lm_error *err);

#endif
