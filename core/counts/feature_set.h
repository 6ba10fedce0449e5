/** Sets of regressors and features by name: "flops", "baseline+co". NULL and "all" mean all. */
#ifndef COUNTS_FEATURE_SET_H
#define COUNTS_FEATURE_SET_H

#include <layermeter/error.h>
#include <stdbool.h>
#include <stddef.h>

/** Is the name in the set? */
bool feature_set_has(const char *set, const char *name);
/** Does the set restrict the names? */
bool feature_set_chooses(const char *set);

/**
 * Checks all names of a set.
 *
 * @param known n known names
 * @param of    their owner, for the message
 * @return LM_E_NOTFOUND for an unknown name: the text has the nearest one, or all; LM_E_ARG for an
 *         empty name
 */
lm_status feature_set_check(const char *set, const char *const *known, size_t n, const char *of,
                            lm_error *err);

#endif
