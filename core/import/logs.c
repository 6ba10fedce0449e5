/* Shared by the readers of logs. */
#include "import/logs.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/no_memory.h"

lm_status log_open(log_file *log, const char *path, lm_error *err)
{
    size_t    size;
    lm_status status;

    *log   = (log_file){ .path = path };
    status = file_read_text(path, &log->text, &size, err);
    if (!status)
        log->next = log->text;
    return status;
}

void log_close(log_file *log)
{
    free(log->text);
}

/* "[1,0]<stdout>:" of mpirun --tag-output, "3: " of srun -l. */
static char *behind_tag(char *line)
{
    char *p = line;

    if (*p == '[') {
        p = strstr(p, "<stdout>:");
        return p ? p + strlen("<stdout>:") : line;
    }
    while (isdigit((unsigned char)*p))
        p++;
    return p > line && p[0] == ':' && p[1] == ' ' ? p + 2 : line;
}

char *log_line(log_file *log)
{
    char *line = log->next, *end;

    if (!line || !*line)
        return NULL;
    end       = line + strcspn(line, "\n");
    log->next = *end ? end + 1 : end;
    *end      = '\0';
    if (end > line && end[-1] == '\r')
        end[-1] = '\0';
    log->line++;
    return behind_tag(line);
}

lm_status log_each(log_file *log, const char *path, const char *what, log_rows *rows,
                   lm_status (*take)(void *reader, char *line), void *reader, lm_error *err)
{
    const size_t before = rows->n_rows + rows->n_wrong + rows->n_other;
    char        *line;
    lm_status    status = log_keep(rows, "", 0) ? log_open(log, path, err) : no_memory(err);

    while (!status && (line = log_line(log)))
        status = take(reader, line);
    if (!status && rows->n_rows + rows->n_wrong + rows->n_other == before)
        status = lm_error_set(err, LM_E_SYNTAX, "%s: no table of %s in it", path, what);
    log_close(log);
    return status;
}

size_t log_words(char *line, char *word[LOG_WORDS])
{
    size_t n = 0;

    for (char *p = strtok(line, " \t"); p && n < LOG_WORDS; p = strtok(NULL, " \t"))
        word[n++] = p;
    return n;
}

const char *log_keep(log_rows *rows, const char *text, size_t n)
{
    if (!rows->text)
        rows->text = arena_new();
    return rows->text ? arena_text(rows->text, text, n) : NULL;
}

/* Is `text` one of the entry's parts? */
static bool noted(const char *entry, const char *text)
{
    const size_t n = strlen(text);

    for (const char *at = entry; (at = strstr(at, text)); at++)
        if ((at == entry || (at - entry > 1 && at[-2] == ';')) && (!at[n] || at[n] == ';'))
            return true;
    return false;
}

void log_note(log_rows *rows, const char **entry, const char *text)
{
    char        both[400];
    const char *kept;
    int         n;

    if (!*text || (*entry && noted(*entry, text)))
        return;
    n = snprintf(both, sizeof both, "%s%s%s", *entry ? *entry : "", *entry ? "; " : "", text);
    if (n >= (int)sizeof both) /* the first ones, if there are very many */
        return;
    kept   = log_keep(rows, both, (size_t)n);
    *entry = kept ? kept : *entry;
}

bool log_dtype(const char *theirs, size_t n, lm_dtype *out)
{
    static const struct {
        const char *theirs;
        lm_dtype    ours;
    } types[] = {
        { "float", LM_F32 },      { "half", LM_F16 },    { "bfloat16", LM_BF16 },
        { "double", LM_F64 },     { "int8", LM_I8 },     { "uint8", LM_U8 },
        { "int32", LM_I32 },      { "int64", LM_I64 },   { "fp8_e4m3", LM_F8 },
        { "fp8_e5m2", LM_F8 },    { "f8e4m3", LM_F8 },   { "f8e5m2", LM_F8 },
        { "MPI_FLOAT", LM_F32 },  { "MPI_CHAR", LM_I8 }, { "MPI_INT", LM_I32 },
        { "MPI_DOUBLE", LM_F64 },
    };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strlen(types[i].theirs) == n && !strncmp(types[i].theirs, theirs, n)) {
            *out = types[i].ours;
            return true;
        }
    return false;
}

observation log_blank_row(collective_kind kind)
{
    observation row = observation_blank;

    row.kind      = OBS_COLLECTIVE;
    row.phase     = PHASE_SYNC;
    row.name      = collective_types[kind].name;
    row.algorithm = ALGORITHM_DEFAULT;
    return row;
}

lm_status log_add(log_rows *rows, const observation *row, lm_error *err)
{
    if (!array_grow(&rows->row, rows->n_rows, &rows->room, sizeof *rows->row))
        return no_memory(err);
    rows->row[rows->n_rows++] = *row;
    return LM_OK;
}

static void print_entry(FILE *out, const char *key, const char *value)
{
    if (value)
        fprintf(out, "# %s: %s\n", key, value);
}

lm_status log_read_all(log_reader *read, const word_list *paths, const log_options *given,
                       log_rows *out, lm_error *err)
{
    for (size_t i = 0; i < paths->n; i++) {
        const lm_status status = read(paths->at[i], given, out, err);

        if (status)
            return status;
    }
    if (out->n_rows)
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "%s: no usable row (%zu wrong, %zu of other kinds, %zu broken)",
                        paths->at[0], out->n_wrong, out->n_other, out->n_broken);
}

void log_print(const log_rows *rows, const word_list *paths, FILE *out)
{
    fputs("# layermeter observations, format 1\n", out);
    for (size_t i = 0; i < paths->n; i++) {
        const char *slash = strrchr(paths->at[i], '/');

        print_entry(out, "imported_from", slash ? slash + 1 : paths->at[i]);
    }
    print_entry(out, "tool", rows->tool);
    print_entry(out, "library", rows->library);
    print_entry(out, "device", rows->device);
    print_entry(out, "statistics", rows->statistics);
    observation_print_head(out);
    for (size_t i = 0; i < rows->n_rows; i++)
        observation_print(out, &rows->row[i], "ok");
}

void log_rows_free(log_rows *rows)
{
    free(rows->row);
    arena_free(rows->text);
    *rows = (log_rows){ 0 };
}
