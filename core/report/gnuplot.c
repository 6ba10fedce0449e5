/* Pictures, drawn by gnuplot from a script that holds its own data. */
#include "report/gnuplot.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"

extern char **environ;

/* A picture of w by h units: 1 pixel of an SVG, 1.5 pixels of a PNG, a hundredth of an inch of a
 * PDF. A picture that is whole ends in `last`, within `tail` bytes. */
static const struct {
    const char *ending, *terminal;
    double      scale;
    int         font;
    const char *last;
    size_t      tail;
} terminals[] = {
    { ".svg", "svg", 1, 13, "</svg>", 16 },
    { ".png", "pngcairo", 1.5, 19, "IEND", 8 }, /* behind it a checksum of 4 bytes */
    { ".pdf", "pdfcairo", 0.01, 13, "%%EOF", 16 },
};

#define TAIL_MAX 16

#define N_TERMINALS (sizeof terminals / sizeof terminals[0])

static size_t terminal_for(const char *path)
{
    const size_t n = strlen(path);
    size_t       i = 0;

    while (i < N_TERMINALS && (n <= 4 || strcmp(path + n - 4, terminals[i].ending) != 0))
        i++;
    return i;
}

const char *gnuplot_ending(const char *path)
{
    const size_t terminal = terminal_for(path);

    return terminal < N_TERMINALS ? terminals[terminal].ending : NULL;
}

void gnuplot_put_quoted(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', out);
        if (strchr("_^{}@&~\\", *text))
            putc('\\', out);
        putc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, out);
    }
    putc('\'', out);
}

/* A line break within the script's quotes would begin a command. */
static lm_status check_name(const char *path, lm_error *err)
{
    for (const char *p = path; *p; p++)
        if (text_control(p))
            return lm_error_set(err, LM_E_ARG, "%s: a control character in the name of a picture",
                                path);
    if (terminal_for(path) == N_TERMINALS)
        return lm_error_set(err, LM_E_ARG, "%s: expected a name ending in .svg, .png or .pdf",
                            path);
    return LM_OK;
}

/* The head of a script: the terminal and its size. */
static void put_terminal(FILE *out, size_t terminal, gnuplot_size size)
{
    fprintf(out, "set terminal %s size %g,%g enhanced font 'sans,%d' background 'white'\n",
            terminals[terminal].terminal, terminals[terminal].scale * size.width,
            terminals[terminal].scale * size.height, terminals[terminal].font);
}

static void put_output(FILE *out, const char *path)
{
    fputs("set output '", out);
    for (const char *p = path; *p; p++)
        fprintf(out, *p == '\'' ? "''" : "%c", *p);
    fputs("'\n", out);
}

static void put_script(FILE *out, size_t terminal, gnuplot_size size, const char *picture,
                       gnuplot_writer *writer, const void *what)
{
    fputs("# gnuplot 5 script\n", out);
    put_terminal(out, terminal, size);
    put_output(out, picture);
    writer(out, what);
    fputs("set output\n", out);
}

/* This environment with another locale: names are UTF-8, numbers have points. malloc'ed. */
static char **environment(void)
{
    static char locale[] = "LC_ALL=C.UTF-8";
    size_t      n = 0, kept = 0;
    char      **out;

    while (environ[n])
        n++;
    out = calloc(n + 2, sizeof *out);
    for (size_t i = 0; out && i < n; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0)
            out[kept++] = environ[i];
    if (out)
        out[kept] = locale;
    return out;
}

/* Signals that would end this process end gnuplot, and its drafts are removed here. */
static const int ending[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

enum { N_ENDING = sizeof ending / sizeof ending[0] };

static volatile sig_atomic_t drawing, asked; /* gnuplot's process, 0: none; the signal */

static void pass_on(int signal_number)
{
    asked = signal_number;
    if (drawing)
        kill((pid_t)drawing, signal_number);
}

static void catch_ends(struct sigaction was[N_ENDING])
{
    const struct sigaction mine = { .sa_handler = pass_on };

    drawing = asked = 0;
    for (int i = 0; i < N_ENDING; i++)
        if (!sigaction(ending[i], NULL, &was[i]) && was[i].sa_handler != SIG_IGN)
            sigaction(ending[i], &mine, NULL);
}

static int wait_for(pid_t child, int *code)
{
    pid_t ended;

    drawing = (sig_atomic_t)child;
    if (asked)
        kill(child, asked);
    do
        ended = waitpid(child, code, 0);
    while (ended < 0 && errno == EINTR);
    drawing = 0;
    return ended < 0 ? errno : 0;
}

/* Starts gnuplot and waits for its end; returns an errno. */
static int start_and_wait(char *const argv[], const posix_spawn_file_actions_t *files, char **with,
                          int *code, bool *started)
{
    struct sigaction was[N_ENDING];
    pid_t            child;
    int              failed;

    catch_ends(was);
    failed   = posix_spawnp(&child, "gnuplot", files, NULL, argv, with);
    *started = !failed;
    if (!failed)
        failed = wait_for(child, code);
    for (int i = 0; i < N_ENDING; i++)
        sigaction(ending[i], &was[i], NULL);
    return failed;
}

/* Runs gnuplot on the script `name`; NULL: on the text of `in`. Its output goes to `out`; NULL:
 * stdout. */
static lm_status run_gnuplot(const char *script, FILE *in, FILE *out, lm_error *err)
{
    /* -d: without the user's ~/.gnuplot, whose commands are not this program's */
    char *const argv[]  = { "gnuplot", "-d", script ? (char *)(uintptr_t)script : "-", NULL };
    bool        started = false;
    int         code    = 0;
    posix_spawn_file_actions_t files;
    int                        failed = posix_spawn_file_actions_init(&files);
    char                     **with   = environment();

    if (!failed && !with)
        failed = ENOMEM;
    if (!failed && in)
        failed = posix_spawn_file_actions_adddup2(&files, fileno(in), 0);
    if (!failed && out)
        failed = posix_spawn_file_actions_adddup2(&files, fileno(out), 1);
    if (!failed)
        failed = start_and_wait(argv, &files, with, &code, &started);
    free(with);
    posix_spawn_file_actions_destroy(&files);
    if (failed && !started)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "gnuplot cannot be started (%s): install it (Debian: gnuplot-nox)",
                            strerror(failed));
    if (failed)
        return lm_error_set(err, LM_E_IO, "gnuplot: %s", strerror(failed));
    if (WIFSIGNALED(code))
        return lm_error_set(err, LM_E_IO, "gnuplot was ended by signal %d", WTERMSIG(code));
    if (!WIFEXITED(code) || WEXITSTATUS(code) == 127)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "gnuplot cannot be run: install it (Debian: gnuplot-nox)");
    if (WEXITSTATUS(code))
        return lm_error_set(err, LM_E_IO, "gnuplot failed with status %d", WEXITSTATUS(code));
    return LM_OK;
}

/* gnuplot ends with status 0 on a full disk: does the picture end as one of its kind does? */
static lm_status check_whole(const char *path, const char *temporary, lm_error *err)
{
    const size_t terminal       = terminal_for(path);
    const size_t n              = strlen(terminals[terminal].last);
    char         tail[TAIL_MAX] = "";
    FILE        *file           = fopen(temporary, "rb");
    size_t       got            = 0;

    if (file && !fseek(file, -(long)terminals[terminal].tail, SEEK_END))
        got = fread(tail, 1, terminals[terminal].tail, file);
    if (file)
        fclose(file);
    for (size_t i = 0; i + n <= got; i++)
        if (!memcmp(tail + i, terminals[terminal].last, n))
            return LM_OK;
    return lm_error_set(err, LM_E_IO,
                        "%s: gnuplot wrote no whole picture: is the disk full? The old picture, if "
                        "any, stays",
                        path);
}

lm_status gnuplot_draw(const char *path, gnuplot_size size, gnuplot_writer *writer,
                       const void *what, bool keep_script, lm_error *err)
{
    const size_t terminal = terminal_for(path);
    const size_t room     = strlen(path) + 16;
    char        *script   = malloc(room);
    file_draft   picture = { 0 }, text = { 0 };
    lm_status    status;

    if (!script)
        return no_memory(err);
    snprintf(script, room, "%s.gp", path);
    if ((status = check_name(path, err)) || (status = file_draft_open(&picture, path, err)) ||
        (status = file_draft_open(&text, script, err)))
        goto out;
    put_script(text.stream, terminal, size, picture.temporary, writer, what);
    if (fflush(text.stream)) {
        status = lm_error_set(err, LM_E_IO, "%s: %s", script, strerror(errno));
        goto out;
    }
    if ((status = run_gnuplot(text.temporary, NULL, NULL, err)) ||
        (status = check_whole(path, picture.temporary, err)) ||
        (status = file_draft_commit(&picture, err)))
        goto out;
    if (keep_script) { /* the same script, with the final name of the picture */
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

/* ---- several pictures by one process ---- */

/* Runs the complete script from its beginning. */
static lm_status run_stream(FILE *script, FILE *out, lm_error *err)
{
    if (fflush(script) || fseek(script, 0, SEEK_SET))
        return lm_error_set(err, LM_E_IO, "a temporary file: %s", strerror(errno));
    return run_gnuplot(NULL, script, out, err);
}

static bool same_file(const char *const path[], size_t i)
{
    return i && !strcmp(path[i], path[i - 1]);
}

/* Opens drafts for all files and for their script. A file that several pictures share gets one
 * draft. */
static lm_status begin_all(const char *const path[], const gnuplot_picture *picture, size_t n,
                           file_draft *draft, FILE *script, lm_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const size_t terminal = terminal_for(path[i]);
        lm_status    status;

        if ((status = check_name(path[i], err)))
            return status;
        if (!same_file(path, i)) {
            if ((status = file_draft_open(&draft[i], path[i], err)))
                return status;
            put_terminal(script, terminal, picture[i].size);
            put_output(script, draft[i].temporary);
        }
        picture[i].writer(script, picture[i].what);
    }
    fputs("set output\n", script);
    return LM_OK;
}

lm_status gnuplot_draw_all(const char *const path[], const gnuplot_picture *picture, size_t n,
                           lm_error *err)
{
    file_draft *draft  = calloc(n + 1, sizeof *draft);
    FILE       *script = tmpfile();
    lm_status   status;

    if (!draft || !script)
        status = lm_error_set(err, LM_E_IO, "a temporary file: %s", strerror(errno));
    else
        status = begin_all(path, picture, n, draft, script, err);
    if (!status)
        status = run_stream(script, NULL, err);
    for (size_t i = 0; i < n && !status; i++)
        if (draft[i].stream && !(status = check_whole(path[i], draft[i].temporary, err)))
            status = file_draft_commit(&draft[i], err);
    for (size_t i = 0; draft && i < n; i++)
        file_draft_drop(&draft[i]);
    if (script)
        fclose(script);
    free(draft);
    return status;
}

/* Copies each of the n documents that follow each other in `all`. */
static lm_status take_documents(const char *all, size_t n, char *svg[], lm_error *err)
{
    static const char begins[] = "<?xml";
    const char       *at       = strstr(all, begins);
    size_t            i;

    for (i = 0; i < n && at; i++) {
        const char *next = strstr(at + 1, begins);

        svg[i] = next ? strndup(at, (size_t)(next - at)) : strdup(at);
        if (!svg[i])
            return no_memory(err);
        at = next;
    }
    for (size_t k = 0; k < i && !at; k++)
        if (!strstr(svg[k], terminals[0].last))
            at = svg[k];
    return i == n && !at ? LM_OK
                         : lm_error_set(err, LM_E_IO,
                                        "gnuplot did not draw %zu whole pictures: is the disk of "
                                        "temporary files full?",
                                        n);
}

static lm_status read_stream(FILE *in, char **out, lm_error *err)
{
    long  size;
    char *text = NULL;

    if (fseek(in, 0, SEEK_END) || (size = ftell(in)) < 0 || fseek(in, 0, SEEK_SET))
        return lm_error_set(err, LM_E_IO, "a temporary file: %s", strerror(errno));
    text = calloc((size_t)size + 1, 1);
    if (!text)
        return no_memory(err);
    if (fread(text, 1, (size_t)size, in) != (size_t)size) {
        free(text);
        return lm_error_set(err, LM_E_IO, "a temporary file cannot be read");
    }
    *out = text;
    return LM_OK;
}

lm_status gnuplot_svg(const gnuplot_picture *picture, size_t n, char *svg[], lm_error *err)
{
    FILE     *script = tmpfile(), *drawn = tmpfile();
    char     *all    = NULL;
    lm_status status = LM_OK;

    if (!script || !drawn)
        status = lm_error_set(err, LM_E_IO, "a temporary file: %s", strerror(errno));
    for (size_t i = 0; i < n && !status; i++) {
        put_terminal(script, 0, picture[i].size);
        picture[i].writer(script, picture[i].what);
        fputs("set output\n", script);
    }
    if (!status)
        status = run_stream(script, drawn, err);
    if (!status)
        status = read_stream(drawn, &all, err);
    for (size_t i = 0; i < n; i++)
        svg[i] = NULL;
    if (!status)
        status = take_documents(all, n, svg, err);
    for (size_t i = 0; i < n && status; i++) {
        free(svg[i]);
        svg[i] = NULL;
    }
    free(all);
    if (script)
        fclose(script);
    if (drawn)
        fclose(drawn);
    return status;
}
