/** Models judged on observations: `layermeter validate` as one call. Texts of errors name the
 * options. */
#ifndef ASSEMBLE_VALIDATION_H
#define ASSEMBLE_VALIDATION_H

#include "base/lists.h"
#include "judge/clocks.h"
#include "judge/devices.h"
#include "judge/errors.h"
#include "judge/launches.h"

/** NULL and none: not asked for. */
typedef struct validation_question {
    word_list   paths; /**< observations; several of SPLIT_DEVICE, of a machine each */
    word_list   models;
    word_list   features; /**< sets: each model by each; none: by all */
    word_list   devices;  /**< by name: of each of several machines, or the first of one */
    const char *sheets;   /**< file of datasheets */
    const char *where, *algorithm, *machine, *layers, *learn;
    split_rule  rule;
    bool        rule_told; /**< else single kernels leave out parts at random */
    bool        power;     /**< powers and energies beside times */
    bool        clocks;    /**< instead: powers at each clock */
} validation_question;

typedef enum validated {
    VALIDATED_NOTHING,  /**< it failed before */
    VALIDATED_MODELS,   /**< `all` */
    VALIDATED_LAUNCHES, /**< `launches`: a file of kernels alone has no points of networks */
    VALIDATED_CLOCKS    /**< `clocks` */
} validated;

/** What came of it: whatever was found until it failed, if it did. Zero-initialise. */
typedef struct validation {
    validated     what;
    observations *obs;    /**< of one machine */
    points        p;      /**< its points */
    bool          chosen; /**< `p` and `by` are there */
    split         by, groups;

    judged        model[JUDGED_MAX];
    char          name[JUDGED_MAX][100]; /**< "convmeter flops+inputs" */
    lm_error      untold[JUDGED_MAX];    /**< why a network is not told; LM_OK: all are */
    judging       all;
    launch_errors launches;
    clock_answers clocks;

    devices_left_out devices; /**< of SPLIT_DEVICE */
    device_list     *sheets;
    calibration     *cal, *layers;
} validation;

/** Is nothing left to fit to, without what is left out? */
bool validation_without_fit(const validation *v, const validation_question *q);

/**
 * Judges the models.
 *
 * @param out to be freed in either case
 * @return what reading, fits and predictions do; LM_E_ARG for points that must not be mixed
 */
lm_status validation_of(const validation_question *q, workloads *loads, validation *out,
                        lm_error *err);
void      validation_free(validation *v);

#endif
