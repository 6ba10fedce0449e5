/** Factors of composed networks in machine files: sections [composed.step], [composed.inference].
 */
#ifndef SINGLE_COMPOSED_FILE_H
#define SINGLE_COMPOSED_FILE_H

#include <stdio.h>

#include "base/ini.h"
#include "single/composed.h"

/** Factors of steps, and of forward passes in evaluation mode. */
typedef struct composed_set {
    composed_factors step, inference;
} composed_set;

void composed_file_write(FILE *out, const composed_set *s);
bool composed_file_owns(const ini_section *s);
/** Reads one of them. Errors begin with file:line: LM_E_NOTFOUND for a part nobody knows and for
 * one that is missing, LM_E_ARG for factors below 0 or beyond a million, LM_E_SYNTAX. */
lm_status composed_file_read(const ini_document *doc, const ini_section *s, composed_set *out,
                             lm_error *err);

#endif
