/**
 * Extra-P's files. The text format (PARAMETER, POINTS, REGION, METRIC, DATA) is read as
 * observations and written; JSON Lines are written. Source: documentation of Extra-P 4
 * (docs/file-formats.md).
 */
#ifndef IMPORT_EXTRAP_H
#define IMPORT_EXTRAP_H

#include "import/logs.h"
#include "layers/registry.h"

/** Parameters of a file's points. */
typedef enum extrap_count {
    EXTRAP_NODES,   /**< hosts of an observation */
    EXTRAP_DEVICES, /**< ranks of each host */
    EXTRAP_RANKS,   /**< all ranks */
    EXTRAP_BATCH,   /**< samples of each device */
    EXTRAP_BYTES,
    EXTRAP_BUCKET_BYTES,
    EXTRAP_THREADS,
    N_EXTRAP_COUNTS
} extrap_count;

/** Words behind the name of a region, key=value. */
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

/** Finds a parameter by its name, or a synonym of other programs; false: none. */
bool extrap_count_find(const char *word, extrap_count *out);

/** Known values of a measurement. 0 and NULL: unknown. Texts are not owned. */
typedef struct extrap_said {
    int64_t     count[N_EXTRAP_COUNTS];
    const char *text[N_EXTRAP_TEXTS];
} extrap_said;

/** Sets a value: "batch", "32". LM_E_NOTFOUND for an unknown key, LM_E_ARG for a bad value. */
lm_status extrap_say(extrap_said *said, const char *key, const char *value, lm_error *err);

/** A whole number from 1 up. */
lm_status extrap_count_of(double value, const char *what, int64_t *out, lm_error *err);

/** A renaming: "p" of the file is "ranks" here. */
typedef struct extrap_name {
    const char *theirs, *ours;
} extrap_name;

typedef struct extrap_names {
    const extrap_name *name;
    size_t             n;
} extrap_names;

/** Options with values that a file lacks. */
typedef struct extrap_options {
    extrap_names parameters; /**< of parameters */
    extrap_names regions;    /**< of networks, or kinds of collectives */
    extrap_names metrics;    /**< of phases */
    extrap_said  fixed;      /**< counts and words that neither parameters nor regions give */
} extrap_options;

/**
 * Reads a file; its times are seconds. A region is a network or a collective: its name, then
 * constant words ("resnet18 optimizer=adam threads=2"). A callpath stands for its last part, or for
 * the part before a phase ("resnet18->forward"). A metric is a phase, or `time`: a step, of a
 * collective `sync`. Repetitions of a point become one row, their median; a `sync` of 0 s on one
 * rank is skipped. Nodes without devices have one each. Rows are appended to *out; their line is
 * that of the REGION.
 *
 * @return LM_E_SYNTAX, LM_E_ARG or LM_E_NOTFOUND with file, line and remedy: an unknown parameter
 * or metric, different numbers of points and data, times that are not finite and above 0, or a row
 * without a value that its kind needs
 */
lm_status extrap_read(const char *path, const extrap_options *given, log_rows *out, lm_error *err);

/** Reads several files. Their regions must be known networks or kinds of collectives. Also LM_E_ARG
 * if no time is above 0. */
lm_status extrap_read_all(const word_list *paths, const extrap_options *given, const registry *reg,
                          log_rows *out, lm_error *err);

/** For extrap_read(): known values of a measurement at its DATA. */
typedef struct extrap_series {
    const char *name; /**< name of the network or the collective */
    const char *metric;
    extrap_said said;
    int         line; /**< of the REGION */
} extrap_series;

/** Parses name and words of a region. Changes `text` and points into it. */
lm_status extrap_region(char *text, const extrap_options *given, extrap_series *out, lm_error *err);

/** Would a word of this name be read as a word behind it ("batch=3")? */
bool extrap_says_words(const char *name);

/** Makes a row of n >= 1 repetitions; sorts them. *none: nothing was measured at this point. */
lm_status extrap_row(const extrap_series *series, const extrap_options *given, double *seconds,
                     size_t n, observation *out, bool *none, lm_error *err);

/** Our name for theirs; theirs itself if none is given. */
const char *extrap_renamed(const extrap_names *names, const char *theirs);

/* ---- writing --------------------------------------------------------------------------------- */

typedef enum { EXTRAP_TEXT, EXTRAP_JSON_LINES } extrap_format;

/** extra-p or extra-p-jsonl. */
lm_status extrap_format_parse(const char *text, extrap_format *out, lm_error *err);

/**
 * Writes n >= 1 rows of one kind that are not skipped, with `seconds` alone. Counts that vary are
 * parameters (nodes and devices of each if both vary, else ranks). All other counts and the words
 * of a row follow the region's name; phases are metrics. Rows of one point and phase are
 * repetitions. In the text format the missing sync of one rank is 0.
 *
 * @param title first line of the text, a comment; NULL: none. JSON Lines have no comments
 * @return LM_E_ARG for rows of several kinds, a name that could not be read again, or, in text, a
 * region without a point that others have. The output is useless then
 */
lm_status extrap_write(const observation *row, size_t n, extrap_format f, const char *title,
                       FILE *out, lm_error *err);

#endif
