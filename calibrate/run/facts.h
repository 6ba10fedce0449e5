/** Hardware and software of a rank: for the comparison of ranks, and for the record. */
#ifndef CALIBRATE_FACTS_H
#define CALIBRATE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/harness.h"

enum { FACTS_CORES = 1024, FACTS_DEVICES = 40 };

/** Plain data: travels over MPI. Unknown text is empty, an unknown number 0. */
typedef struct rank_facts {
    char     host[WORLD_HOST];
    char     cpu[96];
    int64_t  cores;                     /**< of the machine */
    int64_t  memory_kib;                /**< of the machine */
    uint64_t allowed[FACTS_CORES / 64]; /**< bit c: may run on core c; none: unknown */
    uint64_t near[FACTS_CORES / 64];    /**< cores near its GPU; none: unknown, or no GPU */
    char     numa[32];                  /**< nodes of its cores: "0-1" */
    int64_t  threads;
    /** Facts from the backends: devices, drivers, versions of libraries. A long value ends in a
     * hash of the whole. */
    struct {
        char key[32], value[96];
    } device[FACTS_DEVICES];
    int32_t  n_devices;
    uint32_t gpu_collective; /**< 1: collectives between GPUs, which have their own threads */
    char     build[96];
    uint64_t program, plugins, sweep; /**< hashes of the contents */
} rank_facts;

/** Collects the facts of this rank. $LAYERMETER_PROC and $LAYERMETER_SYS replace /proc and /sys. */
void facts_find(const bench *b, rank_facts *out);

/**
 * LM_E_ARG if the sweep's `clock` exceeds the highest clock of the computing device, if that is
 * known; a simulated device has no limit.
 */
lm_status facts_check_clock(const bench *b, lm_error *err);

/** Prints cores in the system's form, "0-3,8"; "" for none. */
void facts_print_cores(const uint64_t *allowed, char *buffer, size_t size);
/** Do the two sets share a core? */
bool facts_cores_meet(const uint64_t *a, const uint64_t *b);
/** Number of cores. */
int facts_count_cores(const uint64_t *allowed);

#endif
