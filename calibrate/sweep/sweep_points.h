/** State while a sweep is read: its points, and the sections that add them. */
#ifndef CALIBRATE_SWEEP_POINTS_H
#define CALIBRATE_SWEEP_POINTS_H

#include "base/names.h"
#include "sweep/sweep.h"
#include "sweep/sweep_keys.h"

typedef struct sweep_loading {
    sweep          *s;
    const registry *reg;
    workloads      *loads;
    sweep_asker     ask; /**< NULL: no limits */
    void           *context;
    sweep_limits    limits;
    sweep_values    common; /**< of [sweep]: defaults for sections */
    size_t          room;
    names           keys; /**< of the points so far */
    lm_error       *err;
} sweep_loading;

/** A row without values, on one rank. */
observation sweep_row(void);

/** Prefixes an error with "path:line: key"; returns `status`. */
lm_status sweep_fail_at(sweep_loading *l, int line, lm_status status, const char *key);

/** Reads the section's keys. */
lm_status sweep_read(sweep_loading *l, const ini_section *s, const ini_key *keys,
                     sweep_values *out);

/** Is there an equal point already? */
bool sweep_has(const sweep_loading *l, const observation *row);
/** Adds a point, unless an equal one exists: sections may overlap, and networks share kernels. */
lm_status sweep_add(sweep_loading *l, const sweep_point *p);

/** Work of one repetition of a point on each rank. */
typedef struct sweep_work {
    double forward_flops;
    double all_flops; /**< of all passes */
    double all_bytes; /**< read and written */
    double memory;    /**< approximate bytes in use at once: buffers and gradients of all layers */
} sweep_work;

sweep_work sweep_work_of_counts(const net_metrics *counts);

/** Does the point pass the section's filters (max_flops, max_bytes, max_seconds ...)? */
bool sweep_wanted(const sweep_loading *l, const sweep_values *v, const sweep_work *work);

/** Element types and settings of a section. */
typedef struct sweep_variants {
    sweep_dtypes dtypes;
    uint8_t      choice[N_SETTINGS][SETTING_WORDS];
    size_t       n_choices[N_SETTINGS];
    size_t       n; /**< combinations */
} sweep_variants;

/** Reads them; LM_E_ARG for a setting that the backend cannot follow. */
lm_status sweep_variants_read(sweep_loading *l, const ini_section *s, const sweep_values *v,
                              sweep_variants *out);
/** Writes combination `i` into a point: dtype, how, and the column `settings`. */
lm_status sweep_variant(sweep_loading *l, const sweep_variants *all, size_t i, sweep_point *p);

/** Writes the column `settings` as of a kernel by itself: autocast is of whole layers. */
lm_status sweep_variant_of_kernel(sweep_loading *l, sweep_point *p);
/** The column `settings`: words of what the backend obeys, of the settings in the bits of `also`, and of
 * the sweep's clock. LM_E_NOMEM. */
lm_status sweep_settings_write(sweep_loading *l, const settings *how, uint32_t also,
                               const char **out);

/** LM_E_UNSUPPORTED for an optimizer whose update cannot be run, LM_E_ARG for none. */
lm_status sweep_check_optimizer(const char *word, lm_error *err);
/** Adds a network's point in each of these forms. */
lm_status sweep_steps_add(sweep_loading *l, const sweep_steps *steps, const sweep_point *point);

/* Sections. Each reads its own keys. */

lm_status sweep_take_networks(sweep_loading *l, const ini_section *s, sweep_values *v);
lm_status sweep_take_kernels(sweep_loading *l, const ini_section *s, sweep_values *v);
/** [layers] that name networks. */
lm_status sweep_take_operations(sweep_loading *l, const ini_section *s, sweep_values *v);
lm_status sweep_take_layers(sweep_loading *l, const ini_section *s, sweep_values *v);
lm_status sweep_take_collectives(sweep_loading *l, const ini_section *s, sweep_values *v);

/** Calls `each` for every variant, network, image and batch of a section that has `networks =`. */
typedef lm_status (*sweep_visitor)(sweep_loading *l, const sweep_values *v,
                                   const sweep_point *point, void *context);
lm_status sweep_visit_networks(sweep_loading *l, const ini_section *s, const sweep_values *v,
                               sweep_visitor each, void *context);

#endif
