/** Times of all-reduces that known prices made. */
#ifndef UNIT_COLLECTIVE_ROWS_H
#define UNIT_COLLECTIVE_ROWS_H

#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/collective.h"

#define ROWS 400

/* Times by prices: rows of several sizes on so many nodes each. */
typedef struct made {
    collective_time row[ROWS];
    size_t          n;
} made;

static inline double priced(const sync_plane *p, const collective_call *a, bool ring)
{
    double x[N_SYNC_COLUMNS], seconds = 0;

    sync_columns(a, ring, 0, x);
    for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
        seconds += p->price[c] * x[c];
    return seconds;
}

static inline void make(made *m, const char *algorithm, const sync_plane *p, int64_t nodes,
                        int64_t devices)
{
    for (double bytes = 1024; bytes <= 1 << 30; bytes *= 4) {
        const collective_call a = { COLLECTIVE_ALLREDUCE, bytes, nodes, devices, 1 };

        m->row[m->n++] =
            (collective_time){ a, algorithm, priced(p, &a, !strcmp(algorithm, "ring")) };
    }
}

static inline collective_model *fit(const made *m)
{
    collective_model *found;
    lm_error          err;

    assert_int_equal(collective_fit(m->row, m->n, &found, &err), LM_OK);
    return found;
}

static const sync_plane usual = { { [SYNC_START]     = 2e-5,
                                    [SYNC_STEPS]     = 1e-5,
                                    [SYNC_BYTES]     = 1e-10,
                                    [SYNC_BYTES_TWO] = 5e-11,
                                    [SYNC_PIPELINE]  = 2e-8 } };

#endif
