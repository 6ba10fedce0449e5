/** Prices of all-reduces in machine files: sections [allreduce.ALGORITHM.one], [... .multi]. */
#ifndef SYNC_COLLECTIVE_FILE_H
#define SYNC_COLLECTIVE_FILE_H

#include <stdio.h>

#include "base/ini.h"
#include "sync/collective.h"

/** Appends a section for each algorithm and fabric that was measured. */
void collective_file_write(FILE *out, const collective_model *m);

/** Is it one of these sections? */
bool collective_file_owns(const ini_section *s);

/**
 * Reads one into the model. Errors begin with file:line: LM_E_NOTFOUND for an unknown fabric or key
 * and for a price or range that is missing, LM_E_SYNTAX for a unit, LM_E_ARG for a value below 0.
 * Prices of baselines may be left out; these then answer nothing.
 */
lm_status collective_file_read(const ini_document *doc, const ini_section *s, collective_model *m,
                               lm_error *err);

#endif
