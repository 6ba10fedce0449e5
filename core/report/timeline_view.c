/* Timelines of steps: SVG by hand, and Trace Event Format. */
#include "report/timeline_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "predict/laid_out.h"
#include "predict/predict.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/json.h"

lm_status timeline_tasks_take(void *by, const pipeline_task *t, lm_error *err)
{
    timeline_tasks *all = by;

    if (!array_grow(&all->task, all->n, &all->room, sizeof *all->task))
        return no_memory(err);
    all->task[all->n++] = *t;
    return LM_OK;
}

static int by_start(const void *a, const void *b)
{
    const pipeline_task *x = a, *y = b;

    return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                                : (x->rank > y->rank) - (x->rank < y->rank);
}

void timeline_begin(timeline_tasks *tasks, timeline_picture *p)
{
    const size_t most = (size_t)p->ranks * TIMELINE_BARS_RANK;
    const double step = p->step;

    if (p->n <= TIMELINE_BARS_MAX || p->n <= most)
        return;
    qsort(tasks->task, p->n, sizeof *tasks->task, by_start);
    p->n          = most;
    p->step       = tasks->task[most].start;
    p->behind     = 0;
    p->n_messages = 0; /* of the last pass */
    for (size_t i = 0; i < most; i++)
        tasks->task[i].end = fmin(tasks->task[i].end, p->step);
    text_add(tasks->title, sizeof tasks->title, ", of %.4g s the first %.3g s", step, p->step);
    p->title = tasks->title;
}

/* ---- the picture ---- */

enum { LEFT = 76, TOP = 44, WIDTH = 1100, ROW = 26, BAR = 20, BELOW = 66, NUMBER = 12 /* px */ };

/* Forward and backward passes as in other pictures; gradients of weights by themselves a third. */
static const char *colour_of(pipeline_pass pass)
{
    if (pass == PIPELINE_WEIGHT)
        return "#009E73";
    return chart_part_colour(pass == PIPELINE_FORWARD ? CHART_FORWARD : CHART_BACKWARD);
}

static double x_of(const timeline_picture *p, double seconds)
{
    return LEFT + WIDTH * seconds / p->step;
}

/* Rows of the picture: stages, or the passes and the messages of one rank. */
static int64_t rows_of(const timeline_picture *p)
{
    return p->ranks + (p->n_messages > 0);
}

static const char *name_of_row(const timeline_picture *p, int64_t row, char text[32])
{
    if (row == p->ranks || p->ranks == 1)
        return row == p->ranks ? "messages" : "passes";
    snprintf(text, 32, "stage %lld", (long long)row);
    return text;
}

/* Number of the last chunk. */
static int64_t last_chunk(const timeline_picture *p)
{
    int64_t last = 0;

    for (size_t i = 0; i < p->n; i++)
        last = p->task[i].chunk > last ? p->task[i].chunk : last;
    return last;
}

#define PALEST 0.4 /* opacity of the last chunk */
#define BEHIND "messages of gradients, update"

/* Later chunks are paler, in equal steps; numbers on pale bars are dark. */
static void put_bar(FILE *out, const timeline_picture *p, const pipeline_task *t, int64_t last)
{
    const double  x = x_of(p, t->start), width = x_of(p, t->end) - x;
    const int64_t y       = TOP + t->rank * ROW;
    const double  opacity = last > 0 ? 1 - (1 - PALEST) * (double)t->chunk / (double)last : 1;

    fprintf(out,
            "<rect x=\"%.2f\" y=\"%lld\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
            "fill-opacity=\"%.2f\"><title>%s of micro-batch %lld",
            x, (long long)y, fmax(width - 0.4, 0.9 * width), BAR, colour_of(t->pass), opacity,
            pipeline_pass_name(t->pass), (long long)t->micro_batch);
    if (t->chunk)
        fprintf(out, ", chunk %lld", (long long)t->chunk);
    fprintf(out, ": %.6g to %.6g s</title></rect>\n", t->start, t->end);
    if (width >= NUMBER)
        fprintf(out, "<text x=\"%.2f\" y=\"%lld\" class=\"%s\">%lld</text>\n", x + width / 2,
                (long long)(y + BAR - 6), opacity < 0.69 ? "n d" : "n", (long long)t->micro_batch);
}

static void put_message(FILE *out, const timeline_picture *p, const overlap_bucket *b)
{
    const double x = x_of(p, p->last + b->start), width = x_of(p, p->last + b->end) - x;

    fprintf(out,
            "<rect x=\"%.2f\" y=\"%lld\" width=\"%.2f\" height=\"%d\" fill=\"%s\">"
            "<title>%.4g MB: %.6g to %.6g s</title></rect>\n",
            x, (long long)(TOP + p->ranks * ROW), fmax(width - 0.4, 0.9 * width), BAR,
            chart_part_colour(CHART_SYNC), b->bytes / 1e6, p->last + b->start, p->last + b->end);
}

static void put_axis(FILE *out, const timeline_picture *p)
{
    const double y    = (double)(TOP + rows_of(p) * ROW);
    const double size = pow(10, floor(log10(p->step / 4)));
    const double tick = size * (p->step / size > 20 ? 5 : p->step / size > 8 ? 2 : 1);

    fprintf(out, "<path d=\"M%d %.0fH%d\" stroke=\"#444\"/>\n", LEFT, y, LEFT + WIDTH);
    for (int i = 0; i * tick <= p->step * (1 + 1e-9); i++)
        fprintf(out,
                "<path d=\"M%.2f %.0fv5\" stroke=\"#444\"/><text x=\"%.2f\" y=\"%.0f\" "
                "class=\"a\">%g</text>\n",
                x_of(p, i * tick), y, x_of(p, i * tick), y + 18, i * tick);
    fprintf(out, "<text x=\"%d\" y=\"%.0f\" class=\"a\">time [s]</text>\n", LEFT + WIDTH / 2,
            y + 36);
}

static void put_legend(FILE *out, const timeline_picture *p, int64_t last)
{
    const double y                      = (double)(TOP + rows_of(p) * ROW + 46);
    bool         has[N_PIPELINE_PASSES] = { false };
    int          x                      = LEFT;

    for (size_t i = 0; i < p->n; i++)
        has[p->task[i].pass] = true;
    for (int s = 0; s < N_PIPELINE_PASSES; s++)
        if (has[s]) {
            fprintf(
                out,
                "<rect x=\"%d\" y=\"%.0f\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" "
                "y=\"%.0f\" class=\"l\">%s</text>\n",
                x, y, colour_of((pipeline_pass)s), x + 17, y + 11,
                pipeline_pass_name((pipeline_pass)s));
            x += 100;
        }
    if (last > 0) {
        fprintf(out, "<text x=\"%d\" y=\"%.0f\" class=\"l\">later chunks are paler</text>\n", x,
                y + 11);
        x += 150;
    }
    if (p->behind > 0)
        fprintf(out,
                "<rect x=\"%d\" y=\"%.0f\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" "
                "y=\"%.0f\" class=\"l\">%s</text>\n",
                x, y, chart_part_colour(CHART_SYNC), x + 17, y + 11, BEHIND);
}

void timeline_put_svg(const timeline_picture *p, FILE *out)
{
    const long long height = TOP + rows_of(p) * ROW + BELOW, width = LEFT + WIDTH + 30;
    const int64_t   last = last_chunk(p);
    char            name[32];

    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %lld %lld\" width=\"%lld\" "
        "height=\"%lld\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<style>.n{fill:#fff;font-size:9px;text-anchor:middle}.d{fill:#222}.a{text-anchor:middle}"
        ".r{text-anchor:end}</style>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
        "<text x=\"%d\" y=\"24\" font-size=\"15\">",
        width, height, width, height, LEFT);
    html_text(out, p->title);
    fputs("</text>\n", out);
    for (int64_t r = 0; r < rows_of(p); r++)
        fprintf(out, "<text x=\"%d\" y=\"%lld\" class=\"r\">%s</text>\n", LEFT - 8,
                (long long)(TOP + r * ROW + BAR - 5), name_of_row(p, r, name));
    if (p->behind > 0)
        fprintf(out,
                "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%lld\" fill=\"%s\" "
                "fill-opacity=\"0.5\"/>\n",
                x_of(p, p->step - p->behind), TOP, WIDTH * p->behind / p->step,
                (long long)(p->ranks * ROW - ROW + BAR), chart_part_colour(CHART_SYNC));
    for (size_t i = 0; i < p->n; i++)
        put_bar(out, p, &p->task[i], last);
    for (size_t i = 0; i < p->n_messages; i++)
        put_message(out, p, &p->message[i]);
    put_axis(out, p);
    put_legend(out, p, last);
    fputs("</svg>\n", out);
}

static lm_status put_svg(void *context, FILE *out, lm_error *err)
{
    (void)err;
    timeline_put_svg(context, out);
    return LM_OK;
}

/* ---- the trace ---- */

static void put_name(json *j, const char *event, uint64_t rank, const char *name)
{
    json_open(j, NULL, '{');
    json_text(j, "name", event);
    json_text(j, "ph", "M");
    json_count(j, "pid", 0);
    json_count(j, "tid", rank);
    json_open(j, "args", '{');
    json_text(j, "name", name);
    json_close(j, '}');
    json_close(j, '}');
}

/* The event stays open for its "args". */
static void open_event(json *j, const char *name, const char *category, uint64_t rank, double start,
                       double end)
{
    json_open(j, NULL, '{');
    json_text(j, "name", name);
    json_text(j, "cat", category);
    json_text(j, "ph", "X");
    json_count(j, "pid", 0);
    json_count(j, "tid", rank);
    json_real(j, "ts", 1e6 * start);
    json_real(j, "dur", 1e6 * (end - start));
}

static void put_event(json *j, const pipeline_task *t)
{
    char name[64];

    snprintf(name, sizeof name, "%s %lld", pipeline_pass_name(t->pass), (long long)t->micro_batch);
    open_event(j, name, pipeline_pass_name(t->pass), (uint64_t)t->rank, t->start, t->end);
    json_open(j, "args", '{');
    json_count(j, "micro_batch", (uint64_t)t->micro_batch);
    json_count(j, "chunk", (uint64_t)t->chunk);
    json_close(j, '}');
    json_close(j, '}');
}

static lm_status put_trace(void *context, FILE *out, lm_error *err)
{
    const timeline_picture *p = context;
    json                    j = { .out = out, .one_line = true };

    (void)err;
    json_open(&j, NULL, '{');
    json_text(&j, "displayTimeUnit", "ms");
    json_open(&j, "traceEvents", '[');
    put_name(&j, "process_name", 0, p->title);
    for (int64_t r = 0; r < rows_of(p); r++) {
        char name[32];

        put_name(&j, "thread_name", (uint64_t)r, name_of_row(p, r, name));
    }
    for (size_t i = 0; i < p->n; i++)
        put_event(&j, &p->task[i]);
    for (int64_t r = 0; r < p->ranks && p->behind > 0; r++) {
        open_event(&j, BEHIND, "data", (uint64_t)r, p->step - p->behind, p->step);
        json_close(&j, '}');
    }
    for (size_t i = 0; i < p->n_messages; i++) {
        const overlap_bucket *b = &p->message[i];

        open_event(&j, "message", "data", (uint64_t)p->ranks, p->last + b->start, p->last + b->end);
        json_open(&j, "args", '{');
        json_real(&j, "bytes", b->bytes);
        json_close(&j, '}');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    return LM_OK;
}

/* ---- the file ---- */

static bool ends_in(const char *path, const char *suffix)
{
    const size_t n = strlen(path), s = strlen(suffix);

    return n > s && !strcmp(path + n - s, suffix);
}

lm_status timeline_draw_check(const char *path, lm_error *err)
{
    return ends_in(path, ".svg") || ends_in(path, ".json")
               ? LM_OK
               : lm_error_set(err, LM_E_ARG, "%s: expected a name ending in .svg or .json", path);
}

lm_status timeline_draw(const char *path, timeline_tasks *tasks, timeline_picture *p, lm_error *err)
{
    const lm_status status = timeline_draw_check(path, err);

    if (status)
        return status;
    if (ends_in(path, ".json"))
        return file_put(path, put_trace, p, err);
    timeline_begin(tasks, p);
    return file_put(path, put_svg, p, err);
}

/* Passes of one rank, micro-batch by micro-batch: a pipeline of one stage. */
static lm_status take_passes(const step_setup *s, const step_times *t, timeline_tasks *tasks,
                             lm_error *err)
{
    const double            micro = (double)s->sync.accumulation;
    const pipeline_stage    all   = { .forward = (t->forward + t->gathers[0]) / micro,
                                      .input   = (t->backward + t->gathers[1]) / micro };
    const pipeline_question q     = { .rule          = PIPELINE_1F1B,
                                      .ranks         = 1,
                                      .chunks        = 1,
                                      .micro_batches = s->sync.accumulation,
                                      .stage         = &all };
    double                  step;

    return pipeline_run(&q, &step, NULL, timeline_tasks_take, tasks, err);
}

/* The passes and messages of a rank without stages. */
static lm_status picture_of_rank(const predictor *who, const step_setup *s, timeline_tasks *tasks,
                                 timeline_picture *out, lm_error *err)
{
    prediction p;
    step_times t;
    lm_status  status = predict_timeline(who, s, &p, &t, err);

    if (status)
        return status;
    tasks->message = t.bucket;
    if (isnan(t.forward + t.backward + t.step))
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%.80s: forward and backward pass are not known, only whole steps: a "
                            "timeline needs a layout (--tp, --fsdp, --pp) or several devices",
                            who->network);
    *out   = (timeline_picture){ .message = t.bucket, .n_messages = t.n };
    status = take_passes(s, &t, tasks, err);
    if (tasks->n)
        out->last = tasks->task[tasks->n - 1].start;
    return status;
}

lm_status timeline_picture_of(const predictor *who, const step_setup *s, const prediction *p,
                              const char *words, timeline_tasks *tasks, timeline_picture *out,
                              lm_error *err)
{
    timeline_picture rank   = { .n_messages = 0 };
    const lm_status  status = s->layout.pp > 1
                                  ? predict_stage_tasks(who, s, timeline_tasks_take, tasks, err)
                                  : picture_of_rank(who, s, tasks, &rank, err);
    double           end    = 0;

    for (size_t i = 0; i < tasks->n; i++)
        end = fmax(end, tasks->task[i].end);
    snprintf(tasks->title, sizeof tasks->title, "%.100s%s%s: a step", who->network,
             *words ? ", " : "", words);
    *out = (timeline_picture){ .title      = tasks->title,
                               .ranks      = s->layout.pp,
                               .task       = tasks->task,
                               .n          = tasks->n,
                               .behind     = fmax(0, p->step - end),
                               .step       = p->step,
                               .message    = rank.message,
                               .n_messages = rank.n_messages,
                               .last       = rank.last };
    return status;
}

lm_status timeline_draw_step(const char *path, const predictor *who, const step_setup *s,
                             const prediction *p, const char *words, lm_error *err)
{
    timeline_tasks   tasks = { .task = NULL };
    timeline_picture picture;
    lm_status        status = timeline_picture_of(who, s, p, words, &tasks, &picture, err);

    if (!status)
        status = timeline_draw(path, &tasks, &picture, err);
    free(tasks.task);
    free(tasks.message);
    return status;
}
