/** Random values of a sweep, the same ones on every machine. */
#ifndef CALIBRATE_DRAW_H
#define CALIBRATE_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

enum { DRAW_VALUES = 32, DRAW_NAME = 52, DRAW_TEXT = 96 };

/** A generator, and its values for the current layer. */
typedef struct draw {
    uint64_t state;
    struct {
        char name[DRAW_NAME], text[DRAW_TEXT];
    } value[DRAW_VALUES];
    size_t n;
} draw;

/**
 * Starts a generator: splitmix64 (Steele, Lea, Flood 2014). Its state begins as `seed` plus the
 * 64-bit FNV-1a hash of `name`, so each section has its own numbers. A number below n is the next
 * output modulo n. No floating point is used: the same seed gives the same sweep on any machine.
 */
draw draw_begin(uint64_t seed, const char *name);

uint64_t draw_next(draw *d);
/** A number below n; n >= 1. */
uint64_t draw_below(draw *d, uint64_t n);
/**
 * Draws one of low .. high with a probability proportional to its inverse, that is, uniform on a
 * logarithmic scale. First one of the octaves [low, 2 low), [2 low, 4 low) ... is drawn, with lower
 * end l, then a number x in the octave. x is accepted if it is at most `high` and a number drawn
 * below x is below l; otherwise the draw is repeated. 1 <= low <= high <= 10^15.
 */
int64_t draw_log(draw *d, int64_t low, int64_t high);

/** Forgets the values, for the next layer. */
void draw_forget(draw *d);

/**
 * Draws a value and keeps it under `name`, for the values after it.
 *
 * `text` is alternatives separated by commas, one of which is drawn, each as likely as the others
 * (a single one takes no number of the generator). Before it is read, `$NAME` and `${EXPRESSION}`
 * in it become numbers, by the values drawn before. An alternative is
 *
 *   8            itself: a number or any word
 *   1..64        a whole number of 1 to 64
 *   1..64 log    the same, uniform on a logarithmic scale
 *   1..64*2      one of 1, 2, 4 ... 64;  8..64+8  one of 8, 16 ... 64
 *
 * @param whole no alternatives: commas belong to the value
 * @return LM_E_SYNTAX, LM_E_NOTFOUND for a name not drawn yet, LM_E_ARG for an empty range
 */
lm_status draw_value(draw *d, const char *name, const char *text, int whole, lm_error *err);

/** The value under a name; NULL: none. */
const char *draw_get(const draw *d, const char *name);

#endif
