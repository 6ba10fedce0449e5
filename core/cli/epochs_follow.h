/** `layermeter epochs --follow`. */
#ifndef CLI_EPOCHS_FOLLOW_H
#define CLI_EPOCHS_FOLLOW_H

#include "epochs/epochs.h"
#include "report/table.h"
#include "trace/reader.h"

/** Follows a trace in constant memory and prints each epoch as a row when it has ended, until the
 * trace does. LM_E_NOTFOUND if it ends without any. */
lm_status epochs_follow(const char *path, const trace_question *q, epochs_method m, format f,
                        lm_error *err);

#endif
