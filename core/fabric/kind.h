/**
 * Kinds of collectives, one row each, as nccl-tests' struct testColl. Measuring, importing, fitting,
 * storing and pricing all read that row. A new kind is a row here and a function in each backend
 * (calibrate/backends).
 */
#ifndef FABRIC_KIND_H
#define FABRIC_KIND_H

#include <stdbool.h>

#include <layermeter/error.h>

typedef enum collective_kind {
    COLLECTIVE_ALLREDUCE, /**< each rank has a vector of S bytes, and all get the sum */
    N_COLLECTIVE_KINDS
} collective_kind;

#define ALGORITHM_DEFAULT "default" /**< what the library chooses by itself */
#define ALGORITHM_RING    "ring"    /**< of sends and receives */
#define ALGORITHM_NONBLOCKING \
    "nonblocking" /**< the library's, as buckets take it (MPI_Iallreduce) */

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
    const char *name;                          /**< of rows, sections of machine files, options */
    const char *title;                         /**< in messages: "all-reduce" */
    const char *one;                           /**< the same with its article */
    const char *spelled[COLLECTIVE_SPELLINGS]; /**< by other programs; NULL behind the last */
    const char *osu_title;                     /**< of OSU's table; NULL: none is read */
    const char *nccl_test; /**< of NVIDIA's and AMD's programs; NULL: none is read */
    double      passes;    /**< how often S (n - 1) / n bytes leave each rank of a ring */
    bool        sums;      /**< gradients are added up so: formulas of others know it */
    const collective_algorithm_type *algorithm; /**< the last has no name */
} collective_type;

extern const collective_type collective_types[N_COLLECTIVE_KINDS];

/** Of its name alone. LM_E_NOTFOUND, naming all there are. */
lm_status collective_kind_parse(const char *name, collective_kind *out, lm_error *err);
/** Of its name or another spelling; N_COLLECTIVE_KINDS: none. */
collective_kind collective_kind_spelled(const char *word);

/** Never NULL. */
const collective_algorithm_type *collective_algorithm_known(collective_kind kind, const char *name);

#endif
