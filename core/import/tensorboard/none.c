/* A build without nanopb reads the CSV of TensorBoard's page alone. */
#include "import/tensorboard/events.h"

lm_status tensorboard_events(const char *path, logged *l, log_rows *out, lm_error *err)
{
    (void)l;
    (void)out;
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "%s: this build reads no TensorBoard event files: build it with nanopb "
                        "(Debian: nanopb libnanopb-dev protobuf-compiler), or give the CSV of "
                        "TensorBoard's page",
                        path);
}
