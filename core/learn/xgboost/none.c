/* Without XGBoost: one clear refusal. */
#include "learn/boost.h"

bool boost_available(void)
{
    return false;
}

lm_status boost_train(const learn_rows *rows, const learn_rows *held, const boost_options *o,
                      trees **out, lm_error *err)
{
    (void)rows;
    (void)held;
    (void)o;
    (void)out;
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "this build grows no trees: install XGBoost (libxgboost-dev) and build "
                        "again; trees that were grown elsewhere are read all the same");
}
