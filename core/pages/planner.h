/**
 * The planner: a page in which the library itself, compiled to WebAssembly, answers. Its parts are
 * built from core/planner and installed; a page is these parts in one file, which loads nothing.
 */
#ifndef PAGES_PLANNER_H
#define PAGES_PLANNER_H

#include <stdio.h>

#include <layermeter/error.h>

/** Parts that are read, and a machine file that the page has beside the shipped ones. */
typedef struct planner planner;

/**
 * Reads them.
 *
 * @param machine path of a machine file, which is checked; NULL: none
 * @return LM_E_UNSUPPORTED in a build without emscripten; what machine_load() returns
 */
lm_status planner_open(const char *machine, planner **out, lm_error *err);
void      planner_close(planner *p);

/** Writes the page. */
void planner_write(const planner *p, FILE *out);

#endif
