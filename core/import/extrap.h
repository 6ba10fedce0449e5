/**
 * Extra-P's text files, as observations: PARAMETER, POINTS, REGION, METRIC and DATA as in the
 * documentation of Extra-P 4 (docs/file-formats.md, "Text file format"). import/extrap_write.h writes
 * them.
 */
#ifndef IMPORT_EXTRAP_H
#define IMPORT_EXTRAP_H

#include "import/extrap_keys.h"
#include "import/logs.h"

/** "p" of the file is "ranks" here. */
typedef struct extrap_name {
    const char *theirs, *ours;
} extrap_name;

typedef struct extrap_names {
    const extrap_name *name;
    size_t             n;
} extrap_names;

/** What a file does not say. */
typedef struct extrap_options {
    extrap_names parameters; /**< to counts (extrap_keys.h) */
    extrap_names regions;    /**< to networks, or kinds of collectives */
    extrap_names metrics;    /**< to phases */
    extrap_said  fixed;      /**< counts and words that neither parameters nor regions give */
} extrap_options;

/**
 * Reads a file; its times are seconds. A region is a network or an all-reduce: its name, behind
 * which stand words that do not vary ("resnet18 optimizer=adam threads=2"); of a callpath the last
 * part, or the one before it where the last is a phase ("resnet18->forward"). A metric is a phase,
 * or `time`: a step, of an all-reduce `sync`. The repetitions of a point are one row, their median,
 * in which a `sync` of 0 s on one rank is passed over. Nodes without devices have one each. Appends
 * to *out; a row's line is that of its REGION.
 *
 * @return LM_E_SYNTAX, LM_E_ARG or LM_E_NOTFOUND with file, line and what would help: for a
 * parameter or a metric of unknown meaning, numbers of points and data that differ, times that are
 * no finite numbers above 0, and what an observation of its kind lacks
 */
lm_status extrap_read(const char *path, const extrap_options *given, log_rows *out, lm_error *err);

/** For extrap_read(): what is known of a measurement when its DATA come. */
typedef struct extrap_series {
    const char *name; /**< of the network or the collective */
    const char *metric;
    extrap_said said;
    int         line; /**< of the REGION */
} extrap_series;

/** The name and the words of a region; `text` is written to, and pointed at. */
lm_status extrap_region(char *text, const extrap_options *given, extrap_series *out, lm_error *err);

/** A row of n >= 1 repetitions, which are sorted. *none: there is nothing to measure here. */
lm_status extrap_row(const extrap_series *series, const extrap_options *given, double *seconds,
                     size_t n, observation *out, bool *none, lm_error *err);

#endif
