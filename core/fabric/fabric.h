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
    double          bytes;   /**< S, as its kind counts them */
    int64_t         nodes;   /**< N, what a network connects */
    int64_t         devices; /**< g of each node; n = N g ranks */
    int64_t groups; /**< groups like this one on the same nodes, each of other devices, whose
                                messages travel at once; 0, 1: this one alone */
} collective_call;

/** Where messages travel. Each is fitted by itself. */
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
 * devices): N - 1 in a ring, log2 N in a tree. A library's own choice counts as a tree, since
 * libraries take trees as N grows. V = p (n - 1) / n S is what each rank of a ring sends in p
 * passes (kind.h; Patarasuk & Yuan 2009), and what a node sends, as rings cross its border once.
 * All-to-alls send g (N - 1) / N S of it, groups of one node as many times what one does. Sources: Hockney 1994 for a latency and a bandwidth; Thakur,
 * Rabenseifner & Gropp 2005 for recursive doubling, whose bytes go log2 n times; Sanders, Speck &
 * Traeff 2009 for pipelined trees: the best cut of a message into chunks leaves d a + S b + 2
 * sqrt(d a S b).
 */
typedef enum sync_column {
    SYNC_START,      /**< 1 */
    SYNC_STEPS,      /**< lam */
    SYNC_BYTES,      /**< V; between more than two nodes */
    SYNC_BYTES_TWO,  /**< V between two nodes, which need no tree and no ring */
    SYNC_PIPELINE,   /**< sqrt(S lam): chunks of a pipelined tree, between latency and bandwidth */
    SYNC_CHUNKS,     /**< sqrt(S) lam: the same where the number of chunks follows from the message
                        alone */
    SYNC_TREE_BYTES, /**< S lam: bytes of algorithms that send all of them in each step, and
                        contention that grows with the network */
    SYNC_DEVICES,    /**< g - 1: latency within nodes. In use where g varies between nodes, like: */
    SYNC_RAIL_BYTES, /**< p (N - 1) / N S / g: a device's part on its own link to the network
                        (hierarchical all-reduce, Cho et al. 2019, "BlueConnect") */
    SYNC_SPILLED_BYTES, /**< V of what a message has beyond fabric_model.cache bytes: within a node
                           whose ranks copy and add in memory, what their caches do not hold costs
                           several times as much. In use where it holds for sizes left out */
    N_SYNC_COLUMNS
} sync_column;

const char *sync_column_name(sync_column c);
/** The unit of a column: prices are seconds per unit. */
const char *sync_column_unit(sync_column c, collective_kind kind);
term_bound  sync_column_bound(sync_column c);

/** V, of all groups. */
double collective_sent(const collective_call *a);
/** Values of all columns. `ring`: lam is N - 1. `cache`: bytes; 0: nothing is spilled. */
void sync_columns(const collective_call *a, bool ring, double cache, double out[N_SYNC_COLUMNS]);

/** Published formulas for all-reduces, fitted to the same rows with relative weights, one fabric at
 * a time. n is the number of ranks. */
typedef enum sync_baseline {
    BASELINE_CONVMETER, /**< T_grad: 1 (the layers of no network), elements, n */
    BASELINE_HOCKNEY,   /**< ring: 2 (n - 1) messages, V bytes */
    BASELINE_LOG2,      /**< 1, log2 n, S log2 n: what Extra-P usually finds */
    BASELINE_PALEO,     /**< and as many as there are schemes: rounds of bytes, one bandwidth */
    N_SYNC_BASELINES = BASELINE_PALEO + 4
} sync_baseline;

#define BASELINE_COLUMNS 3

/** convmeter, hockney, log2, paleo_one_to_all ... */
const char *sync_baseline_name(sync_baseline b);
/** N_SYNC_BASELINES if there is none of that name. */
sync_baseline sync_baseline_parse(const char *name);
/** Name and unit of one of its regressors; NULL past the last. */
const char *sync_baseline_column(sync_baseline b, size_t k, const char **unit);
/** Values of its regressors; how many. */
size_t sync_baseline_columns(sync_baseline b, const collective_call *a,
                             double out[BASELINE_COLUMNS]);

/** Seconds per unit of each column; 0: not in use. */
typedef struct sync_plane {
    double price[N_SYNC_COLUMNS];
} sync_plane;

/** Where something was measured. */
typedef struct sync_range {
    double low, high;
} sync_range;

/** Measured / predicted on node counts or sizes left out: the central 90 %. */
typedef struct fabric_bounds {
    size_t groups; /**< behind them; 0: unknown */
    double low, high;
    double per_octave; /**< low is divided and high multiplied by it for each octave that a question
                          lies beyond what was measured */
} fabric_bounds;

/** The fitted prices of one algorithm on one fabric. */
typedef struct fabric_model {
    collective_kind kind;     /**< that was measured */
    size_t          rows;     /**< 0: nothing was measured */
    bool            ring;     /**< of lam */
    size_t          n_planes; /**< 1, or 2 of which the cheaper is taken: another protocol */
    sync_plane      plane[2];
    double          cache; /**< bytes of a message beyond which it spills; 0: no such border */
    double     log2_share; /**< of BASELINE_LOG2 in an answer, the planes having the rest: between
                                    nodes, unless node counts left out say that planes alone do better */
    sync_range bytes, nodes, devices;
    /** Only one node count (device count, within a node) was measured. How the latency grows with
     * it is assumed. */
    bool          one_count;
    fabric_bounds bounds;
    stats_errors  errors; /**< on the rows it was fitted to */
    double        baseline[N_SYNC_BASELINES][BASELINE_COLUMNS];
} fabric_model;

/**
 * Values of all columns of a call. Where its kind is another than the one that was measured, steps
 * and chunks count by its passes over those of that kind, bytes are its own, and a start is a start.
 * A hop takes one step. Pieces take N - 1: pairwise exchange, Thakur, Rabenseifner & Gropp 2005.
 */
void fabric_columns(const fabric_model *m, const collective_call *a, double out[N_SYNC_COLUMNS]);
/** The same of BASELINE_LOG2, whose bytes go by V of that kind. */
void fabric_log2_columns(const fabric_model *m, const collective_call *a,
                         double out[BASELINE_COLUMNS]);
/** Seconds of a collective on this fabric. */
double fabric_seconds(const fabric_model *m, const collective_call *a);
/** The plane that gives these seconds. */
const sync_plane *fabric_plane(const fabric_model *m, const collective_call *a);
/** The extra time if none of the message is in caches: its bytes within the border count as spilled.
 * 0: there is no border. */
double fabric_cold_seconds(const fabric_model *m, const collective_call *a);
double fabric_baseline(const fabric_model *m, sync_baseline b, const collective_call *a);

#endif
