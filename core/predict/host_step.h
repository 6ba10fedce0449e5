/** Steps of an eager framework: the price of the machine, and the time of the host. */
#ifndef PREDICT_HOST_STEP_H
#define PREDICT_HOST_STEP_H

#include "models/step_model.h"

/** Can the host of `who`'s framework be added to these prices? Errors as host_price(). */
lm_status host_check(const predictor *who, const step_price *p, lm_error *err);

/**
 * The price from `who->by`, adapted to the framework of `who`:
 * - none: unchanged, as measured
 * - file: eager if the machine file has a host (predictor_framework()), else none
 * - eager: passes also take the host's time for each operation (program/host_clock.h)
 * - graph: launches take no time of the host, if they were measured so or are priced one by one
 *
 * The seconds that the host adds are in `out->added`.
 *
 * @return eager: LM_E_NOTFOUND if the machine file knows no host; LM_E_UNSUPPORTED if passes are not
 *         known separately, or the update's operations are not counted; errors of the model's price
 */
lm_status host_price(const predictor *who, const step_setup *s, step_price *out, lm_error *err);

#endif
