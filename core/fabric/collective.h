/**
 * Times of collectives on a machine or cluster: the fitted model and its predictions.
 *
 * Each measured algorithm of a kind (kind.h) has its own prices, within a node and between nodes
 * (fabric.h). Prices within a node say nothing about links between nodes, and vice versa. A
 * prediction on an unmeasured fabric is refused; the message says what to measure.
 */
#ifndef FABRIC_COLLECTIVE_H
#define FABRIC_COLLECTIVE_H

#include "fabric/fabric.h"

#define ALGORITHM_NAME 32

/** An algorithm's name in a model: letters, digits, _ and -; other characters become _. */
const char *algorithm_name(const char *text, char buffer[ALGORITHM_NAME]);

/**
 * The user's description of the network between nodes, for machines without measurements between
 * nodes.
 */
typedef struct interconnect {
    double bytes_per_second; /**< per node and direction; 0: not given */
    /** share of it that one device of a node reaches: its own adapters; 0: all of it */
    double      per_device;
    double      latency; /**< s, of a message between nodes */
    const char *name;    /**< named interconnect instead of a rate, "nvlink4+ib400"; NULL: none */
    bool        assumed; /**< not stated by the user: it is that of a usual node of the device */
} interconnect;

/**
 * All-reduces over a stated link: the share of its rate that messages reach, and the latency of a
 * message, s. Both are fitted together to 212 published times of 1 MiB to 1 GiB, on LINK_CLUSTERS
 * clusters with equal weights (InfiniBand FDR to EFA at 3.2 Tbit/s): least absolute log errors.
 * The bounds are the central 90 % of measured / predicted, each cluster by a fit to the others
 * (configs/machines/build/links.py).
 */
#define LINK_EFFICIENCY 0.69
#define LINK_MESSAGE    69e-6
#define LINK_LEAST      0.59
#define LINK_MOST       1.8
#define LINK_CLUSTERS   11
#define LINK_NODES      1024 /**< largest number of nodes for a stated link without a note */

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

/**
 * All measured algorithms, sorted by kind. The first one of a kind answers questions without an
 * algorithm; it is "default" if that was measured.
 */
typedef struct collective_model {
    algorithm_model *algorithm;
    size_t           n;
} collective_model;

/**
 * Fits each algorithm that has two or more rows on a fabric. The solver is non-negative least
 * squares of relative errors, with Huber's weights above 30 % (1964) in four rounds.
 *
 * The formula has start, steps, bytes (separately for two nodes) and the pipeline's term, as far as
 * the rows determine them. With three or more numbers of nodes (within a node: of devices), bytes
 * and chunks of each step are added. Some algorithms are known by name (kind.h). An algorithm that
 * sends as little as a ring has no bytes of each step. An algorithm that sends all bytes in each
 * step has only these, if one number of nodes was measured.
 *
 * Then each number of nodes but the smallest is left out in turn (at most eight). A second plane is
 * added if it lowers the held-out error by a tenth or more; the cheaper plane answers (NCCL takes
 * the minimum over algorithms and protocols, tuning.cc). Without rows of two nodes, their bytes get
 * the price for more nodes, and vice versa. The choice that NCCL tells of a row (`chosen=`) is not used:
 * it is unknown for the sizes and nodes of a question, so the cheaper plane must answer there, and rows
 * join planes by the same rule.
 *
 * Between nodes, with at least two numbers of nodes and four sizes, an answer is the mean of the
 * planes and BASELINE_LOG2. It is the planes alone if these have a lower error on numbers of nodes
 * left out (with three numbers: by a fifth). Two formulas with independent errors have a smaller
 * error together (Bates & Granger 1969, "The combination of forecasts").
 *
 * @return LM_E_NOMEM; LM_E_ARG for times or sizes of 0 or less. A model without algorithms is no
 *         error
 */
lm_status collective_fit(const collective_time *row, size_t n, collective_model **out,
                         lm_error *err);
/** collective_fit() with planes only, for times that were not measured separately. */
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

/**
 * Gives all-reduces without prices between nodes those of a stated link. These prices stay assumed
 * until `rows` rows correct them. They are for one device per node; the time within nodes is added.
 */
void collective_take_link(collective_model *m, const interconnect *link, size_t rows);

/** The algorithm of that name; `name` NULL: the first of the kind. NULL: not measured. */
const algorithm_model *collective_algorithm(const collective_model *m, collective_kind kind,
                                            const char *name);

/** The part of one regressor in an answer. */
typedef struct collective_share {
    const char *name, *unit;
    term_bound  bound;
    double      count, price, seconds;
    bool        assumed; /**< from a stated link, not from a measurement */
    bool        beyond;  /**< the fabric was measured at other sizes or counts only */
} collective_share;

#define COLLECTIVE_SHARES (2 * (N_SYNC_COLUMNS + BASELINE_COLUMNS) + 2)
#define COLLECTIVE_NOTES  6

typedef struct collective_answer {
    double                        seconds;
    double                        low, high; /**< bounds from the fits; NAN: unknown */
    collective_share              share[COLLECTIVE_SHARES]; /**< they add up to `seconds` */
    size_t                        n;
    bool                          assumed; /**< from a stated link, or from another measured kind */
    const struct collective_type *stand_in; /**< that kind; NULL: none */
    struct {
        const char *what;
        /** value divided by the end of its range; 0: `what` is complete by itself */
        double factor;
    } beyond[COLLECTIVE_NOTES]; /**< values outside the measured range */
    size_t n_beyond;
} collective_answer;

/** A value outside its range by less than this factor is not marked. */
#define COLLECTIVE_TOLERANCE 1.05

/**
 * Predicts one collective of any kind for a group of ranks, from its own fit if it was measured. If
 * not, a similar kind replaces it, else all-reduces, converted by volume and steps
 * (fabric_columns()), separately on each fabric. Several groups share the link between nodes, but
 * not the links between devices within a node.
 *
 * If nodes were measured with one device each, and the question has several devices, the time
 * within a node is added. If nothing was measured between nodes, `link` (NULL: none) replaces it: V
 * / (LINK_EFFICIENCY rate) + p log2 N latency, with V of N ranks for a kind of p passes (pieces: N
 * - 1 latencies; a hop: one). One rank takes no time.
 *
 * @param m         NULL: nothing was fitted
 * @param algorithm NULL: the first
 * @return LM_E_NOTFOUND if it was not measured; the text says what to measure or to state. LM_E_ARG
 *         for negative bytes (0 is allowed: the remaining time), no nodes or no devices
 */
lm_status collective_ask(const collective_model *m, const char *algorithm, const interconnect *link,
                         const collective_call *a, collective_answer *out, lm_error *err);

/** Only the seconds, fast; NAN for refused questions. */
double collective_seconds(const collective_model *m, const char *algorithm,
                          const interconnect *link, const collective_call *a);
/**
 * Extra time if no byte of the message is in caches (fabric_cold_seconds()); NAN for refused
 * questions.
 */
double collective_cold_seconds(const collective_model *m, const char *algorithm,
                               const interconnect *link, const collective_call *a);
/** Does a fabric of the all-reduces have a cache limit? */
bool collective_spills(const collective_model *m);

/** Seconds by a published formula on the call's fabric; NAN: not measured. */
double collective_baseline(const collective_model *m, const char *algorithm, sync_baseline b,
                           const collective_call *a);

#endif
