/* Models of single layers and launches, with learned residuals. */
#include "single/learned.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "single/residual_file.h"
#include "single/residual_memo.h"

bool learned_any(const layer_model *m)
{
    return m->learned || m->learned_file.path;
}

/* ---- learning ---- */

/* Rows of one class on all machines with its prices. */
typedef struct class_rows {
    residual_source *of;
    layer_rows      *rows;
    layer_time     **time;
    size_t           n;
} class_rows;

static void class_rows_free(class_rows *c)
{
    for (size_t i = 0; i < c->n; i++) {
        layer_rows_free(&c->rows[i]);
        free(c->time[i]);
    }
    free_all(c->of, c->rows, c->time);
}

static lm_status class_rows_new(size_t class, const learned_source *from, size_t n, class_rows *out,
                                lm_error *err)
{
    lm_status status = LM_OK;

    *out = (class_rows){ calloc(n, sizeof *out->of), calloc(n, sizeof *out->rows),
                         calloc(n, sizeof *out->time), 0 };
    if (!out->of || !out->rows || !out->time)
        return no_memory(err);
    for (size_t i = 0; i < n && !status; i++) {
        size_t found;

        if (!from[i].m->of[class].present || !from[i].m->of[class].rows) /* a transferred class */
            continue;
        out->time[out->n] = layer_times_of(class, from[i].time, from[i].n, &found);
        if (!out->time[out->n])
            return no_memory(err);
        status =
            layer_rows_new(layer_classes[class], out->time[out->n], found, &out->rows[out->n], err);
        out->of[out->n] = (residual_source){ &out->rows[out->n], NULL, &from[i].m->device };
        out->n++;
    }
    return status;
}

static lm_status learn_class(size_t class, const learned_source *from, size_t n,
                             residual_trees **out, residual_trees *judged, lm_error *err)
{
    class_rows r;
    lm_status  status = class_rows_new(class, from, n, &r, err);

    if (!status && r.n)
        status = residual_learn(class, r.of, r.n, out, judged, err);
    class_rows_free(&r);
    return status;
}

/* Prepares the residuals for the columns of the model's prices, so that questions change
 * nothing. */
static lm_status settle(layer_model *m, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t c = 0; c < N_LAYER_CLASSES && !status; c++)
        if (m->learned->of[c])
            status = residual_space_columns(&m->learned->of[c]->space, &m->of[c].columns, err);
    return status;
}

/* Gives each machine its own copy, because machines order columns differently. */
static lm_status hand_out(residual_set *found, const learned_source *from, size_t n, lm_error *err)
{
    lm_status status;

    from[0].m->learned = found;
    status             = settle(from[0].m, err);
    for (size_t i = 1; i < n && !status; i++) {
        void *copy = NULL;

        status             = kept_copy(&residual_kept, RESIDUAL_FILE, found, &copy, err);
        from[i].m->learned = copy;
        if (!status)
            status = settle(from[i].m, err);
    }
    return status;
}

lm_status learned_fit_pool(const learned_source *from, size_t n, residual_trees *judged,
                           lm_error *err)
{
    residual_set *found  = calloc(1, sizeof *found);
    bool          any    = false;
    lm_status     status = found ? LM_OK : no_memory(err);

    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        judged[c] = (residual_trees){ .rows = 0 };
    for (size_t c = 0; c < N_LAYER_CLASSES && !status; c++) {
        status = learn_class(c, from, n, &found->of[c], &judged[c], err);
        any |= !status && found->of[c];
    }
    if (!status && any)
        return hand_out(found, from, n, err);
    residual_set_free(found);
    return status;
}

lm_status learned_fit(const layer_time *time, size_t n, layer_model *m, residual_trees *judged,
                      lm_error *err)
{
    return learned_fit_pool(&(learned_source){ time, n, m }, 1, judged, err);
}

/* ---- asking ---- */

void learned_load(layer_model *m)
{
    void *read     = NULL;
    bool  launches = false;

    m->unread.code = LM_OK;
    if (m->learned || !m->learned_file.path)
        return;
    for (size_t c = FIRST_LAUNCH; c < N_LAYER_CLASSES; c++)
        launches |= m->of[c].present;
    if (kept_file_load(&m->learned_file, launches ? &kernels_kept : &residual_kept,
                       launches ? KERNELS_FILE : RESIDUAL_FILE, &read, &m->unread))
        return;
    m->learned = read;
    if (settle(m, &m->unread)) {
        residual_set_free(read);
        m->learned = NULL;
    }
}

lm_status learned_check(const layer_model *m, lm_error *err)
{
    return m->unread.code ? lm_error_set(err, m->unread.code, "%s", m->unread.text) : LM_OK;
}

/* Residual r of a layer with a price, without the memo. */
static lm_status ask(layer_asker *a, size_t class, const layer_shape *s, const layer_run *run,
                     double seconds, double *out, lm_error *err)
{
    const priced_row row = { .shape   = s,
                             .run     = run,
                             .rows    = &a->spare,
                             .columns = &a->m->of[class].columns,
                             .seconds = seconds,
                             .device  = &a->m->device };

    rows_clear(&a->spare);
    if (!layer_model_row(a->m, s, run, &a->spare) || rows_check(&a->spare, err))
        return no_memory(err);
    return residual_of(a->m->learned->of[class], &row, out, err);
}

/* exp(r) of a layer with a price. */
static lm_status ratio(layer_asker *a, const layer_shape *s, const layer_run *run, double seconds,
                       double *out, lm_error *err)
{
    const size_t class      = layer_model_class(a->m, s);
    residual_answer  *known = NULL;
    residual_question q;
    double            r      = 0;
    lm_status         status = LM_OK;

    *out = 1;
    if (isnan(seconds) || !a->m->learned || !a->m->learned->of[class])
        return LM_OK;
    if (!a->memo)
        a->memo = calloc(1, sizeof *a->memo);
    if (a->memo && residual_question_of(s, run, seconds, &q))
        known = residual_memo_find(a->memo, &q);
    if (known && known->known)
        r = known->r;
    else
        status = ask(a, class, s, run, seconds, &r, err);
    if (known && !status) {
        known->known = true;
        known->r     = r;
    }
    *out = exp(r);
    return status;
}

lm_status learned_ratio(layer_asker *a, const layer_shape *s, const layer_run *run, double *out,
                        lm_error *err)
{
    return ratio(a, s, run, layer_model_seconds(a, s, run), out, err);
}

lm_status learned_seconds(layer_asker *a, const layer_shape *s, const layer_run *run,
                          double *seconds, lm_error *err)
{
    const double priced = layer_model_seconds(a, s, run);
    double       factor;
    lm_status    status = ratio(a, s, run, priced, &factor, err);

    if (!status)
        *seconds = priced * factor;
    return status;
}
