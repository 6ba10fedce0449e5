/** Place and method of a measurement: the head of an observation file. */
#ifndef CALIBRATE_PROVENANCE_H
#define CALIBRATE_PROVENANCE_H

#include <stdio.h>

#include "measure/harness.h"
#include "ranks/world.h"

/** Writes "# key: value" lines. Rank 0. */
void provenance_print(FILE *out, const world *w, const bench *b, const char *command_line);

#endif
