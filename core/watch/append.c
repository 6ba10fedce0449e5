/* A row behind the others of a file of observations. */
#include "watch/append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/no_memory.h"

/* A row, or the header row, as text with its newline; malloc'ed. */
static char *printed(const observation *row)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out  = open_memstream(&text, &size);

    if (!out)
        return NULL;
    if (row)
        observation_print(out, row, "ok");
    else
        observation_print_head(out);
    return fclose(out) ? NULL : text;
}

static lm_status begin(const char *path, const observation *row, const char *machine, lm_error *err)
{
    const time_t now = time(NULL);
    char         date[40];
    file_draft   draft;
    lm_status    status = file_draft_open(&draft, path, err);

    if (status)
        return status;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    fprintf(draft.stream, "# layermeter observations, format 1\n# date: %s\n# program: watch\n",
            date);
    if (*machine)
        fprintf(draft.stream, "# planned on: %s\n", machine);
    observation_print_head(draft.stream);
    observation_print(draft.stream, row, "ok");
    return file_draft_commit(&draft, err);
}

/* Has the file our columns, and an end to its last line? */
static lm_status check_columns(const char *path, lm_error *err)
{
    char     *text = NULL, *head = printed(NULL);
    size_t    size;
    lm_status status = head ? file_read_text(path, &text, &size, err) : no_memory(err);

    if (!status) {
        const char *at = text;

        while (*at == '#' || *at == '\n')
            at += strcspn(at, "\n") + (*at != '\0' && strchr(at, '\n') != NULL);
        if (strncmp(at, head, strlen(head)) != 0)
            status = lm_error_set(err, LM_E_SYNTAX,
                                  "%s: its columns are not those that this program writes: name a "
                                  "new file",
                                  path);
        else if (text[size - 1] != '\n')
            status =
                lm_error_set(err, LM_E_SYNTAX,
                             "%s: its last line is cut short: remove it, or name a new file", path);
    }
    free(text);
    free(head);
    return status;
}

/* As the file's first network of the same element type was run. */
static void take_over(const observations *obs, observation *row)
{
    for (size_t i = 0; i < obs->n_rows; i++) {
        const observation *other = &obs->row[i];

        if (other->kind != OBS_NETWORK || other->dtype != row->dtype)
            continue;
        row->settings  = other->settings;
        row->algorithm = other->algorithm;
        row->threads   = other->threads;
        return;
    }
}

static lm_status write_behind(const char *path, const char *text, lm_error *err)
{
    const int    fd  = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    const size_t n   = strlen(text);
    bool         ok  = fd >= 0 && write(fd, text, n) == (ssize_t)n && !fsync(fd);
    const int    why = errno;

    if (fd >= 0)
        ok = !close(fd) && ok;
    return ok ? LM_OK : lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(why));
}

lm_status observation_append(const char *path, const observation *row, const char *machine,
                             lm_error *err)
{
    observations *obs  = NULL;
    observation   own  = *row;
    char         *text = NULL;
    struct stat   info;
    lm_status     status;

    if (stat(path, &info) && errno == ENOENT)
        return begin(path, row, machine, err);
    status = observations_load(path, &obs, err);
    if (!status)
        status = check_columns(path, err);
    if (!status) {
        take_over(obs, &own);
        text   = printed(&own);
        status = text ? write_behind(path, text, err) : no_memory(err);
    }
    free(text);
    observations_free(obs);
    return status;
}
