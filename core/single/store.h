/** Prices of single layers in machine files: sections [layermeter.single.CLASS]. */
#ifndef SINGLE_STORE_H
#define SINGLE_STORE_H

#include <stdio.h>

#include "base/ini.h"
#include "single/model.h"

void layer_model_print(FILE *out, const layer_model *m);

/** Is it one of these sections? */
bool layer_model_section(const char *name);

/**
 * Reads one into the model. A column that is not there is 0.
 *
 * @param path for messages, which begin with it and the line
 * @return LM_E_NOTFOUND for a class, key or column nobody knows, LM_E_SYNTAX for a unit, LM_E_ARG
 */
lm_status layer_model_read(const ini_section *s, const char *path, layer_model *m, lm_error *err);

#endif
