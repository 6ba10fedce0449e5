/** Section [power] of machine files. */
#ifndef ENERGY_POWER_FILE_H
#define ENERGY_POWER_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/ini.h"
#include "energy/power.h"

/** Appends the section, if anything is known. */
void power_file_write(FILE *out, const power_model *m);
bool power_file_owns(const ini_section *s);
/** Errors begin with file:line: LM_E_NOTFOUND for unknown or missing keys, LM_E_ARG for values no
 * device has, LM_E_SYNTAX. */
lm_status power_file_read(const ini_document *doc, const ini_section *s, power_model *out,
                          lm_error *err);

#endif
