/** Where the installed files are. */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <stddef.h>

#include <layermeter/error.h>

/**
 * Path of an installed folder. `relative` starts at the install prefix. The prefix follows from the
 * place of liblayermeter.so where this code runs in it, else from that of the running program (the
 * parent of bin/), so that a moved tree and a build tree work as well.
 */
lm_status place_installed(const char *relative, char *out, size_t size, lm_error *err);

#endif
