/* Learned models of single layers: learning. */
#include "layerwise/layerwise_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "counts/feature_set.h"
#include "solve/folds.h"

typedef struct choice {
    bool (*wanted)(const void *context, size_t from);
    const void           *context;
    const layerwise_kind *kind;
    const char           *features;
    const double         *setting;
} choice;

static const char *group_of(const layerwise_kind *kind, const char *feature_name)
{
    return kind->group ? kind->group(feature_name) : "baseline";
}

/* Features are chosen by name, by what several words of one thing begin with, or by group. */
static bool is_in(const choice *of, const char *name)
{
    char   word[LAYERWISE_NAME];
    size_t n = strcspn(name, ".");

    if (of->kind->encoded &&
        !of->kind->encoded(name, layerwise_setting_of(of->kind, of->setting, "encoding") > 0))
        return false;
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    return feature_set_has(of->features, name) || feature_set_has(of->features, word) ||
           feature_set_has(of->features, group_of(of->kind, name));
}

static size_t left(const choice *of, const layerwise_lot *l)
{
    size_t n = 0;

    for (size_t k = 0; k < l->n_features; k++)
        n += is_in(of, l->feature[k].name);
    return n;
}

#define NAMES 512 /* of features and groups, at most */

static void note_name(const char *name, const char **known, size_t *n)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(known[i], name))
            return;
    if (*n < NAMES)
        known[(*n)++] = name;
}

/* Is each name of the set that of a group, or of a feature, of some task? */
static lm_status check_choice(const choice *of, const layerwise_data *d, lm_error *err)
{
    const char *known[NAMES];
    size_t      n = 0, some = 0;
    lm_status   status;

    if (!feature_set_chooses(of->features))
        return LM_OK;
    for (size_t i = 0; i < d->n_lots; i++)
        for (size_t k = 0; k < d->lot[i].n_features; k++)
            note_name(group_of(of->kind, d->lot[i].feature[k].name), known, &n);
    for (size_t i = 0; i < d->n_lots; i++)
        for (size_t k = 0; k < d->lot[i].n_features; k++)
            note_name(d->lot[i].feature[k].name, known, &n);
    if ((status = feature_set_check(of->features, known, n, of->kind->name, err)))
        return status;
    for (size_t i = 0; i < d->n_lots; i++)
        some += left(of, &d->lot[i]);
    return some ? LM_OK
                : lm_error_set(err, LM_E_ARG, "%s: '%s' leaves no feature", of->kind->name,
                               of->features);
}

static bool chosen(const choice *of, const layerwise_lot *l, size_t i)
{
    return !of->wanted || of->wanted(of->context, l->from[i]);
}

/* Are the rows of several devices, as far as this figure tells? One that is unknown of some row is
 * another device's. */
static bool differs(const layerwise_lot *l, const choice *of, size_t k)
{
    double first = NAN;
    bool   any   = false;

    for (size_t i = 0; i < l->n; i++) {
        const double x = l->x[i * l->n_features + k];

        if (!chosen(of, l, i))
            continue;
        if (any && !(x == first || (isnan(x) && isnan(first))))
            return true;
        first = x;
        any   = true;
    }
    return false;
}

/* Is it known of all rows? */
static bool known_of_all(const layerwise_lot *l, const choice *of, size_t k)
{
    for (size_t i = 0; i < l->n; i++)
        if (chosen(of, l, i) && isnan(l->x[i * l->n_features + k]))
            return false;
    return true;
}

static void use(const char *name, layerwise_sort sort, size_t k, layerwise_task *to,
                size_t at[LAYERWISE_FEATURES])
{
    layerwise_range *f = &to->feature[to->n_features];

    snprintf(f->name, sizeof f->name, "%s", name);
    f->sort              = sort;
    f->low               = HUGE_VAL;
    f->high              = -HUGE_VAL;
    at[to->n_features++] = k;
}

/* Which features are in use: those of devices where any of them differs; of these, where one that is
 * known of all differs, all that are known of all, else those that differ. */
static void choose_features(const layerwise_lot *l, const choice *of, layerwise_task *to,
                            size_t at[LAYERWISE_FEATURES])
{
    bool several = false, told = false;

    for (size_t k = 0; k < l->n_features; k++)
        if (l->feature[k].sort == LAYERWISE_DEVICE && differs(l, of, k)) {
            several = true;
            told |= known_of_all(l, of, k);
        }
    for (size_t k = 0; k < l->n_features; k++)
        if (is_in(of, l->feature[k].name) &&
            (!layerwise_of_device(l->feature[k].sort) ||
             (several && (told ? known_of_all(l, of, k) : differs(l, of, k)))) &&
            (l->feature[k].sort != LAYERWISE_SOME || differs(l, of, k)))
            use(l->feature[k].name, l->feature[k].sort, k, to, at);
}

static bool has_feature(const layerwise_task *t, const char *name)
{
    for (size_t k = 0; k < t->n_features; k++)
        if (!strcmp(t->feature[k].name, name))
            return true;
    return false;
}

/* Flags of what devices are called, where the setting asks for them and it tells several apart. */
static void choose_words(const layerwise_lot *l, const choice *of, layerwise_task *to,
                         size_t at[LAYERWISE_FEATURES])
{
    char name[LAYERWISE_NAME];

    if (!(layerwise_setting_of(of->kind, of->setting, "gpu") > 0))
        return;
    for (size_t w = 0; of->kind->word[w]; w++) {
        const size_t before = to->n_features;

        for (size_t i = 0; i < l->n && to->n_features < LAYERWISE_FEATURES; i++)
            if (chosen(of, l, i) && layerwise_device_word(of->kind->word[w], l->on[i], name) &&
                is_in(of, name) && !has_feature(to, name))
                use(name, LAYERWISE_WORD, LAYERWISE_FEATURES, to, at);
        if (to->n_features == before + 1)
            to->n_features = before;
    }
}

/* Input of a learner, and room for it. */
typedef struct taught_rows {
    double   *x, *y;
    uint64_t *group;
    phase    *when;
    double   *left_out; /* what is said of each without its group */
    size_t   *device;   /* of the task's */
    size_t    n;
} taught_rows;

static void taught_rows_free(taught_rows *l)
{
    free_all(l->x, l->y, l->group, l->when, l->left_out, l->device);
}

/* Its place among the task's devices; a new one is added while there is room. */
static size_t device_at(const char *name, layerwise_task *to)
{
    size_t i = 0;

    while (i < to->n_devices && strncmp(to->device[i], name, LAYERWISE_NAME - 1) != 0)
        i++;
    if (i == to->n_devices && i < LAYERWISE_DEVICES)
        snprintf(to->device[to->n_devices++], LAYERWISE_NAME, "%s", name);
    return i;
}

static lm_status add_row(const layerwise_lot *l, size_t row, const size_t *at, layerwise_task *to,
                         taught_rows *out, lm_error *err)
{
    for (size_t k = 0; k < to->n_features; k++) {
        layerwise_range *f = &to->feature[k];
        const double     x = layerwise_value(f, l->x + row * l->n_features, at[k], l->on[row]);

        if (isnan(x))
            return l->on[row]
                       ? lm_error_set(err, LM_E_ARG,
                                      "%s:%d: the datasheet of %s has no %s, by which several "
                                      "devices are told apart: add it, or leave the device out",
                                      l->on[row]->path, l->on[row]->line, l->on[row]->name, f->name)
                       : lm_error_set(err, LM_E_ARG,
                                      "%s is not known of one of the devices: name each by its "
                                      "datasheet ('layermeter devices'), or learn of one device",
                                      f->name);
        if (f->sort != LAYERWISE_MHZ || x > 0) {
            f->low  = fmin(f->low, x);
            f->high = fmax(f->high, x);
        }
        out->x[out->n * to->n_features + k] = x;
    }
    out->y[out->n]       = l->y[row];
    out->when[out->n]    = l->when[row];
    out->device[out->n]  = device_at(l->on[row] ? l->on[row]->name : "", to);
    out->group[out->n++] = l->group[row];
    return LM_OK;
}

/* Rows that were left out, of one phase or (N_PHASES) of all phases. */
static size_t left_out_of(const taught_rows *l, phase f, residual *out)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        if (!isnan(l->left_out[i]) && (f == N_PHASES || l->when[i] == f))
            out[n++] = (residual){ l->left_out[i] > 0 ? l->y[i] / l->left_out[i] : HUGE_VAL,
                                   (size_t)l->group[i], 0 };
    return n;
}

/* Intervals by the rows that were left out. */
static lm_status bound(const taught_rows *l, layerwise_task *to, lm_error *err)
{
    residual    *r      = malloc((l->n + 1) * sizeof *r);
    const size_t all    = r ? left_out_of(l, N_PHASES, r) : 0;
    lm_status    status = r ? interval_bounds(r, all, &to->interval, err) : no_memory(err);

    for (phase f = 0; f < N_PHASES && !status; f++) {
        const size_t n = left_out_of(l, f, r);

        if (!n || n == all)
            continue;
        status = interval_bounds(r, n, &to->of_phase[f], err);
        if (to->of_phase[f].groups < LAYERWISE_PHASE_GROUPS)
            to->of_phase[f] = interval_unknown;
    }
    free(r);
    return status;
}

/* Rows that a turn learns from, or (in = false) tells. */
static size_t take_rows(const taught_rows *l, size_t width, const fold_turn *t, bool in,
                        taught_rows *out)
{
    (void)folds_copy(t, in, l->x, width * sizeof *l->x, out->x);
    (void)folds_copy(t, in, l->group, sizeof *l->group, out->group);
    return out->n = folds_copy(t, in, l->y, sizeof *l->y, out->y);
}

/* Which features tell something of devices that are not these: words of others do not. */
static void note_told(const layerwise_task *t, const taught_rows *l, bool told[LAYERWISE_FEATURES])
{
    for (size_t k = 0; k < t->n_features; k++) {
        told[k] = t->feature[k].sort != LAYERWISE_WORD;
        for (size_t i = 0; i < l->n && !told[k]; i++)
            told[k] = l->x[i * t->n_features + k] > 0;
    }
}

/* Devices that are left out. */
typedef struct leaving {
    const layerwise_kind *kind;
    const layerwise_task *task;
    const taught_rows    *rows;
    const double         *setting;
    uint64_t              seed;
    taught_rows           room; /* scratch */
    residual             *out;
    size_t                n;
} leaving;

/* Measured over predicted, for a device by what was learned of all others. */
static lm_status leave_device(void *context, const fold_turn *turn, lm_error *err)
{
    leaving                 *of      = context;
    taught_rows             *room    = &of->room;
    const layerwise_task    *t       = of->task;
    const layerwise_learner *by      = of->kind->learner;
    const size_t             width   = t->n_features;
    const size_t             seen    = take_rows(of->rows, width, turn, true, room);
    const learner_rows       rows    = { room->x, room->y, room->group, seen, width };
    void                    *learned = NULL;
    layerwise_judgement      judged;
    bool                     told[LAYERWISE_FEATURES];
    size_t                   other;
    lm_status                status;

    note_told(t, room, told);
    if ((status = by->learn(t->name, &rows, t->target, of->setting, of->seed, &learned, &judged,
                            by->settle ? NULL : room->left_out, err)))
        return status;
    other = take_rows(of->rows, width, turn, false, room);
    for (size_t i = 0; i < other * width; i++)
        room->x[i] = told[i % width] ? room->x[i] : 0;
    status = by->predict(learned, room->x, other, room->left_out, err);
    for (size_t i = 0; i < other && !status; i++)
        of->out[of->n++] =
            (residual){ room->left_out[i] > 0 ? room->y[i] / room->left_out[i] : HUGE_VAL,
                        (size_t)(room->group[i] ^ 0x9e3779b97f4a7c15ull * (turn->fold + 1)), 0 };
    by->free(learned);
    return status;
}

static lm_status taught_rows_new(size_t n, size_t width, taught_rows *out, lm_error *err)
{
    *out = (taught_rows){ .x        = malloc((n * width + 1) * sizeof *out->x),
                          .y        = malloc((n + 1) * sizeof *out->y),
                          .group    = malloc((n + 1) * sizeof *out->group),
                          .when     = malloc((n + 1) * sizeof *out->when),
                          .left_out = malloc((n + 1) * sizeof *out->left_out),
                          .device   = malloc((n + 1) * sizeof *out->device) };
    return out->x && out->y && out->group && out->when && out->left_out && out->device
               ? LM_OK
               : no_memory(err);
}

#define DEVICES_LEAST 3 /* two are left to learn from what differs between them */

/* The interval of devices that were not learned from: each left out in turn, by the learner that was
 * chosen with all of them. */
static lm_status leave_devices(const layerwise_kind *kind, const taught_rows *l,
                               const double *setting, uint64_t seed, layerwise_task *to,
                               lm_error *err)
{
    const folds by = { .of = l->device, .rows = l->n, .n = to->n_devices };
    double      own[LAYERWISE_SETTINGS];
    leaving     of     = { .kind = kind, .task = to, .rows = l, .setting = own, .seed = seed };
    lm_status   status = taught_rows_new(l->n, to->n_features, &of.room, err);

    for (size_t i = 0; i < LAYERWISE_SETTINGS && kind->setting[i].name; i++)
        own[i] = setting[i];
    if (kind->learner->settle)
        kind->learner->settle(to->learned, own);
    if (!(of.out = malloc((l->n + 1) * sizeof *of.out)) && !status)
        status = no_memory(err);
    if (!status)
        status = folds_leave_out(&by, leave_device, &of, err);
    if (!status)
        status = interval_bounds(of.out, of.n, &to->unseen, err);
    taught_rows_free(&of.room);
    free(of.out);
    return status;
}

/* No row was held at a clock. */
static void settle_clock(layerwise_task *to)
{
    for (size_t k = 0; k < to->n_features; k++)
        if (to->feature[k].sort == LAYERWISE_MHZ && to->feature[k].low > to->feature[k].high)
            to->feature[k].low = to->feature[k].high = 0;
}

static lm_status learn_lot(const layerwise_kind *kind, const layerwise_lot *l, const choice *of,
                           const double *setting, uint64_t seed, layerwise_task *to, lm_error *err)
{
    size_t      at[LAYERWISE_FEATURES];
    taught_rows rows   = { .n = 0 };
    lm_status   status = LM_OK;

    *to = (layerwise_task){ .target   = l->target,
                            .interval = interval_unknown,
                            .unseen   = interval_unknown };
    for (phase f = 0; f < N_PHASES; f++)
        to->of_phase[f] = interval_unknown;
    strcpy(to->name, l->task);
    choose_features(l, of, to, at);
    choose_words(l, of, to, at);
    status = to->n_features
                 ? taught_rows_new(l->n, to->n_features, &rows, err)
                 : lm_error_set(err, LM_E_ARG,
                                "'%s' leaves no feature that is in use: what devices tell "
                                "is where several were learned from",
                                of->features ? of->features : "all");
    for (size_t i = 0; i < l->n && !status; i++)
        if (chosen(of, l, i))
            status = add_row(l, i, at, to, &rows, err);
    settle_clock(to);
    if (!status) {
        const learner_rows given = { rows.x, rows.y, rows.group, rows.n, to->n_features };

        status = kind->learner->learn(l->task, &given, l->target, setting, seed, &to->learned,
                                      &to->judged, rows.left_out, err);
        if (!status)
            status = bound(&rows, to, err);
        if (!status && to->n_devices >= DEVICES_LEAST)
            status = leave_devices(kind, &rows, setting, seed, to, err);
        if (to->n_devices == 1 && !*to->device[0])
            to->n_devices = 0;
    }
    if (status && status != LM_E_NOMEM)
        lm_error_prefix(err, "%s: %s", kind->name, l->task);
    taught_rows_free(&rows);
    return status;
}

const interval *layerwise_interval(const layerwise_task *t, phase f)
{
    const phase like = f == PHASE_FORWARD     ? PHASE_INFERENCE
                       : f == PHASE_INFERENCE ? PHASE_FORWARD
                                              : f;

    return interval_known(&t->of_phase[f])      ? &t->of_phase[f]
           : interval_known(&t->of_phase[like]) ? &t->of_phase[like]
                                                : &t->interval;
}

static size_t count(const layerwise_lot *l, const choice *of)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += chosen(of, l, i);
    return n;
}

/* Nothing was learned: of what there were how many rows. */
static lm_status too_few(const layerwise_data *d, const choice *of, lm_error *err)
{
    size_t most = 0, n = 0;

    for (size_t i = 1; i < d->n_lots; i++)
        if (count(&d->lot[i], of) > count(&d->lot[most], of))
            most = i;
    if (!d->n_lots || !(n = count(&d->lot[most], of)))
        return lm_error_set(err, LM_E_ARG,
                            "%s learns from single layers, and the file has none that it knows",
                            d->kind->name);
    return lm_error_set(err, LM_E_ARG,
                        "%s: the most frequent type is '%s', with %zu times; it needs %zu "
                        "or more: measure more",
                        d->kind->name, d->lot[most].task, n, d->kind->fewest);
}

lm_status layerwise_learn(const layerwise_data *d, const double *setting, uint64_t seed,
                          bool (*wanted)(const void *context, size_t from), const void *context,
                          layerwise_model **out, lm_error *err)
{
    const choice     of     = { wanted, context, d->kind, d->features, setting };
    layerwise_model *m      = calloc(1, sizeof *m);
    lm_status        status = LM_OK;

    if (!m || !(m->task = calloc(d->n_lots + 1, sizeof *m->task))) {
        free(m);
        return no_memory(err);
    }
    m->kind = d->kind;
    status  = check_choice(&of, d, err);
    for (size_t i = 0; i < d->n_lots && !status; i++)
        if (count(&d->lot[i], &of) >= d->kind->fewest && left(&of, &d->lot[i]))
            status =
                learn_lot(d->kind, &d->lot[i], &of, setting, seed, &m->task[m->n_tasks++], err);
    if (!status && !m->n_tasks)
        status = too_few(d, &of, err);
    if (status)
        layerwise_free(m);
    else
        *out = m;
    return status;
}

void layerwise_free(layerwise_model *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n_tasks; i++)
        if (m->task[i].learned)
            m->kind->learner->free(m->task[i].learned);
    free(m->task);
    free(m);
}

const char *layerwise_task_text(const layerwise_kind *kind, const layerwise_task *t,
                                char text[LAYERWISE_TASK_TEXT])
{
    char by[40];

    snprintf(text, LAYERWISE_TASK_TEXT, "%s%s%s%s", t->name, kind->learner->name ? " by " : "",
             kind->learner->name ? kind->learner->name(t->learned, by, sizeof by) : "",
             t->target == LAYERWISE_WATTS ? ", watts" : "");
    return text;
}
