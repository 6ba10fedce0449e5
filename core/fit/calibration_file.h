/** What reading and writing a machine file share; the door is calibration.h. */
#ifndef FIT_CALIBRATION_FILE_H
#define FIT_CALIBRATION_FILE_H

#include "fit/calibration.h"

/** The key of a formula that has no coefficients of its own. */
#define BY_ALLREDUCES "by_allreduces"

/** LM_E_ARG where nothing takes that long: `name` in seconds for one `unit` (FLOP, byte, ...). */
lm_status calibration_check_price(const char *name, const char *unit, double seconds,
                                  lm_error *err);

/* Learned models: is it one of their sections, reading one, and writing all: their files beside the
 * machine file first, then the sections that name these. */
bool      calibration_learned_section(const char *name);
lm_status calibration_learned_read(const ini_section *s, const char *path, calibration *cal,
                                   lm_error *err);
lm_status calibration_learned_save(const calibration *cal, const char *path, file_drafts *to,
                                   lm_error *err);
void      calibration_learned_print(FILE *out, const calibration *cal);

#endif
