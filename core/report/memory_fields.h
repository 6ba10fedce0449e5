/** Fields of what a step needs in memory: what `layermeter memory` shows of it. */
#ifndef REPORT_MEMORY_FIELDS_H
#define REPORT_MEMORY_FIELDS_H

#include "network/memory.h"
#include "report/fields.h"

/** A step at a batch. */
typedef struct memory_row {
    int64_t     batch;
    memory_use  use;
    bool        fits; /**< the device's memory */
    const char *set;  /**< of the network; NULL: nothing */
} memory_row;

/** Facts that decide on columns; below them stands for each memory_part whether there is any. */
enum memory_facts {
    MEMORY_RECOMPUTED = 1 << (MEMORY_N_PARTS + 0), /**< segments are computed again */
    MEMORY_LIMITED    = 1 << (MEMORY_N_PARTS + 1), /**< the device's memory is known */
    MEMORY_SET        = 1 << (MEMORY_N_PARTS + 2)  /**< arguments of the network are set */
};

extern const field memory_fields[];

/** A layer of it. */
typedef struct memory_layer_row {
    const char     *name, *type;
    memory_of_layer of;
} memory_layer_row;

extern const field memory_layer_fields[];

#endif
