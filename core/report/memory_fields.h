/** Fields of the memory of a step, for `layermeter memory`. */
#ifndef REPORT_MEMORY_FIELDS_H
#define REPORT_MEMORY_FIELDS_H

#include "network/memory.h"
#include "report/fields.h"

/** A step at a batch. */
typedef struct memory_row {
    int64_t     batch;
    memory_use  use;
    double      reserved[2]; /**< bytes, low and high; NAN: all is counted */
    const char *fits;        /**< room_verdict_name() */
    int64_t     stage;       /**< of a pipeline, whose memory it is, from 1 */
    const char *set;         /**< arguments that were set; NULL: none */
} memory_row;

/** Facts that decide on columns. The lower bits say for each memory_part whether it is above 0. */
enum memory_facts {
    MEMORY_RECOMPUTED = 1 << (MEMORY_N_PARTS + 0), /**< segments are recomputed */
    MEMORY_LIMITED    = 1 << (MEMORY_N_PARTS + 1), /**< the device's memory is known */
    MEMORY_SET        = 1 << (MEMORY_N_PARTS + 2), /**< arguments of the network were set */
    MEMORY_STAGED     = 1 << (MEMORY_N_PARTS + 3)  /**< it is of a stage of a pipeline */
};

extern const field memory_fields[];

/** Memory of one layer. */
typedef struct memory_layer_row {
    const char     *name, *type;
    memory_of_layer of;
} memory_layer_row;

extern const field memory_layer_fields[];

#endif
