/** Single collectives: time, bounds and rates from a machine file. */
#ifndef PREDICT_ASKED_COLLECTIVE_H
#define PREDICT_ASKED_COLLECTIVE_H

#include "fit/calibration.h"

typedef struct asked_by {
    const char  *model;     /**< "layermeter", "convmeter", or a published formula by name */
    const char  *algorithm; /**< NULL: the library's default */
    interconnect link;      /**< the user's description of the link; zeros: none */
} asked_by;

typedef struct asked_collective {
    collective_call   call;
    collective_answer of;
    /**
     * s; NAN: unknown. With the model's own prices: for all-reduces by the first algorithm the
     * interval of steps; else the interval of the fit
     */
    double low, high;
    /**
     * bytes/s. rate: bytes of the vector over time; bus_rate: rate on a rank's link in a ring. NAN:
     * unknown
     */
    double rate, bus_rate;
} asked_collective;

/** Is it the name of a model, or of a published formula for all-reduces? */
bool asked_model_known(const char *name);

/**
 * Predicts a collective. LM_E_NOTFOUND for a collective or link that was neither measured nor
 * described; other errors as collective_ask().
 */
lm_status asked_collective_of(const calibration *cal, const asked_by *by, const collective_call *a,
                              asked_collective *out, lm_error *err);

#endif
