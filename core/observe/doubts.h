/**
 * Times that cannot be: in another unit than seconds, copied, contradicting each other. Found
 * without a model, so that a wrong time cannot hide in a fit to it (judge.h).
 */
#ifndef OBSERVE_DOUBTS_H
#define OBSERVE_DOUBTS_H

#include <stddef.h>
#include <stdio.h>

#include <layermeter/error.h>

#include "observe/points.h"

typedef enum doubt_kind {
    DOUBT_FILE,          /**< all times: so many FLOP or bytes a second nothing has */
    DOUBT_PHASE,         /**< all times of a phase, beside those of the others */
    DOUBT_TIME,          /**< one time, beside the others of its phase: left out */
    DOUBT_COPY,          /**< a point that is there again, its times equal to the last digit */
    DOUBT_CONTRADICTION, /**< times of one point that differ by DOUBT_APART, and no flag says why */
    DOUBT_STEP,          /**< a step shorter than its forward, backward and update */
    DOUBT_POWER,         /**< all powers: more watts than the device may draw, or next to none */
    N_DOUBTS
} doubt_kind;

/** Decades that a network's time may be away from what the others let expect. Those of measured
 * files are up to 1.2 away, units are 3 apart. */
#define DOUBT_DECADES 1.5
/** The same of single layers, whose smallest take what a launch takes, and of all-reduces, which go
 * over links of any speed; and of updates beside the passes. */
#define DOUBT_DECADES_WIDE   3.0
#define DOUBT_DECADES_UPDATE 2.0
/** Factor between times of one point. */
#define DOUBT_APART 3.0
/** A step's least share of the sum of its parts: medians of the same repetitions agree better. */
#define DOUBT_STEP_SHARE 0.8

typedef struct doubt {
    doubt_kind         kind;
    const observation *row;   /**< the first of its point; of files and phases NULL */
    size_t             at;    /**< the point */
    phase              phase; /**< not of copies */
    phase  beside; /**< DOUBT_PHASE: one of the two, nothing tells which; else N_PHASES */
    int    line, other_line;
    double seconds, other_seconds;
    double factor; /**< DOUBT_TIME, DOUBT_PHASE: measured over expected; DOUBT_FILE: a second;
                      DOUBT_POWER: watts, the median */
    double peak;   /**< of the device, DOUBT_FILE: FLOP/s, DOUBT_POWER: watts; NAN: not known */
} doubt;

typedef struct doubts {
    doubt *doubt; /**< kind after kind, in the order of the file */
    size_t n, room;
} doubts;

/** Finds them in what fits take. LM_E_NOMEM, or what devices_open() returns. */
lm_status doubts_find(const observations *obs, const points *p, doubts *out, lm_error *err);
/** Takes the times of DOUBT_TIME out of the same points: what they would do to a fit is worse. */
void doubts_leave_out(const doubts *d, points *p);
void doubts_free(doubts *d);

/** In one line without file and line number, with what to do about it. */
#define DOUBT_TEXT 320
const char *doubt_text(const doubt *d, char buffer[DOUBT_TEXT]);

/** The first few of each kind, of copies the first, a line each, and how many more: "BEFORE
 * PATH:LINE: TEXT". */
#define DOUBTS_SAID 3
void doubts_print(const doubts *d, const char *before, const char *path, FILE *out);

#endif
