/** Writes a network as an INI file. */
#ifndef NETWORK_WRITE_H
#define NETWORK_WRITE_H

#include <stdio.h>

#include "network/network.h"

/**
 * Prints `net` as INI, with blocks and ranges unfolded. The file gives the same layers, order and
 * counts.
 *
 * @param title first comment line; NULL: none
 * @return LM_E_NOMEM; the caller checks `out` for write errors
 */
lm_status network_write(const network *net, const char *title, FILE *out, lm_error *err);

#endif
