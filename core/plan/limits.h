/** What steps meet beside time: a device's memory, and batches beyond which training gains little. */
#ifndef PLAN_LIMITS_H
#define PLAN_LIMITS_H

#include "plan/room.h"
#include "predict/scaling.h"

/** Largest batch of a step that is known to train ResNet-50 in as many epochs as smaller ones (Goyal
 * et al. 2017, "Accurate, large minibatch SGD"); others differ by powers of ten (Shallue et al. 2019). */
#define LIMITS_USUAL_BATCH 8192

/** Fill the first part; the rest is found. */
typedef struct limits {
    const predictor  *who;
    const network    *net;
    const registry   *reg;
    const char       *device;   /**< by name; NULL: the machine file's */
    const char       *devices;  /**< file of datasheets; NULL: the shipped ones */
    device_room       room;     /**< bytes 0: the device's datasheet tells, if there is one */
    int64_t           critical; /**< samples of a step beyond which more gain little; 0: not told */
    const step_setup *setup;    /**< policy, optimizer and program of the steps */

    bool    told;         /**< the memory was told: what does not fit is refused */
    int64_t batch[2][2];  /**< largest of a device so far, as batch_limits has them */
    int64_t global;       /**< largest of all devices */
    int64_t ranks, micro; /**< of layouts: fewest ranks, which share least; most micro-batches */
} limits;

/** Finds the device's memory. LM_E_IO and LM_E_SYNTAX for datasheets that cannot be read. */
lm_status limits_begin(limits *l, lm_error *err);
/** Takes a predicted step. */
void limits_meet(limits *l, const scale_point *p);

/** What the machine file was measured with: f32 under autocast to 16 bit, or 0. */
lm_dtype limits_mixed(const predictor *who);

/** How memory binds a network of a program: types, input and mode as the predictor has them; batch 0. */
bind_options limits_bind(const predictor *who, program_kind program);

/** Room for the words of limits_check(). */
#define LIMITS_TEXT 400

/** What is to be said of steps of so many samples; "": nothing. `critical` 0: not told. */
void limits_batch_words(int64_t global, int64_t critical, char text[LIMITS_TEXT]);

/**
 * Judges all steps so far: what is to be said of memory and of batches, each "" where there is nothing.
 *
 * @return LM_E_NOTFOUND for a batch that does not fit the memory that was told, LM_OK where a datasheet
 *         tells it; what memory_of_step() returns
 */
lm_status limits_check(const limits *l, char memory[LIMITS_TEXT], char batch[LIMITS_TEXT],
                       lm_error *err);

#endif
