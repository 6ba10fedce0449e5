/** A network as the file that describes it. */
#ifndef NETWORK_WRITE_H
#define NETWORK_WRITE_H

#include <stdio.h>

#include "network/network.h"

/**
 * Prints `net` as INI: read back, it has the same layers in the same order and gives the same
 * counts. Blocks and ranges it was made from are unfolded.
 *
 * @param title first comment line; NULL: none
 * @return LM_E_NOMEM; whether `out` took it all is the caller's to ask
 */
lm_status network_write(const network *net, const char *title, FILE *out, lm_error *err);

#endif
