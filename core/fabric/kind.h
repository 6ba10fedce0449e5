/**
 * Kinds of collectives, one row each, as nccl-tests' struct testColl. Measuring, importing,
 * fitting, storing and pricing all use that row. A new kind needs a row here and a function in each
 * backend (calibrate/backends).
 *
 * S is the size of a message in nccl-tests: the larger of a rank's input and output. Volumes follow
 * its page on bus bandwidth (nccl-tests, doc/PERFORMANCE.md).
 */
#ifndef FABRIC_KIND_H
#define FABRIC_KIND_H

#include <stdbool.h>

#include <layermeter/error.h>

typedef enum collective_kind {
    COLLECTIVE_ALLREDUCE, /**< each rank has a vector of S bytes; all get the sum */
    COLLECTIVE_ALLGATHER, /**< each rank has S / n bytes; all get all S bytes */
    /** each rank has a vector of S bytes, and gets S / n bytes of the sum */
    COLLECTIVE_REDUCESCATTER,
    COLLECTIVE_ALLTOALL, /**< each rank has S bytes, S / n of them for each rank */
    /** each rank sends S bytes to the next rank, and receives S from the previous one */
    COLLECTIVE_SENDRECV,
    COLLECTIVE_BROADCAST, /**< one rank has S bytes; all get them */
    N_COLLECTIVE_KINDS
} collective_kind;

#define ALGORITHM_DEFAULT "default" /**< the library's choice */
#define ALGORITHM_RING    "ring"    /**< a ring of sends and receives */
#define ALGORITHM_NONBLOCKING \
    "nonblocking" /**< the library's nonblocking call, as for buckets (MPI_Iallreduce) */
#define ALGORITHM_WINDOW "window" /**< one of many messages in flight: bandwidth tests */

/** Properties of an algorithm that follow from its name. */
typedef struct collective_algorithm_type {
    const char *name;       /**< NULL: any other name */
    bool        ring;       /**< N - 1 steps; otherwise log2 N */
    bool        ring_bytes; /**< each rank sends as little as in a ring: V */
    bool        all_bytes;  /**< all bytes are sent in each step */
    bool        beside;     /**< measured for comparison only: training does not use it */
    bool        measured;   /**< sweeps can request it */
} collective_algorithm_type;

#define COLLECTIVE_SPELLINGS 5

typedef struct collective_type {
    const char *name;  /**< name in rows, sections of machine files, options */
    const char *title; /**< name in messages: "all-reduce" */
    const char *one;   /**< the title with its article */
    const char *spelled[COLLECTIVE_SPELLINGS]; /**< names in other programs; ends with NULL */
    const char *nccl_test; /**< name of NVIDIA's and AMD's test program; NULL: none is read */
    double      passes;    /**< how often the message leaves each rank of a ring */
    bool        whole;     /**< all of it, S; otherwise S (n - 1) / n */
    /**
     * each rank sends to all others, so a node sends all pieces for other nodes: g (N - 1) / N S
     */
    bool pieces;
    bool hop;     /**< one step for any number of ranks */
    bool reduces; /**< values are added up: logs show a sum */
    bool sums;    /**< used to add up gradients: published formulas know it */
    /**
     * kind with the reverse pattern: replaces this kind first if it was not measured; itself: none
     */
    collective_kind like;
    const char     *stands_in; /**< text of an answer that uses a replacement; NULL: never */
    const collective_algorithm_type *algorithm; /**< ends with an entry without a name */
} collective_type;

extern const collective_type collective_types[N_COLLECTIVE_KINDS];

/** Reads the kind's own name only. LM_E_NOTFOUND lists all names. */
lm_status collective_kind_parse(const char *name, collective_kind *out, lm_error *err);
/** Reads any spelling, for options: "all-gather". */
lm_status collective_kind_find(const char *word, collective_kind *out, lm_error *err);
/** Kind of a name in any spelling; N_COLLECTIVE_KINDS: unknown. */
collective_kind collective_kind_spelled(const char *word);

/**
 * Bytes that leave each of n ranks in a ring, per byte of the message: nccl-tests' ratio of bus
 * bandwidth to algorithm bandwidth.
 */
double collective_volume(collective_kind kind, double n);

/** Never NULL. */
const collective_algorithm_type *collective_algorithm_known(collective_kind kind, const char *name);
/** The algorithm that a misspelled name probably means ("rign"); NULL: none. */
const char *collective_algorithm_meant(collective_kind kind, const char *name);

#endif
