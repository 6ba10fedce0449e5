/** `layermeter validate` in one call: judges models on observations. Error texts name the
 * options. */
#ifndef ASSEMBLE_VALIDATION_H
#define ASSEMBLE_VALIDATION_H

#include "base/lists.h"
#include "judge/clocks.h"
#include "judge/devices.h"
#include "judge/errors.h"
#include "judge/launches.h"

/** NULL and empty lists: not given. */
typedef struct validation_question {
    word_list   paths; /**< observations; SPLIT_DEVICE: several, one for each machine */
    word_list   models;
    word_list   features; /**< sets of features: each model with each set; none: all features */
    word_list   devices;  /**< names: one for each of several machines, or the first for one */
    const char *sheets;   /**< file of datasheets */
    const char *where, *algorithm, *machine, *layers, *learn;
    split_rule  rule;
    bool        rule_told; /**< else single kernels are left out in random parts */
    bool        power;     /**< also powers and energies */
    bool        clocks;    /**< only powers at each clock */
} validation_question;

typedef enum validated {
    VALIDATED_NOTHING,  /**< failed before a result */
    VALIDATED_MODELS,   /**< `all` */
    VALIDATED_LAUNCHES, /**< `launches`: a file of kernels alone has no points of networks */
    VALIDATED_CLOCKS    /**< `clocks` */
} validated;

/** Results, up to a failure if there is one. Zero-initialise. */
typedef struct validation {
    validated     what;
    observations *obs;    /**< observations of one machine */
    points        p;      /**< its points */
    bool          chosen; /**< `p` and `by` are valid */
    split         by, groups;

    judged        model[JUDGED_MAX];
    char          name[JUDGED_MAX][100]; /**< "convmeter flops+inputs" */
    lm_error      untold[JUDGED_MAX];    /**< reason for a missing prediction; LM_OK: none */
    judging       all;
    launch_errors launches;
    clock_answers clocks;

    devices_left_out devices; /**< results of SPLIT_DEVICE */
    device_list     *sheets;
    calibration     *cal, *layers;
} validation;

/** Does leaving out leave no points for a fit? */
bool validation_without_fit(const validation *v, const validation_question *q);

/**
 * Judges the models.
 *
 * @param out to be freed in either case
 * @return errors of reading, fits and predictions; LM_E_ARG for points that must not be mixed
 */
lm_status validation_of(const validation_question *q, workloads *loads, validation *out,
                        lm_error *err);
void      validation_free(validation *v);

#endif
