/** Where the program's own files are. */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <stddef.h>

#include <layermeter/error.h>

/**
 * Path of an installed folder, from the place of the running program: `relative` is given from the
 * install prefix (the parent of bin/), so that a moved or a build tree works as well.
 */
lm_status place_installed(const char *relative, char *out, size_t size, lm_error *err);

#endif
