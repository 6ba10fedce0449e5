/* Leave-out by folds. */
#include "solve/folds.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/parallel.h"

size_t folds_mark(const fold_turn *t, bool *in)
{
    size_t n = 0;

    for (size_t i = 0; i < t->by->rows; i++)
        n += in[i] = fold_in(t, i);
    return n;
}

size_t folds_copy(const fold_turn *t, bool in, const void *row, size_t size, void *out)
{
    const char *from = row;
    char       *to   = out;
    size_t      n    = 0;

    for (size_t i = 0; i < t->by->rows; i++)
        if (in ? fold_in(t, i) : fold_out(t, i))
            memcpy(to + n++ * size, from + i * size, size);
    return n;
}

/* All turns, and the folds that have rows. */
typedef struct leaving {
    const folds *f;
    fold_fit     fit;
    void        *context;
    const bool  *any;
} leaving;

static lm_status leave(void *context, size_t fold, lm_error *err)
{
    const leaving  *l = context;
    const fold_turn t = { l->f, l->f->all ? FOLD_ALWAYS : fold };
    lm_status       status;

    if (!l->f->all && !l->any[fold])
        return LM_OK;
    status = l->fit(l->context, &t, err);
    return status == LM_E_ARG && l->f->silent ? lm_error_set(err, LM_OK, "%s", "") : status;
}

lm_status folds_leave_out(const folds *f, fold_fit fit, void *context, lm_error *err)
{
    const size_t turns  = f->all ? 1 : f->n;
    bool        *any    = calloc(turns + 1, sizeof *any);
    leaving      l      = { f, fit, context, any };
    lm_status    status = any ? LM_OK : no_memory(err);

    for (size_t i = 0; i < f->rows && any && !f->all; i++)
        if (f->of[i] < f->n)
            any[f->of[i]] = true;
    if (!status && f->parallel)
        status = parallel_for(turns, leave, &l, err);
    for (size_t i = 0; i < turns && !status && !f->parallel; i++)
        status = leave(&l, i, err);
    free(any);
    return status;
}
