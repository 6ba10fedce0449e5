/**
 * Kinds of collectives, one row each, as nccl-tests' struct testColl. Measuring, importing, fitting,
 * storing and pricing all read that row. A new kind is a row here and a function in each backend
 * (calibrate/backends).
 *
 * S is what nccl-tests prints as the size of a message: the larger of what a rank gives and what it
 * gets. Volumes are those of its page on bus bandwidth (nccl-tests, doc/PERFORMANCE.md).
 */
#ifndef FABRIC_KIND_H
#define FABRIC_KIND_H

#include <stdbool.h>

#include <layermeter/error.h>

typedef enum collective_kind {
    COLLECTIVE_ALLREDUCE,     /**< each rank has a vector of S bytes, and all get the sum */
    COLLECTIVE_ALLGATHER,     /**< each rank has S / n bytes, and all get all: S */
    COLLECTIVE_REDUCESCATTER, /**< each rank has a vector of S bytes, and gets S / n of the sum */
    COLLECTIVE_ALLTOALL,      /**< each rank has S bytes, S / n of them for each rank */
    COLLECTIVE_SENDRECV,      /**< each rank sends S bytes to the next, and gets S from the last */
    COLLECTIVE_BROADCAST,     /**< one rank has S bytes, and all get them */
    N_COLLECTIVE_KINDS
} collective_kind;

#define ALGORITHM_DEFAULT "default" /**< what the library chooses by itself */
#define ALGORITHM_RING    "ring"    /**< of sends and receives */
#define ALGORITHM_NONBLOCKING \
    "nonblocking"                 /**< the library's, as buckets take it (MPI_Iallreduce) */
#define ALGORITHM_WINDOW "window" /**< one of many messages in flight: bandwidth tests */

/** What an algorithm's name tells about it, whatever the rows say. */
typedef struct collective_algorithm_type {
    const char *name;       /**< NULL: any other */
    bool        ring;       /**< N - 1 steps, else log2 N */
    bool        ring_bytes; /**< each rank sends no more than a ring's: V */
    bool        all_bytes;  /**< it sends all of them in each step */
    bool        beside;     /**< measured for comparison: training does not use it */
    bool        measured;   /**< sweeps can ask for it */
} collective_algorithm_type;

#define COLLECTIVE_SPELLINGS 5

typedef struct collective_type {
    const char     *name;  /**< of rows, sections of machine files, options */
    const char     *title; /**< in messages: "all-reduce" */
    const char     *one;   /**< the same with its article */
    const char     *spelled[COLLECTIVE_SPELLINGS]; /**< by other programs; NULL behind the last */
    const char     *nccl_test; /**< of NVIDIA's and AMD's programs; NULL: none is read */
    double          passes;    /**< how often the message leaves each rank of a ring: */
    bool            whole;     /**< all of it, S; else S (n - 1) / n */
    bool            pieces;  /**< each rank sends to all others, so that all pieces for other nodes
                              leave a node: g (N - 1) / N S */
    bool            hop;     /**< in one step, however many ranks there are */
    bool            reduces; /**< values are added up: a sum, in logs */
    bool            sums;    /**< gradients are added up so: formulas of others know it */
    collective_kind like;    /**< travels as it does, backwards: stands in first where it was not
                              measured; its own: none */
    const char     *stands_in; /**< what an answer says where it does; NULL: it never does */
    const collective_algorithm_type *algorithm; /**< the last has no name */
} collective_type;

extern const collective_type collective_types[N_COLLECTIVE_KINDS];

/** Of its name alone. LM_E_NOTFOUND, naming all there are. */
lm_status collective_kind_parse(const char *name, collective_kind *out, lm_error *err);
/** The same of any spelling, as options take them: "all-gather". */
lm_status collective_kind_find(const char *word, collective_kind *out, lm_error *err);
/** Of its name or another spelling; N_COLLECTIVE_KINDS: none. */
collective_kind collective_kind_spelled(const char *word);

/**
 * Bytes that leave each of n ranks in a ring, for each byte of the message: bus over algorithm
 * bandwidth of nccl-tests.
 */
double collective_volume(collective_kind kind, double n);

/** Never NULL. */
const collective_algorithm_type *collective_algorithm_known(collective_kind kind, const char *name);
/** The algorithm that a name nobody knows is a slip of ("rign"); NULL: it is another one's. */
const char *collective_algorithm_meant(collective_kind kind, const char *name);

#endif
