/** Finds the installed files. */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <stddef.h>

#include <layermeter/error.h>

/**
 * Path of an installed folder. `relative` starts at the install prefix. Inside liblayermeter.so the
 * prefix follows from the library's path, else from the program's path (the parent of bin/). So
 * moved trees and build trees work too.
 */
lm_status place_installed(const char *relative, char *out, size_t size, lm_error *err);

#endif
