/* Pictures, drawn by gnuplot from a script that holds its own data. */
#include "report/plot.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

extern char **environ;

static const struct {
    const char *ending, *terminal;
} terminals[] = {
    { ".svg", "svg size 900,760 enhanced font 'sans,13' background 'white'" },
    { ".png", "pngcairo size 1350,1140 enhanced font 'sans,19' background 'white'" },
    { ".pdf", "pdfcairo size 9,7.6 enhanced font 'sans,13' background 'white'" },
};

static const char *terminal_for(const char *path)
{
    const size_t n = strlen(path);

    for (size_t i = 0; i < sizeof terminals / sizeof terminals[0]; i++)
        if (n > 4 && !strcmp(path + n - 4, terminals[i].ending))
            return terminals[i].terminal;
    return NULL;
}

/* Text between single quotes of a gnuplot script; its markup characters lose their meaning. */
static void put_quoted(FILE *out, const char *text)
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

static void put_data(FILE *out, const scale_point *point, size_t n)
{
    fputs("$curve << EOD\n# nodes samples_per_s low high ideal forward_ms backward_ms grad_ms\n",
          out);
    for (size_t i = 0; i < n; i++) {
        const prediction *s     = &point[i].step;
        const double      batch = (double)point[i].global_batch;

        fprintf(out, "%lld %.9g ", (long long)s->nodes, point[i].samples_per_second);
        if (isnan(s->step_low) || s->step_low <= 0)
            fputs("NaN NaN ", out);
        else
            fprintf(out, "%.9g %.9g ", batch / s->step_high, batch / s->step_low);
        fprintf(out, "%.9g %.9g %.9g %.9g\n", point[i].samples_per_second / point[i].efficiency,
                1e3 * s->forward, 1e3 * s->backward, 1e3 * s->grad);
    }
    fputs("EOD\n", out);
}

static void put_script(FILE *out, const char *terminal, const char *picture, const char *title,
                       const scale_point *point, size_t n, int64_t measured_to, int64_t turning)
{
    const long long last = (long long)point[n - 1].step.nodes;

    fprintf(out, "# gnuplot 5 script\nset terminal %s\nset output '", terminal);
    for (const char *p = picture; *p; p++)
        fprintf(out, *p == '\'' ? "''" : "%c", *p);
    fputs("'\n", out);
    put_data(out, point, n);
    fputs("set multiplot layout 2,1 title ", out);
    put_quoted(out, title);
    fputs(
        "\nset grid lc rgb '#dddddd' lt 1\nset border 3 lc rgb '#555555'\nset tics nomirror\n"
        "set lmargin 12\nset rmargin 4\nset key outside top center horizontal Left reverse samplen 2 width 2\n"
        "set logscale x 2\nset xlabel 'nodes (one device each)'\n",
        out);
    fprintf(out, "set xrange [%lld:%lld]\n", (long long)point[0].step.nodes,
            last > point[0].step.nodes ? last : last + 1);
    if (measured_to < last)
        fprintf(out,
                "set object 1 rectangle from first %lld,graph 0 to graph 1,graph 1 behind "
                "fillcolor rgb '#f3f3f3' fillstyle solid noborder\n"
                "set label 1 'beyond the calibration' at graph 0.99,graph 0.05 right textcolor rgb "
                "'#777777'\n",
                (long long)(measured_to < point[0].step.nodes ? point[0].step.nodes : measured_to));
    if (turning > 0 && turning <= last)
        fprintf(
            out,
            "set arrow 1 from first %lld,graph 0 to first %lld,graph 1 nohead dashtype 3 lw 2 lc "
            "rgb '#555555'\nset label 2 ' turning point: %lld' at first %lld,graph 0.13 textcolor "
            "rgb '#555555'\n",
            (long long)turning, (long long)turning, (long long)turning, (long long)turning);
    fputs(
        "set logscale y\nset ylabel 'samples per second'\n"
        "plot $curve using 1:3:4 with filledcurves fillcolor rgb '#56B4E9' fillstyle transparent "
        "solid 0.30 noborder title 'low to high', \\\n"
        "  $curve using 1:5 with lines dashtype 2 lw 2 lc rgb '#999999' title 'ideal', \\\n"
        "  $curve using 1:2 with linespoints lw 3 pt 7 ps 0.7 lc rgb '#0072B2' title 'predicted'\n"
        "unset logscale y\nunset label 2\nset ylabel 'time of a step [ms]'\nset yrange [0:*]\n"
        "plot $curve using 1:($6+$7+$8) with filledcurves y=0 fillcolor rgb '#D55E00' title "
        "'sync and update', \\\n"
        "  $curve using 1:($6+$7) with filledcurves y=0 fillcolor rgb '#E69F00' title 'backward', "
        "\\\n"
        "  $curve using 1:6 with filledcurves y=0 fillcolor rgb '#009E73' title 'forward'\n"
        "unset multiplot\nset output\n",
        out);
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

lm_status plot_scaling(const char *path, const char *title, const scale_point *point, size_t n,
                       int64_t measured_to, int64_t turning, bool keep_script, lm_error *err)
{
    const char  *terminal = terminal_for(path);
    const size_t room     = strlen(path) + 16;
    char        *script   = malloc(room);
    file_draft   picture = { NULL, NULL, NULL }, text = { NULL, NULL, NULL };
    lm_status    status;

    if (!script)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    snprintf(script, room, "%s.gp", path);
    if (!terminal || !n) {
        status =
            lm_error_set(err, LM_E_ARG, "%s: expected a name ending in .svg, .png or .pdf", path);
        goto out;
    }
    if ((status = file_draft_open(&picture, path, err)) ||
        (status = file_draft_open(&text, script, err)))
        goto out;
    put_script(text.stream, terminal, picture.temporary, title, point, n, measured_to, turning);
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
        put_script(text.stream, terminal, path, title, point, n, measured_to, turning);
        if (!status)
            status = file_draft_commit(&text, err);
    }
out:
    file_draft_drop(&picture);
    file_draft_drop(&text);
    free(script);
    return status;
}
