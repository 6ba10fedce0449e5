/** layermeter import extra-p: Extra-P's text files as observations. */
#ifndef CLI_IMPORT_EXTRAP_H
#define CLI_IMPORT_EXTRAP_H

#include <stdbool.h>

#include "cli/options.h"

/** Places in the command's table. */
typedef struct extrap_places {
    int output, parameter, region, metric, fixed;
} extrap_places;

/** Is it the word extra-p? */
bool import_is_extrap(const char *tool);

/** Imports arguments 1 and up; returns the exit code. */
int import_extrap(const options *o, const extrap_places *at);

#endif
