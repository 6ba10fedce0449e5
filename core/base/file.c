/* Reads and writes whole files. */
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/no_memory.h"

lm_status file_too_large(const char *path, lm_error *err)
{
    return lm_error_set(err, LM_E_IO, "%s: longer than %zu MiB, too long for a text file", path,
                        FILE_TEXT_MAX >> 20);
}

/* Regular files and pipes end; a device may never end. */
static lm_status check_kind(const char *path, const struct stat *info, lm_error *err)
{
    if (S_ISDIR(info->st_mode))
        return lm_error_set(err, LM_E_IO, "%s: is a folder, not a file", path);
    if (!S_ISREG(info->st_mode) && !S_ISFIFO(info->st_mode))
        return lm_error_set(err, LM_E_IO, "%s: is neither a file nor a pipe", path);
    return info->st_size > (off_t)FILE_TEXT_MAX ? file_too_large(path, err) : LM_OK;
}

lm_status file_read_text(const char *path, char **out, size_t *size, lm_error *err)
{
    FILE       *file = fopen(path, "rb");
    char       *text = NULL;
    size_t      n = 0, room = 0, got;
    lm_status   status = LM_OK;
    struct stat info;

    if (!file)
        return lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    if (!fstat(fileno(file), &info) && (status = check_kind(path, &info, err)))
        goto out;
    do {
        if (n + 1 >= room) {
            char *more;

            room = room ? 2 * room : (size_t)64 * 1024;
            more = realloc(text, room);
            if (!more) {
                status = no_memory(err);
                goto out;
            }
            text = more;
        }
        got = fread(text + n, 1, room - n - 1, file);
        n += got;
        if (n > FILE_TEXT_MAX) {
            status = file_too_large(path, err);
            goto out;
        }
    } while (got > 0);
    if (ferror(file)) {
        status = lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
        goto out;
    }
    text[n] = '\0';
    if (memchr(text, '\0', n)) {
        status = lm_error_set(err, LM_E_SYNTAX, "%s: a binary file, expected text", path);
        goto out;
    }
    *out  = text;
    *size = n;
    text  = NULL;
out:
    free(text);
    fclose(file);
    return status;
}

/* The target of a link, because a rename would replace the link itself (/dev/stdout is one). A
 * dangling link gives its own name. */
static char *behind_links(const char *path)
{
    char *target = realpath(path, NULL);

    return target ? target : strdup(path);
}

/* A rename would replace a device, too. A folder is refused when the draft takes its place. */
static bool may_be_replaced(const char *path)
{
    struct stat info;

    return stat(path, &info) || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
}

lm_status file_draft_open(file_draft *draft, const char *path, lm_error *err)
{
    size_t n;
    int    fd;
    mode_t mask;

    *draft = (file_draft){ 0 };
    if (!may_be_replaced(path))
        return lm_error_set(err, LM_E_IO, "%s: is not a regular file", path);
    draft->path      = strdup(path);
    draft->target    = behind_links(path);
    n                = (draft->target ? strlen(draft->target) : 0) + 16;
    draft->temporary = malloc(n);
    if (!draft->path || !draft->target || !draft->temporary) {
        free(draft->temporary);
        draft->temporary = NULL;
        file_draft_drop(draft);
        return no_memory(err);
    }
    snprintf(draft->temporary, n, "%s.XXXXXX", draft->target);
    fd = mkstemp(draft->temporary);
    if (fd < 0) {
        const int why = errno;

        free(draft->temporary);
        draft->temporary = NULL;
        file_draft_drop(draft);
        return lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(why));
    }
    mask = umask(0);
    umask(mask);
    (void)!fchmod(fd, 0666 & ~mask); /* mkstemp() makes it private */
    draft->stream = fdopen(fd, "w");
    if (!draft->stream) {
        close(fd);
        file_draft_drop(draft);
        return lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    }
    return LM_OK;
}

/* The draft is on the disk, and no folder stands in its place. */
static lm_status finish(file_draft *draft, lm_error *err)
{
    const bool failed =
        ferror(draft->stream) || fflush(draft->stream) || fsync(fileno(draft->stream));
    const int   why    = errno;
    const bool  closed = !fclose(draft->stream);
    struct stat info;

    draft->stream = NULL;
    if (failed || !closed)
        return lm_error_set(err, LM_E_IO, "%s: %s", draft->path, strerror(failed ? why : errno));
    if (!stat(draft->target, &info) && S_ISDIR(info.st_mode))
        return lm_error_set(err, LM_E_IO, "%s: %s", draft->path, strerror(EISDIR));
    return LM_OK;
}

lm_status file_draft_commit(file_draft *draft, lm_error *err)
{
    lm_status status = draft->stream ? finish(draft, err) : LM_OK;

    if (!status && rename(draft->temporary, draft->target))
        status = lm_error_set(err, LM_E_IO, "%s: %s", draft->path, strerror(errno));
    if (!status) {
        free(draft->temporary);
        draft->temporary = NULL;
    }
    file_draft_drop(draft);
    return status;
}

void file_draft_drop(file_draft *draft)
{
    if (draft->stream)
        fclose(draft->stream);
    if (draft->temporary)
        unlink(draft->temporary);
    free_all(draft->temporary, draft->path, draft->target);
    *draft = (file_draft){ 0 };
}

lm_status file_put(const char *path, file_writer *write, void *context, lm_error *err)
{
    file_draft draft;
    lm_status  status;

    if (!path)
        return write(context, stdout, err);
    if ((status = file_draft_open(&draft, path, err)))
        return status;
    if (!(status = write(context, draft.stream, err)))
        status = file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    return status;
}

lm_status file_drafts_add(file_drafts *drafts, const char *path, const char *text, lm_error *err)
{
    file_draft *more = realloc(drafts->draft, (drafts->n + 1) * sizeof *more);
    lm_status   status;

    if (!more)
        return no_memory(err);
    drafts->draft = more;
    if ((status = file_draft_open(&more[drafts->n], path, err)))
        return status;
    fputs(text, more[drafts->n++].stream);
    return LM_OK;
}

lm_status file_drafts_commit(file_drafts *drafts, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < drafts->n && !status; i++)
        status = finish(&drafts->draft[i], err);
    for (size_t i = 0; i < drafts->n && !status; i++)
        status = file_draft_commit(&drafts->draft[i], err);
    file_drafts_drop(drafts);
    return status;
}

void file_drafts_drop(file_drafts *drafts)
{
    for (size_t i = 0; i < drafts->n; i++)
        file_draft_drop(&drafts->draft[i]);
    free(drafts->draft);
    *drafts = (file_drafts){ 0 };
}
