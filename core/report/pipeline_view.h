/** A timeline of a pipeline: what each rank does when, as a picture and as a trace. */
#ifndef REPORT_PIPELINE_VIEW_H
#define REPORT_PIPELINE_VIEW_H

#include "models/step_model.h"
#include "program/pipeline.h"

/** Tasks as pipeline_run() hands them over. Zero-initialise; free(task). */
typedef struct pipeline_tasks {
    pipeline_task *task;
    size_t         n, room;
} pipeline_tasks;

/** A pipeline_take: `by` is a pipeline_tasks. */
lm_status pipeline_tasks_take(void *by, const pipeline_task *t, lm_error *err);

typedef struct pipeline_picture {
    const char          *title; /**< what it is of */
    int64_t              ranks;
    const pipeline_task *task;
    size_t               n;
    double               behind; /**< s of messages and update after the last rank's last task */
    double               step;   /**< s */
} pipeline_picture;

/** More bars are no picture. */
#define PIPELINE_BARS_MAX 60000

/**
 * Writes it, by its suffix: .svg, a picture of up to PIPELINE_BARS_MAX tasks; .json, a trace as
 * chrome://tracing and ui.perfetto.dev read it (Trace Event Format, complete events, microseconds).
 *
 * @return LM_E_ARG for another suffix or too many tasks; as file_put()
 */
lm_status pipeline_draw(const char *path, const pipeline_picture *p, lm_error *err);

/** pipeline_draw() of a step with stages as it is predicted; `words` of its layout. Also errors of
 * predict_stage_tasks(). */
lm_status pipeline_draw_step(const char *path, const predictor *who, const step_setup *s,
                             const prediction *p, const char *words, lm_error *err);

/** Is it a suffix that pipeline_draw() knows? LM_E_ARG. */
lm_status pipeline_draw_check(const char *path, lm_error *err);

#endif
