/** Collectives that are asked for by themselves: their times, bounds and rates by a machine file. */
#ifndef PREDICT_ASKED_COLLECTIVE_H
#define PREDICT_ASKED_COLLECTIVE_H

#include "fit/calibration.h"

typedef struct asked_by {
    const char  *model;     /**< "layermeter", "convmeter", or a published formula by name */
    const char  *algorithm; /**< NULL: the library's own choice */
    interconnect link;      /**< as told; zeros: nothing is said */
} asked_by;

typedef struct asked_collective {
    collective_call   call;
    collective_answer of;
    double            low, high; /**< s; NAN: unknown. Of the model's own prices: of all-reduces by
                                    the first algorithm those of steps, else the fit's own */
    double rate, bus_rate; /**< bytes/s: of the vector, of a rank's link in a ring; NAN: unknown */
} asked_collective;

/** Is it a model, or a published formula of all-reduces? */
bool asked_model_known(const char *name);

/** LM_E_NOTFOUND for what was neither measured nor told; as collective_ask(). */
lm_status asked_collective_of(const calibration *cal, const asked_by *by, const collective_call *a,
                              asked_collective *out, lm_error *err);

#endif
