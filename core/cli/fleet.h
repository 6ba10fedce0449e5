/** Several machines on one command line: options that stand once for all of them, or once for each.
 */
#ifndef CLI_FLEET_H
#define CLI_FLEET_H

#include "cli/session.h"
#include "plan/job.h"

#define FLEET_MAX PLAN_SIDES_MAX /**< machines */

typedef struct fleet_options {
    session_options session; /**< what all machines share */
    option_texts    machines, devices, instances;
    struct {
        const money *at;
        size_t       n;
    } hour;             /**< --price of a device */
    const char *prices; /**< a file; NULL: the shipped prices */
    bool        spot;
} fleet_options;

extern const option_row fleet_option_rows[];

/** The text of the i-th machine; NULL: not given. */
static inline const char *fleet_text(const option_texts *list, size_t i)
{
    return list->n ? list->at[list->n > 1 ? i : 0] : NULL;
}

/** The price that was given for a device of the i-th machine; NULL: none. */
static inline const money *fleet_hour(const fleet_options *f, size_t i)
{
    return f->hour.n ? &f->hour.at[f->hour.n > 1 ? i : 0] : NULL;
}

/** Of machine files; of a model that takes datasheets, of devices. 1 at least. */
size_t fleet_size(const fleet_options *f);

/** Misuse of these options. */
lm_status fleet_check(const options *o, fleet_options *f, lm_error *err);

/** What is asked of the i-th machine. */
session_options fleet_session(const fleet_options *f, size_t i);

price_tier fleet_tier(const fleet_options *f);

/**
 * The section of a price file that the i-th machine is paid by: of its instance, else of its
 * device, by --device or the machine file.
 *
 * @param cal NULL: there is no machine file
 * @param so  said where the device is not known: ", so ..."
 */
lm_status fleet_price(const fleet_options *f, size_t i, const calibration *cal,
                      const price_list *prices, const device_list *devices, const char *so,
                      const price **out, lm_error *err);

#endif
