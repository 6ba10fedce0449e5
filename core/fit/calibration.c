/* Fitted coefficients of a machine, and the machine file that holds them. */
#include "fit/calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/ini.h"
#include "base/text.h"
#include "single/learned.h"
#include "single/operator_file.h"
#include "single/store.h"
#include "sync/collective_file.h"

/* A key and its value have to pass through an INI line. */
#define VALUE_MAX_BYTES 140

/* Of a formula that has no coefficients of its own. */
#define BY_ALLREDUCES "by_allreduces"

void calibration_free(calibration *cal)
{
    if (!cal)
        return;
    for (size_t i = 0; i < cal->n_provenance; i++) {
        free(cal->provenance[i].key);
        free(cal->provenance[i].value);
    }
    free(cal->provenance);
    measured_free(&cal->measured);
    for (size_t f = 0; f < MAX_FORMS; f++)
        free(cal->fitted[f].term);
    if (cal->operators)
        operator_model_free(cal->operators);
    free(cal->operators);
    if (cal->layers)
        layer_model_free(cal->layers);
    free(cal->layers);
    collective_free(cal->allreduces);
    free(cal);
}

/* One line, without what an INI file would take for a comment or a key. */
static char *plain(const char *text, bool key)
{
    char *copy = strndup(text, key ? 40 : VALUE_MAX_BYTES);

    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == ';')
            *p = ',';
        else if (key && (*p == '=' || *p == ':' || *p == ' ' || *p == '[' || *p == '#'))
            *p = '_';
    return copy;
}

static const char *told(const calibration *cal, const char *key)
{
    for (size_t i = 0; i < cal->n_provenance; i++)
        if (!strcmp(cal->provenance[i].key, key))
            return cal->provenance[i].value;
    return NULL;
}

const char *calibration_device(const calibration *cal)
{
    const char *device = told(cal, "device");

    return device ? device : told(cal, "cpu");
}

/* A key that is not there yet: files that were joined say things twice, an INI section may not. */
static char *free_key(const calibration *cal, const char *wanted)
{
    char *key;

    wanted = *wanted ? wanted : "note";
    key    = plain(wanted, true);
    for (size_t n = 2; key && told(cal, key); n++) {
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
    return new.key &&new.value;
}

static size_t term_contributions(const form *f, const fitted *found, const workload *load,
                                 contribution *out)
{
    term_item         room[N_TERMS];
    const term_vector terms = form_terms(f, load, &found->knots, room);

    for (size_t k = 0; k < terms.n; k++) {
        const term_item *t = &terms.item[k];

        out[k] = (contribution){ t->term, &found->term[t->term], t->value,
                                 found->term[t->term].value * t->value };
    }
    return terms.n;
}

size_t calibration_contributions(const calibration *cal, size_t form_at, const workload *load,
                                 contribution *out)
{
    const form   *f    = &forms[form_at];
    const fitted *here = &cal->fitted[form_at];

    if (!f->n_features)
        return term_contributions(f, here, load, out);
    for (size_t k = 0; k < f->n_features; k++) {
        const coefficient *c = &here->coefficient[k];

        out[k] = (contribution){ f->feature[k], c, feature_value(f->feature[k], load),
                                 feature_seconds(f->feature[k], c->value, load) };
    }
    return f->n_features;
}

double calibration_allreduce(const calibration *cal, const char *model, const allreduce *a)
{
    const sync_baseline b = sync_baseline_parse(model);

    if (a->nodes == 1 && a->devices == 1)
        return 0;
    if (calibration_asks(cal, model))
        return collective_seconds(cal->allreduces, NULL, &cal->link, a);
    if (b < N_SYNC_BASELINES)
        return collective_baseline(cal->allreduces, NULL, b, a);
    return calibration_seconds(
        cal, form_find(model, PART_SYNC),
        &(workload){ .nodes = (double)a->nodes * (double)a->devices, .bytes = a->bytes });
}

bool calibration_asks(const calibration *cal, const char *model)
{
    const size_t at = form_find(model, PART_SYNC);

    return at < n_forms && (cal->allreduces || !cal->fitted[at].present);
}

bool calibration_assumes(const calibration *cal, const char *model, int64_t nodes)
{
    const algorithm_model *first = collective_algorithm(cal->allreduces, NULL);

    return nodes > 1 && cal->link.bytes_per_second > 0 && calibration_asks(cal, model) &&
           !(first && first->of[FABRIC_MULTI].rows);
}

lm_status calibration_ask(const calibration *cal, const allreduce *a, allreduce_answer *out,
                          lm_error *err)
{
    return collective_ask(cal->allreduces, NULL, &cal->link, a, out, err);
}

double calibration_seconds(const calibration *cal, size_t form_at, const workload *load)
{
    contribution room[MAX_CONTRIBUTIONS];
    double       seconds = 0;
    size_t       n;

    if (form_at >= n_forms || !cal->fitted[form_at].present)
        return NAN;
    if (cal->fitted[form_at].by_allreduces) {
        const double    hosts = fmax(1, load->hosts);
        const allreduce a     = { load->bytes, (int64_t)hosts, (int64_t)(load->nodes / hosts) };

        return collective_seconds(cal->allreduces, NULL, &cal->link, &a);
    }
    n = calibration_contributions(cal, form_at, load, room);
    for (size_t k = 0; k < n; k++)
        seconds += room[k].seconds;
    /* nothing costs nothing, but what is not known of a network has no price */
    return n ? seconds : NAN;
}

int64_t calibration_nodes(const calibration *cal, const char *model, int64_t devices)
{
    const algorithm_model *a = NULL;
    int64_t                nodes;

    if (!calibration_asks(cal, model))
        nodes = cal->max_ranks / devices;
    else if ((a = collective_algorithm(cal->allreduces, NULL)) && a->of[FABRIC_MULTI].rows)
        nodes = (int64_t)a->of[FABRIC_MULTI].nodes.high;
    else
        nodes = 1;
    return nodes > 1 ? nodes : 1;
}

const intervals *calibration_intervals(const calibration *cal, const char *model)
{
    size_t m = 0;

    while (strcmp(model_at(m), model) != 0)
        m++;
    return &cal->intervals[m];
}

/* Seconds of one unit that nothing takes: of what a network has by the million, and of what it has
 * by the layer. */
#define MOST_SECONDS_OF_MANY 1.0
#define MOST_SECONDS_OF_FEW  1e5

static lm_status check_price(const char *name, const char *unit, double seconds, lm_error *err)
{
    static const char *const many[] = { "FLOP", "byte", "element" };
    double                   most   = MOST_SECONDS_OF_FEW;

    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
        if (!strcmp(unit, many[i]))
            most = MOST_SECONDS_OF_MANY;
    if (fabs(seconds) < most)
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "%s: %.3g s/%s, which nothing takes: edited, or of times in another unit? "
                        "fit observations in seconds",
                        name, seconds, unit);
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static void put_number(FILE *out, const char *key, double value)
{
    char text[40];

    if (isfinite(value))
        fprintf(out, "%s = %s\n", key, text_exact(value, text, sizeof text));
}

static void put_coefficient(FILE *out, const char *name, const char *unit, const coefficient *c)
{
    char value[40], error[40], low[40], high[40];

    fprintf(out, "%-10s = %s s/%s", name, text_exact(c->value, value, sizeof value), unit);
    if (isfinite(c->standard_error))
        fprintf(out, ", se %s", text_exact(c->standard_error, error, sizeof error));
    if (!c->determined)
        fputs(", undetermined", out);
    if (c->at_bound)
        fputs(", bound", out);
    if (isfinite(c->known))
        fprintf(out, ", known %s", text_exact(c->known, error, sizeof error));
    if (isfinite(c->low))
        fprintf(out, ", range %s .. %s", text_exact(c->low, low, sizeof low),
                text_exact(c->high, high, sizeof high));
    fputc('\n', out);
}

static void put_terms(FILE *out, const fitted *f)
{
    const coefficient *c = f->term;
    char               name[64], text[COUNTED_TEXT];

    if (f->knots.macs[0] > 0)
        fprintf(out, "macs_knots = %s\n", counted_print(f->knots.macs, text));
    if (f->knots.reuse[0] > 0)
        fprintf(out, "reuse_knots = %s\n", counted_print(f->knots.reuse, text));

    for (size_t t = 0; t < N_TERMS; t++)
        if (!isnan(c[t].value))
            put_coefficient(out, term_name(t, name, sizeof name), term_unit(t), &c[t]);
}

static void put_fitted(FILE *out, size_t form_at, const fitted *f)
{
    const form *form_here = &forms[form_at];

    fprintf(out, "\n[%s.%s]\n; %s; %s least squares%s\n", form_here->model,
            part_name(form_here->part), form_here->source,
            form_here->relative ? "relative" : "ordinary",
            form_here->non_negative ? ", non-negative" : "");
    fprintf(out, "rows = %zu\nrank = %zu\n", f->rows, f->rank);
    put_number(out, "condition", f->condition);
    put_number(out, "mape_percent", 100 * f->errors.mape);
    put_number(out, "rmse_ms", 1e3 * f->errors.rmse);
    put_number(out, "nrmse", f->errors.nrmse);
    put_number(out, "r2", f->errors.r2);
    if (f->held_out_groups) {
        fprintf(out, "held_out_networks = %zu\n", f->held_out_groups);
        put_number(out, "held_out_mape_percent", 100 * f->held_out_mape);
    }
    if (f->by_allreduces) {
        fputs(BY_ALLREDUCES " = yes\n", out);
        return;
    }
    for (size_t k = 0; k < form_here->n_features; k++)
        put_coefficient(out, feature_name(form_here->feature[k]),
                        feature_unit(form_here->feature[k]), &f->coefficient[k]);
    if (!form_here->n_features)
        put_terms(out, f);
}

static void put_intervals(FILE *out, const char *model, const intervals *all)
{
    bool any = false;
    char text[INTERVAL_TEXT];

    for (size_t s = 0; s < N_INTERVALS; s++) {
        if (!interval_known(&all->of[s]))
            continue;
        if (!any)
            fprintf(out, "\n[%s.intervals]\n", model);
        any = true;
        fprintf(out, "%s = %s\n", interval_slot_name(s), interval_print(&all->of[s], text));
    }
}

/* What calibration_load() would refuse is not written. */
static lm_status check_prices(const calibration *cal, const char *path, lm_error *err)
{
    lm_status status = LM_OK;
    char      name[64];

    for (size_t f = 0; f < n_forms && !status; f++) {
        const fitted *here = &cal->fitted[f];

        for (size_t k = 0; here->present && k < forms[f].n_features && !status; k++)
            status =
                check_price(feature_name(forms[f].feature[k]), feature_unit(forms[f].feature[k]),
                            here->coefficient[k].value, err);
        for (size_t t = 0; here->present && here->term && t < N_TERMS && !status; t++)
            if (!isnan(here->term[t].value))
                status = check_price(term_name(t, name, sizeof name), term_unit(t),
                                     here->term[t].value, err);
        if (status)
            lm_error_prefix(err, "%s: %s.%s", path, forms[f].model, part_name(forms[f].part));
    }
    return status;
}

lm_status calibration_save(const calibration *cal, const char *path, lm_error *err)
{
    file_draft draft;
    lm_status  status = check_prices(cal, path, err);

    if (status)
        return status;
    status = file_draft_open(&draft, path, err);
    if (status)
        return status;
    if (cal->layers && (status = learned_save(cal->layers, path, err))) {
        file_draft_drop(&draft);
        return status;
    }
    fputs(
        "; Coefficients of a machine, written by layermeter fit. Times are in seconds; `se` is a standard\n"
        "; error, `range` what the feature covered in the data, `bound` a coefficient held at 0, and\n"
        "; `undetermined` one that the data cannot tell from the others. Intervals: the central 90 % of\n"
        "; measured / predicted on groups left out of a fit, how many these were, by what factor bounds\n"
        "; widen for each octave beyond what was measured, and what that was.\n\n"
        "[machine]\n",
        draft.stream);
    fprintf(draft.stream, "max_ranks = %lld\nmax_hosts = %lld\ntile = %lld\ngroup_tile = %lld\n",
            (long long)cal->max_ranks, (long long)cal->max_hosts, (long long)cal->settings.tile,
            (long long)cal->settings.group_tile);
    if (cal->transferred)
        fputs("transferred = yes\n", draft.stream);
    if (cal->dtype)
        fprintf(draft.stream, "dtype = %s\n", text_dtype_name(cal->dtype));
    fputs("\n[provenance]\n", draft.stream);
    for (size_t i = 0; i < cal->n_provenance; i++)
        fprintf(draft.stream, "%s = %s\n", cal->provenance[i].key, cal->provenance[i].value);
    measured_write(draft.stream, &cal->measured);
    for (size_t f = 0; f < n_forms; f++)
        if (cal->fitted[f].present)
            put_fitted(draft.stream, f, &cal->fitted[f]);
    if (cal->operators)
        operator_file_write(draft.stream, cal->operators);
    if (cal->layers)
        layer_model_print(draft.stream, cal->layers);
    if (cal->allreduces)
        collective_file_write(draft.stream, cal->allreduces);
    overlap_file_write(draft.stream, &cal->overlapping);
    for (size_t m = 0; model_at(m); m++)
        put_intervals(draft.stream, model_at(m), &cal->intervals[m]);
    return file_draft_commit(&draft, err);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

typedef struct reading {
    const char *path;
    lm_error   *err;
} reading;

static lm_status fail_at(const reading *r, int line, lm_status status)
{
    lm_error_prefix(r->err, "%s:%d", r->path, line);
    return status;
}

/* "1.2e-11 s/FLOP, se 3e-13, range 1 .. 2" */
static lm_status read_coefficient(const reading *r, const ini_pair *p, const char *of,
                                  coefficient *out)
{
    char        copy[200], *word[8], unit[40];
    coefficient c = {
        .standard_error = NAN, .low = NAN, .high = NAN, .determined = true, .known = NAN
    };
    size_t    n;
    lm_status status = LM_OK;
    char     *space;

    snprintf(copy, sizeof copy, "%s", p->value);
    snprintf(unit, sizeof unit, "s/%s", of);
    n     = text_split(copy, ',', word, 8);
    space = strchr(word[0], ' ');
    if (!space || strcmp(text_trim(space), unit))
        return fail_at(r, p->line,
                       lm_error_set(r->err, LM_E_SYNTAX,
                                    "%s: expected a number and '%s', "
                                    "found '%s'",
                                    p->key, unit, word[0]));
    *space = '\0'; /* text_trim() left the blank in place */
    status = text_real(word[0], &c.value, r->err);
    for (size_t i = 1; i < n && !status; i++) {
        char *dots;

        if (!strncmp(word[i], "se ", 3)) {
            status = text_real(word[i] + 3, &c.standard_error, r->err);
        } else if (!strncmp(word[i], "known ", 6)) {
            status = text_real(word[i] + 6, &c.known, r->err);
        } else if (!strcmp(word[i], "undetermined")) {
            c.determined = false;
        } else if (!strcmp(word[i], "bound")) {
            c.at_bound = true;
        } else if (!strncmp(word[i], "range ", 6) && (dots = strstr(word[i], ".."))) {
            *dots  = '\0';
            status = text_real(word[i] + 6, &c.low, r->err);
            if (!status)
                status = text_real(dots + 2, &c.high, r->err);
        } else {
            status = lm_error_set(r->err, LM_E_SYNTAX, "unknown word '%.60s'", word[i]);
        }
    }
    if (status) {
        lm_error_prefix(r->err, "%s", p->key);
        return fail_at(r, p->line, status);
    }
    *out = c;
    return LM_OK;
}

typedef struct number_key {
    const char *key;
    size_t      offset;
    double      factor; /* of the file's unit */
    bool        count;  /* a size_t, not a double */
} number_key;

static const number_key number_keys[] = {
    { "rows", offsetof(fitted, rows), 1, true },
    { "rank", offsetof(fitted, rank), 1, true },
    { "condition", offsetof(fitted, condition), 1, false },
    { "mape_percent", offsetof(fitted, errors.mape), 0.01, false },
    { "rmse_ms", offsetof(fitted, errors.rmse), 1e-3, false },
    { "nrmse", offsetof(fitted, errors.nrmse), 1, false },
    { "r2", offsetof(fitted, errors.r2), 1, false },
    { "held_out_networks", offsetof(fitted, held_out_groups), 1, true },
    { "held_out_mape_percent", offsetof(fitted, held_out_mape), 0.01, false },
};

/* What was fitted to be 0 or more and is not, somebody has edited; or it is absurd. */
static lm_status read_form_coefficient(const reading *r, const ini_pair *p, const form *f,
                                       const char *unit, coefficient *out)
{
    const lm_status status = read_coefficient(r, p, unit, out);

    if (!status && f->non_negative && out->value < 0)
        return fail_at(r, p->line,
                       lm_error_set(r->err, LM_E_ARG,
                                    "%s: %s.%s has no coefficients below 0: fit the "
                                    "observations again",
                                    p->key, f->model, part_name(f->part)));
    if (!status && check_price(p->key, unit, out->value, r->err))
        return fail_at(r, p->line, r->err->code);
    return status;
}

static lm_status read_pair(const reading *r, const ini_pair *p, size_t form_at, fitted *out,
                           bool seen[FORM_MAX_FEATURES])
{
    const form *f = &forms[form_at];
    lm_status   status;

    for (size_t i = 0; i < sizeof number_keys / sizeof number_keys[0]; i++) {
        const number_key *k  = &number_keys[i];
        char             *to = (char *)out + k->offset;
        uint64_t          count;
        double            value;

        if (strcmp(k->key, p->key))
            continue;
        status =
            k->count ? text_uint(p->value, &count, r->err) : text_real(p->value, &value, r->err);
        if (status) {
            lm_error_prefix(r->err, "%s", p->key);
            return fail_at(r, p->line, status);
        }
        if (k->count)
            memcpy(to, &(size_t){ (size_t)count }, sizeof(size_t));
        else
            memcpy(to, &(double){ value * k->factor }, sizeof(double));
        return LM_OK;
    }
    if (f->part == PART_SYNC && !strcmp(p->key, BY_ALLREDUCES)) {
        if ((status = text_bool(p->value, &out->by_allreduces, r->err)))
            return fail_at(r, p->line, status);
        return LM_OK;
    }
    for (size_t k = 0; k < f->n_features; k++)
        if (!strcmp(feature_name(f->feature[k]), p->key)) {
            seen[k] = true;
            return read_form_coefficient(r, p, f, feature_unit(f->feature[k]),
                                         &out->coefficient[k]);
        }
    if (!f->n_features) {
        const size_t t     = term_parse(p->key);
        double      *knots = !strcmp(p->key, "macs_knots")    ? out->knots.macs
                             : !strcmp(p->key, "reuse_knots") ? out->knots.reuse
                                                              : NULL;

        if (knots && (status = counted_parse(p->value, knots, r->err))) {
            lm_error_prefix(r->err, "%s", p->key);
            return fail_at(r, p->line, status);
        }
        if (knots)
            return LM_OK;
        if (t < N_TERMS)
            return read_form_coefficient(r, p, f, term_unit(t), &out->term[t]);
    }
    return fail_at(
        r, p->line,
        lm_error_set(r->err, LM_E_NOTFOUND,
                     "'%s' is no key of %s.%s: written by another version, or by hand? fit the "
                     "observations again",
                     p->key, f->model, part_name(f->part)));
}

static coefficient *terms_unknown(void)
{
    coefficient *c = malloc(N_TERMS * sizeof *c);

    for (size_t t = 0; c && t < N_TERMS; t++)
        c[t] = (coefficient){
            .value = NAN, .standard_error = NAN, .low = NAN, .high = NAN, .known = NAN
        };
    return c;
}

static lm_status read_form(const reading *r, const ini_section *s, calibration *cal)
{
    const char *dot = strchr(s->name, '.');
    char        model[50];
    bool        seen[FORM_MAX_FEATURES] = { false };
    fitted      f                       = { .present       = true,
                                            .condition     = NAN,
                                            .errors        = { 0, NAN, NAN, NAN, NAN, NAN },
                                            .held_out_mape = NAN,
                                            .knots         = count_knots_none };
    size_t      at;
    lm_status   status = LM_OK;

    snprintf(model, sizeof model, "%.*s", dot ? (int)(dot - s->name) : 0, s->name);
    at = dot ? form_find_named(model, dot + 1) : n_forms;
    if (at == n_forms)
        return fail_at(
            r, s->line,
            lm_error_set(r->err, LM_E_NOTFOUND,
                         "[%s]: no formula of that name; is this a machine file, and of this "
                         "version? fit the observations again",
                         s->name));
    if (cal->fitted[at].present)
        return fail_at(r, s->line,
                       lm_error_set(r->err, LM_E_SYNTAX, "[%s] is there twice", s->name));
    if (!forms[at].n_features && !(f.term = terms_unknown()))
        return lm_error_set(r->err, LM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < s->n_pairs && !status; i++)
        status = read_pair(r, &s->pair[i], at, &f, seen);
    for (size_t k = 0; k < forms[at].n_features && !f.by_allreduces && !status; k++)
        if (!seen[k])
            status = fail_at(
                r, s->line,
                lm_error_set(r->err, LM_E_NOTFOUND,
                             "[%s]: coefficient '%s' is missing: cut short, or edited? fit the "
                             "observations again",
                             s->name, feature_name(forms[at].feature[k])));
    f.errors.n      = f.rows;
    cal->fitted[at] = f;
    return status;
}

static lm_status read_intervals(const reading *r, const ini_section *s, calibration *cal)
{
    char      model[50];
    size_t    m      = 0;
    lm_status status = LM_OK;

    snprintf(model, sizeof model, "%.*s", (int)strcspn(s->name, "."), s->name);
    while (model_at(m) && strcmp(model_at(m), model) != 0)
        m++;
    if (!model_at(m))
        return fail_at(r, s->line,
                       lm_error_set(r->err, LM_E_NOTFOUND, "[%s]: no model of that name", s->name));
    for (size_t i = 0; i < s->n_pairs && !status; i++) {
        const ini_pair *p    = &s->pair[i];
        size_t          slot = 0;

        while (slot < N_INTERVALS && strcmp(interval_slot_name(slot), p->key) != 0)
            slot++;
        status = slot < N_INTERVALS
                     ? interval_parse(p->value, &cal->intervals[m].of[slot], r->err)
                     : lm_error_set(r->err, LM_E_NOTFOUND, "no quantity of that name");
        if (status) {
            lm_error_prefix(r->err, "%s", p->key);
            fail_at(r, p->line, status);
        }
    }
    return status;
}

static lm_status read_layers(const reading *r, const ini_section *s, calibration *cal)
{
    if (!cal->layers) {
        cal->layers = calloc(1, sizeof *cal->layers);
        if (!cal->layers)
            return lm_error_set(r->err, LM_E_NOMEM, "out of memory");
    }
    return layer_model_read(s, r->path, cal->layers, r->err);
}

/* Kernels compute channels in tiles of these; other numbers somebody has edited. */
#define TILE_MOST 1024

static lm_status check_head(const reading *r, const ini_pair *p, const calibration *cal)
{
    const bool    tile  = !strcmp(p->key, "tile") || !strcmp(p->key, "group_tile");
    const int64_t value = !strcmp(p->key, "tile") ? cal->settings.tile : cal->settings.group_tile;

    if (tile && (value > TILE_MOST || (value & (value - 1))))
        return lm_error_set(r->err, LM_E_ARG,
                            "%s: expected a power of two up to %d, found %lld: counts would not be "
                            "those of the fit; fit the observations again",
                            p->key, TILE_MOST, (long long)value);
    return LM_OK;
}

static lm_status read_machine(const reading *r, const ini_section *s, calibration *cal)
{
    for (size_t i = 0; i < s->n_pairs; i++) {
        const ini_pair *p  = &s->pair[i];
        int64_t        *to = !strcmp(p->key, "max_ranks")    ? &cal->max_ranks
                             : !strcmp(p->key, "max_hosts")  ? &cal->max_hosts
                             : !strcmp(p->key, "tile")       ? &cal->settings.tile
                             : !strcmp(p->key, "group_tile") ? &cal->settings.group_tile
                                                             : NULL;
        lm_status       status;

        if (!strcmp(p->key, "dtype"))
            status = text_dtype(p->value, &cal->dtype, r->err);
        else if (!strcmp(p->key, "transferred"))
            status = !strcmp(p->value, "yes")
                         ? (cal->transferred = true, LM_OK)
                         : lm_error_set(r->err, LM_E_ARG,
                                        "transferred: expected yes, or no such key, found '%.40s'",
                                        p->value);
        else if (!to)
            status = lm_error_set(r->err, LM_E_NOTFOUND, "[machine] has no key '%s'", p->key);
        else if (!(status = text_int(p->value, to, r->err)) && *to < 1)
            status = lm_error_set(r->err, LM_E_ARG, "%s: must be 1 or more", p->key);
        if (!status)
            status = check_head(r, p, cal);
        if (status)
            return fail_at(r, p->line, status);
    }
    if (cal->max_hosts > cal->max_ranks)
        return fail_at(r, ini_get(s, "max_hosts")->line,
                       lm_error_set(r->err, LM_E_ARG,
                                    "max_hosts: %lld hosts for %lld ranks (max_ranks)",
                                    (long long)cal->max_hosts, (long long)cal->max_ranks));
    return LM_OK;
}

/* Formulas that all-reduces answer for need these; where they are there, they answer for all. */
static lm_status check_allreduces(const reading *r, calibration *cal)
{
    for (size_t f = 0; f < n_forms; f++) {
        fitted *here = &cal->fitted[f];

        if (here->by_allreduces && !cal->allreduces)
            return lm_error_set(
                r->err, LM_E_NOTFOUND,
                "%s: [%s.%s] is answered by [allreduce...], which is not there: cut "
                "short, or edited? fit the observations again",
                r->path, forms[f].model, part_name(forms[f].part));
        if (forms[f].part != PART_SYNC || !cal->allreduces)
            continue;
        if (!here->present)
            *here = (fitted){ .condition     = NAN,
                              .errors        = { 0, NAN, NAN, NAN, NAN, NAN },
                              .held_out_mape = NAN };
        here->present = here->by_allreduces = true;
    }
    return LM_OK;
}

lm_status calibration_load(const char *path, calibration **out, lm_error *err)
{
    ini_document *doc    = NULL;
    calibration  *cal    = NULL;
    reading       r      = { path, err };
    bool          any    = false;
    lm_status     status = ini_load(path, &doc, err);

    if (status)
        return status;
    cal = calloc(1, sizeof *cal);
    if (!cal)
        status = lm_error_set(err, LM_E_NOMEM, "out of memory");
    else {
        cal->max_ranks = cal->max_hosts = 1;
        cal->settings                   = term_settings_default;
    }
    for (size_t i = 0; i < doc->n_sections && !status; i++) {
        const ini_section *s = &doc->section[i];

        if (!strcmp(s->name, "machine")) {
            status = read_machine(&r, s, cal);
        } else if (!strcmp(s->name, "provenance")) {
            for (size_t k = 0; k < s->n_pairs && !status; k++)
                if (!calibration_note(cal, s->pair[k].key, s->pair[k].value))
                    status = lm_error_set(err, LM_E_NOMEM, "out of memory");
        } else if (strchr(s->name, '.') && !strcmp(strchr(s->name, '.'), ".intervals")) {
            status = read_intervals(&r, s, cal);
        } else if (!strcmp(s->name, "measured")) {
            status = measured_read(doc, s, &cal->measured, err);
        } else if (operator_file_owns(s)) {
            if (!cal->operators && !(cal->operators = calloc(1, sizeof *cal->operators)))
                status = lm_error_set(err, LM_E_NOMEM, "out of memory");
            else
                status = operator_file_read(doc, s, cal->operators, err);
            any = true;
        } else if (collective_file_owns(s)) {
            if (!cal->allreduces && !(cal->allreduces = calloc(1, sizeof *cal->allreduces)))
                status = lm_error_set(err, LM_E_NOMEM, "out of memory");
            else
                status = collective_file_read(doc, s, cal->allreduces, err);
            any = true;
        } else if (overlap_file_owns(s)) {
            status = overlap_file_read(doc, s, &cal->overlapping, err);
        } else if (layer_model_section(s->name)) {
            status = read_layers(&r, s, cal);
            any    = true;
        } else {
            status = read_form(&r, s, cal);
            any    = true;
        }
    }
    if (!status && !any)
        status = lm_error_set(err, LM_E_SYNTAX,
                              "%s: holds no coefficients: is this a machine file?", path);
    if (!status)
        status = check_allreduces(&r, cal);
    ini_free(doc);
    if (status) {
        calibration_free(cal);
        return status;
    }
    *out = cal;
    return LM_OK;
}
