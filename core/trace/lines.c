/* Lines of a file, a pipe or stdin, through one buffer. */
#include "trace/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "trace/gzip/gzip.h"

/* Twice the longest line: the rest of a line and the next read fit in together. */
#define BUFFER (2 * LINES_LONGEST)
/* Time between two looks at a followed file. */
#define PATIENCE_NS 100000000L

struct line_source {
    const char                  *path;
    int                          fd;
    gzip_stream                 *gzip; /* NULL: plain */
    bool                         follow, regular, ended;
    const volatile sig_atomic_t *stop; /* NULL: never */
    uint64_t                     number;
    off_t                        taken; /* bytes read of a followed file */
    size_t                       at, n; /* of the buffer: next byte, end */
    char                         buffer[BUFFER + 1];
};

static lm_status read_failed(const line_source *s, int why, lm_error *err)
{
    return lm_error_set(err, LM_E_IO, "%s: %s", s->path, strerror(why));
}

/* A followed file that shrank is another file by now. */
static lm_status wait_for_more(const line_source *s, lm_error *err)
{
    const struct timespec pause = { 0, PATIENCE_NS };
    struct stat           info;

    if (!fstat(s->fd, &info) && info.st_size < s->taken)
        return lm_error_set(err, LM_E_IO, "%s: became shorter while it was followed", s->path);
    nanosleep(&pause, NULL);
    return LM_OK;
}

static bool is_stopped(const line_source *s)
{
    return s->stop && *s->stop;
}

/* At least one more byte into the buffer, or the end. */
static lm_status fill(line_source *s, lm_error *err)
{
    ssize_t got;

    if (s->at > 0) {
        memmove(s->buffer, s->buffer + s->at, s->n - s->at);
        s->n -= s->at;
        s->at = 0;
    }
    for (;;) {
        if (s->gzip) {
            lm_status status = gzip_read(s->gzip, s->buffer + s->n, BUFFER - s->n, &got, err);

            if (status)
                return status;
        } else {
            got = read(s->fd, s->buffer + s->n, BUFFER - s->n);
        }
        if (got < 0 && errno == EINTR && is_stopped(s))
            got = 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return read_failed(s, errno, err);
        if (got > 0 || !s->follow || !s->regular || is_stopped(s))
            break;
        lm_status status = wait_for_more(s, err);
        if (status)
            return status;
    }
    s->ended = got == 0;
    s->taken += got;
    s->n += (size_t)got;
    s->buffer[s->n] = '\0';
    return LM_OK;
}

/* The first bytes say whether they are packed. */
static lm_status begin(line_source *s, lm_error *err)
{
    lm_status status = LM_OK;

    while (!status && s->n < 2 && !s->ended)
        status = fill(s, err);
    if (status || s->n < 2 || memcmp(s->buffer, "\x1f\x8b", 2) != 0)
        return status;
    if (s->follow)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s: is gzip, which cannot be followed",
                            s->path);
    status = gzip_open(s->path, s->fd, s->buffer, s->n, &s->gzip, err);
    s->n   = 0;
    return status;
}

lm_status lines_open(const char *path, bool follow, const volatile sig_atomic_t *stop,
                     line_source **out, lm_error *err)
{
    line_source *s      = calloc(1, sizeof *s);
    lm_status    status = LM_OK;
    struct stat  info;

    if (!s)
        return no_memory(err);
    s->path   = strcmp(path, "-") ? path : "stdin";
    s->follow = follow;
    s->stop   = stop;
    s->fd     = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    if (s->fd < 0)
        status = read_failed(s, errno, err);
    else if (!fstat(s->fd, &info) && S_ISDIR(info.st_mode))
        status = lm_error_set(err, LM_E_IO, "%s: is a folder, not a file", s->path);
    else
        s->regular = S_ISREG(info.st_mode);
    if (!status)
        status = begin(s, err);
    if (status) {
        lines_close(s);
        return status;
    }
    *out = s;
    return LM_OK;
}

void lines_close(line_source *s)
{
    if (!s)
        return;
    gzip_close(s->gzip);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

/* Does a line that is neither blank nor a comment end in the text? */
static bool holds_data(const char *text)
{
    for (;;) {
        const char *end = strchr(text, '\n');

        if (!end)
            return false;
        text += strspn(text, " \t\r");
        if (*text != '#' && *text != '\n')
            return true;
        text = end + 1;
    }
}

static lm_status binary(const line_source *s, uint64_t number, lm_error *err)
{
    return lm_error_set(err, LM_E_SYNTAX, "%s:%llu: a binary file, expected text", s->path,
                        (unsigned long long)number);
}

lm_status lines_head(line_source *s, const char **head, lm_error *err)
{
    lm_status status = LM_OK;

    while (!status && !s->ended && s->n < BUFFER && !holds_data(s->buffer))
        status = fill(s, err);
    *head = s->buffer;
    if (!status && strlen(s->buffer) < s->n && !holds_data(s->buffer))
        status = binary(s, s->number + 1, err);
    return status;
}

static lm_status check_line(const line_source *s, const char *line, size_t n, lm_error *err)
{
    if (n > LINES_LONGEST)
        return lm_error_set(err, LM_E_SYNTAX, "%s:%llu: a line of more than %d bytes: no trace",
                            s->path, (unsigned long long)s->number, LINES_LONGEST);
    if (memchr(line, '\0', n))
        return binary(s, s->number, err);
    return LM_OK;
}

lm_status lines_next(line_source *s, char **line, size_t *n, lm_error *err)
{
    char     *begin_of = NULL, *end = NULL;
    size_t    looked = 0;
    lm_status status = LM_OK;

    for (;;) {
        begin_of = s->buffer + s->at;
        end      = memchr(begin_of + looked, '\n', s->n - s->at - looked);
        looked   = s->n - s->at;
        if (end || s->ended || looked > LINES_LONGEST)
            break;
        if ((status = fill(s, err)))
            return status;
    }
    if (!end && !looked) {
        *line = NULL;
        *n    = 0;
        return LM_OK;
    }
    *n    = end ? (size_t)(end - begin_of) : looked;
    s->at = s->at + *n + (end ? 1 : 0);
    s->number++;
    if ((status = check_line(s, begin_of, *n, err)))
        return status;
    if (*n && begin_of[*n - 1] == '\r')
        --*n;
    begin_of[*n] = '\0';
    *line        = begin_of;
    return LM_OK;
}

uint64_t lines_number(const line_source *s)
{
    return s->number;
}
