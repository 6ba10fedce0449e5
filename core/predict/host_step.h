/** Steps of an eager framework: the price of the machine, and the time of the host. */
#ifndef PREDICT_HOST_STEP_H
#define PREDICT_HOST_STEP_H

#include "models/step_model.h"

/** Can the host of `who`'s framework be added to these prices? Errors as host_price(). */
lm_status host_check(const predictor *who, const step_price *p, lm_error *err);

/**
 * What `who->by` prices, as the framework of `who` runs it:
 * - none: as it was measured
 * - eager: passes by the host's time of each operation (program/host_clock.h)
 * - graph: launches cost the host nothing, where they were measured so, or are priced one by one
 *
 * @return LM_E_NOTFOUND for a machine file that knows no host, LM_E_UNSUPPORTED where passes are not
 *         known by themselves; what the model's price returns
 */
lm_status host_price(const predictor *who, const step_setup *s, step_price *out, lm_error *err);

#endif
