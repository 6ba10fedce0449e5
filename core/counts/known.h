/**
 * Networks of which only counts are known, without layers, as in tables of published step times.
 */
#ifndef COUNTS_KNOWN_H
#define COUNTS_KNOWN_H

#include <layermeter/error.h>

#include "counts/features.h"

/**
 * Reads "macs=4.1e9 outputs=1.1e7 params=2.5e7": real numbers, each at most once, in any order.
 *
 *   macs     multiply-accumulates of convolutions and linear layers, forward, of a sample
 *   inputs   elements that convolutions read, of a sample
 *   outputs  elements that convolutions write, of a sample
 *   layers   executed layers
 *   params   trained elements
 *
 * @param dtype of the trained elements
 * @param out   counts at the batch; those that are not there are `unknown`, not 0
 * @return LM_E_SYNTAX, LM_E_NOTFOUND, LM_E_ARG or LM_E_OVERFLOW with the key
 */
lm_status counts_parse(const char *text, int64_t batch, lm_dtype dtype, workload *out,
                       lm_error *err);

#endif
