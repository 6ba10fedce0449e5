/** TensorBoard's files of events, of any size. */
#ifndef IMPORT_TENSORBOARD_EVENTS_H
#define IMPORT_TENSORBOARD_EVENTS_H

#include "import/logged.h"

/** Adds the scalars of a file of events. A record that is cut off at its end counts as a broken row.
 * LM_E_IO, LM_E_SYNTAX, LM_E_NOMEM; a build without nanopb has LM_E_UNSUPPORTED. */
lm_status tensorboard_events(const char *path, logged *l, log_rows *out, lm_error *err);

#endif
