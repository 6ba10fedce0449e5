/**
 * Extra-P's files: PARAMETER, POINTS, REGION, METRIC and DATA of its text format, read as
 * observations and written; JSON Lines, written. Both as in the documentation of Extra-P 4
 * (docs/file-formats.md).
 */
#ifndef IMPORT_EXTRAP_H
#define IMPORT_EXTRAP_H

#include "import/logs.h"

/** What may vary over the points of a file. */
typedef enum extrap_count {
    EXTRAP_NODES,   /**< hosts of an observation */
    EXTRAP_DEVICES, /**< ranks of each of them */
    EXTRAP_RANKS,   /**< of all */
    EXTRAP_BATCH,   /**< samples of each device */
    EXTRAP_BYTES,
    EXTRAP_BUCKET_BYTES,
    EXTRAP_THREADS,
    N_EXTRAP_COUNTS
} extrap_count;

/** What a region says behind its name, key=value. */
typedef enum extrap_text {
    EXTRAP_KIND,
    EXTRAP_PHASE,
    EXTRAP_INPUT,
    EXTRAP_DTYPE,
    EXTRAP_ALGORITHM,
    EXTRAP_GEOMETRY,
    EXTRAP_OPTIMIZER,
    EXTRAP_SETTINGS,
    N_EXTRAP_TEXTS
} extrap_text;

#define EXTRAP_COUNTS_KNOWN "nodes, devices, ranks, batch, bytes, bucket_bytes, threads"
#define EXTRAP_TEXTS_KNOWN  "kind, phase, input, dtype, algorithm, geometry, optimizer, settings"

const char              *extrap_count_name(extrap_count c);
extern const char *const extrap_text_names[N_EXTRAP_TEXTS];

/** By its name or one of the words that other programs use for it; false: none of them. */
bool extrap_count_find(const char *word, extrap_count *out);

/** What was said of a measurement. 0 and NULL: nothing. Texts are others'. */
typedef struct extrap_said {
    int64_t     count[N_EXTRAP_COUNTS];
    const char *text[N_EXTRAP_TEXTS];
} extrap_said;

/** "batch", "32". LM_E_NOTFOUND for another key, LM_E_ARG for a value that is none. */
lm_status extrap_say(extrap_said *said, const char *key, const char *value, lm_error *err);

/** A whole number from 1 up. */
lm_status extrap_count_of(double value, const char *what, int64_t *out, lm_error *err);

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
    extrap_names parameters; /**< to counts */
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

/** Our name for theirs; theirs itself if none is given. */
const char *extrap_renamed(const extrap_names *names, const char *theirs);

/* ---- writing --------------------------------------------------------------------------------- */

typedef enum { EXTRAP_TEXT, EXTRAP_JSON_LINES } extrap_format;

/** extra-p or extra-p-jsonl. */
lm_status extrap_format_parse(const char *text, extrap_format *out, lm_error *err);

/**
 * Writes n >= 1 rows of one kind that are not skipped: `seconds` alone, in seconds. Counts that
 * vary are parameters (nodes and devices of each where both do, else ranks), all others and the
 * words of a row stand in its region, behind the name; phases are metrics. Rows of one point and
 * phase are repetitions. In text, a sync that one rank has not is 0.
 *
 * @param title first line of the text, a comment; NULL: none. JSON Lines have no comments
 * @return LM_E_ARG for rows of several kinds, a name that would not be read again, and in text for
 * a region that lacks a point which others have; nothing useful is written then
 */
lm_status extrap_write(const observation *row, size_t n, extrap_format f, const char *title,
                       FILE *out, lm_error *err);

#endif
