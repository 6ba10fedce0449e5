/** A timeline of a step: the tasks of each stage over time, or the passes and messages of one rank,
 * as a picture or a trace. */
#ifndef REPORT_PIPELINE_VIEW_H
#define REPORT_PIPELINE_VIEW_H

#include <stdio.h>

#include "models/step_model.h"
#include "program/pipeline.h"
#include "program/schedule.h"

/** Tasks collected from pipeline_run(). Zero-initialise; free(task). */
typedef struct pipeline_tasks {
    pipeline_task  *task;
    size_t          n, room;
    overlap_bucket *message; /**< without stages; free() */
    char            title[LAYOUT_TEXT + 200];
} pipeline_tasks;

/** A pipeline_take: `by` is a pipeline_tasks. */
lm_status pipeline_tasks_take(void *by, const pipeline_task *t, lm_error *err);

typedef struct pipeline_picture {
    const char          *title; /**< title of the picture */
    int64_t              ranks;
    const pipeline_task *task;
    size_t               n;
    /** s of messages and update after the last task of the last rank */
    double behind;
    double step; /**< s */
    /** without stages: messages, in s from the start of the last backward pass, which is at `last` */
    const overlap_bucket *message;
    size_t                n_messages;
    double                last;
} pipeline_picture;

/**
 * A picture of more tasks than the first shows only the beginning of the step: so many for each
 * rank, by the time at which they start. The title says so.
 */
#define PIPELINE_BARS_MAX  8000
#define PIPELINE_BARS_RANK 100

/** Cuts a picture of too many tasks. Sorts the tasks, and clips the last ones. */
void pipeline_begin(pipeline_tasks *tasks, pipeline_picture *p);

/**
 * Writes the timeline. The suffix selects the format: .svg, a picture; .json, a trace for chrome://tracing and ui.perfetto.dev (Trace Event Format, complete
 * events, microseconds).
 *
 * @return LM_E_ARG for another suffix; errors of file_put()
 */
lm_status pipeline_draw(const char *path, pipeline_tasks *tasks, pipeline_picture *p,
                        lm_error *err);

/**
 * pipeline_draw() for the predicted step of a layout, whose `words` become the title. Also errors
 * of predict_stage_tasks().
 */
lm_status pipeline_draw_step(const char *path, const predictor *who, const step_setup *s,
                             const prediction *p, const char *words, lm_error *err);

/**
 * The tasks and the picture of a predicted step, whose `words` are its layout. The title and the
 * messages stay valid as long as `tasks`, whose arrays the caller frees.
 *
 * @return errors of predict_stage_tasks() and predict_timeline(); LM_E_UNSUPPORTED for a step without
 *         known passes
 */
lm_status pipeline_picture_of(const predictor *who, const step_setup *s, const prediction *p,
                              const char *words, pipeline_tasks *tasks, pipeline_picture *out,
                              lm_error *err);
/** Writes the picture as SVG. */
void pipeline_put_svg(const pipeline_picture *p, FILE *out);

/** LM_E_ARG for a suffix that pipeline_draw() does not support. */
lm_status pipeline_draw_check(const char *path, lm_error *err);

#endif
