/** Logs of other tools' benchmarks of collectives, as observations. */
#ifndef IMPORT_LOGS_H
#define IMPORT_LOGS_H

#include <stdio.h>

#include "base/arena.h"
#include "base/lists.h"
#include "observe/observation.h"

/** Options with values that a log may lack. 0 or NULL: not given. */
typedef struct log_options {
    int64_t     ranks, hosts; /**< override the log */
    const char *algorithm;    /**< default | ring */
    const char *kind;         /**< kind of collective, if the log does not name it */
} log_options;

/** Rows of one or several logs, and numbers of skipped rows. Zero-initialise. */
typedef struct log_rows {
    arena       *text; /**< owns the texts of the rows */
    observation *row;
    size_t       n_rows, room;
    size_t       n_wrong;  /**< rows with results that the tool found wrong */
    size_t       n_other;  /**< rows with another reduction than the sum, or without a message */
    size_t       n_broken; /**< rows cut short, or without a time */
    const char  *tool;     /**< for the provenance; in the arena or a literal; NULL: unknown */
    const char  *library, *device, *statistics;
} log_rows;

/**
 * Reads output of nccl-tests or rccl-tests, of any version that prints times in us, alone or among
 * other lines, with one run or several. If a size was timed in place and out of place, the time in
 * place counts, as gradients are reduced so. Appends to *out.
 *
 * @return LM_E_SYNTAX if it is no such log, or of an unknown collective; LM_E_ARG if ranks or hosts
 * are neither in it nor given. Texts begin with the path.
 */
lm_status log_read_nccl_tests(const char *path, const log_options *given, log_rows *out,
                              lm_error *err);

/** The same for OSU's benchmarks. Their logs have neither ranks nor hosts. */
lm_status log_read_osu(const char *path, const log_options *given, log_rows *out, lm_error *err);

/** One of these readers. */
typedef lm_status log_reader(const char *path, const log_options *given, log_rows *out,
                             lm_error *err);

/** Reads several logs. Also LM_E_ARG if no row is usable. */
lm_status log_read_all(log_reader *read, const word_list *paths, const log_options *given,
                       log_rows *out, lm_error *err);

/** Writes provenance, header row and rows for observations_load(). */
void log_print(const log_rows *rows, const word_list *paths, FILE *out);
void log_rows_free(log_rows *rows);

/* For the readers. */

#define LOG_WORDS 64

/** A log, line by line. */
typedef struct log_file {
    const char *path;
    char       *text, *next;
    int         line;
} log_file;

lm_status log_open(log_file *log, const char *path, lm_error *err);
void      log_close(log_file *log);
/** Passes each line of a log to `take`. LM_E_SYNTAX if no line was a row: "no table of WHAT in
 * it". */
lm_status log_each(log_file *log, const char *path, const char *what, log_rows *rows,
                   lm_status (*take)(void *reader, char *line), void *reader, lm_error *err);
/** Reads the next line, without the prefix of mpirun or srun; NULL at the end. Callers may write to
 * it. */
char *log_line(log_file *log);
/** Splits a line at blanks, in place; at most LOG_WORDS. */
size_t log_words(char *line, char *word[LOG_WORDS]);
/** A copy that lives as long as the rows; NULL when memory runs out. */
const char *log_keep(log_rows *rows, const char *text, size_t n);

/** Appends `text` to an entry that lacks it: "2.18.3; 2.21.5". Without memory the entry stays
 * unchanged. */
void log_note(log_rows *rows, const char **entry, const char *text);

/** Element type by its name in nccl-tests ("float") or MPI ("MPI_FLOAT"); false: unknown here. */
bool log_dtype(const char *theirs, size_t n, lm_dtype *out);

/** A row with only the kind of collective. */
observation log_blank_row(collective_kind kind);
lm_status   log_add(log_rows *rows, const observation *row, lm_error *err);

#endif
