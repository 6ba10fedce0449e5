/** Times of all-reduces on a machine or cluster: what is fitted, and what it predicts. */
#ifndef SYNC_COLLECTIVE_H
#define SYNC_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** One all-reduce. */
typedef struct allreduce {
    double  bytes;   /**< S, of the vector that each rank has */
    int64_t nodes;   /**< N, what a network connects */
    int64_t devices; /**< g of each node; N g ranks */
} allreduce;

/** What connects nodes, as somebody says it, for machines on which nothing was measured between
 * nodes. */
typedef struct interconnect {
    double bytes_per_second; /**< of each node, one way; 0: nothing is said */
    double latency;          /**< s, of a message from node to node */
} interconnect;

/** A measured one. */
typedef struct allreduce_time {
    allreduce   of;
    const char *algorithm; /**< "default": the library's choice; "ring", ...: forced */
    double      seconds;
} allreduce_time;

/** Of all algorithms that were measured, within a node and between nodes, and of the named
 * baselines. */
typedef struct collective_model collective_model;

#endif
