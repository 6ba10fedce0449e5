/** The methods; for core/epochs. Each fills `out` whole or returns why it found none. */
#ifndef EPOCHS_METHODS_H
#define EPOCHS_METHODS_H

#include "epochs/epochs.h"

lm_status epochs_by_tracking(const trace_grid *g, epochs *out, lm_error *err);
lm_status epochs_by_luminol(const trace_grid *g, epochs *out, lm_error *err);
lm_status epochs_by_changes(const trace_grid *g, epochs *out, lm_error *err);

#endif
