/** What finds doubts (doubts.h); for core/observe alone. */
#ifndef OBSERVE_JUDGE_H
#define OBSERVE_JUDGE_H

#include "observe/doubts.h"

/** Each adds what it doubts. LM_E_NOMEM; judge_units() also what devices_open() returns. */
lm_status judge_times(const points *p, doubts *out, lm_error *err);
lm_status judge_units(const observations *obs, const points *p, doubts *out, lm_error *err);
lm_status judge_repeated(const points *p, doubts *out, lm_error *err);

/** At the end; false when memory runs out. */
bool doubts_add(doubts *d, const doubt *new);

/** FLOP of a phase; 0 for those that go by bytes alone. */
double phase_flops(const net_metrics *m, phase f);
/** Bytes that passes move, as far as counts tell. */
double phase_bytes(const net_metrics *m);

#endif
