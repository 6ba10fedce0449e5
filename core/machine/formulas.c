/* Fitted formulas of machine files, [MODEL.PART], and the intervals of models. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "machine/sections.h"

/* Implausible seconds per unit: of units that a network has by the million, and of units per
 * layer. */
#define MOST_SECONDS_OF_MANY 1.0
#define MOST_SECONDS_OF_FEW  1e5

/* The last key belongs to all-reduces only, which use other coefficients. */
static const key keys[] = {
    { KEY("rows", KEY_COUNT, fitted, rows) },
    { KEY("rank", KEY_COUNT, fitted, rank) },
    { KEY("condition", KEY_REAL, fitted, condition), KEY_ANY },
    { KEY("mape_percent", KEY_REAL, fitted, errors.mape), .scale = 100, KEY_ANY },
    { KEY("rmse_ms", KEY_REAL, fitted, errors.rmse), .scale = 1e3, KEY_ANY },
    { KEY("nrmse", KEY_REAL, fitted, errors.nrmse), KEY_ANY },
    { "r2", KEY_REAL, offsetof(fitted, errors.r2), KEY_ANY },
    { KEY("held_out_networks", KEY_COUNT, fitted, held_out_groups), .above = true },
    { KEY("held_out_mape_percent", KEY_REAL, fitted, held_out_mape), .scale = 100, KEY_ANY },
    { KEY("by_allreduces", KEY_FLAG, fitted, by_allreduces), .above = true },
};

static const key words[] = {
    { KEY("se", KEY_REAL, coefficient, standard_error), KEY_ANY },
    { KEY("undetermined", KEY_UNSET, coefficient, determined) },
    { KEY("bound", KEY_SET, coefficient, at_bound) },
    { KEY("known", KEY_REAL, coefficient, known), .least = 0, .most = 1, .range = "0 .. 1" },
    { KEY("range", KEY_RANGE, coefficient, low), KEY_ANY },
};

static const record_line line = { words, sizeof words / sizeof words[0], 10 };

#define KNOTS .n = TERM_KNOTS, .least = DBL_TRUE_MIN, .range = "numbers above 0", .above = true

static const key knots[] = {
    { KEY("macs_knots", KEY_REAL, count_knots, macs), KNOTS },
    { KEY("reuse_knots", KEY_REAL, count_knots, reuse), KNOTS },
};

static const coefficient unknown = {
    .value = NAN, .standard_error = NAN, .low = NAN, .high = NAN, .known = NAN
};

static lm_status check_price(const char *name, const char *unit, double seconds, lm_error *err)
{
    static const char *const many[] = { "FLOP", "byte", "element" };
    double                   most   = MOST_SECONDS_OF_FEW;

    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
        if (!strcmp(unit, many[i]))
            most = MOST_SECONDS_OF_MANY;
    if (fabs(seconds) < most)
        return LM_OK;
    return lm_error_set(
        err, LM_E_ARG,
        "%s: %.3g s/%s, which is impossible: edited, or of times in another unit? fit observations in seconds",
        name, seconds, unit);
}

/* The k-th coefficient of a form, with its name and unit. NULL past the last. */
static coefficient *coefficient_at(const form *f, fitted *of, size_t k, char name[64],
                                   const char **unit)
{
    if (k >= (f->n_features ? f->n_features : N_TERMS))
        return NULL;
    if (!f->n_features) {
        *unit = term_unit(k);
        term_name(k, name, 64);
        return &of->term[k];
    }
    *unit = feature_unit(f->feature[k]);
    snprintf(name, 64, "%s", feature_name(f->feature[k]));
    return &of->coefficient[k];
}

lm_status formulas_check(const calibration *cal, const char *path, lm_error *err)
{
    for (size_t f = 0; f < n_forms; f++) {
        fitted      here = cal->fitted[f];
        char        name[64];
        const char *unit;

        for (size_t k = 0; here.present && (here.term || forms[f].n_features); k++) {
            const coefficient *c = coefficient_at(&forms[f], &here, k, name, &unit);
            lm_status          status;

            if (!c)
                break;
            if (!isnan(c->value) && (status = check_price(name, unit, c->value, err))) {
                lm_error_prefix(err, "%s: %s.%s", path, forms[f].model,
                                phase_formula(forms[f].part));
                return status;
            }
        }
    }
    return LM_OK;
}

lm_status formulas_join(calibration *cal, const char *path, lm_error *err)
{
    for (size_t f = 0; f < n_forms; f++) {
        fitted *here = &cal->fitted[f];

        if (here->by_allreduces &&
            !collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL))
            return lm_error_set(err, LM_E_NOTFOUND,
                                "%s: [%s.%s] is answered by [allreduce...], which is not there: "
                                "cut short, or edited? fit the observations again",
                                path, forms[f].model, phase_formula(forms[f].part));
        if (forms[f].part != PHASE_SYNC ||
            !collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL))
            continue;
        if (!here->present)
            *here = (fitted){ .condition     = NAN,
                              .errors        = { 0, NAN, NAN, NAN, NAN, NAN },
                              .held_out_mape = NAN };
        here->present = here->by_allreduces = true;
    }
    return LM_OK;
}

static void write_formula(record *r, const form *f, fitted *of)
{
    char        name[64];
    const char *unit;

    if (of->by_allreduces)
        return;
    for (size_t k = 0;; k++) {
        coefficient *c = coefficient_at(f, of, k, name, &unit);

        if (!c)
            return;
        if (f->n_features || !isnan(c->value))
            record_price(r, &line, NULL, name, unit, &c->value, c);
    }
}

/* Reads a coefficient. Refuses negative values of non-negative fits, and implausible ones: someone
 * has edited the file. */
static void read_coefficient(record *r, const ini_pair *p, const form *f, const char *unit,
                             coefficient *out)
{
    lm_status status;

    *out = (coefficient){
        .standard_error = NAN, .low = NAN, .high = NAN, .determined = true, .known = NAN
    };
    record_price(r, &line, p, NULL, unit, &out->value, out);
    if (f->non_negative && out->value < 0)
        record_fail(r, p, LM_E_ARG,
                    "%s: %s.%s has no coefficients below 0: fit the observations again", p->key,
                    f->model, phase_formula(f->part));
    if (!r->status && (status = check_price(p->key, unit, out->value, r->err))) {
        lm_error_prefix(r->err, "%s:%d", r->path, p->line);
        r->status = status;
    }
}

static void read_pair(record *r, const ini_pair *p, const form *f, fitted *of, bool *seen)
{
    const size_t t = f->n_features ? N_TERMS : term_parse(p->key);

    for (size_t k = 0; k < f->n_features; k++)
        if (!strcmp(feature_name(f->feature[k]), p->key)) {
            seen[k] = true;
            read_coefficient(r, p, f, feature_unit(f->feature[k]), &of->coefficient[k]);
            return;
        }
    if (t < N_TERMS)
        read_coefficient(r, p, f, term_unit(t), &of->term[t]);
    else
        record_fail(r, p, LM_E_NOTFOUND,
                    "'%s' is not a key of %s.%s: written by another version, or by hand? fit the "
                    "observations again",
                    p->key, f->model, phase_formula(f->part));
}

static void read_formula(record *r, const form *f, fitted *of)
{
    bool            seen[FORM_MAX_FEATURES] = { false };
    const ini_pair *p;

    if (!f->n_features && !(of->term = malloc(N_TERMS * sizeof *of->term))) {
        r->status = no_memory(r->err);
        return;
    }
    for (size_t t = 0; of->term && t < N_TERMS; t++)
        of->term[t] = unknown;
    while ((p = record_next(r)))
        read_pair(r, p, f, of, seen);
    for (size_t k = 0; k < f->n_features && !of->by_allreduces; k++)
        if (!seen[k])
            record_fail(r, NULL, LM_E_NOTFOUND,
                        "[%s]: coefficient '%s' is missing: cut short, or edited? fit the "
                        "observations again",
                        r->section->name, feature_name(f->feature[k]));
    of->errors.n = of->rows;
}

static void check_knots(record *r, const count_knots *k)
{
    for (size_t i = 1; i < TERM_KNOTS && !r->out; i++)
        if (k->macs[i] < k->macs[i - 1] || k->reuse[i] < k->reuse[i - 1])
            record_fail(r, NULL, LM_E_ARG, "[%s]: knots must be above 0 and must not fall",
                        r->section->name);
}

static void one_formula(record *r, const form *f, fitted *of)
{
    const size_t n = sizeof keys / sizeof keys[0];

    record_note(r, "%s; %s least squares%s", f->source, f->relative ? "relative" : "ordinary",
                f->non_negative ? ", non-negative" : "");
    record_keys(r, keys, n - (f->part != PHASE_SYNC), of);
    if (!f->n_features && !(r->out && of->by_allreduces))
        RECORD_KEYS(r, knots, &of->knots);
    check_knots(r, &of->knots);
    if (r->out)
        write_formula(r, f, of);
    else
        read_formula(r, f, of);
}

void formula_both(record *r, calibration *cal, const char *star)
{
    const char *dot = strchr(star, '.');
    char        name[SECTION_STAR];
    size_t      at;

    for (size_t f = 0; f < n_forms && r->out; f++)
        if (cal->fitted[f].present) {
            snprintf(name, sizeof name, "%s.%s", forms[f].model, phase_formula(forms[f].part));
            record_begin(r, name);
            one_formula(r, &forms[f], &cal->fitted[f]);
        }
    if (r->out)
        return;
    snprintf(name, sizeof name, "%.*s", dot ? (int)(dot - star) : 0, star);
    at = dot ? form_find_named(name, dot + 1) : n_forms;
    if (at == n_forms) {
        record_fail(r, NULL, LM_E_NOTFOUND,
                    "[%s]: no formula of that name; is this a machine file, and of this version? "
                    "fit the observations again",
                    star);
        return;
    }
    cal->fitted[at] = (fitted){ .present       = true,
                                .condition     = NAN,
                                .errors        = { 0, NAN, NAN, NAN, NAN, NAN },
                                .held_out_mape = NAN,
                                .knots         = count_knots_none };
    one_formula(r, &forms[at], &cal->fitted[at]);
}

/* ---- intervals ---- */

#define ABOVE_0 .least = DBL_TRUE_MIN, .range = "a range above 0"

static const key interval_words[] = {
    { KEY("groups", KEY_COUNT, interval, groups) },
    { KEY("per_octave", KEY_REAL, interval, per_octave), .digits = 4, KEY_ANY },
    { KEY("octaves", KEY_REAL, interval, octaves), .digits = 4, .above = true },
    { KEY("seconds", KEY_RANGE, interval, range[SCOPE_SECONDS]), .digits = 5, ABOVE_0 },
    { KEY("batch", KEY_RANGE, interval, range[SCOPE_BATCH]), .digits = 5, ABOVE_0 },
    { KEY("nodes", KEY_RANGE, interval, range[SCOPE_NODES]), .digits = 5, ABOVE_0 },
};

static const record_line interval_line_of = { interval_words,
                                              sizeof interval_words / sizeof interval_words[0], 0 };

/* Reads or writes the bounds of an interval and its other values. */
static void interval_both(record *r, const ini_pair *p, const char *name, interval *i)
{
    if (!r->out)
        *i = interval_unknown;
    record_value(r, &interval_line_of, p,
                 &(key){ .name = name, .kind = KEY_RANGE, .digits = 6, KEY_ANY }, &i->low, i);
    if (!r->out && !(i->low >= 0 && i->low <= 1 && i->high >= 1 && i->per_octave >= 1))
        record_fail(r, p, LM_E_ARG,
                    "%s: expected bounds around 1 and a factor per octave of 1 or more", p->key);
    for (scope s = 0; s < N_SCOPES && !r->out; s++)
        if (i->range[s].low > i->range[s].high)
            record_fail(r, p, LM_E_ARG, "%s: expected ranges upwards", p->key);
}

static void write_intervals(record *r, const char *model, intervals *all)
{
    bool any = false;

    for (size_t i = 0; i < N_TIMES; i++) {
        interval *at = &all->of[phases_shown[i]];

        if (!interval_known(at))
            continue;
        if (!any)
            record_begin(r, model);
        any = true;
        interval_both(r, NULL, phase_name(phases_shown[i]), at);
    }
}

void intervals_both(record *r, calibration *cal, const char *star)
{
    const ini_pair *p;
    size_t          m = 0;

    for (; model_at(m) && (r->out || strcmp(model_at(m), star) != 0); m++)
        if (r->out)
            write_intervals(r, model_at(m), &cal->intervals[m]);
    if (!r->out && !model_at(m))
        record_fail(r, NULL, LM_E_NOTFOUND, "[%s]: no model of that name", r->section->name);
    while (!r->out && (p = record_next(r))) {
        phase s = 0;

        while (s < N_TIMES && strcmp(phase_name(s), p->key) != 0)
            s++;
        if (s < N_TIMES)
            interval_both(r, p, NULL, &cal->intervals[m].of[s]);
        else
            record_fail(r, p, LM_E_NOTFOUND, "%s: no quantity of that name", p->key);
    }
}
