/** Points that were measured again: which of their times count. */
#ifndef OBSERVE_SETTLE_H
#define OBSERVE_SETTLE_H

#include "observe/points.h"

/** Times that are flagged give way to the same measured without; of doubtful ones alone the best is
 * kept. Counts them in p->n_flagged_used and p->n_flagged_out. LM_E_NOMEM */
lm_status points_settle(points *p, lm_error *err);

#endif
