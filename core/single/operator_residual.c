/* What prices of single kernels leave over, learned. */
#include "single/operator_residual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "single/operator_features.h"
#include "single/residual_file.h"

void operator_residuals_free(operator_residuals *s)
{
    for (size_t c = 0; s && c < N_OPERATOR_CLASSES; c++)
        residual_free(s->of[c]);
    free(s);
}

bool operator_residual_any(const operator_model *m)
{
    return m->learned || m->learned_file.path;
}

/* ---- features -----------------------------------------------------------------------------------
 */

/* Features of a launch by its prices, into x. */
static lm_status look_at(const operator_prices *p, const lm_kernel *k, const char *tag,
                         residual_space *s, double *x, priced_look *out, lm_error *err)
{
    operator_feature found[OPERATOR_FEATURES];
    row_item         item[OPERATOR_ITEMS_MAX];
    const double     seconds = operator_prices_seconds(p, k, tag);
    size_t           n;
    lm_status        status = residual_space_columns(s, &p->columns, err);

    *out = (priced_look){ seconds, *tag && operator_class_of(k) == OPERATOR_MAP };
    if (status || !(seconds > 0))
        return status;
    n = operator_features(k, p->how.multiprocessors, seconds, found);
    for (size_t i = 0; i < n; i++)
        x[i] = found[i].value;
    residual_space_say(s, RESIDUAL_TAG, out->word ? tag : NULL, x);
    for (size_t i = s->shares; i < s->n; i++)
        x[i] = 0;
    n = operator_prices_items(p, k, tag, item);
    for (size_t i = 0; i < n; i++) {
        const size_t at = s->share_of[item[i].column];

        if (at < s->n)
            x[at] += p->columns.column[item[i].column].price * item[i].value / seconds;
    }
    return LM_OK;
}

static lm_status space_new(const operator_prices *p, operator_class class, residual_space *out,
                           lm_error *err)
{
    static const char floor_of[] = "floor.";
    named_feature     fixed[OPERATOR_FEATURES];
    lm_status         status = LM_OK;

    residual_space_begin(out, fixed, operator_feature_names(class, fixed));
    for (size_t j = 0; j < p->columns.n && !status; j++)
        if (class == OPERATOR_MAP &&
            !strncmp(p->columns.column[j].name, floor_of, strlen(floor_of)))
            status = residual_space_word(out, RESIDUAL_TAG,
                                         p->columns.column[j].name + strlen(floor_of), err);
    for (size_t j = 0; j < p->columns.n && !status; j++)
        status = residual_space_share(out, p->columns.column[j].name, err);
    return status;
}

/* ---- learning -----------------------------------------------------------------------------------
 */

/* Rows of one class, and its prices of the moment. */
typedef struct source {
    const timed_kernel *row;
    size_t              n;
    double              multiprocessors;
    operator_class class;
    operator_prices prices;
} source;

static lm_status price_rows(void *context, const bool *in, lm_error *err)
{
    source *s = context;

    columns_free(&s->prices.columns);
    s->prices = (operator_prices){ .rows = 0 };
    return operator_prices_fit(s->row, in, s->n, s->multiprocessors, s->class, &s->prices, err);
}

static lm_status look(void *context, size_t i, residual_space *space, double *x, priced_look *out,
                      lm_error *err)
{
    const source *s = context;

    return look_at(&s->prices, &s->row[i].kernel, s->row[i].tag, space, x, out, err);
}

static lm_status learn_class(source *s, const operator_prices *known, const bool *in,
                             residual_trees **out, residual_trees *judged, lm_error *err)
{
    double        *seconds = malloc((s->n + 1) * sizeof *seconds);
    uint64_t      *shape   = malloc((s->n + 1) * sizeof *shape);
    residual_space space;
    lm_status status = seconds && shape ? space_new(known, s->class, &space, err) : no_memory(err);

    for (size_t i = 0; i < s->n && !status; i++) {
        const lm_kernel *k = &s->row[i].kernel;

        seconds[i] = (!in || in[i]) && operator_class_of(k) == s->class ? s->row[i].seconds : 0;
        shape[i]   = operator_shape(k);
    }
    if (!status)
        status = lesson_learn(&(lesson){ s, s->n, seconds, shape, price_rows, look }, &space, out,
                              judged, err);
    columns_free(&s->prices.columns);
    free(shape);
    free(seconds);
    return status;
}

lm_status operator_residual_learn(const timed_kernel *row, const bool *in, size_t n,
                                  double multiprocessors, operator_model *m, residual_trees *judged,
                                  lm_error *err)
{
    operator_residuals *found  = calloc(1, sizeof *found);
    bool                any    = false;
    lm_status           status = found ? LM_OK : no_memory(err);

    for (operator_class c = 0; c < N_OPERATOR_CLASSES; c++)
        judged[c] = (residual_trees){ .rows = 0 };
    for (operator_class c = 0; c < OPERATOR_OTHER && !status; c++)
        if (m->of[c].columns.n && m->of[c].rows) { /* those of other machines leave nothing over */
            source s = { .row = row, .n = n, .multiprocessors = multiprocessors, .class = c };

            status = learn_class(&s, &m->of[c], in, &found->of[c], &judged[c], err);
            any |= !status && found->of[c];
        }
    if (status || !any)
        operator_residuals_free(found);
    else
        m->learned = found;
    return status;
}

/* ---- asking -------------------------------------------------------------------------------------
 */

lm_status operator_residual_load(operator_model *m, lm_error *err)
{
    void     *read   = NULL;
    lm_status status = LM_OK;

    if (m->learned || !m->learned_file.path)
        return LM_OK;
    status     = kept_file_load(&m->learned_file, &kernels_kept, KERNELS_FILE, &read, err);
    m->learned = read;
    return status;
}

/* exp(r) of a launch; 1 where nothing is known. */
static lm_status factor_of(operator_model *m, const lm_kernel *k, const char *tag, double *out,
                           lm_error *err)
{
    const operator_class class = operator_class_of(k);
    residual_trees *r;
    double          x[RESIDUAL_FEATURES];
    priced_look     row;
    lm_status       status = operator_residual_load(m, err);

    *out = 1;
    if (status || !m->learned || !(r = m->learned->of[class]) || !m->of[class].columns.n)
        return status;
    status = look_at(&m->of[class], k, tag, &r->space, x, &row, err);
    if (!status && row.seconds > 0)
        *out = exp(residual_at(r, row.word, x));
    return status;
}

lm_status operator_residual_seconds(operator_model *m, const lm_kernel *k, const char *tag,
                                    double *out, lm_error *err)
{
    double          factor;
    const lm_status status = factor_of(m, k, tag, &factor, err);

    if (!status)
        *out = operator_model_seconds(m, k, tag) * factor;
    return status;
}

lm_status operator_residual_cost(operator_model *m, const lm_kernel *k, const char *tag,
                                 launch_cost *out, lm_error *err)
{
    const double power = m->of[operator_class_of(k)].power;
    double       factor, alone, work;
    launch_cost  cost;
    lm_status    status = factor_of(m, k, tag, &factor, err);

    if (status)
        return status;
    cost = operator_model_cost(m, k, tag);
    if (!isnan(cost.work) && factor != 1) {
        alone = factor * rows_seconds((row_cost){ cost.floor, cost.start + cost.work }, power);
        work  = pow(fmax(0, pow(alone, power) - pow(cost.floor, power)), 1 / power) - cost.start;
        /* of a launch that its floor hides nothing is known of its work */
        if (cost.start + cost.work > cost.floor)
            cost.work = fmax(0, work);
    }
    *out = cost;
    return LM_OK;
}

/* ---- files --------------------------------------------------------------------------------------
 */

static void text(lines *l, void **both)
{
    residual_class class[N_OPERATOR_CLASSES];
    named_feature       fixed[N_OPERATOR_CLASSES][OPERATOR_FEATURES];
    operator_residuals *s = *both = lines_made(l, *both, sizeof *s);

    for (operator_class c = 0; c < N_OPERATOR_CLASSES; c++) {
        class[c]         = (residual_class){ .name = operator_class_name(c) };
        class[c].n_fixed = operator_feature_names(c, fixed[c]);
        if (c < OPERATOR_OTHER)
            class[c].fixed = fixed[c];
    }
    if (s)
        residual_text(l, class, N_OPERATOR_CLASSES, s->of);
}

static void release(void *what)
{
    operator_residuals_free(what);
}

const kept_kind kernels_kept = { "residual of kernels", text, release, NULL };
