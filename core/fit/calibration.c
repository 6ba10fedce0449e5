/* Fitted coefficients of a machine, and answers from them. */
#include "fit/calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "network/autocast.h"
#include "single/learned.h"
#include "single/model.h"

size_t fitted_coefficients(const form *f, const fitted *of)
{
    size_t n = f->n_features;

    for (size_t t = 0; !f->n_features && t < N_TERMS; t++)
        n += of->term[t].low <= of->term[t].high;
    return n;
}

/* A key and its value must fit into an INI line. */
#define VALUE_MAX_BYTES 140

bool laid_steps_add(laid_steps *l, const char *name)
{
    char **more = realloc(l->network, (l->n_networks + 1) * sizeof *more);

    if (!more)
        return false;
    l->network = more;
    if (!(more[l->n_networks] = strdup(name)))
        return false;
    l->n_networks++;
    return true;
}

bool laid_steps_hold(const laid_steps *l, const char *name)
{
    for (size_t i = 0; i < l->n_networks; i++)
        if (!strcmp(l->network[i], name))
            return true;
    return !l->n_networks;
}

/* The fit's error and that of others are independent. */
static double beside_others(double bound, double others)
{
    return exp(copysign(stats_quadrature(log(bound), others, 0), log(bound)));
}

void laid_steps_widen(double *low, double *high, double others)
{
    *low  = beside_others(fmin(*low, 1 - 1e-9), others);
    *high = beside_others(fmax(*high, 1 + 1e-9), others);
}

void laid_steps_bounds(const laid_steps *l, const char *name, double *low, double *high)
{
    *low  = l->low;
    *high = l->high;
    if (l->n_networks && !(name && laid_steps_hold(l, name)))
        laid_steps_widen(low, high, LAID_OTHERS);
}

void laid_steps_free(laid_steps *l)
{
    for (size_t i = 0; i < l->n_networks; i++)
        free(l->network[i]);
    free(l->network);
    *l = (laid_steps){ .rows = 0 };
}

void calibration_free(calibration *cal)
{
    if (!cal)
        return;
    for (size_t i = 0; i < cal->n_provenance; i++) {
        free(cal->provenance[i].key);
        free(cal->provenance[i].value);
    }
    free_all(cal->provenance, cal->power, cal->composed);
    measured_free(&cal->measured);
    job_curves_free(&cal->curves);
    limit_curves_free(&cal->limits);
    laid_steps_free(&cal->laid);
    for (size_t f = 0; f < MAX_FORMS; f++)
        free(cal->fitted[f].term);
    if (cal->operators)
        layer_model_free(cal->operators);
    free(cal->operators);
    if (cal->layers)
        layer_model_free(cal->layers);
    free(cal->layers);
    for (size_t i = 0; i < cal->n_learned; i++) {
        if (cal->learned[i].what)
            cal->learned[i].kind->free(cal->learned[i].what);
        free(cal->learned[i].name);
        kept_file_clear(&cal->learned[i].file);
    }
    free(cal->learned);
    collective_free(cal->collectives);
    free(cal);
}

/* One line, without characters that begin a comment or end a key in an INI file. */
static char *plain(const char *text, bool key)
{
    char *copy = strndup(text, key ? 40 : VALUE_MAX_BYTES);

    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == ';')
            *p = ',';
        else if (key && (*p == '=' || *p == ':' || *p == ' ' || *p == '[' || *p == '#'))
            *p = '_';
    /* a backslash at the end would continue the line */
    if (copy && *copy && copy[strlen(copy) - 1] == '\\')
        copy[strlen(copy) - 1] = '/';
    return copy;
}

const char *calibration_told(const calibration *cal, const char *key)
{
    for (size_t i = 0; i < cal->n_provenance; i++)
        if (!strcmp(cal->provenance[i].key, key))
            return cal->provenance[i].value;
    return NULL;
}

lm_dtype settings_product_dtype(const char *settings, lm_dtype dtype)
{
    const lm_dtype product = setting_dtype(settings, "amp");
    const lm_dtype mixed   = autocast_of_settings(settings);

    return product ? product : mixed ? mixed : dtype;
}

lm_dtype settings_rate_dtype(const char *settings, lm_dtype dtype)
{
    const lm_dtype product = settings_product_dtype(settings, dtype);

    return product == LM_F32 && setting_is(settings, "math", "tf32") ? DTYPE_TF32 : product;
}

const char *calibration_settings(const calibration *cal)
{
    const char *told = calibration_told(cal, "settings");

    return told ? told : "";
}

static lm_dtype dtype_of(const calibration *cal)
{
    return cal->dtype ? cal->dtype : LM_F32;
}

lm_dtype calibration_product_dtype(const calibration *cal)
{
    return settings_product_dtype(calibration_settings(cal), dtype_of(cal));
}

lm_dtype calibration_rate_dtype(const calibration *cal)
{
    return settings_rate_dtype(calibration_settings(cal), dtype_of(cal));
}

/* Was the slot of a term in any row? */
static bool measured_slot(const fitted *f, size_t term)
{
    const size_t first = term - (size_t)term_pass(term);

    for (size_t t = first; t < first + LM_N_PASSES; t++)
        if (f->term[t].low <= f->term[t].high)
            return true;
    return false;
}

void calibration_lend(calibration *cal)
{
    static const phase trained[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_STEP };
    const fitted      *from      = &cal->fitted[form_find(DEFAULT_MODEL, PHASE_INFERENCE)];

    for (size_t i = 0; i < sizeof trained / sizeof *trained && from->present; i++) {
        fitted *to = &cal->fitted[form_find(DEFAULT_MODEL, trained[i])];

        for (size_t t = 0; t < N_TERMS && to->present; t++)
            if (!term_of_update(t) && measured_slot(from, t) && !measured_slot(to, t)) {
                to->term[t].value          = from->term[t].value;
                to->term[t].standard_error = NAN;
                to->term[t].known          = 0;
            }
    }
}

double calibration_travels(const calibration *cal, lm_dtype dtype)
{
    const double product = (double)lm_dtype_bytes(calibration_product_dtype(cal));

    /* counts under autocast use the type of the products */
    return cal->mixed ? 1 : fmin(1, product / (double)lm_dtype_bytes(dtype));
}

bool dtype_of_rate(lm_dtype a, lm_dtype b)
{
    const bool halves = (a == LM_F16 || a == LM_BF16) && (b == LM_F16 || b == LM_BF16);

    return a == b || halves;
}

const char *calibration_device(const calibration *cal)
{
    const char *device = calibration_told(cal, "device");

    return device ? device : calibration_told(cal, "cpu");
}

/* A key that is still free: joined files may have a key twice, an INI section must not. */
static char *free_key(const calibration *cal, const char *wanted)
{
    char *key;

    wanted = *wanted ? wanted : "note";
    key    = plain(wanted, true);
    for (size_t n = 2; key && calibration_told(cal, key); n++) {
        char numbered[64];

        snprintf(numbered, sizeof numbered, "%.20s_%zu", wanted, n);
        free(key);
        key = plain(numbered, true);
    }
    return key;
}

bool calibration_note(calibration *cal, const char *key, const char *value)
{
    provenance_entry *more = realloc(cal->provenance, (cal->n_provenance + 1) * sizeof *more);
    provenance_entry new   = { NULL, NULL };

    if (!more)
        return false;
    cal->provenance           = more;
    new.key                   = free_key(cal, key);
    new.value                 = plain(value, false);
    more[cal->n_provenance++] = new;
    if (!new.key || !new.value)
        return false;
    if (!strcmp(new.key, "settings"))
        cal->mixed = autocast_of_settings(new.value);
    cal->of_another |= !strcmp(new.key, "interconnect");
    return true;
}

/* Also "source_2", from joined files. */
static bool of_origin(const char *key)
{
    static const char *const keys[] = { "source", "measured", "licence", "framework", "flaws" };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t n = strlen(keys[i]);

        if (!strncmp(key, keys[i], n) && (!key[n] || key[n] == '_'))
            return true;
    }
    return false;
}

bool calibration_note_origin(calibration *cal, const provenance_entry *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char base[24];

        if (!of_origin(from[i].key))
            continue;
        snprintf(base, sizeof base, "%.*s", (int)strcspn(from[i].key, "_"), from[i].key);
        if (!calibration_note(cal, base, from[i].value))
            return false;
    }
    return true;
}

bool calibration_measured_on(calibration *cal, const char *device)
{
    for (size_t i = 0; i < cal->n_provenance; i++)
        if (!strcmp(cal->provenance[i].key, "device")) {
            char *name = plain(device, false);

            if (!name)
                return false;
            free(cal->provenance[i].value);
            cal->provenance[i].value = name;
            return true;
        }
    return calibration_note(cal, "device", device);
}

static size_t term_contributions(const calibration *cal, const form *f, const fitted *found,
                                 const workload *load, contribution *out)
{
    term_item         room[N_TERMS];
    const term_vector terms = form_terms(f, load, &found->knots, room);

    for (size_t k = 0; k < terms.n; k++) {
        const term_item   *t = &terms.item[k];
        const coefficient *c = &found->term[t->term];
        double             price;

        if (isnan(c->value)) /* files of versions before had one price of all updates */
            c = &found->term[term_update_not_held(t->term)];
        price  = laid_factors_price(&cal->by_steps, load->tokens, f->part, t->term, c->value);
        out[k] = (contribution){ t->term, c, price, t->value, price * t->value };
    }
    return terms.n;
}

size_t calibration_contributions(const calibration *cal, size_t form_at, const workload *load,
                                 contribution *out)
{
    const form   *f    = &forms[form_at];
    const fitted *here = &cal->fitted[form_at];

    if (!f->n_features)
        return term_contributions(cal, f, here, load, out);
    for (size_t k = 0; k < f->n_features; k++) {
        const coefficient *c = &here->coefficient[k];

        out[k] = (contribution){ f->feature[k], c, c->value, feature_value(f->feature[k], load),
                                 feature_seconds(f->feature[k], c->value, load) };
    }
    return f->n_features;
}

double calibration_collective(const calibration *cal, const char *model, const interconnect *link,
                              const collective_call *a)
{
    const sync_baseline b = sync_baseline_parse(model);

    if (a->nodes == 1 && a->devices == 1)
        return 0;
    if (a->kind != COLLECTIVE_ALLREDUCE || calibration_asks(cal, model))
        return collective_seconds(cal->collectives, NULL, link, a);
    if (b < N_SYNC_BASELINES)
        return collective_baseline(cal->collectives, NULL, b, a);
    return calibration_seconds(
        cal, form_find(model, PHASE_SYNC),
        &(workload){ .nodes = (double)a->nodes * (double)a->devices, .bytes = a->bytes });
}

double calibration_bucket(const calibration *cal, const char *model, const interconnect *link,
                          const collective_call *a)
{
    const bool  asks    = calibration_asks(cal, model);
    const char *by      = ALGORITHM_NONBLOCKING;
    double      seconds = asks ? collective_seconds(cal->collectives, by, link, a) : NAN;

    if (isnan(seconds)) {
        by      = NULL;
        seconds = calibration_collective(cal, model, link, a);
    }
    if (asks && cal->overlapping.cold > 0)
        seconds += cal->overlapping.cold * collective_cold_seconds(cal->collectives, by, link, a);
    return seconds;
}

bool calibration_asks(const calibration *cal, const char *model)
{
    const size_t at = form_find(model, PHASE_SYNC);

    return at < n_forms && (collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL) ||
                            !cal->fitted[at].present);
}

bool calibration_assumes(const calibration *cal, const char *model, const interconnect *link,
                         int64_t nodes)
{
    const algorithm_model *first =
        collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL);

    return nodes > 1 && link->bytes_per_second > 0 && calibration_asks(cal, model) &&
           !(first && first->of[FABRIC_MULTI].rows);
}

lm_status calibration_ask(const calibration *cal, const interconnect *link,
                          const collective_call *a, collective_answer *out, lm_error *err)
{
    return collective_ask(cal->collectives, NULL, link, a, out, err);
}

double calibration_seconds(const calibration *cal, size_t form_at, const workload *load)
{
    contribution room[MAX_CONTRIBUTIONS];
    double       seconds = 0;
    size_t       n;

    if (form_at >= n_forms || !cal->fitted[form_at].present)
        return NAN;
    if (cal->fitted[form_at].by_allreduces) {
        const double          hosts = fmax(1, load->hosts);
        const collective_call a     = { COLLECTIVE_ALLREDUCE, load->bytes, (int64_t)hosts,
                                        (int64_t)(load->nodes / hosts), 1 };

        return collective_seconds(cal->collectives, NULL, NULL, &a);
    }
    n = calibration_contributions(cal, form_at, load, room);
    for (size_t k = 0; k < n; k++)
        seconds += room[k].seconds;
    /* no work costs nothing; work that is unknown has no price */
    return n ? seconds : NAN;
}

int64_t calibration_nodes(const calibration *cal, const char *model, int64_t devices)
{
    const algorithm_model *a = NULL;
    int64_t                nodes;

    if (!calibration_asks(cal, model))
        nodes = cal->max_ranks / devices;
    else if ((a = collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL)) &&
             a->of[FABRIC_MULTI].rows)
        nodes = (int64_t)a->of[FABRIC_MULTI].nodes.high;
    else
        nodes = 1;
    return nodes > 1 ? nodes : 1;
}

const intervals *calibration_intervals(const calibration *cal, const char *model)
{
    return &cal->intervals[model_index(model)];
}

static learned_part *find(const calibration *cal, const char *name)
{
    for (size_t i = 0; i < cal->n_learned; i++)
        if (!strcmp(cal->learned[i].name, name))
            return &cal->learned[i];
    return NULL;
}

bool calibration_learned_has(const calibration *cal, const char *name)
{
    return find(cal, name) != NULL;
}

lm_status calibration_learned_add(calibration *cal, const char *name, const kept_kind *kind,
                                  void *what, lm_error *err)
{
    learned_part *more = realloc(cal->learned, (cal->n_learned + 1) * sizeof *more);
    char         *own  = strdup(name);

    if (more)
        cal->learned = more;
    if (!more || !own) {
        free(own);
        if (what)
            kind->free(what);
        return no_memory(err);
    }
    more[cal->n_learned++] = (learned_part){ own, kind, what, { 0 } };
    return LM_OK;
}

const char *calibration_learned_path(const calibration *cal, const char *name)
{
    const learned_part *found = find(cal, name);

    return found && found->file.path ? found->file.path : name;
}

lm_status calibration_learned_open(const calibration *cal, const char *name, const kept_kind *kind,
                                   void **out, lm_error *err)
{
    const learned_part *found = find(cal, name);

    if (!found)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no model '%.40s' was learned: fit the observations with --model %.40s",
                            name, name);
    return found->what ? kept_copy(kind, name, found->what, out, err)
                       : kept_file_load(&found->file, kind, name, out, err);
}

lm_status calibration_check_residuals(const calibration *cal, lm_error *err)
{
    const lm_status status = cal->layers ? learned_check(cal->layers, err) : LM_OK;

    return status || !cal->operators ? status : learned_check(cal->operators, err);
}
