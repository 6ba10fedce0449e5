/* Learned models of single layers on observations. */
#include "layerwise/layerwise_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "fit/power_rows.h"
#include "layerwise/layerwise_network.h"
#include "network/single.h"

#define LAYERS 24 /* of a row, its inputs among them */

static const char *optimizer_of(const observation *row)
{
    return *row->optimizer ? row->optimizer : "momentum";
}

/* ---- rows ---- */

/* The row that a time of a point is from; NULL: none. Rows stand by line. */
static const observation *row_at(const observations *obs, int line)
{
    size_t from = 0, to = obs ? obs->n_rows : 0;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;

        if (obs->row[middle].line == line)
            return &obs->row[middle];
        if (obs->row[middle].line < line)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* The clock that a row is asked at. */
static double clock_of(const observation *row, const layerwise_model *taught)
{
    const double mhz = observation_held_mhz(row);

    return taught ? layerwise_clock_near(taught, mhz) : mhz;
}

/* A bound layer row in a phase. */
static layerwise_case case_of(const observation *row, phase f, const layerwise_source *s,
                              const bound_layer *const *layer, size_t n)
{
    const layerwise_case c = { .layer     = layer,
                               .n_layers  = n,
                               .batch     = row->batch,
                               .dtype     = row->dtype,
                               .settings  = row->settings,
                               .on        = s->on,
                               .clock_mhz = clock_of(row, s->taught) };

    return layerwise_in(&c, f, optimizer_of(row));
}

/* Rows of a group: those of the group that the file states, else all batches of a shape. */
static uint64_t group_of(const observation *row)
{
    if (*row->group)
        return text_hash(row->group);
    return text_hash(row->name) ^ 3 * text_hash(row->geometry) ^ 7 * text_hash(row->input);
}

static lm_status add_phases(layerwise_data *d, const layerwise_source *s, const point *pt,
                            size_t at, const bound_layer *const *layer, size_t n, lm_error *err)
{
    const uint64_t group  = group_of(pt->row);
    lm_status      status = LM_OK;

    for (phase f = 0; f < N_PHASES && !status; f++) {
        const observation   *row = row_at(s->obs, pt->line[f]);
        const layerwise_case c   = case_of(pt->row, f, s, layer, n);

        if (isnan(pt->seconds[f]))
            continue;
        if (d->kind->target[LAYERWISE_SECONDS])
            status = layerwise_data_add(d, &c, LAYERWISE_SECONDS, pt->seconds[f], group,
                                        at * N_PHASES + f, err);
        if (!status && d->kind->target[LAYERWISE_WATTS] && row && row->power_w > 0)
            status = layerwise_data_add(d, &c, LAYERWISE_WATTS, row->power_w, group,
                                        at * N_PHASES + f, err);
    }
    return status;
}

static lm_status add_point(layerwise_data *d, const layerwise_source *s, const point *pt, size_t at,
                           lm_error *err)
{
    const observation *row   = pt->row;
    network           *net   = NULL;
    bound_network     *bound = NULL;
    const bound_layer *layer[LAYERS];
    size_t             n = 0;
    lm_status status     = row_bind_layer(row, workloads_registry(s->p->loads), &net, &bound, err);

    if (status)
        return status;
    for (size_t i = 0; i < bound->n_layers && n < LAYERS; i++)
        if (strcmp(bound->layer[i].decl->type, "input") != 0)
            layer[n++] = &bound->layer[i];
    status = add_phases(d, s, pt, at, layer, n, err);
    bound_network_free(bound);
    network_free(net);
    return status;
}

lm_status layerwise_gather(const layerwise_kind *kind, const layerwise_source *from, size_t n,
                           layerwise_data *out, lm_error *err)
{
    layerwise_data d      = { .kind = kind, .features = n ? from[0].p->features : NULL };
    size_t         before = 0;
    lm_status      status = LM_OK;

    for (size_t s = 0; s < n && !status; s++) {
        const points *p = kind->clocks && from[s].clocks ? from[s].clocks : from[s].p;

        for (size_t i = 0; i < p->n_points && !status; i++) {
            const point *pt = &p->point[i];

            if (pt->row->kind != OBS_LAYER)
                continue;
            status = add_point(&d, &from[s], pt, before + i, err);
            if (status)
                lm_error_prefix(err, "%s:%d", from[s].obs ? from[s].obs->path : "", pt->row->line);
        }
        before += p->n_points;
    }
    if (status)
        layerwise_data_free(&d);
    else
        *out = d;
    return status;
}

/* ---- predictions ---- */

static void blank(const points *p, comparison *out)
{
    for (size_t i = 0; i < p->n_points; i++) {
        for (phase w = 0; w < N_TIMES; w++)
            out[i].part[w] = NAN;
        for (phase q = 0; q < N_TIMES; q++)
            out[i].predicted[q] = out[i].low[q] = out[i].high[q] = NAN;
        compare_measured(&p->point[i], &out[i]);
    }
}

static void set_phase(comparison *to, phase f, double seconds, double low, double high)
{
    const phase q = f;

    to->predicted[q] = seconds;
    to->low[q]       = low;
    to->high[q]      = high;
}

/* Sums on one rank: of seconds, and of bounds. */
static void add_sum(double to[N_TIMES], bool whole)
{
    to[PHASE_GRAD]          = to[PHASE_UPDATE];
    to[PHASE_BACKWARD_GRAD] = to[PHASE_BACKWARD] + to[PHASE_GRAD];
    if (!whole)
        to[PHASE_STEP] = to[PHASE_FORWARD] + to[PHASE_BACKWARD_GRAD];
}

static void add_sums(const points *p, comparison *out)
{
    for (size_t i = 0; i < p->n_points; i++) {
        const bool whole = !isnan(out[i].predicted[PHASE_STEP]);

        if (p->point[i].row->ranks > 1)
            continue;
        add_sum(out[i].predicted, whole);
        add_sum(out[i].low, whole);
        add_sum(out[i].high, whole);
    }
}

static void set_target(comparison *to, layerwise_target target, phase f, const layerwise_answer *a,
                       bool bounded)
{
    if (target == LAYERWISE_WATTS)
        to->watts[f] = a->value;
    else
        set_phase(to, f, a->value, bounded ? a->low : (double)NAN, bounded ? a->high : (double)NAN);
}

/* Rows to predict, and how. */
typedef struct telling {
    bool (*wanted)(const void *context, size_t from);
    const void *context;
    bool        bounded; /* with intervals */
} telling;

static const telling all_bounded = { NULL, NULL, true };

/* Seconds or watts of the rows of a lot into the points they are of. */
static lm_status predict_lot(const layerwise_model *m, const layerwise_lot *lot, const telling *how,
                             comparison *out, lm_error *err)
{
    layerwise_answer *told = malloc((lot->n + 1) * sizeof *told);
    lm_status         status;

    if (!told)
        return no_memory(err);
    for (size_t i = 0; i < lot->n; i++)
        told[i].value = NAN;
    status = layerwise_predict_lot(m, lot, how->wanted, how->context, told, err);
    for (size_t i = 0; i < lot->n && !status; i++)
        if (!isnan(told[i].value))
            set_target(&out[lot->from[i] / N_PHASES], lot->target, (phase)(lot->from[i] % N_PHASES),
                       &told[i], how->bounded);
    free(told);
    return status;
}

static lm_status predict_lots(const layerwise_model *m, const layerwise_data *d, const telling *how,
                              comparison *out, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t l = 0; l < d->n_lots && !status; l++)
        status = predict_lot(m, &d->lot[l], how, out, err);
    return status;
}

/* A step and its parts, or evaluation mode: either may lack a price. */
static lm_status predict_mode(const layerwise_model *m, const layerwise_source *from,
                              const calibration *cal, size_t i, bool evaluation, comparison *out,
                              lm_error *untold, lm_error *err)
{
    const observation    *row = from->p->point[i].row;
    const workload_name   of  = row_workload(row, evaluation);
    const layerwise_setup s = { optimizer_of(row), row->settings, from->on, clock_of(row, m), cal };
    bound_network        *bound;
    layerwise_sum         sum;
    lm_status             status = workloads_bind_at(from->p->loads, &of, row->batch, &bound, err);

    if (status)
        return status;
    status = layerwise_sum_of(m, bound, &s, &sum, err);
    for (phase f = 0; f < N_PHASES && !status; f++) {
        if ((f == PHASE_INFERENCE) != evaluation)
            continue;
        if (!sum.others.why.code) {
            set_phase(out, f, sum.seconds[f], sum.low[f], sum.high[f]);
            out->watts[f] = sum.joules[f] / sum.seconds[f];
        } else if (sum.told[f] && !isnan(out->measured[f]) && untold && !untold->code) {
            layerwise_refuse(&sum.others, m->kind->name, untold);
            lm_error_prefix(untold, "%s", row->name);
        }
    }
    bound_network_free(bound);
    return status;
}

static lm_status predict_network(const layerwise_model *m, const layerwise_source *from,
                                 const calibration *cal, size_t i, comparison *out,
                                 lm_error *untold, lm_error *err)
{
    lm_status status = LM_OK;

    for (int evaluation = 0; evaluation < 2 && !status; evaluation++)
        status = predict_mode(m, from, cal, i, evaluation, out, untold, err);
    return status;
}

/* Carries a point from the clock of the question to the clock of its row; NAN and false: no data
 * about other clocks. */
static bool carry_point(const points *p, const calibration *cal, size_t i, double asked,
                        comparison *out)
{
    const point *pt   = &p->point[i];
    bool         told = true;

    for (phase f = 0; f < N_PHASES; f++) {
        const double seconds = out->predicted[f];
        power_load   load;
        power_state  s = { NAN, NAN, NAN };

        if (isnan(seconds))
            continue;
        if (cal && cal->power && !isnan(power_point_load(p, cal, pt, f, &load)))
            s = power_carried(cal->power, &load, out->watts[f], asked,
                              observation_held_mhz(pt->row));
        set_phase(out, f, s.stretch * seconds, s.stretch * out->low[f], s.stretch * out->high[f]);
        out->watts[f] = s.watts;
        told &= !isnan(s.stretch);
    }
    return told;
}

/* Is it the lowest or the highest clock of all rows? */
static bool outermost(const points *p, double mhz)
{
    bool below = false, above = false;

    for (size_t i = 0; i < p->n_points; i++) {
        below |= observation_held_mhz(p->point[i].row) < mhz;
        above |= observation_held_mhz(p->point[i].row) > mhz;
    }
    return below != above;
}

/* Was it measured but not predicted? */
static bool is_untold(const comparison *c)
{
    bool measured = false, told = false;

    for (phase f = 0; f < N_PHASES; f++) {
        measured |= !isnan(c->measured[f]);
        told |= !isnan(c->predicted[f]);
    }
    return measured && !told;
}

void layerwise_say_clocks(const layerwise_kind *kind, const points *p, const comparison *at,
                          lm_error *untold)
{
    for (size_t i = 0; i < p->n_points && kind->clocks && !untold->code; i++) {
        const double mhz = observation_held_mhz(p->point[i].row);

        if (is_untold(&at[i]) && outermost(p, mhz))
            lm_error_set(
                untold, LM_E_NOTFOUND,
                "%s says nothing of %.6g MHz by rows of other clocks, as none is beyond: a "
                "machine file whose power model knows clocks carries them over (--machine)",
                kind->name, mhz);
    }
}

static void carry(const layerwise_model *m, const points *p, const calibration *cal,
                  comparison *out, lm_error *untold)
{
    for (size_t i = 0; i < p->n_points; i++) {
        const double held  = observation_held_mhz(p->point[i].row),
                     asked = clock_of(p->point[i].row, m);

        if (isnan(held) || !(isnan(asked) || asked < held || asked > held) ||
            carry_point(p, cal, i, asked, &out[i]) || !untold || untold->code)
            continue;
        lm_error_set(
            untold, LM_E_NOTFOUND,
            "%s learned nothing at %.6g MHz, and the machine file does not say what another "
            "clock makes of time and power: fit with --idle-power and --voltage-knee",
            m->kind->name, held);
    }
}

lm_status compare_by_layerwise(const layerwise_model *m, const layerwise_source *from,
                               const calibration *cal, comparison *out, lm_error *untold,
                               lm_error *err)
{
    layerwise_source near = *from;
    layerwise_data   d;
    lm_status        status;

    near.taught = m;
    if ((status = layerwise_gather(m->kind, &near, 1, &d, err)))
        return status;
    blank(from->p, out);
    status = predict_lots(m, &d, &all_bounded, out, err);
    for (size_t i = 0; i < from->p->n_points && !status; i++)
        if (from->p->point[i].row->kind == OBS_NETWORK)
            status = predict_network(m, from, cal, i, &out[i], untold, err);
    if (m->kind->clocks)
        carry(m, from->p, cal, out, untold);
    add_sums(from->p, out);
    layerwise_data_free(&d);
    return status;
}

/* ---- left out ---- */

/* Predicts layers by a model that learned others. */
typedef struct leaving {
    const layerwise_data   *d;
    const layerwise_source *from; /* of devices: of each fold */
    const double           *setting;
    uint64_t                seed;
    bool                    bounded; /* with intervals */
    comparison             *out;
    lm_error                why; /* of the first fold whose rest teaches nothing; LM_OK: none */
} leaving;

static bool stays(const void *context, size_t from)
{
    return fold_in(context, from / N_PHASES);
}

static bool is_told(const void *context, size_t from)
{
    return fold_out(context, from / N_PHASES);
}

static lm_status learn_rest(void *context, const fold_turn *t, lm_error *err)
{
    leaving         *l      = context;
    layerwise_model *m      = NULL;
    lm_status        status = layerwise_learn(l->d, l->setting, l->seed, stays, t, &m, err);

    if (status == LM_E_ARG && !l->why.code)
        l->why = *err;
    if (!status)
        status = predict_lots(m, l->d, &(telling){ is_told, t, l->bounded }, l->out, err);
    layerwise_free(m);
    if (status && l->from)
        lm_error_prefix(err, "without %s", l->from[t->fold].obs->path);
    return status;
}

static bool all_untold(const points *p, const comparison *at)
{
    size_t i = 0;

    while (i < p->n_points && is_untold(&at[i]))
        i++;
    return i == p->n_points;
}

lm_status compare_layerwise(const layerwise_kind *kind, const double *setting,
                            const layerwise_source *from, const split *by, comparison *out,
                            lm_error *untold, lm_error *err)
{
    folds          f = split_folds(by, from->p);
    layerwise_data d;
    leaving        l      = { &d, NULL, setting, by->rule.seed, !f.all, out, { LM_OK, "" } };
    lm_status      status = layerwise_gather(kind, from, 1, &d, err);

    if (status)
        return status;
    f.all |= !d.n_lots; /* a fit to all points names what is missing */
    f.silent = !f.all;
    for (size_t i = 0; i < d.n_lots; i++)
        if (d.lot[i].target == LAYERWISE_WATTS && !from->p->wants_power)
            d.lot[i].n = 0;
    blank(from->p, out);
    status = folds_leave_out(&f, learn_rest, &l, err);
    add_sums(from->p, out);
    layerwise_data_free(&d);
    if (!status && untold && l.why.code && all_untold(from->p, out)) {
        *untold = l.why;
        lm_error_prefix(untold, "without the rows left out");
    }
    return status;
}

lm_status compare_layerwise_devices(const layerwise_kind *kind, const double *setting,
                                    const layerwise_source *from, size_t n, const points *all,
                                    const split *by, comparison *out, lm_error *err)
{
    const folds    f = split_folds(by, all);
    layerwise_data d;
    leaving        l      = { &d, from, setting, by->rule.seed, true, out, { LM_OK, "" } };
    lm_status      status = layerwise_gather(kind, from, n, &d, err);

    if (status)
        return status;
    blank(all, out);
    status = folds_leave_out(&f, learn_rest, &l, err);
    add_sums(all, out);
    layerwise_data_free(&d);
    return status;
}
