/**
 * Times of collectives on a machine or cluster: what is fitted, and what it predicts.
 *
 * Each algorithm of a kind (kind.h) that was measured has prices of its own, within a node and
 * between nodes (fabric.h). What was measured on one says nothing of the other: it is refused, with
 * what to do.
 */
#ifndef SYNC_COLLECTIVE_H
#define SYNC_COLLECTIVE_H

#include "sync/fabric.h"

#define ALGORITHM_NAME 32

/** What an algorithm is called in a model: letters, digits, _ and -, others as _; cut to fit. */
const char *algorithm_name(const char *text, char buffer[ALGORITHM_NAME]);

/** What connects nodes, as somebody says it, for machines on which nothing was measured between
 * nodes. */
typedef struct interconnect {
    double bytes_per_second; /**< of each node, one way; 0: nothing is said */
    double latency;          /**< s, of a message from node to node */
} interconnect;

/** Of the rate of a link that was told, what messages are taken to reach: headers, protocols and
 * steps that do not overlap take the rest. An assumption, as the link is. */
#define LINK_EFFICIENCY 0.8

/** A measured one. */
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

/** Of all algorithms that were measured, kind after kind. The first of a kind answers where none is
 * named: "default", where it was measured. */
typedef struct collective_model {
    algorithm_model *algorithm;
    size_t           n;
} collective_model;

/**
 * Fits all algorithms that have two rows or more on a fabric; fewer stay out. Non-negative least
 * squares of relative errors, Huber's weights beyond 30 % (1964) in four rounds.
 *
 * Formulas: start, steps, bytes (of two nodes apart) and the pipeline's term always, where the rows
 * are enough to tell them; bytes and chunks that go in every step where three numbers of nodes or
 * more were measured (of devices, within a node). Some algorithms are known by their names (kind.h):
 * what sends as little as a ring has no bytes in every step, what sends all in each step has these
 * alone where one number of nodes was measured. Then each but the smallest is left out in turn
 * (eight at most): a second plane, the cheaper of both (NCCL takes the minimum over algorithms and
 * protocols, tuning.cc), comes in if it makes the error on what was left out a tenth smaller at
 * least. Bytes between two nodes without rows take the price of those between more, and the other
 * way round.
 *
 * @return LM_E_NOMEM; LM_E_ARG for times or sizes that are not above 0. A model without algorithms
 *         is no error
 */
lm_status collective_fit(const collective_time *row, size_t n, collective_model **out,
                         lm_error *err);
/** The same for baselines alone: only collective_baseline() may be asked. */
lm_status collective_fit_baselines(const collective_time *row, size_t n, collective_model **out,
                                   lm_error *err);
void      collective_free(collective_model *m);
/** NULL when memory runs out. */
collective_model *collective_copy(const collective_model *m);
/** Takes all of `from` that is of other kinds over into *to, frees the rest of it. LM_E_NOMEM */
lm_status collective_join(collective_model **to, collective_model *from, lm_error *err);

/** NULL: it was not measured; the first of the kind if `name` is NULL. */
const algorithm_model *collective_algorithm(const collective_model *m, collective_kind kind,
                                            const char *name);

/** A regressor's part in an answer. */
typedef struct collective_share {
    const char *name, *unit;
    term_bound  bound;
    double      count, price, seconds;
    bool        assumed; /**< by a link that was told, not measured */
    bool        beyond;  /**< of a fabric that was measured elsewhere */
} collective_share;

#define COLLECTIVE_SHARES (2 * N_SYNC_COLUMNS + 2)
#define COLLECTIVE_NOTES  6

typedef struct collective_answer {
    double           seconds;
    collective_share share[COLLECTIVE_SHARES]; /**< add up to `seconds` */
    size_t           n;
    bool             assumed; /**< of a link that was told, not measured */
    struct {
        const char *what;
        double      factor;     /**< over the range's end; 0: what says it all */
    } beyond[COLLECTIVE_NOTES]; /**< what leaves the measured range */
    size_t n_beyond;
} collective_answer;

/** A size or number this far outside its range is not worth a mark. */
#define COLLECTIVE_TOLERANCE 1.05

/**
 * Predicts. A node of several devices between nodes that were measured with one each adds what it
 * takes within a node, one after the other. Without times between nodes, `link` (NULL: none) stands
 * in: S p (N - 1) / N / (LINK_EFFICIENCY rate) + p log2 N latency of a kind of p passes, and within nodes what was
 * measured there. One rank takes no time.
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
/** What it takes more where none of its bytes are in caches: fabric_cold_seconds(); NAN where it
 * refuses. */
double collective_cold_seconds(const collective_model *m, const char *algorithm,
                               const interconnect *link, const collective_call *a);
/** Does any fabric of its all-reduces have a border? */
bool collective_spills(const collective_model *m);

/** Seconds by a baseline's formula, of the fabric it is on; NAN: not measured. */
double collective_baseline(const collective_model *m, const char *algorithm, sync_baseline b,
                           const collective_call *a);

#endif
