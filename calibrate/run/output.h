/** The observation file of a run: points are appended as they come, and a killed run can go on. */
#ifndef CALIBRATE_OUTPUT_H
#define CALIBRATE_OUTPUT_H

#include <sys/types.h>

#include "base/names.h"
#include "measure/harness.h"
#include "observe/repeats.h"

typedef enum {
    OUTPUT_NEW, /**< the file must not be there */
    OUTPUT_REPLACE,
    OUTPUT_RESUME /**< what it holds is not measured again */
} output_mode;

/** A point that the file held when it was opened. */
typedef struct held_point {
    char   *key;
    int64_t tries;     /**< so often it was measured, repetitions as an anchor not counted */
    bool    good;      /**< once without a flag that makes it doubtful, or skipped */
    bool    is_anchor; /**< it was repeated as the anchor */
} held_point;

typedef struct output {
    const char *path;
    int         fd;  /**< rank 0; else -1 */
    off_t       end; /**< behind the last whole point */
    names       by_key;
    held_point *held;
    size_t      n_held;
    int64_t     retries; /**< a point without a good time counts as held after so many more tries */
    size_t      n_written; /**< points that this run added to those held */
} output;

/**
 * Opens, and keeps other runs out (flock); rank 0 writes the head of a new file. A file to go on
 * with is cut behind its last whole point. The other ranks, which may not even see the file, open
 * nothing.
 */
lm_status output_open(output *o, const char *path, output_mode mode, const world *w, const bench *b,
                      const char *command_line, lm_error *err);
void      output_close(output *o);

/**
 * Does the file hold this point, so that it need not be measured? A point that was disturbed each
 * time it was measured is held once its retries are used up. Rank 0.
 */
bool output_has(const output *o, const observation *row);

/** What the file held of this point when it was opened; NULL: nothing. Rank 0. */
const held_point *output_held(const output *o, const observation *row);

/** How many points the file holds. Rank 0. */
size_t output_points(const output *o);

/**
 * All rows of a point in one write, so that a kill in between leaves whole points; they are on the
 * disk when this returns. A file that was removed, replaced or changed meanwhile is an error, and
 * so is a full disk, which leaves the points before. Rank 0.
 */
lm_status output_write(output *o, const sweep_point *p, const point_result *r, int64_t threads,
                       lm_error *err);

/**
 * Looks at the whole file for what was measured more than once (repeats.h), and flags rows that
 * were measured while the anchor was off as drifted, and no others: then the file is written anew
 * under a temporary name and takes its own place. Rank 0.
 */
lm_status output_review(output *o, repeats *out, lm_error *err);

#endif
