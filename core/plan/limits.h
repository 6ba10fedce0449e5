/**
 * Limits of steps beside time: a device's memory, and batches above which training gains little.
 */
#ifndef PLAN_LIMITS_H
#define PLAN_LIMITS_H

#include "plan/room.h"
#include "predict/scaling.h"

/**
 * Largest batch of a step that is known to train ResNet-50 in as many epochs as smaller batches
 * (Goyal et al. 2017, "Accurate, large minibatch SGD"). For other networks the limit differs by
 * powers of ten (Shallue et al. 2019).
 */
#define LIMITS_USUAL_BATCH 8192

/** The caller fills in the first part; the functions fill in the rest. */
typedef struct limits {
    const predictor *who;
    const network   *net;
    const registry  *reg;
    const char      *device;  /**< name; NULL: that of the machine file */
    const char      *devices; /**< file of datasheets; NULL: the shipped ones */
    device_room      room;    /**< bytes 0: taken from the device's datasheet, if there is one */
    /** samples of a step above which larger steps gain little; 0: not given */
    int64_t           critical;
    const step_setup *setup; /**< policy, optimizer and program of the steps */

    bool    told;        /**< the user gave the memory: batches that do not fit are refused */
    int64_t batch[2][2]; /**< largest batch per device so far, as in batch_limits */
    int64_t global;      /**< largest batch of all devices so far */
    /** layouts so far: fewest ranks, which share least; most micro-batches */
    int64_t ranks, micro;
} limits;

/** Finds the device's memory. LM_E_IO and LM_E_SYNTAX for datasheets that cannot be read. */
lm_status limits_begin(limits *l, lm_error *err);
/** Adds a predicted step. */
void limits_meet(limits *l, const scale_point *p);

/**
 * Autocast type of the machine file's measurements: f32 under autocast to this 16-bit type, or 0.
 */
lm_dtype limits_mixed(const predictor *who);

/** Element types of the tensors that a step keeps in memory. */
typedef struct memory_types {
    lm_dtype dtype;
    lm_dtype mixed; /**< autocast to it; 0: none */
    lm_dtype sums;  /**< type in which gradients are summed; 0: `dtype` */
} memory_types;

/**
 * Types of a training step. Under a layout, weights of 16 bit have gradients summed in f32, as in
 * Megatron-LM. If a machine file of `amp=` rows lends its times to a network of tokens, or to one of
 * 16 bit, the step is not under autocast: its weights and activations have 16 bit.
 */
memory_types limits_types(const predictor *who, bool laid_out);
/** The same for a step; inference has no gradients and masters, and the types of its prices. */
memory_types limits_types_of(const predictor *who, const step_setup *s);

/** "f32 with autocast to f16"; "bf16, gradients and masters in f32"; returns `text`. */
#define MEMORY_TYPES_TEXT 64
const char *memory_types_print(const memory_types *t, char text[MEMORY_TYPES_TEXT]);

/**
 * Options with which memory binds a network of a program: types, input and mode of the predictor;
 * batch 0.
 */
bind_options limits_bind(const predictor *who, program_kind program);

/** Size of the texts of limits_check(). */
#define LIMITS_TEXT 400

/** Writes the warning about a step of `global` samples; "": none. `critical` 0: not given. */
void limits_batch_words(int64_t global, int64_t critical, char text[LIMITS_TEXT]);

/**
 * Judges all steps so far. Writes warnings about memory and about batches, "" if none.
 *
 * @return LM_E_NOTFOUND for a batch that does not fit the user's memory; LM_OK if the memory is a
 *         datasheet's; errors of memory_of_step()
 */
lm_status limits_check(const limits *l, char memory[LIMITS_TEXT], char batch[LIMITS_TEXT],
                       lm_error *err);

#endif
