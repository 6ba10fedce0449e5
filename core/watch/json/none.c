/* A build without jansson reads no plans. */
#include "watch/plan.h"

lm_status watch_plan_load(const char *path, const char *question, watch_plan *out, lm_error *err)
{
    (void)question;
    (void)out;
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "%s: this build reads no JSON files: build it with jansson (Debian: "
                        "libjansson-dev)",
                        path);
}
