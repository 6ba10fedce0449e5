/** The observation file of a run: points are appended as they come, and a killed run can go on. */
#ifndef CALIBRATE_OUTPUT_H
#define CALIBRATE_OUTPUT_H

#include "base/names.h"
#include "harness.h"

typedef enum {
    OUTPUT_NEW, /**< the file must not be there */
    OUTPUT_REPLACE,
    OUTPUT_RESUME /**< what it holds is not measured again */
} output_mode;

typedef struct output {
    const char *path;
    int         fd;       /**< rank 0; else -1 */
    names       done;     /**< points that the file holds already */
    char      **done_key; /**< owns their keys */
    size_t      n_done;
} output;

/**
 * Opens; rank 0 writes the head of a new file. A file to go on with is cut behind its last whole
 * point. The other ranks, which may not even see the file, open nothing.
 */
lm_status output_open(output *o, const char *path, output_mode mode, const world *w, const bench *b,
                      const char *command_line, lm_error *err);
void      output_close(output *o);

/** Does the file hold this point? Rank 0. */
bool output_has(const output *o, const observation *row);

/** All rows of a point in one write, so that a kill in between leaves whole points. Rank 0. */
lm_status output_write(const output *o, const sweep_point *p, const point_result *r,
                       int64_t threads, lm_error *err);

#endif
