/** Machine files: what `fit` found out of a machine, as a text (MACHINE.md). */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "fit/calibration.h"

/**
 * Writes a machine file, and what was learned beside it: all of these appear whole, or none.
 *
 * @return LM_E_ARG for prices that nothing takes, and for what lies beside a file that was loaded and
 *         was not read; LM_E_IO, LM_E_NOMEM
 */
lm_status machine_save(const calibration *cal, const char *path, lm_error *err);

/**
 * Reads one. Of what lies beside it nothing but the names is read: calibration_learned_open() and the
 * like read what is asked for.
 *
 * @return LM_E_NOTFOUND for a section, a key or a word nobody knows, and for one that is missing;
 *         LM_E_SYNTAX, LM_E_ARG ("path:line: ..."); LM_E_IO, LM_E_NOMEM
 */
lm_status machine_load(const char *path, calibration **out, lm_error *err);

#endif
