/** A timeline of a step: the tasks of each stage over time, or the passes and messages of one rank,
 * as a picture or a trace. */
#ifndef REPORT_TIMELINE_VIEW_H
#define REPORT_TIMELINE_VIEW_H

#include <stdio.h>

#include "models/step_model.h"
#include "program/pipeline.h"
#include "program/schedule.h"

/** Tasks collected from pipeline_run(). Zero-initialise; free(task). */
typedef struct timeline_tasks {
    pipeline_task  *task;
    size_t          n, room;
    overlap_bucket *message; /**< without stages; free() */
    char            title[LAYOUT_TEXT + 200];
} timeline_tasks;

/** A pipeline_take: `by` is a timeline_tasks. */
lm_status timeline_tasks_take(void *by, const pipeline_task *t, lm_error *err);

typedef struct timeline_picture {
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
} timeline_picture;

/**
 * A picture of more tasks than the first shows only the beginning of the step: so many for each
 * rank, by the time at which they start. The title says so.
 */
#define TIMELINE_BARS_MAX  8000
#define TIMELINE_BARS_RANK 100

/** Cuts a picture of too many tasks. Sorts the tasks, and clips the last ones. */
void timeline_begin(timeline_tasks *tasks, timeline_picture *p);

/**
 * Writes the timeline. The suffix selects the format: .svg, a picture; .json, a trace for chrome://tracing and ui.perfetto.dev (Trace Event Format, complete
 * events, microseconds).
 *
 * @return LM_E_ARG for another suffix; errors of file_put()
 */
lm_status timeline_draw(const char *path, timeline_tasks *tasks, timeline_picture *p,
                        lm_error *err);

/**
 * timeline_draw() for the predicted step of a layout, whose `words` become the title. Also errors
 * of predict_stage_tasks().
 */
lm_status timeline_draw_step(const char *path, const predictor *who, const step_setup *s,
                             const prediction *p, const char *words, lm_error *err);

/**
 * The tasks and the picture of a predicted step, whose `words` are its layout. The title and the
 * messages stay valid as long as `tasks`, whose arrays the caller frees.
 *
 * @return errors of predict_stage_tasks() and predict_timeline(); LM_E_UNSUPPORTED for a step without
 *         known passes
 */
lm_status timeline_picture_of(const predictor *who, const step_setup *s, const prediction *p,
                              const char *words, timeline_tasks *tasks, timeline_picture *out,
                              lm_error *err);
/** Writes the picture as SVG. */
void timeline_put_svg(const timeline_picture *p, FILE *out);

/** LM_E_ARG for a suffix that timeline_draw() does not support. */
lm_status timeline_draw_check(const char *path, lm_error *err);

#endif
