/** A sweep while it is read: its points, and the sections that add them. */
#ifndef CALIBRATE_SWEEP_POINTS_H
#define CALIBRATE_SWEEP_POINTS_H

#include "base/names.h"
#include "sweep.h"
#include "sweep_keys.h"

typedef struct sweep_loading {
    sweep           *s;
    const registry  *reg;
    workloads       *loads;
    const placement *job; /**< NULL: any ranks */
    size_t           room;
    names            keys; /**< of the points that are in already */
    lm_error        *err;
} sweep_loading;

/** A row of which nothing is known yet. */
extern const observation sweep_blank;

/** Puts "path:line: key" before the error; returns `status`. */
lm_status sweep_fail_at(sweep_loading *l, int line, lm_status status, const char *key);
lm_status sweep_no_memory(sweep_loading *l);

/** Reads the section's keys. */
lm_status sweep_read(sweep_loading *l, const ini_section *s, const sweep_key *keys,
                     sweep_values *out);

/** Is a point like this one in already? */
bool sweep_has(const sweep_loading *l, const observation *row);
/** Adds a point, unless there is one like it: sections may overlap, and networks share kernels. */
lm_status sweep_add(sweep_loading *l, const sweep_point *p);

/** Seconds that a point may take, for the time left: what matters is how points compare, since
 * progress scales it by the time that was needed so far. */
double sweep_guess_seconds(const stopping *stop, double flops, double bytes);

/* Sections. Each reads its own keys. */

lm_status sweep_take_networks(sweep_loading *l, const ini_section *s, sweep_values *v);
lm_status sweep_take_kernels(sweep_loading *l, const ini_section *s, sweep_values *v);
lm_status sweep_take_collectives(sweep_loading *l, const ini_section *s, sweep_values *v);

/** Calls `each` for every network, image and batch of a section that has `networks =`. */
typedef lm_status (*sweep_visitor)(sweep_loading *l, const sweep_values *v, const observation *row,
                                   void *context);
lm_status sweep_visit_networks(sweep_loading *l, const ini_section *s, const sweep_values *v,
                               sweep_visitor each, void *context);

#endif
