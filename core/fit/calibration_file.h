/** What reading and writing a machine file share; the door is calibration.h. */
#ifndef FIT_CALIBRATION_FILE_H
#define FIT_CALIBRATION_FILE_H

#include "fit/calibration.h"

/** The key of a formula that has no coefficients of its own. */
#define BY_ALLREDUCES "by_allreduces"

/** LM_E_ARG where nothing takes that long: `name` in seconds for one `unit` (FLOP, byte, ...). */
lm_status calibration_check_price(const char *name, const char *unit, double seconds,
                                  lm_error *err);

#endif
