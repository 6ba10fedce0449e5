/* The observation file of a run. */
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "observe/flags.h"
#include "run/fingerprint.h"
#include "run/provenance.h"

#define KEY_BYTES 1200

static bool has_step(const observation *r)
{
    return (r->kind == OBS_NETWORK || r->kind == OBS_LAYER) && r->phase != PHASE_INFERENCE;
}

/* Rows of a point end with the step. A point without its step is measured again. */
static bool completes(const observation *r)
{
    return !has_step(r) || r->phase == PHASE_STEP || r->skipped;
}

/* A time that another program added and that belongs to no step. */
static bool stands_alone(const observation *r)
{
    return r->phase == PHASE_INFERENCE || r->phase == PHASE_GRAD_INPUT ||
           r->phase == PHASE_GRAD_WEIGHT;
}

/* Rows of whole points among the first `lines` lines: what follows was cut off. */
static size_t whole_points(const observations *obs, size_t lines)
{
    size_t n = obs->n_rows;

    while (n > 0 && ((size_t)obs->row[n - 1].line > lines ||
                     !(completes(&obs->row[n - 1]) || stands_alone(&obs->row[n - 1]))))
        n--;
    return n;
}

static lm_status note_held(output *o, const observation *row, lm_error *err)
{
    char        key[KEY_BYTES];
    uint32_t    flags = 0;
    size_t      at;
    held_point *h;

    observation_key(row, key, sizeof key);
    at = names_find(&o->by_key, key);
    if (at == NAMES_NONE) {
        at              = o->n_held;
        o->held[at].key = strdup(key);
        if (!o->held[at].key || !names_add(&o->by_key, o->held[at].key, at))
            return no_memory(err);
        o->n_held++;
    }
    h = &o->held[at];
    flags_parse(row->flags, &flags); /* was checked when the row was read */
    h->is_anchor |= (flags & FLAG_ANCHOR) != 0;
    h->tries += !(flags & FLAG_ANCHOR);
    h->good |= !(flags & (FLAG_CONTENDED | FLAG_THROTTLED));
    return LM_OK;
}

static lm_status note_done(output *o, const observations *obs, size_t n, int64_t threads,
                           lm_error *err)
{
    lm_status status = LM_OK;

    o->held = calloc(n + 1, sizeof *o->held);
    if (!o->held)
        return no_memory(err);
    for (size_t i = 0; i < n && !status; i++) {
        if (obs->row[i].threads && obs->row[i].threads != threads)
            return lm_error_set(
                err, LM_E_ARG,
                "%s:%d: measured with %lld threads a rank, this sweep says %lld: give "
                "another -o",
                o->path, obs->row[i].line, (long long)obs->row[i].threads, (long long)threads);
        if (completes(&obs->row[i]))
            status = note_held(o, &obs->row[i], err);
    }
    return status;
}

/* The start of line `line` + 1. */
static const char *behind_line(const char *text, size_t line)
{
    while (line-- > 0)
        text = strchr(text, '\n') + 1;
    return text;
}

/* Lines up to the header row; 0 if it is not there yet. Rows can only be
 * added below columns of ours. */
static lm_status head_lines(const output *o, const char *text, size_t *out, lm_error *err)
{
    size_t    lines = 1, n = 0;
    char     *ours   = NULL;
    FILE     *stream = open_memstream(&ours, &n);
    lm_status status = LM_OK;

    if (!stream)
        return no_memory(err);
    observation_print_head(stream);
    if (fclose(stream)) {
        free(ours);
        return no_memory(err);
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

/* The points of the file, and the end of the last whole one, where it goes on. */
static lm_status load_done(output *o, const bench *b, off_t *end, lm_error *err)
{
    const char   *path = o->path;
    observations *obs  = NULL;
    char         *text = NULL;
    size_t        size, head = 0, lines = 0, kept;
    lm_status     status = file_read_text(path, &text, &size, err);

    if (!status)
        status = head_lines(o, text, &head, err);
    if (!status && head)
        status = fingerprint_check(path, text, b, err);
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
        if ((status = note_done(o, obs, n, b->plan->threads, err)))
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

/* ---- the file on its disk
 * ------------------------------------------------------------------------
 */

static lm_status cause(const output *o, lm_error *err)
{
    return lm_error_set(err, LM_E_IO, "%s: %s", o->path, strerror(errno));
}

/* Files that cannot be synced (pipes, some network folders) say so; that is no failure. */
static bool sync_failed(int fd)
{
    return fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS && errno != ENOSYS;
}

/* A new name is safe once its folder is. */
static lm_status sync_folder(const output *o, lm_error *err)
{
    char      path[PATH_MAX];
    int       fd;
    lm_status status = LM_OK;

    if (snprintf(path, sizeof path, "%s", o->path) >= (int)sizeof path)
        return LM_OK; /* no system opens it */
    fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return LM_OK; /* a folder may be writable and not readable */
    if (sync_failed(fd))
        status = cause(o, err);
    close(fd);
    return status;
}

/* If the file is removed, moved or written to by others, measurements are lost: this is reported at
 * once, not after the run. */
static lm_status check_place(const output *o, lm_error *err)
{
    struct stat ours, there;

    if (fstat(o->fd, &ours))
        return cause(o, err);
    if (stat(o->path, &there))
        return lm_error_set(err, LM_E_IO, "%s: no longer exists: %s", o->path, strerror(errno));
    if (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino)
        return lm_error_set(err, LM_E_IO, "%s: was replaced during the run", o->path);
    if (ours.st_size != o->end)
        return lm_error_set(err, LM_E_IO, "%s: was changed by another program during the run",
                            o->path);
    return LM_OK;
}

/* One write, which is on the disk on return. A partial write is taken back. */
static lm_status append(output *o, const char *text, size_t n, lm_error *err)
{
    size_t written = 0;

    while (written < n) {
        const ssize_t done = write(o->fd, text + written, n - written);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            break;
        written += (size_t)done;
    }
    if (written < n || sync_failed(o->fd)) {
        const int why = errno;

        if (ftruncate(o->fd, o->end)) /* --resume cuts it there, too */
            lseek(o->fd, 0, SEEK_END);
        errno = why;
        return cause(o, err);
    }
    o->end += (off_t)n;
    return LM_OK;
}

static lm_status write_head(output *o, const world *w, const bench *b, const char *command_line,
                            lm_error *err)
{
    char     *text = NULL;
    size_t    n    = 0;
    FILE     *out  = open_memstream(&text, &n);
    lm_status status;

    if (!out)
        return no_memory(err);
    provenance_print(out, w, b, command_line);
    observation_print_head(out);
    if (fclose(out))
        status = no_memory(err);
    else
        status = append(o, text, n, err);
    free(text);
    return status ? status : sync_folder(o, err);
}

/* Opens without changing anything: the file may be another run's. */
static lm_status open_alone(output *o, output_mode mode, lm_error *err)
{
    struct stat about, there;

    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is reported like a full disk */
    o->fd = open(o->path, O_RDWR | O_CREAT | O_CLOEXEC | (mode == OUTPUT_NEW ? O_EXCL : 0), 0666);
    if (o->fd < 0)
        return errno == EEXIST
                   ? lm_error_set(err, LM_E_IO,
                                  "%s: exists already: --resume continues it, --force replaces it",
                                  o->path)
                   : cause(o, err);
    if (fstat(o->fd, &about))
        return cause(o, err);
    if (!S_ISREG(about.st_mode))
        return lm_error_set(err, LM_E_IO, "%s: is not a regular file", o->path);
    /* Where folders know no locks, there is none. A run that ends may have replaced the file. */
    if ((flock(o->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) || stat(o->path, &there) ||
        there.st_dev != about.st_dev || there.st_ino != about.st_ino)
        return lm_error_set(err, LM_E_IO, "%s: is being written by another run", o->path);
    return LM_OK;
}

lm_status output_open(output *o, const char *path, output_mode mode, const world *w, const bench *b,
                      const char *command_line, lm_error *err)
{
    lm_status status;

    *o = (output){ .path = path, .fd = -1, .retries = b->plan->trust.retries };
    if (world_rank(w) > 0)
        return LM_OK;
    status = open_alone(o, mode, err);
    if (!status && mode == OUTPUT_RESUME)
        status = load_done(o, b, &o->end, err);
    if (status)
        return status;
    if (ftruncate(o->fd, o->end) || lseek(o->fd, o->end, SEEK_SET) < 0)
        return cause(o, err);
    return o->end ? LM_OK : write_head(o, w, b, command_line, err);
}

void output_close(output *o)
{
    for (size_t i = 0; i < o->n_held; i++)
        free(o->held[i].key);
    free(o->held);
    names_free(&o->by_key);
    if (o->fd >= 0)
        close(o->fd);
}

const held_point *output_held(const output *o, const observation *row)
{
    char   key[KEY_BYTES];
    size_t at;

    observation_key(row, key, sizeof key);
    at = names_find(&o->by_key, key);
    return at == NAMES_NONE ? NULL : &o->held[at];
}

bool output_has(const output *o, const observation *row)
{
    const held_point *h = output_held(o, row);

    return h && (h->good || h->tries > o->retries);
}

size_t output_points(const output *o)
{
    return o->n_held + o->n_written;
}

lm_status output_write(output *o, const sweep_point *p, const point_result *r, int64_t threads,
                       lm_error *err)
{
    char       *text = NULL;
    size_t      n    = 0;
    FILE       *out  = open_memstream(&text, &n);
    observation row  = p->row;
    char        flags[FLAGS_TEXT_SIZE], how[160];
    lm_status   status;

    if (!out)
        return no_memory(err);
    flags_print(r->flags, flags, sizeof flags);
    row.flags     = flags;
    row.clock_mhz = r->clock_mhz;
    if (r->algorithm[0] && row.kind == OBS_COLLECTIVE) {
        snprintf(how, sizeof how, OBSERVATION_CHOSEN "%s%s%s", r->algorithm,
                 *row.settings ? " " : "", row.settings);
        row.settings = how;
    } else if (r->algorithm[0]) {
        row.algorithm = r->algorithm;
    }
    row.threads = threads;
    if (strcmp(r->status, "ok")) {
        row.phase = has_step(&row) ? PHASE_STEP : row.phase;
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
        row.power_w     = f == PHASE_STEP || !has_step(&row) ? r->power_w : (double)NAN;
        observation_print(out, &row, r->status);
    }
    if (fclose(out))
        status = no_memory(err);
    else
        status = check_place(o, err);
    if (!status)
        status = append(o, text, n, err);
    o->n_written += !status && !r->again && !output_held(o, &p->row);
    free(text);
    return status;
}

/* ---- review
 * --------------------------------------------------------------------------------------
 */

/* A row with other flags; the last two fields of our rows are flags and status. */
static void print_reflagged(FILE *out, const char *line, size_t n, uint32_t flags)
{
    char   text[FLAGS_TEXT_SIZE];
    size_t status = n, at;

    while (status > 0 && line[status - 1] != ',')
        status--;
    for (at = status ? status - 1 : 0; at > 0 && line[at - 1] != ',';)
        at--;
    flags_print(flags, text, sizeof text);
    fprintf(out, "%.*s%s,%.*s\n", (int)at, line, text, (int)(n - status), line + status);
}

/* The file's text with rows flagged drifted where `drifted` says so, and only there. */
static void print_reviewed(FILE *out, const char *text, const observations *obs,
                           const bool *drifted)
{
    size_t i = 0;

    for (int number = 1; *text; number++) {
        const size_t n     = strcspn(text, "\n");
        uint32_t     flags = 0;

        if (i < obs->n_rows && obs->row[i].line == number) {
            flags_parse(obs->row[i].flags, &flags); /* was checked when the row was read */
            flags = drifted[i] ? flags | FLAG_DRIFTED : flags & ~(uint32_t)FLAG_DRIFTED;
            print_reflagged(out, text, n, flags);
            i++;
        } else {
            fprintf(out, "%.*s\n", (int)n, text);
        }
        text += n + (text[n] == '\n');
    }
}

static bool flags_differ(const observations *obs, const bool *drifted)
{
    for (size_t i = 0; i < obs->n_rows; i++) {
        uint32_t flags = 0;

        flags_parse(obs->row[i].flags, &flags);
        if (((flags & FLAG_DRIFTED) != 0) != drifted[i])
            return true;
    }
    return false;
}

/* The new file is locked before it takes the old one's place. */
static lm_status replace(output *o, const observations *obs, const bool *drifted, lm_error *err)
{
    file_draft draft = { .stream = NULL };
    char      *text  = NULL;
    size_t     size;
    int        fd     = -1;
    lm_status  status = file_read_text(o->path, &text, &size, err);

    if (!status)
        status = file_draft_open(&draft, o->path, err);
    if (status)
        goto out;
    print_reviewed(draft.stream, text, obs, drifted);
    fd = open(draft.temporary, O_RDWR | O_CLOEXEC);
    if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)) {
        status = cause(o, err);
        goto out;
    }
    if ((status = file_draft_commit(&draft, err)))
        goto out;
    close(o->fd);
    o->fd  = fd;
    fd     = -1;
    o->end = lseek(o->fd, 0, SEEK_END);
    status = sync_folder(o, err);
out:
    if (fd >= 0)
        close(fd);
    file_draft_drop(&draft);
    free(text);
    return status;
}

lm_status output_review(output *o, repeats *out, lm_error *err)
{
    observations *obs     = NULL;
    bool         *drifted = NULL;
    lm_status     status  = check_place(o, err);

    if (!status)
        status = observations_load(o->path, &obs, err);
    if (!status && !(drifted = calloc(obs->n_rows + 1, sizeof *drifted)))
        status = no_memory(err);
    if (!status)
        status = repeats_find(obs, drifted, out, err);
    if (!status && flags_differ(obs, drifted))
        status = replace(o, obs, drifted, err);
    free(drifted);
    observations_free(obs);
    return status;
}
