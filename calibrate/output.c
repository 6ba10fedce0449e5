/* The observation file of a run. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "provenance.h"

#define KEY_BYTES 1200

/* A network's rows end with the step; one whose step is missing is measured again. */
static bool completes(const observation *r)
{
    return r->kind != OBS_NETWORK || r->phase == PHASE_STEP || r->skipped;
}

/* Rows of whole points among the first `lines` lines: what follows was cut off. */
static size_t whole_points(const observations *obs, size_t lines)
{
    size_t n = obs->n_rows;

    while (n > 0 && ((size_t)obs->row[n - 1].line > lines || !completes(&obs->row[n - 1])))
        n--;
    return n;
}

static lm_status note_done(output *o, const observations *obs, size_t n, int64_t threads,
                           lm_error *err)
{
    char key[KEY_BYTES];

    o->done_key = calloc(n + 1, sizeof *o->done_key);
    for (size_t i = 0; i < n; i++) {
        if (obs->row[i].threads && obs->row[i].threads != threads)
            return lm_error_set(
                err, LM_E_ARG,
                "%s:%d: measured with %lld threads a rank, this sweep says %lld: give "
                "another -o",
                o->path, obs->row[i].line, (long long)obs->row[i].threads, (long long)threads);
        observation_key(&obs->row[i], key, sizeof key);
        if (!completes(&obs->row[i]) || names_find(&o->done, key) != NAMES_NONE)
            continue;
        if (!o->done_key || !(o->done_key[o->n_done] = strdup(key)) ||
            !names_add(&o->done, o->done_key[o->n_done++], i))
            return lm_error_set(err, LM_E_NOMEM, "out of memory");
    }
    return LM_OK;
}

/* The start of line `line` + 1. */
static const char *behind_line(const char *text, size_t line)
{
    while (line-- > 0)
        text = strchr(text, '\n') + 1;
    return text;
}

/* Lines up to the header row; 0 if it is not there yet. Rows can only be added below columns of
 * ours. */
static lm_status head_lines(const output *o, const char *text, size_t *out, lm_error *err)
{
    size_t    lines = 1, n = 0;
    char     *ours   = NULL;
    FILE     *stream = open_memstream(&ours, &n);
    lm_status status = LM_OK;

    if (!stream)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    observation_print_head(stream);
    if (fclose(stream)) {
        free(ours);
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    }
    for (; *text == '#' && strchr(text, '\n'); lines++)
        text = strchr(text, '\n') + 1;
    if (!strchr(text, '\n') && (*text == '#' || !strncmp(text, ours, strlen(text))))
        lines = 0; /* a run that was killed at once */
    else if (strncmp(text, ours, n))
        status = lm_error_set(err, LM_E_ARG,
                              "%s:%zu: other columns than this program writes: rows "
                              "cannot be added, give another -o",
                              o->path, lines);
    free(ours);
    *out = lines;
    return status;
}

/* Which points the file holds, and where it goes on: behind the last whole one. */
static lm_status load_done(output *o, int64_t threads, off_t *end, lm_error *err)
{
    const char   *path = o->path;
    observations *obs  = NULL;
    char         *text = NULL;
    size_t        size, head = 0, lines = 0, kept;
    lm_status     status = file_read_text(path, &text, &size, err);

    if (!status)
        status = head_lines(o, text, &head, err);
    if (status)
        goto out;
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        lines++;
    kept = head;
    if (head && lines > head) {
        size_t n;

        if ((status = observations_load(path, &obs, err)))
            goto out;
        n = whole_points(obs, lines);
        if ((status = note_done(o, obs, n, threads, err)))
            goto out;
        if (n)
            kept = (size_t)obs->row[n - 1].line;
    }
    *end = behind_line(text, kept) - text;
out:
    observations_free(obs);
    free(text);
    return status;
}

static lm_status write_all(const output *o, const char *text, size_t n, lm_error *err)
{
    while (n > 0) {
        const ssize_t done = write(o->fd, text, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return lm_error_set(err, LM_E_IO, "%s: %s", o->path, strerror(errno));
        text += done;
        n -= (size_t)done;
    }
    return LM_OK;
}

static lm_status write_head(const output *o, const world *w, const bench *b,
                            const char *command_line, lm_error *err)
{
    char     *text = NULL;
    size_t    n    = 0;
    FILE     *out  = open_memstream(&text, &n);
    lm_status status;

    if (!out)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    provenance_print(out, w, b, command_line);
    observation_print_head(out);
    if (fclose(out))
        status = lm_error_set(err, LM_E_NOMEM, "out of memory");
    else
        status = write_all(o, text, n, err);
    free(text);
    return status;
}

lm_status output_open(output *o, const char *path, output_mode mode, const world *w, const bench *b,
                      const char *command_line, lm_error *err)
{
    const bool resume = mode == OUTPUT_RESUME && !access(path, F_OK);
    const int  flags  = resume ? 0 : mode == OUTPUT_REPLACE ? O_TRUNC : O_EXCL;
    off_t      end    = 0;
    lm_status  status;

    *o = (output){ .path = path, .fd = -1 };
    if (world_rank(w) > 0)
        return LM_OK;
    if (resume && (status = load_done(o, b->plan->threads, &end, err)))
        return status;
    o->fd = open(path, O_RDWR | O_CREAT | flags, 0666);
    if (o->fd < 0)
        return errno == EEXIST ? lm_error_set(err, LM_E_IO,
                                              "%s: is there already: --resume goes on with it, "
                                              "--force replaces it",
                                              path)
                               : lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    if (resume && (ftruncate(o->fd, end) || lseek(o->fd, end, SEEK_SET) < 0))
        return lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    return end ? LM_OK : write_head(o, w, b, command_line, err);
}

void output_close(output *o)
{
    for (size_t i = 0; i < o->n_done; i++)
        free(o->done_key[i]);
    free(o->done_key);
    names_free(&o->done);
    if (o->fd >= 0)
        close(o->fd);
}

bool output_has(const output *o, const observation *row)
{
    char key[KEY_BYTES];

    observation_key(row, key, sizeof key);
    return names_find(&o->done, key) != NAMES_NONE;
}

lm_status output_write(const output *o, const sweep_point *p, const point_result *r,
                       int64_t threads, lm_error *err)
{
    char       *text = NULL;
    size_t      n    = 0;
    FILE       *out  = open_memstream(&text, &n);
    observation row  = p->row;
    lm_status   status;

    if (!out)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    row.threads = threads;
    if (strcmp(r->status, "ok")) {
        row.phase = row.kind == OBS_NETWORK ? PHASE_STEP : row.phase;
        observation_print(out, &row, r->status);
    }
    for (phase f = 0; f < N_PHASES; f++) {
        const phase_times *t = &r->phase[f];

        if (!t->measured)
            continue;
        row.phase       = f;
        row.repeats     = t->repeats;
        row.seconds     = t->median;
        row.min_seconds = t->min;
        row.p95_seconds = t->p95;
        row.cpu_seconds = t->cpu;
        observation_print(out, &row, r->status);
    }
    status =
        fclose(out) ? lm_error_set(err, LM_E_NOMEM, "out of memory") : write_all(o, text, n, err);
    free(text);
    return status;
}
