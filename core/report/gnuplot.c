/* Pictures, drawn by gnuplot from a script that holds its own data. */
#include "report/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

extern char **environ;

/* A picture of w by h units: pixels of an SVG, 1.5 of them of a PNG, hundredths of an inch of a
 * PDF. */
static const struct {
    const char *ending, *terminal;
    double      scale;
    int         font;
} terminals[] = {
    { ".svg", "svg", 1, 13 },
    { ".png", "pngcairo", 1.5, 19 },
    { ".pdf", "pdfcairo", 0.01, 13 },
};

#define N_TERMINALS (sizeof terminals / sizeof terminals[0])

static size_t terminal_for(const char *path)
{
    const size_t n = strlen(path);
    size_t       i = 0;

    while (i < N_TERMINALS && (n <= 4 || strcmp(path + n - 4, terminals[i].ending) != 0))
        i++;
    return i;
}

/* Text between single quotes of a gnuplot script; its markup characters lose their meaning. */
void gnuplot_put_quoted(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', out);
        if (strchr("_^{}@&~\\", *text))
            putc('\\', out);
        putc(*text, out);
    }
    putc('\'', out);
}

static void put_script(FILE *out, size_t terminal, gnuplot_size size, const char *picture,
                       gnuplot_writer *writer, const void *what)
{
    fprintf(
        out,
        "# gnuplot 5 script\nset terminal %s size %g,%g enhanced font 'sans,%d' background 'white'\n",
        terminals[terminal].terminal, terminals[terminal].scale * size.width,
        terminals[terminal].scale * size.height, terminals[terminal].font);
    fputs("set output '", out);
    for (const char *p = picture; *p; p++)
        fprintf(out, *p == '\'' ? "''" : "%c", *p);
    fputs("'\n", out);
    writer(out, what);
    fputs("set output\n", out);
}

static lm_status run_gnuplot(const char *script, lm_error *err)
{
    char *const argv[] = { "gnuplot", (char *)(uintptr_t)script, NULL };
    pid_t       child;
    int         code;
    const int   failed = posix_spawnp(&child, "gnuplot", NULL, NULL, argv, environ);

    if (failed)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "gnuplot cannot be started (%s): install it (Debian: "
                            "gnuplot-nox) or use --format csv",
                            strerror(failed));
    while (waitpid(child, &code, 0) < 0)
        if (errno != EINTR)
            return lm_error_set(err, LM_E_IO, "gnuplot: %s", strerror(errno));
    if (!WIFEXITED(code) || WEXITSTATUS(code) == 127)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "gnuplot cannot be run: install it (Debian: gnuplot-nox)");
    if (WEXITSTATUS(code))
        return lm_error_set(err, LM_E_IO, "gnuplot failed with status %d", WEXITSTATUS(code));
    return LM_OK;
}

lm_status gnuplot_draw(const char *path, gnuplot_size size, gnuplot_writer *writer,
                       const void *what, bool keep_script, lm_error *err)
{
    const size_t terminal = terminal_for(path);
    const size_t room     = strlen(path) + 16;
    char        *script   = malloc(room);
    file_draft   picture = { NULL, NULL, NULL }, text = { NULL, NULL, NULL };
    lm_status    status;

    if (!script)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    snprintf(script, room, "%s.gp", path);
    if (terminal == N_TERMINALS) {
        status =
            lm_error_set(err, LM_E_ARG, "%s: expected a name ending in .svg, .png or .pdf", path);
        goto out;
    }
    if ((status = file_draft_open(&picture, path, err)) ||
        (status = file_draft_open(&text, script, err)))
        goto out;
    put_script(text.stream, terminal, size, picture.temporary, writer, what);
    if (fflush(text.stream)) {
        status = lm_error_set(err, LM_E_IO, "%s: %s", script, strerror(errno));
        goto out;
    }
    if ((status = run_gnuplot(text.temporary, err)) || (status = file_draft_commit(&picture, err)))
        goto out;
    if (keep_script) { /* the same, with the picture's real name */
        rewind(text.stream);
        if (ftruncate(fileno(text.stream), 0))
            status = lm_error_set(err, LM_E_IO, "%s: %s", script, strerror(errno));
        put_script(text.stream, terminal, size, path, writer, what);
        if (!status)
            status = file_draft_commit(&text, err);
    }
out:
    file_draft_drop(&picture);
    file_draft_drop(&text);
    free(script);
    return status;
}
