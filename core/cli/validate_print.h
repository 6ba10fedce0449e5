/** How good models are on observations: tables and a picture. */
#ifndef CLI_VALIDATE_PRINT_H
#define CLI_VALIDATE_PRINT_H

#include "fit/validate.h"
#include "report/table.h"

/** Models side by side at most. */
#define JUDGED_MAX 8

/** A model and what it says of each point. */
typedef struct judged {
    const char *model;
    comparison *at;
} judged;

/** What is judged, and by what. Owns nothing. */
typedef struct judging {
    const points *p;
    const split  *by, *groups; /**< what is left out, what errors are told by */
    const judged *model;
    size_t        n;     /**< models, up to JUDGED_MAX */
    bool          power; /**< tell powers and energies beside times */
} judging;

/** What is left out, in a line on stdout; nothing if nothing is. */
void judging_print_split(const split *by);

/** Columns of group, phase, model, points and errors. */
void judging_columns(table *t);

/** Errors and coverage by group, phase and model; `pooled`: of all groups together alone. */
lm_status judging_table(const judging *all, bool pooled, table *t, lm_error *err);

/** One row a point: a time as measured, and by each model with its bounds and its error. */
void judging_points(const judging *all, quantity q, table *t);

/** Predicted against measured, a panel a model: FILE.svg, .png or .pdf. */
lm_status judging_draw(const judging *all, quantity q, const char *path, lm_error *err);

/** What of it is told, and in which form. */
typedef struct judging_form {
    quantity    q; /**< of points and plots */
    format      f;
    bool        points, pooled; /**< every point; of all groups together alone */
    const char *plot;           /**< NULL: none */
} judging_form;

/** All of the above, on stdout. */
lm_status judging_print(const judging *all, const judging_form *as, lm_error *err);

/** Is no interval stated of anything that is predicted? */
bool judging_without_intervals(const judging *all);

#endif
