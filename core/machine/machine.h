/** Machine files: the results of `fit` as a text file (MACHINE.md). */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "fit/calibration.h"

/**
 * Writes a machine file, and the files with learned parts beside it: either all of them or none.
 *
 * @return LM_E_ARG for an implausibly large coefficient, or if learned parts of a loaded file were
 *         not read; LM_E_IO, LM_E_NOMEM
 */
lm_status machine_save(const calibration *cal, const char *path, lm_error *err);

/**
 * Reads a machine file. Of the files beside it only the names are read; calibration_learned_open()
 * and similar functions read a file when it is needed.
 *
 * @return LM_E_NOTFOUND for an unknown or a missing section, key or word; LM_E_SYNTAX, LM_E_ARG
 *         ("path:line: ..."); LM_E_IO, LM_E_NOMEM
 */
lm_status machine_load(const char *path, calibration **out, lm_error *err);

#endif
