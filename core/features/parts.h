/** Parts of a step, and the times that observations hold of them. */
#ifndef FEATURES_PARTS_H
#define FEATURES_PARTS_H

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
    PART_GRAD_INPUT,
    PART_GRAD_WEIGHT, /**< of single layers */
    N_PARTS
} part;

const char *part_name(part p);

#endif
