/** oneDNN on the CPU: forward, backward and update. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_H
#define CALIBRATE_BACKENDS_ONEDNN_H

#include "backend.h"

extern const backend_type backend_onednn;

#endif
