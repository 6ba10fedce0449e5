/**
 * Times of collectives on a machine or cluster: the fitted model and its predictions.
 *
 * Each measured algorithm of a kind (kind.h) has prices of its own, within a node and between nodes
 * (fabric.h). Prices within a node say nothing about links between nodes, nor the other way round:
 * such a question is refused, and the message says what to measure.
 */
#ifndef FABRIC_COLLECTIVE_H
#define FABRIC_COLLECTIVE_H

#include "fabric/fabric.h"

#define ALGORITHM_NAME 32

/** An algorithm's name in a model: letters, digits, _ and -; other characters become _. */
const char *algorithm_name(const char *text, char buffer[ALGORITHM_NAME]);

/** The network between nodes as the user describes it, for machines that were not measured between
 * nodes. */
typedef struct interconnect {
    double      bytes_per_second; /**< of each node, one way; 0: not given */
    double      latency;          /**< s, of a message from node to node */
    double      low, high;        /**< of true / told times; 0: LINK_LEAST and LINK_MOST */
    const char *name;             /**< asked for in place of a rate, "nvlink4+ib400"; NULL: none */
    bool        assumed;          /**< nobody said it: it is that of a usual node of the device */
} interconnect;

/** The share of a given link rate that messages are assumed to reach. Headers, protocols and steps
 * that do not overlap take the rest. */
#define LINK_EFFICIENCY 0.8

/**
 * By what factor all-reduces took longer than a link's nominal rate says, at LINK_EFFICIENCY and
 * LINK_MESSAGE: the median and the central 90 % of 329 published times of 1 MiB to 1 GiB, on
 * LINK_CLUSTERS clusters of which each weighs the same (InfiniBand FDR to EFA at 3.2 Tbit/s; the
 * sources: configs/interconnects).
 */
#define LINK_LEAST    1.0
#define LINK_SLOWER   1.82
#define LINK_MOST     4.46
#define LINK_CLUSTERS 11
#define LINK_MESSAGE  20e-6 /**< s, of a message from node to node */
#define LINK_NODES    1024  /**< that a told link is asked about without a note */

/** An end of the bounds of a told link's times, over what is told. */
static inline double link_end(const interconnect *l, bool high)
{
    const double told = high ? l->high : l->low;

    return told > 0 ? told : high ? LINK_MOST : LINK_LEAST;
}

/** A measured collective. */
typedef struct collective_time {
    collective_call of;
    const char     *algorithm; /**< "default": the library's choice; "ring", ...: forced */
    double          seconds;
} collective_time;

typedef struct algorithm_model {
    collective_kind kind;
    char            name[ALGORITHM_NAME];
    fabric_model    of[N_FABRICS];
} algorithm_model;

/** All measured algorithms, kind after kind. The first one of a kind answers questions that name no
 * algorithm; it is "default" if that was measured. */
typedef struct collective_model {
    algorithm_model *algorithm;
    size_t           n;
} collective_model;

/**
 * Fits each algorithm that has two rows or more on a fabric. The solver is non-negative least squares
 * of relative errors, with Huber's weights beyond 30 % (1964) in four rounds.
 *
 * The formula has start, steps, bytes (two nodes apart) and the pipeline's term, as far as the rows
 * can tell them. With three node counts or more (device counts, within a node), bytes and chunks of
 * every step join. Some algorithms are known by name (kind.h). An algorithm that sends as little as a
 * ring has no bytes of every step. An algorithm that sends all bytes in every step has only these if
 * one node count was measured.
 *
 * Then each node count but the smallest is left out in turn (eight at most). A second plane joins if
 * it lowers the held-out error by a tenth or more; the cheaper plane answers (NCCL takes the minimum
 * over algorithms and protocols, tuning.cc). If there are no rows of two nodes, their bytes take the
 * price of more nodes, and the other way round.
 *
 * Between nodes half of an answer is BASELINE_LOG2's, from two node counts and four sizes on. It is
 * not if planes alone do better on node counts left out, of three node counts by a fifth. Two
 * formulas that err independently err less together (Bates & Granger 1969, "The combination of
 * forecasts").
 *
 * @return LM_E_NOMEM; LM_E_ARG for times or sizes that are not above 0. A model without algorithms
 *         is no error
 */
lm_status collective_fit(const collective_time *row, size_t n, collective_model **out,
                         lm_error *err);
/** The same by planes alone: of times that were not measured by themselves. */
lm_status collective_fit_planes(const collective_time *row, size_t n, collective_model **out,
                                lm_error *err);
/** Fits only the baselines' formulas: only collective_baseline() may be asked. */
lm_status collective_fit_baselines(const collective_time *row, size_t n, collective_model **out,
                                   lm_error *err);
void      collective_free(collective_model *m);
/** NULL when memory runs out. */
collective_model *collective_copy(const collective_model *m);
/** Moves the kinds that *to lacks from `from` to *to, and frees `from`. LM_E_NOMEM */
lm_status collective_join(collective_model **to, collective_model *from, lm_error *err);

/** Gives all-reduces that lack them the prices of a told link between nodes, which stay assumed until
 * so many rows correct them: of one device a node, what goes on within nodes being added. */
void collective_take_link(collective_model *m, const interconnect *link, size_t rows);

/** The algorithm of that name; the first of the kind if `name` is NULL. NULL: not measured. */
const algorithm_model *collective_algorithm(const collective_model *m, collective_kind kind,
                                            const char *name);

/** A regressor's part in an answer. */
typedef struct collective_share {
    const char *name, *unit;
    term_bound  bound;
    double      count, price, seconds;
    bool        assumed; /**< by a given link, not by a measurement */
    bool        beyond;  /**< the fabric was measured at other sizes or counts */
} collective_share;

#define COLLECTIVE_SHARES (2 * (N_SYNC_COLUMNS + BASELINE_COLUMNS) + 2)
#define COLLECTIVE_NOTES  6

typedef struct collective_answer {
    double           seconds;
    double           low, high;                /**< by the fits' bounds; NAN: unknown */
    collective_share share[COLLECTIVE_SHARES]; /**< add up to `seconds` */
    size_t           n;
    bool             assumed; /**< by a given link, or by another kind that was measured */
    const struct collective_type *stand_in; /**< that kind; NULL: none */
    struct {
        const char *what;
        double      factor;     /**< over the end of the range; 0: `what` says it all */
    } beyond[COLLECTIVE_NOTES]; /**< what leaves the measured range */
    size_t n_beyond;
} collective_answer;

/** A size or count within this factor of its range is not marked. */
#define COLLECTIVE_TOLERANCE 1.05

/**
 * Predicts one collective of any kind for a group of ranks, by its own fit where it was measured.
 * Else the kind that it is like stands in, or all-reduces, through volume and steps
 * (fabric_columns()), for each fabric by itself. Several groups share what connects nodes, not what
 * connects devices within a node. If nodes were measured with one device each and are asked for with several,
 * the time within a node is added. If nothing was measured between nodes, `link` (NULL: none) stands
 * in: V / (LINK_EFFICIENCY rate) + p log2 N latency, with V of N ranks for a kind of p passes
 * (pieces: N - 1 latencies; a hop: one). One rank takes no time.
 *
 * @param m         NULL: nothing was fitted
 * @param algorithm NULL: the first
 * @return LM_E_NOTFOUND, with what to measure or to tell, for what was not measured; LM_E_ARG for
 *         bytes below 0 (0: what is left of the time), no nodes or devices
 */
lm_status collective_ask(const collective_model *m, const char *algorithm, const interconnect *link,
                         const collective_call *a, collective_answer *out, lm_error *err);

/** Its seconds alone, fast; NAN where it refuses. */
double collective_seconds(const collective_model *m, const char *algorithm,
                          const interconnect *link, const collective_call *a);
/** The extra time if none of the message's bytes are in caches (fabric_cold_seconds()); NAN where it
 * refuses. */
double collective_cold_seconds(const collective_model *m, const char *algorithm,
                               const interconnect *link, const collective_call *a);
/** Does any fabric of the all-reduces have a cache border? */
bool collective_spills(const collective_model *m);

/** Seconds by a baseline's formula on the call's fabric; NAN: not measured. */
double collective_baseline(const collective_model *m, const char *algorithm, sync_baseline b,
                           const collective_call *a);

#endif
