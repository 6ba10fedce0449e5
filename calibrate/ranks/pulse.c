/* State of this rank. */
#include "ranks/pulse.h"

_Atomic uint64_t pulse_count;
_Atomic int      pulse_now;
_Atomic uint32_t pulse_allowed_ms;
