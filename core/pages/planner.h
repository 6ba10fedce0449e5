/**
 * The planner: a page that predicts with this library, compiled to WebAssembly. Its parts are built
 * from core/planner and installed. A page is one file with all parts; it loads nothing.
 */
#ifndef PAGES_PLANNER_H
#define PAGES_PLANNER_H

#include <stdio.h>

#include <layermeter/error.h>

/** The parts in memory, and a machine file that the page offers beside the shipped ones. */
typedef struct planner planner;

/**
 * Reads the parts.
 *
 * @param machine path of a machine file, which is checked; NULL: shipped ones only
 * @return LM_E_UNSUPPORTED in a build without emscripten; what machine_load() returns
 */
lm_status planner_open(const char *machine, planner **out, lm_error *err);
void      planner_close(planner *p);

/** Writes the page. */
void planner_write(const planner *p, FILE *out);

#endif
