/** `layermeter suggest`: its options, and what is found: printed, and written as a sweep. */
#ifndef CLI_CMD_SUGGEST_H
#define CLI_CMD_SUGGEST_H

#include "cli/commands.h"
#include "observe/variants.h"
#include "suggest/candidates.h"
#include "suggest/suggest.h"

typedef struct suggest_options {
    option_texts  asked, from;
    option_counts batch, nodes, try_batch, try_image;
    const char   *machine, *where, *output, *backend;
    int64_t       memory, max_nodes, points; /* memory and max_nodes: 0: not given */
    double        budget;                    /* s; NAN: not given */
    format        format;
} suggest_options;

/** What is asked, known and found. */
typedef struct suggest_job {
    const suggest_options *a;
    registry              *reg;
    workloads             *loads;
    calibration           *known;
    observations          *obs; /* NULL: nothing was measured */
    points                 p;
    char                   variant[VARIANT_TEXT];
    lm_dtype               dtype;
    optimizer              update;
    int64_t                max_nodes, *ranks;
    size_t                 n_ranks;
    targets                t;
    size_t                *target_of; /* number of the network of each target */
    candidates             c;
    design                *d;
    double                *cost, *step;
    size_t                 n_learned;
    suggestion             s;
    const char            *asked, *memory; /* as given; memory NULL: not */
} suggest_job;

/** The table goes to stdout; words below it, or to stderr where files are wanted. */
lm_status suggest_print(const suggest_job *q, lm_error *err);

/** A sweep that `layermeter calibrate` measures as it stands: one section a point, in the order in
 * which they are to be measured. Appears whole or not at all. */
lm_status suggest_sweep_write(const suggest_job *q, lm_error *err);

#endif
