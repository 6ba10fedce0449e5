/** The plan of a run: an answer of 'layermeter plan --format json'. */
#ifndef WATCH_PLAN_H
#define WATCH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>

/** Seconds and their expected interval; NAN: unknown. */
typedef struct planned_time {
    double expected, low, high;
} planned_time;

typedef struct watch_plan {
    char question[32]; /**< "cheapest": the answer taken */
    char network[256], input[64], dtype[8], mixed[8], optimizer[16], machine[256];
    bool plain; /**< the network is unchanged and gradients have its type, so a row of observations
                 * can describe it */
    char sync[64];                   /**< "once", "ddp:25MiB" */
    int64_t      nodes, devices;     /**< devices: on each node */
    int64_t      batch, micro_steps; /**< on each device */
    int64_t      bucket_bytes;       /**< 0: none */
    int64_t      steps, evaluations; /**< of an epoch */
    planned_time step, epoch;        /**< epoch: with its evaluation */
    double       exposed; /**< s of a step: all-reduces that are not hidden; NAN: unknown */
} watch_plan;

/**
 * Reads the first answer of a plan, or that to `question` ("cheapest", "fastest", "fewest nodes").
 *
 * @return LM_E_IO, LM_E_SYNTAX (no plan, or no seconds of a step, as older programs wrote it),
 * LM_E_NOTFOUND (no such answer, or none within its limits), LM_E_UNSUPPORTED in a build without
 * jansson; texts begin with the path
 */
lm_status watch_plan_load(const char *path, const char *question, watch_plan *out, lm_error *err);

#endif
