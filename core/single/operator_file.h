/** Prices of operators in a machine file: a section for each kind. */
#ifndef SINGLE_OPERATOR_FILE_H
#define SINGLE_OPERATOR_FILE_H

#include <stdio.h>

#include "base/ini.h"
#include "single/operator_model.h"

/**
 * Appends a section "[kernels.gemm]" for each kind that has prices: how products are cut, and each
 * column's seconds per unit, with what of a device the price falls with.
 */
void operator_file_write(FILE *out, const operator_model *m);

/** Is it one of these sections? */
bool operator_file_owns(const ini_section *s);

/** Reads such a section into a model that does not have it yet. Errors begin with file:line. */
lm_status operator_file_read(const ini_document *doc, const ini_section *s, operator_model *m,
                             lm_error *err);

#endif
