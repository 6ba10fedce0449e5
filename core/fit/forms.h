/** Which regressors each model takes for each part of a step, and how it is fitted. */
#ifndef FIT_FORMS_H
#define FIT_FORMS_H

#include <stdbool.h>

#include "fit/features.h"

/** Parts of a step that a model states a formula for. */
typedef enum part {
    PART_FORWARD,
    PART_BACKWARD,
    PART_GRAD_ONE,  /**< gradient update on one node */
    PART_GRAD_MANY, /**< synchronisation and update on several nodes */
    PART_JOINT,     /**< backward and PART_GRAD_MANY together, where they cannot be told apart */
    PART_UPDATE,    /**< optimizer */
    PART_SYNC,      /**< all-reduce of the gradients */
    PART_INFERENCE, /**< forward pass when nothing is trained */
    PART_STEP,      /**< a step on one node of which no phases are known */
    N_PARTS
} part;

#define FORM_MAX_FEATURES 8

typedef struct form {
    const char *model;
    part        part;
    feature     feature[FORM_MAX_FEATURES];
    size_t      n_features;
    bool        relative;     /**< weights 1 / measured: small times count as much as large ones */
    bool        non_negative; /**< coefficients >= 0 */
    const char *source;       /**< paper and equation */
} form;

/** All forms, models one after the other; the first named is the default of every command. */
extern const form   forms[];
extern const size_t n_forms;

const char *part_name(part p);

/** Models in the order of `forms`; NULL past the last. */
const char *model_at(size_t i);
bool        model_known(const char *name);
/** n_forms if the model states no formula for the part. */
size_t form_find(const char *model, part p);
/** The same with the part by name. */
size_t form_find_named(const char *model, const char *part_text);

#endif
