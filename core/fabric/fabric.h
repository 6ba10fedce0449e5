/** Regressors of collectives, within a node and between nodes. */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "counts/terms.h"
#include "fabric/kind.h"

/** One collective. */
typedef struct collective_call {
    collective_kind kind;
    double          bytes;   /**< S, as its kind defines it */
    int64_t         nodes;   /**< N, nodes that a network connects */
    int64_t         devices; /**< g, devices per node; n = N g ranks */
    /**
     * equal groups on the same nodes, of other devices, whose messages are sent at the same time;
     * 0, 1: only this one
     */
    int64_t groups;
} collective_call;

/** The links that messages use. Each is fitted separately. */
typedef enum fabric {
    FABRIC_ONE,   /**< one node of several devices */
    FABRIC_MULTI, /**< several nodes */
    N_FABRICS
} fabric;

fabric fabric_of(const collective_call *a);
/** "one", "multi". */
const char *fabric_name(fabric f);

/*
 * Regressors. lam is the number of successive steps between nodes (within one node: between its
 * devices): N - 1 in a ring, log2 N in a tree. A library's default counts as a tree, because
 * libraries choose trees for large N.
 *
 * V = p (n - 1) / n S is what each rank of a ring sends in p passes (kind.h; Patarasuk & Yuan
 * 2009). It is also what a node sends, because a ring crosses its border once. All-to-alls send g
 * (N - 1) / N S from a node. Several groups on a node send the sum.
 *
 * Sources: Hockney 1994 for latency and bandwidth. Thakur, Rabenseifner & Gropp 2005 for recursive
 * doubling, whose bytes are sent log2 n times. Sanders, Speck & Traeff 2009 for pipelined trees:
 * the best division of a message into chunks gives d a + S b + 2 sqrt(d a S b).
 */
typedef enum sync_column {
    SYNC_START,     /**< 1 */
    SYNC_STEPS,     /**< lam */
    SYNC_BYTES,     /**< V, with more than two nodes */
    SYNC_BYTES_TWO, /**< V with two nodes, which need no tree and no ring */
    SYNC_PIPELINE,  /**< sqrt(S lam): chunks of a pipelined tree, between latency and bandwidth */
    SYNC_CHUNKS, /**< sqrt(S) lam: the same if the number of chunks depends on the message only */
    /**
     * S lam: bytes of algorithms that send all of them in each step, and contention that grows with
     * the network
     */
    SYNC_TREE_BYTES,
    /** g - 1: latency within nodes. Used, like the next, only if g varies between nodes */
    SYNC_DEVICES,
    /**
     * p (N - 1) / N S / g: a device's part on its own link to the network (hierarchical all-reduce,
     * Cho et al. 2019, "BlueConnect")
     */
    SYNC_RAIL_BYTES,
    /**
     * V of the bytes above fabric_model.cache. Within a node whose ranks copy and add in memory,
     * bytes outside the caches cost several times as much. Used if it improves sizes left out
     */
    SYNC_SPILLED_BYTES,
    N_SYNC_COLUMNS
} sync_column;

const char *sync_column_name(sync_column c);
/** Unit of a column; prices are seconds per unit. */
const char *sync_column_unit(sync_column c, collective_kind kind);
term_bound  sync_column_bound(sync_column c);

/** V of all groups. */
double collective_sent(const collective_call *a);
/** Values of all columns. `ring`: lam is N - 1. `cache`: limit in bytes; 0: none. */
void sync_columns(const collective_call *a, bool ring, double cache, double out[N_SYNC_COLUMNS]);

/**
 * Published formulas for all-reduces, fitted to the same rows with relative weights, separately for
 * each fabric. n is the number of ranks.
 */
typedef enum sync_baseline {
    BASELINE_CONVMETER, /**< T_grad: 1 (the layers of no network), elements, n */
    BASELINE_HOCKNEY,   /**< ring: 2 (n - 1) messages, V bytes */
    BASELINE_LOG2,      /**< 1, log2 n, S log2 n: the usual result of Extra-P */
    /** first of the PALEO schemes (scheme.h): rounds of bytes over one bandwidth */
    BASELINE_PALEO,
    N_SYNC_BASELINES = BASELINE_PALEO + 4
} sync_baseline;

#define BASELINE_COLUMNS 3

/** convmeter, hockney, log2, paleo_one_to_all ... */
const char *sync_baseline_name(sync_baseline b);
/** N_SYNC_BASELINES: unknown name. */
sync_baseline sync_baseline_parse(const char *name);
/** Name and unit of one of its regressors; NULL past the last. */
const char *sync_baseline_column(sync_baseline b, size_t k, const char **unit);
/** Writes the values of its regressors; returns their number. */
size_t sync_baseline_columns(sync_baseline b, const collective_call *a,
                             double out[BASELINE_COLUMNS]);

/** Seconds per unit of each column; 0: unused. */
typedef struct sync_plane {
    double price[N_SYNC_COLUMNS];
} sync_plane;

/** Measured range. */
typedef struct sync_range {
    double low, high;
} sync_range;

/** Central 90 % of measured / predicted, on numbers of nodes or sizes left out. */
typedef struct fabric_bounds {
    size_t groups; /**< number of groups; 0: unknown */
    double low, high;
    /** divides low and multiplies high for each octave outside the measured range */
    double per_octave;
} fabric_bounds;

/** The fitted prices of one algorithm on one fabric. */
typedef struct fabric_model {
    collective_kind kind; /**< the measured kind */
    size_t          rows; /**< 0: nothing was measured */
    bool            ring; /**< lam is N - 1 */
    /** 1, or 2: then the cheaper plane answers, as for another protocol */
    size_t     n_planes;
    sync_plane plane[2];
    /** message size in bytes above which caches are too small; 0: no limit */
    double cache;
    /**
     * weight of BASELINE_LOG2 in an answer; the planes have the rest. Above 0 only between nodes,
     * if cross-validation over nodes does not prefer the planes
     */
    double     log2_share;
    sync_range bytes, nodes, devices;
    /**
     * Only one number of nodes (within a node: of devices) was measured. The growth of the latency
     * with it is assumed.
     */
    bool          one_count;
    fabric_bounds bounds;
    stats_errors  errors; /**< errors on the rows of the fit */
    double        baseline[N_SYNC_BASELINES][BASELINE_COLUMNS];
} fabric_model;

/**
 * Values of all columns of a call. If the call's kind differs from the measured kind, steps and
 * chunks are scaled by the ratio of their passes, bytes are those of the call, and a start is a
 * start. A hop takes one step. Pieces take N - 1 steps: pairwise exchange, Thakur, Rabenseifner &
 * Gropp 2005.
 */
void fabric_columns(const fabric_model *m, const collective_call *a, double out[N_SYNC_COLUMNS]);
/** Columns of BASELINE_LOG2; its bytes are V of the call's kind. */
void fabric_log2_columns(const fabric_model *m, const collective_call *a,
                         double out[BASELINE_COLUMNS]);
/** Seconds of a collective on this fabric. */
double fabric_seconds(const fabric_model *m, const collective_call *a);
/** The plane that determines these seconds. */
const sync_plane *fabric_plane(const fabric_model *m, const collective_call *a);
/**
 * Extra time if no byte of the message is in caches: the bytes below the limit count as spilled,
 * too. 0: there is no limit.
 */
double fabric_cold_seconds(const fabric_model *m, const collective_call *a);
double fabric_baseline(const fabric_model *m, sync_baseline b, const collective_call *a);

#endif
