/** Sweeps by name. */
#ifndef CALIBRATE_FIND_H
#define CALIBRATE_FIND_H

#include <stddef.h>

#include <layermeter/error.h>

/**
 * Finds the file of `name`. `name` is a path if that file exists or it looks like a path (a slash,
 * .ini). Otherwise it is NAME.ini among the installed sweeps.
 *
 * @return LM_E_NOTFOUND lists these places
 */
lm_status sweep_find(const char *name, char *path, size_t size, lm_error *err);

#endif
