/** The observation file of a run. Points are appended one by one, so a killed run can continue. */
#ifndef CALIBRATE_OUTPUT_H
#define CALIBRATE_OUTPUT_H

#include <sys/types.h>

#include "base/names.h"
#include "measure/harness.h"
#include "observe/repeats.h"

typedef enum {
    OUTPUT_NEW, /**< the file must not exist */
    OUTPUT_REPLACE,
    OUTPUT_RESUME /**< points in the file are not measured again */
} output_mode;

/** A point that the file held when it was opened. */
typedef struct held_point {
    char   *key;
    int64_t tries;     /**< number of measurements, without repetitions as an anchor */
    bool    good;      /**< at least one measurement without a doubtful flag, or skipped */
    bool    is_anchor; /**< it was repeated as the anchor */
} held_point;

typedef struct output {
    const char *path;
    int         fd;  /**< rank 0; else -1 */
    off_t       end; /**< end of the last whole point */
    names       by_key;
    held_point *held;
    size_t      n_held;
    /** a point without a good time counts as measured after this many further tries */
    int64_t retries;
    size_t  n_written; /**< points that this run added */
} output;

/**
 * Opens the file and locks it against other runs (flock); rank 0 writes the head of a new file. A
 * file that is continued is cut after its last whole point. The other ranks may not see the file;
 * they open nothing.
 */
lm_status output_open(output *o, const char *path, output_mode mode, const world *w, const bench *b,
                      const char *command_line, lm_error *err);
void      output_close(output *o);

/**
 * Is this point in the file, so that it need not be measured? A point that was disturbed in each
 * measurement counts once its retries are used up. Rank 0.
 */
bool output_has(const output *o, const observation *row);

/** Contents of the file for this point when it was opened; NULL: none. Rank 0. */
const held_point *output_held(const output *o, const observation *row);

/** How many points the file holds. Rank 0. */
size_t output_points(const output *o);

/**
 * Writes all rows of a point in one call, so that a kill leaves whole points. The rows are on disk
 * on return. It is an error if the file was removed, replaced or changed, or if the disk is full;
 * earlier points remain. Rank 0.
 */
lm_status output_write(output *o, const sweep_point *p, const point_result *r, int64_t threads,
                       lm_error *err);

/**
 * Reviews the whole file for repeated measurements (repeats.h). Exactly the rows that were measured
 * while the anchor deviated get the flag drifted. Then the file is written again under a temporary
 * name and replaces itself. Rank 0.
 */
lm_status output_review(output *o, repeats *out, lm_error *err);

#endif
