/* Measured powers, with their time by bound. */
#include "fit/power_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "device/device.h"
#include "fit/singles.h"
#include "observe/doubts.h"
#include "single/model.h"

/* The parts of a step's phase on one device. Returns their number. */
static size_t parts_of(phase f, bool whole_steps, phase out[3])
{
    if (f >= N_PHASES || f == PHASE_SYNC)
        return 0;
    out[0] = f;
    if (f != PHASE_STEP || whole_steps)
        return 1;
    out[0] = PHASE_FORWARD;
    out[1] = PHASE_BACKWARD;
    out[2] = PHASE_UPDATE;
    return 3;
}

static size_t form_of(const calibration *cal, phase which)
{
    const size_t at = form_find(DEFAULT_MODEL, which);

    return at < n_forms && cal->fitted[at].present ? at : n_forms;
}

/* Seconds by bound; false where a part has no coefficients. */
static bool by_terms(const calibration *cal, const point *pt, phase f, double sum[N_TERM_BOUNDS])
{
    const bool   whole = form_of(cal, PHASE_FORWARD) == n_forms;
    contribution room[MAX_CONTRIBUTIONS];
    phase        parts[3];
    const size_t n = parts_of(f, whole, parts);

    for (size_t i = 0; i < n; i++) {
        const size_t at = form_of(cal, parts[i]);
        size_t       m;

        if (at == n_forms)
            return false;
        m = calibration_contributions(cal, at, point_load(pt, parts[i]), room);
        for (size_t k = 0; k < m; k++)
            sum[term_family_bound(term_family_of(room[k].regressor))] += room[k].seconds;
    }
    return n > 0;
}

static bool by_prices(const points *p, layer_asker *by, const point *pt, phase f, power_load *out,
                      double *seconds)
{
    const layer_run run = singles_run(pt, f, p->multiprocessors);

    return pt->shape && by->m && !singles_load(by, pt->shape, &run, out, seconds, NULL) &&
           *seconds > 0;
}

/* Predicted seconds of a rank's own work; NAN: there are no prices. `by`: prices of single layers. */
static double own_load(const points *p, const calibration *cal, layer_asker *by, const point *pt,
                       phase f, power_load *out)
{
    double sum[N_TERM_BOUNDS] = { 0 }, all = 0;

    *out = (power_load){ .join = 1 };
    if (by_prices(p, by, pt, f, out, &all))
        return all;
    if (!by_terms(cal, pt, f, sum))
        return NAN;
    all = 0;
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        all += fmax(sum[k], 0);
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        out->share[k] = fmax(sum[k], 0) / all;
    return all > 0 ? all : (double)NAN;
}

static double load_of(const points *p, const calibration *cal, layer_asker *by, const point *pt,
                      phase f, power_load *out)
{
    *out = (power_load){ .join = 1 };
    return pt->row->ranks > 1 ? (double)NAN : own_load(p, cal, by, pt, f, out);
}

double power_point_load(const points *p, const calibration *cal, const point *pt, phase f,
                        power_load *out)
{
    layer_asker  by      = layer_asker_of(cal->layers);
    const double seconds = load_of(p, cal, &by, pt, f, out);

    layer_asker_free(&by);
    return seconds;
}

lm_status power_rows_from(const points *p, const calibration *cal, double usual_mhz,
                          power_rows *out, lm_error *err)
{
    power_rows  r  = { .row = malloc((p->n_points * N_PHASES + 1) * sizeof *r.row),
                       .at  = malloc((p->n_points * N_PHASES + 1) * sizeof *r.at) };
    layer_asker by = layer_asker_of(cal->layers);

    if (!r.row || !r.at) {
        power_rows_free(&r);
        return no_memory(err);
    }
    for (size_t i = 0; i < p->n_points; i++)
        for (phase f = 0; f < N_PHASES; f++) {
            const point *pt  = &p->point[i];
            power_row   *row = &r.row[r.n];

            if (isnan(pt->seconds[f]) || !(pt->watts[f] > 0))
                continue;
            *row      = (power_row){ .watts = pt->watts[f], .mhz = pt->mhz[f], .group = pt->group };
            r.at[r.n] = (power_place){ i, f, load_of(p, cal, &by, pt, f, &row->load) };
            if (isnan(r.at[r.n].seconds)) {
                r.unused++;
                continue;
            }
            if (isfinite(usual_mhz / row->mhz)) {
                const power_load usual = row->load;

                power_slow_down(&usual, usual_mhz / row->mhz, &row->load);
            }
            r.n++;
        }
    layer_asker_free(&by);
    *out = r;
    return LM_OK;
}

void power_rows_free(power_rows *r)
{
    free(r->row);
    free(r->at);
    *r = (power_rows){ 0 };
}

/* "165 W", "1440 MHz" of the provenance; NAN: absent. */
static double noted(const calibration *cal, const char *key, const char *unit)
{
    double value = NAN;

    for (size_t i = 0; i < cal->n_provenance; i++)
        if (!strcmp(cal->provenance[i].key, key) &&
            text_quantity(cal->provenance[i].value, unit, &value, &(lm_error){ 0 }))
            value = NAN;
    return value > 0 ? value : (double)NAN;
}

lm_status power_told(const calibration *cal, const char *name, power_model *out, lm_error *err)
{
    power_model   m = power_unknown;
    device_list  *list;
    const device *d;
    lm_status     status;

    if (!name)
        name = calibration_device(cal);
    if (name) {
        if ((status = devices_open(NULL, &list, err)))
            return status;
        if (!devices_find(list, name, &d, NULL)) {
            m.cap_w   = d->figure[DEVICE_POWER];
            m.top_mhz = d->figure[DEVICE_CLOCK] / 1e6;
            if (isfinite(d->figure[DEVICE_BANDWIDTH]))
                m.memory_w = POWER_MEMORY_JOULES * d->figure[DEVICE_BANDWIDTH];
        }
        devices_free(list);
    }
    m.idle_w = noted(cal, "idle_power", "W");
    if (noted(cal, "gpu_power_limit", "W") > 0)
        m.cap_w = noted(cal, "gpu_power_limit", "W");
    if (noted(cal, "gpu_clock_max", "Hz") > 0)
        m.top_mhz = noted(cal, "gpu_clock_max", "Hz") / 1e6;
    *out = m;
    return LM_OK;
}

lm_status power_usual_clock(const points *p, double *out, lm_error *err)
{
    double *room = malloc((p->n_points * N_PHASES + 1) * sizeof *room);
    size_t  n    = 0;

    if (!room)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++)
        for (phase f = 0; f < N_PHASES; f++)
            if (p->point[i].mhz[f] > 0)
                room[n++] = p->point[i].mhz[f];
    *out = n ? stats_quantile(room, n, 0.5) : (double)NAN;
    free(room);
    return LM_OK;
}

/* Limits of plausible rows: power within a factor of twenty of the median, clocks up to eight times
 * the median. A single wrong row, by a sensor or a typing error, would change the whole model. */
#define WATTS_APART 20
#define CLOCK_ABOVE 8

static bool is_odd(const power_row *r, double watts, double mhz)
{
    return r->watts * WATTS_APART < watts || r->watts > WATTS_APART * watts ||
           r->mhz > CLOCK_ABOVE * mhz;
}

/* Leaves out implausible rows, and an idle power above the median. */
static lm_status leave_out_odd(const points *p, power_rows *r, power_model *told, lm_error *err)
{
    double *room = malloc((r->n + 1) * sizeof *room);
    double  watts, mhz;
    size_t  n = 0, clocks = 0;

    if (!room)
        return no_memory(err);
    for (size_t i = 0; i < r->n; i++)
        room[i] = r->row[i].watts;
    watts = r->n ? stats_quantile(room, r->n, 0.5) : (double)NAN;
    for (size_t i = 0; i < r->n; i++)
        if (isfinite(r->row[i].mhz))
            room[clocks++] = r->row[i].mhz;
    mhz = clocks ? stats_quantile(room, clocks, 0.5) : (double)NAN;
    free(room);
    for (size_t i = 0; i < r->n; i++) {
        if (is_odd(&r->row[i], watts, mhz)) {
            if (!r->odd++)
                r->odd_line = p->point[r->at[i].point].row->line;
            continue;
        }
        r->row[n]  = r->row[i];
        r->at[n++] = r->at[i];
    }
    r->n       = n;
    r->no_rest = told->idle_w > watts;
    if (r->no_rest)
        told->idle_w = NAN;
    return LM_OK;
}

/* ---- waiting ---- */

/* Least share of waiting in a step: a smaller one is mostly an error of the prices. */
#define WAITS_LEAST 0.1

/* Least squares of the relative errors of a step's energy: E = own W x own s + wait W x wait s. */
static void fit_waiting(const points *p, calibration *cal, power_rows *measured)
{
    power_model *m   = cal->power;
    layer_asker  by  = layer_asker_of(cal->layers);
    double       sum = 0, squares = 0;
    size_t       n = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        const point *pt      = &p->point[i];
        const double seconds = pt->seconds[PHASE_STEP], watts = pt->watts[PHASE_STEP];
        power_load   load;
        double       own, share;

        if (!(pt->row->ranks > 1) || !(watts > 0) || !(seconds > 0))
            continue;
        own   = own_load(p, cal, &by, pt, PHASE_STEP, &load);
        share = 1 - own / seconds;
        if (!(share >= WAITS_LEAST))
            continue;
        sum += share / watts * (1 - (1 - share) * power_draw(m, &load, NAN) / watts);
        squares += share / watts * share / watts;
        n++;
    }
    layer_asker_free(&by);
    if (n < POWER_LEAST_ROWS)
        return;
    m->wait_w         = fmax(sum / squares, isnan(m->idle_w) ? 0 : m->idle_w);
    m->wait_w         = m->wait_w > m->cap_w ? m->cap_w : m->wait_w;
    measured->waiting = n;
    measured->unused -= n;
}

lm_status power_calibrate(const points *p, double usual_mhz, const power_model *told,
                          calibration *cal, power_rows *measured, lm_error *err)
{
    power_model known  = *told;
    lm_status   status = power_rows_from(p, cal, usual_mhz, measured, err);

    if (!status)
        status = leave_out_odd(p, measured, &known, err);
    if (status || measured->n < POWER_LEAST_ROWS)
        return status;
    if (!cal->power && !(cal->power = malloc(sizeof *cal->power)))
        return no_memory(err);
    status = power_fit(measured->row, measured->n, &known, cal->power, err);
    if (!status)
        fit_waiting(p, cal, measured);
    return status;
}

bool power_doubted(const points *p)
{
    for (size_t i = 0; p->doubts && i < p->doubts->n; i++)
        if (p->doubts->doubt[i].kind == DOUBT_POWER)
            return true;
    return false;
}

static bool any_power(const points *p)
{
    for (size_t i = 0; i < p->n_points; i++)
        for (phase f = 0; f < N_PHASES; f++)
            if (p->point[i].watts[f] > 0)
                return true;
    return false;
}

lm_status power_of_points(const points *p, calibration *cal, lm_error *err)
{
    power_rows  measured = { 0 };
    power_model told;
    double      usual_mhz;
    lm_status   status;

    if (!any_power(p) || power_doubted(p))
        return LM_OK;
    status = power_told(cal, NULL, &told, err);
    if (!status)
        status = power_usual_clock(p, &usual_mhz, err);
    if (!status)
        status = power_calibrate(p, usual_mhz, &told, cal, &measured, err);
    power_rows_free(&measured);
    return status;
}
