/* Timelines: a picture and a trace of the tasks that a pipeline hands over. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "folder.h"
#include "report/timeline_view.h"

static timeline_tasks tasks_of_two_stages(void)
{
    const pipeline_stage    stage[] = { { .forward = 1, .input = 1, .weight = 1 },
                                        { .forward = 1, .input = 1, .weight = 1 } };
    const pipeline_question q       = {
              .rule = PIPELINE_ZB_H1, .ranks = 2, .chunks = 1, .micro_batches = 2, .stage = stage
    };
    timeline_tasks tasks = { .task = NULL };
    double         step;
    lm_error       err = { LM_OK, "" };

    assert_int_equal(pipeline_run(&q, &step, NULL, timeline_tasks_take, &tasks, &err), LM_OK);
    assert_int_equal(tasks.n, 12);
    assert_close(step, 7, 1e-12); /* 2 x 3 + 1 */
    return tasks;
}

static char *drawn(const char *path, timeline_tasks *tasks, timeline_picture *p)
{
    char    *text = NULL;
    size_t   n;
    lm_error err = { LM_OK, "" };

    timeline_draw(path, tasks, p, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(file_read_text(path, &text, &n, &err), LM_OK);
    return text;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

static void a_picture_has_a_bar_for_each_task(void **state)
{
    timeline_tasks   tasks = tasks_of_two_stages();
    timeline_picture p     = {
            .title = "a < b", .ranks = 2, .task = tasks.task, .n = tasks.n, .behind = 1, .step = 8
    };
    char *svg;

    (void)state;
    svg = drawn("t.svg", &tasks, &p);
    assert_non_null(strstr(svg, "a &lt; b"));
    assert_int_equal(count(svg, "<title>forward of micro-batch"), 4);
    assert_int_equal(count(svg, "<title>backward of micro-batch"), 4);
    assert_int_equal(count(svg, "<title>weight of micro-batch"), 4);
    /* the second stage's first pass, 1 s in: 1100 px are 8 s, and a row has 26 */
    assert_non_null(strstr(svg, "<rect x=\"213.50\" y=\"70\" width=\"137.10\""));
    assert_non_null(strstr(svg, "forward of micro-batch 0: 1 to 2 s"));
    assert_non_null(strstr(svg, "messages of gradients, update"));
    free(svg);
    free(tasks.task);
}

/* Trace Event Format: complete events, microseconds, a thread for each stage. */
static void a_trace_has_an_event_for_each_task(void **state)
{
    timeline_tasks   tasks = tasks_of_two_stages();
    timeline_picture p     = {
            .title = "t", .ranks = 2, .task = tasks.task, .n = tasks.n, .behind = 0, .step = 7
    };
    char *text;

    (void)state;
    text = drawn("t.json", &tasks, &p);
    assert_int_equal(count(text, "\"ph\": \"X\""), 12);
    assert_int_equal(count(text, "\"thread_name\""), 2);
    assert_non_null(
        strstr(text, "{\"name\": \"forward 0\", \"cat\": \"forward\", \"ph\": \"X\", \"pid\": 0, "
                     "\"tid\": 1, \"ts\": 1000000, \"dur\": 1000000, "
                     "\"args\": {\"micro_batch\": 0, \"chunk\": 0}}"));
    free(text);
    free(tasks.task);
}

static void other_files_are_refused(void **state)
{
    timeline_tasks   none = { .task = NULL };
    timeline_picture p    = { .title = "t", .ranks = 1, .step = 1 };
    lm_error         err;

    (void)state;
    assert_int_equal(timeline_draw("t.png", &none, &p, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "t.png: expected a name ending in .svg or .json");
}

/* Three chunks: opacity 1, 0.7, 0.4 in equal steps; the number of the palest bar is dark. */
static void later_chunks_are_paler(void **state)
{
    pipeline_task    task[3];
    timeline_tasks   tasks = { .task = task, .n = 3 };
    timeline_picture p     = { .title = "t", .ranks = 1, .task = task, .n = 3, .step = 3 };
    char            *svg;

    (void)state;
    for (int64_t i = 0; i < 3; i++)
        task[i] = (pipeline_task){ .chunk = i, .start = (double)i, .end = (double)(i + 1) };
    svg = drawn("t.svg", &tasks, &p);
    assert_int_equal(count(svg, "fill-opacity=\"1.00\""), 1);
    assert_int_equal(count(svg, "fill-opacity=\"0.70\""), 1);
    assert_int_equal(count(svg, "fill-opacity=\"0.40\""), 1);
    assert_int_equal(count(svg, "class=\"n d\""), 1);
    assert_int_equal(count(svg, "later chunks are paler"), 1);
    free(svg);
    p.n = 1; /* one chunk */
    svg = drawn("t.svg", &tasks, &p);
    assert_int_equal(count(svg, "fill-opacity=\"1.00\""), 1);
    assert_null(strstr(svg, "later chunks"));
    free(svg);
}

/* Of two ranks the first 200 tasks of a second each, by their start; the 201st starts after 100 s. */
static void of_a_long_step_the_beginning_is_drawn(void **state)
{
    const size_t     n     = TIMELINE_BARS_MAX + 2;
    timeline_tasks   tasks = { .task = calloc(n, sizeof *tasks.task), .n = n, .title = "a step" };
    timeline_picture p     = {
            .title = tasks.title, .ranks = 2, .task = tasks.task, .n = n, .behind = 9, .step = 4010
    };
    char *svg;

    (void)state;
    for (size_t i = 0; i < n; i++) /* rank after rank, as a run may hand them over */
        tasks.task[i] = (pipeline_task){ .rank        = (int64_t)(i / (n / 2)),
                                         .micro_batch = (int64_t)(i % (n / 2)),
                                         .start       = (double)(i % (n / 2)),
                                         .end         = (double)(i % (n / 2)) + 1.5 };
    svg = drawn("t.svg", &tasks, &p);
    assert_int_equal(count(svg, "<title>"), 200);
    assert_non_null(strstr(svg, "a step, of 4010 s the first 100 s</text>"));
    assert_non_null(strstr(svg, "of micro-batch 99: 99 to 100 s")); /* clipped */
    assert_null(strstr(svg, "micro-batch 100:"));
    assert_null(strstr(svg, "update"));
    free(svg);
    free(tasks.task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_has_a_bar_for_each_task),
        cmocka_unit_test(a_trace_has_an_event_for_each_task),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(later_chunks_are_paler),
        cmocka_unit_test(of_a_long_step_the_beginning_is_drawn),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
