/* Fitted classes of single layers and launches. */
#include "single/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/random.h"
#include "counts/kernel_class.h"
#include "single/residual.h"
#include "single/updates.h"
#include "solve/folds.h"

/* Highest rates: a quantile of all rows, times a factor, because rows include overhead. */
#define HIGH       0.99
#define MORE_FLOPS 1.2
#define MORE_BYTES 1.5

static bool forward_only(const layer_run *run)
{
    return run->forward && !run->backward && !run->update;
}

/* Reached rates of the device, from forward passes if there are any. */
static lm_status reached(const layer_time *time, size_t n, layer_rates *out, lm_error *err)
{
    double *flops = malloc((n + 1) * sizeof *flops), *bytes = malloc((n + 1) * sizeof *bytes);
    size_t  used = 0;

    for (int any = 0; flops && bytes && any < 2 && !used; any++)
        for (size_t i = 0; i < n; i++)
            if (any || forward_only(&time[i].run)) {
                flops[used]   = shape_flops(time[i].shape) / time[i].seconds;
                bytes[used++] = shape_bytes(time[i].shape) / time[i].seconds;
            }
    if (used)
        *out = (layer_rates){ MORE_FLOPS * stats_quantile(flops, used, HIGH),
                              MORE_BYTES * stats_quantile(bytes, used, HIGH) };
    free(flops);
    free(bytes);
    return flops && bytes ? LM_OK : no_memory(err);
}

/* Appends a row. Missing columns are added to `make`; if it is NULL, missing columns of launches
 * use their families. */
static void add(const columns *c, columns *make, rows *r, const layer_class *class,
                const layer_time *t, const tiling *how)
{
    rows_begin(r, t->seconds, 1, !forward_only(&t->run));
    if (class->launch) {
        const bool queued = make ? t->shape->queued : columns_find(c, LAUNCH_QUEUED) != COLUMN_NONE;

        launch_add(&(launch_row){ c, make, r, how, t->shape->tag, queued }, t->shape->kernel);
        return;
    }
    if (make)
        layer_update_need(make, &t->run, t->shape);
    if (t->run.alone)
        class->add_call(c, r, &t->run, t->shape);
    class->add_layer(c, r, &t->run, t->shape);
}

/* Columns and rows of a class, in which updates have the border that the rows `in` show (NULL: all). */
static lm_status build(layer_rows *r, const bool *in, lm_error *err)
{
    lm_status status = LM_OK;

    columns_free(&r->columns);
    rows_clear(&r->rows);
    if (!layer_class_make(r->class, &r->columns))
        status = no_memory(err);
    for (size_t i = 0; i < r->n && !status; i++)
        layer_update_need(&r->columns, &r->time[i].run, r->time[i].shape);
    if (!status)
        status = updates_find_border(r->time, in, r->n, r->class->options.least, &r->columns, err);
    for (size_t i = 0; i < r->n && !status; i++)
        add(&r->columns, &r->columns, &r->rows, r->class, &r->time[i], NULL);
    return status ? status : rows_check(&r->rows, err);
}

lm_status layer_rows_new(const layer_class *class, const layer_time *time, size_t n,
                         layer_rows *out, lm_error *err)
{
    lm_status status;

    *out = (layer_rows){ .class = class, .time = time, .n = n };
    if (class->launch) {
        out->how.multiprocessors = n ? time[0].run.multiprocessors : 0;
        return LM_OK;
    }
    status = build(out, NULL, err);
    if (!status && class->begin)
        status = reached(time, n, &out->rates, err);
    if (status)
        layer_rows_free(out);
    return status;
}

void layer_rows_free(layer_rows *r)
{
    columns_free(&r->columns);
    rows_free(&r->rows);
}

/* ---- launches ---- */

#define TRIAL_ROWS  1200 /* rows of the cross-validation that chooses a tiling */
#define TRIAL_FOLDS 3
#define BETTER      0.001 /* least gain of another tiling in mean relative error */

/* Makes rows of some places, with their columns. */
static lm_status fill(const layer_rows *r, const size_t *at, size_t n, const tiling *how,
                      columns *c, rows *out, lm_error *err)
{
    for (size_t i = 0; i < n; i++)
        add(c, c, out, r->class, &r->time[at[i]], how);
    return rows_check(out, err);
}

typedef struct tiling_trial {
    const layer_rows *r;
    columns           c;
    rows              some;
    bool             *in;
    double            error;
} tiling_trial;

static lm_status try_part(void *context, const fold_turn *f, lm_error *err)
{
    tiling_trial *t = context;
    lm_status     status;

    (void)folds_mark(f, t->in);
    for (size_t j = 0; j < t->c.n; j++)
        t->c.column[j].price = 0;
    status = solve_prices(&t->some, t->in, &t->r->class->options, &t->c, err);
    for (size_t i = 0; i < f->by->rows && !status; i++)
        if (fold_out(f, i))
            t->error += fabs(rows_priced(&t->some, i, &t->c) / t->some.row[i].seconds - 1) /
                        (double)f->by->rows;
    return status;
}

/* Mean relative error in the cross-validation. */
static lm_status try_tiling(const layer_rows *r, const size_t *at, size_t n, const tiling *how,
                            double *error, lm_error *err)
{
    size_t      *of     = malloc((n + 1) * sizeof *of);
    tiling_trial t      = { .r = r, .in = malloc(n + 1) };
    const folds  by     = { .of = of, .rows = n, .n = TRIAL_FOLDS };
    lm_status    status = of && t.in ? fill(r, at, n, how, &t.c, &t.some, err) : no_memory(err);

    for (size_t i = 0; i < n && of; i++)
        of[i] = i % TRIAL_FOLDS;
    if (!status)
        status = folds_leave_out(&by, try_part, &t, err);
    *error = t.error;
    free(of);
    free(t.in);
    columns_free(&t.c);
    rows_free(&t.some);
    return status;
}

static lm_status choose_tiling(layer_rows *r, const size_t *at, size_t n, lm_error *err)
{
    size_t        n_tilings;
    const tiling *of     = tilings_of(r->class->tilings, &n_tilings);
    tiling        how    = r->how;
    double        best   = INFINITY;
    lm_status     status = LM_OK;

    for (size_t i = 0; i < n_tilings && !status; i++) {
        double error = 0;

        how.set    = of[i].set;
        how.splits = of[i].splits;
        if (n_tilings > 1)
            status = try_tiling(r, at, n < TRIAL_ROWS ? n : TRIAL_ROWS, &how, &error, err);
        if (!status && (i == 0 || error < best - BETTER)) {
            best   = error;
            r->how = how;
        }
    }
    return status;
}

static void shuffle(size_t *at, size_t n)
{
    uint64_t state = 1;

    for (size_t i = n; i > 1; i--) {
        const size_t with = (size_t)random_below(&state, i);
        const size_t last = at[i - 1];

        at[i - 1] = at[with];
        at[with]  = last;
    }
}

/* Chooses tiling and columns by the rows `in`, in a random order; then makes all rows. */
static lm_status fit_launches(layer_rows *r, const bool *in, lm_error *err)
{
    size_t   *at = malloc((r->n + 1) * sizeof *at), n = 0;
    rows      some   = { 0 };
    lm_status status = at ? LM_OK : no_memory(err);

    for (size_t i = 0; i < r->n && at; i++)
        if (!in || in[i])
            at[n++] = i;
    if (!status) {
        shuffle(at, n);
        status = choose_tiling(r, at, n, err);
    }
    columns_free(&r->columns);
    rows_clear(&r->rows);
    if (!status)
        status = fill(r, at, n, &r->how, &r->columns, &some, err);
    if (!status)
        status = solve_prices(&some, NULL, &r->class->options, &r->columns, err);
    for (size_t i = 0; i < r->n && !status; i++)
        add(&r->columns, NULL, &r->rows, r->class, &r->time[i], &r->how);
    rows_free(&some);
    free(at);
    return status ? status : rows_check(&r->rows, err);
}

/* ---- fits ---- */

static bool of_backward(const column *c)
{
    return !strncmp(c->name, "backward.", 9) || !strncmp(c->name, "grad_", 5);
}

bool layer_prices_train(const layer_prices *p)
{
    for (size_t j = 0; j < p->columns.n; j++)
        if (p->columns.column[j].price > 0 && of_backward(&p->columns.column[j]))
            return true;
    return false;
}

/* Forgets prices of training without rows: start values and common prices are not fitted. */
static void forget_training(columns *c)
{
    bool measured = false;

    for (size_t j = 0; j < c->n; j++)
        measured |= of_backward(&c->column[j]) && c->column[j].rows > 0;
    for (size_t j = 0; j < c->n && !measured; j++)
        if (of_backward(&c->column[j]))
            c->column[j].price = 0;
}

static void begin(layer_rows *r)
{
    for (size_t j = 0; j < r->columns.n; j++)
        r->columns.column[j].price = 0;
    if (r->class->begin)
        r->class->begin(&r->columns, &r->rates);
}

lm_status layer_rows_fit(layer_rows *r, const bool *in, size_t *count, lm_error *err)
{
    lm_status status;

    *count = 0;
    for (size_t i = 0; i < r->n; i++)
        *count += !in || in[i];
    if (*count < r->class->fewest)
        return lm_error_set(err, LM_E_ARG, "%zu times of single %s ('%s'): %zu are needed", *count,
                            r->class->launch ? "kernels" : "layers", r->class->name,
                            r->class->fewest);
    if (r->class->launch)
        return fit_launches(r, in, err);
    if ((status = build(r, in, err)))
        return status;
    begin(r);
    status = solve_prices(&r->rows, in, &r->class->options, &r->columns, err);
    if (!status)
        forget_training(&r->columns);
    return status;
}

static lm_status judge(const layer_rows *r, layer_prices *out, lm_error *err)
{
    double *predicted = malloc((r->rows.n + 1) * sizeof *predicted);
    double *measured  = malloc((r->rows.n + 1) * sizeof *measured);

    for (size_t i = 0; predicted && measured && i < r->rows.n; i++) {
        predicted[i] = rows_priced(&r->rows, i, &r->columns);
        measured[i]  = r->rows.row[i].seconds;
    }
    if (predicted && measured)
        out->errors = stats_compare(predicted, measured, r->rows.n);
    free(predicted);
    free(measured);
    return predicted && measured ? LM_OK : no_memory(err);
}

layer_time *layer_times_of(size_t class, const layer_time *time, size_t n, size_t *found)
{
    layer_time *of_class = malloc((n + 1) * sizeof *of_class);
    size_t      dense    = 0;

    *found = 0;
    for (size_t i = 0; i < n; i++)
        dense += layer_class_of(time[i].shape) == LAYER_DENSE;
    for (size_t i = 0; of_class && i < n; i++)
        if (layer_class_among(time[i].shape, dense) == class)
            of_class[(*found)++] = time[i];
    return of_class;
}

static lm_status fit_class(size_t class, const layer_time *time, size_t n, layer_prices *out,
                           lm_error *err)
{
    size_t      found;
    layer_time *of_class = layer_times_of(class, time, n, &found);
    layer_rows  r        = { .n = 0 };
    lm_status   status;

    status =
        of_class ? layer_rows_new(layer_classes[class], of_class, found, &r, err) : no_memory(err);
    out->rows = found;
    if (!status && found >= layer_classes[class]->fewest) {
        status = layer_rows_fit(&r, NULL, &found, err);
        if (!status)
            status = judge(&r, out, err);
        if (!status) {
            out->present = true;
            out->columns = r.columns;
            out->how     = r.how;
            r.columns    = (columns){ 0 };
        }
    }
    layer_rows_free(&r);
    free(of_class);
    return status;
}

lm_status layer_model_fit(const layer_time *time, size_t n, layer_model *out, lm_error *err)
{
    lm_status status = LM_OK;

    *out = (layer_model){ .multiprocessors = n ? time[0].run.multiprocessors : 0 };
    for (size_t c = 0; c < N_LAYER_CLASSES && !status; c++)
        status = fit_class(c, time, n, &out->of[c], err);
    if (!status)
        status = updates_share(out, err);
    if (status)
        layer_model_free(out);
    return status;
}

void layer_model_free(layer_model *m)
{
    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        columns_free(&m->of[c].columns);
    residual_set_free(m->learned);
    kept_file_clear(&m->learned_file);
    *m = (layer_model){ .multiprocessors = 0 };
}

layer_asker layer_asker_of(const layer_model *m)
{
    return (layer_asker){ .m = m };
}

void layer_asker_free(layer_asker *a)
{
    rows_free(&a->spare);
    free(a->memo);
    *a = (layer_asker){ .m = NULL };
}

bool layer_model_any(const layer_model *m)
{
    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        if (m->of[c].present)
            return true;
    return false;
}

size_t layer_model_rows(const layer_model *m)
{
    size_t n = 0;

    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        n += m->of[c].rows;
    return n;
}

size_t layer_model_class(const layer_model *m, const layer_shape *s)
{
    const size_t class = layer_class_of(s);

    return class == LAYER_DENSE && !m->of[class].present && m->of[LAYER_PRODUCT].present
               ? LAYER_PRODUCT
               : class;
}

bool layer_model_row(const layer_model *m, const layer_shape *s, const layer_run *run, rows *out)
{
    const size_t class    = layer_model_class(m, s);
    const layer_time time = { s, *run, NAN };

    if (class == N_LAYER_CLASSES || !m->of[class].present ||
        (run->backward && !layer_prices_train(&m->of[class])) ||
        (run->update && !optimizer_priced(&m->of[class].columns, run->optimizer, run->alone)))
        return false;
    add(&m->of[class].columns, NULL, out, layer_classes[class], &time, &m->of[class].how);
    return true;
}

double layer_model_seconds(layer_asker *a, const layer_shape *s, const layer_run *run)
{
    const size_t class = layer_model_class(a->m, s);
    double seconds     = NAN;

    rows_clear(&a->spare);
    if (layer_model_row(a->m, s, run, &a->spare) && !rows_check(&a->spare, NULL))
        seconds = rows_priced(&a->spare, 0, &a->m->of[class].columns);
    return seconds;
}

#define FEW_ITEMS 64 /* number of items without allocation */

/* Divides a layer's seconds among resources: with hidden work in full, or scaled to the layer's
 * seconds. */
static lm_status split_by(layer_asker *a, const layer_shape *s, const layer_run *run,
                          size_t (*group)(const column *), bool hidden, double *seconds,
                          lm_error *err)
{
    row_item       items[FEW_ITEMS], *item = items;
    rows          *r = &a->spare;
    const columns *c;
    lm_status      status;

    rows_clear(r);
    if (!layer_model_row(a->m, s, run, r))
        return lm_error_set(err, LM_E_NOTFOUND, "a single layer has no price");
    if ((status = rows_check(r, err)))
        return status;
    if (rows_longest(r) > FEW_ITEMS && !(item = malloc(rows_longest(r) * sizeof *item)))
        return no_memory(err);
    c = &a->m->of[layer_model_class(a->m, s)].columns;

    size_t         n;
    const row_cost cost  = rows_cost(r, 0, c, NULL, item, &n);
    const double   whole = rows_seconds(cost, columns_join(c));

    for (size_t i = 0; i < n; i++) {
        const column *of   = &c->column[item[i].column];
        const double  part = of->floor ? cost.floor : cost.work;

        seconds[group(of)] +=
            of->price * item[i].value * (hidden ? 1 : rows_slope(part, whole, columns_join(c)));
    }
    if (item != items)
        free(item);
    return LM_OK;
}

lm_status layer_model_split(layer_asker *a, const layer_shape *s, const layer_run *run,
                            size_t (*group)(const column *), double *seconds, lm_error *err)
{
    return split_by(a, s, run, group, false, seconds, err);
}

lm_status layer_model_busy(layer_asker *a, const layer_shape *s, const layer_run *run,
                           size_t (*group)(const column *), double *seconds, lm_error *err)
{
    return split_by(a, s, run, group, true, seconds, err);
}
