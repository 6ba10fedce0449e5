/* Learners as text. */
#include <stdlib.h>

#include "learn/learner_body.h"

/* Which features are logarithms. */
static void logged_text(lines *l, learner *x)
{
    double *flag = lines_array(l, x->n_features, sizeof *flag);

    if (!l->out)
        x->logged = lines_array(l, x->n_features, sizeof *x->logged);
    for (size_t k = 0; k < x->n_features && l->out && flag; k++)
        flag[k] = x->logged[k];
    LINE(l, "logged", ITEM_REALS(flag, x->n_features, 0, 1));
    for (size_t k = 0; k < x->n_features && !l->status; k++)
        x->logged[k] = flag[k] > 0;
    free(flag);
}

/* Returns its number of features. */
static size_t body_text(lines *l, learner *x)
{
    switch (learner_body_of(x->kind)) {
    case BODY_LINEAR: linear_text(l, &x->linear); return l->status ? 0 : x->linear->n_features;
    case BODY_TREES: trees_text(l, &x->trees); return l->status ? 0 : x->trees->n_features;
    case BODY_MLP: mlp_text(l, &x->mlp); return l->status ? 0 : mlp_n_features(x->mlp);
    }
    return 0;
}

void learner_text(lines *l, learner **both)
{
    static const char *const scales[] = { "plain", "log" };
    const char              *names[N_LEARNERS];
    learner                 *x = *both = lines_made(l, *both, sizeof *x);
    size_t                   kind, log, width;

    if (!x)
        return;
    for (learner_kind k = 0; k < N_LEARNERS; k++)
        names[k] = learner_name(k);
    kind = x->kind;
    log  = x->log;
    if (!LINE(l, "learner", ITEM_CHOICE(&kind, names, N_LEARNERS), ITEM_CHOICE(&log, scales, 2),
              ITEM_COUNT(&x->n_features, 1, LEARNER_FEATURES)))
        return;
    x->kind = (learner_kind)kind;
    x->log  = log;
    LINE(l, "range", ITEM_REAL(&x->low, DBL_TRUE_MIN, DBL_MAX),
         ITEM_REAL(&x->high, DBL_TRUE_MIN, DBL_MAX), ITEM_REAL(&x->unit, DBL_TRUE_MIN, DBL_MAX));
    lines_check(l, x->low <= x->high, "a range from %g to %g", x->low, x->high);
    logged_text(l, x);
    width = body_text(l, x);
    lines_check(l, width == x->n_features, "%s of %zu features, a learner of %zu", names[kind],
                width, x->n_features);
}
