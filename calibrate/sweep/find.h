/** Sweeps by name. */
#ifndef CALIBRATE_FIND_H
#define CALIBRATE_FIND_H

#include <stddef.h>

#include <layermeter/error.h>

/**
 * The file behind `name`: itself where it is there or looks like a path (a slash, .ini), else
 * NAME.ini among the sweeps that are installed.
 *
 * @return LM_E_NOTFOUND lists where it looked
 */
lm_status sweep_find(const char *name, char *path, size_t size, lm_error *err);

#endif
