/* Reads machine files. */
#include "fit/calibration_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/ini.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "energy/power_file.h"
#include "single/composed_file.h"
#include "single/learned.h"
#include "single/operator_file.h"
#include "single/store.h"
#include "sync/collective_file.h"

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
    if (!status && calibration_check_price(p->key, unit, out->value, r->err))
        return fail_at(r, p->line, r->err->code);
    return status;
}

static const number_key *find_number(const char *key)
{
    for (size_t i = 0; i < sizeof number_keys / sizeof number_keys[0]; i++)
        if (!strcmp(number_keys[i].key, key))
            return &number_keys[i];
    return NULL;
}

static lm_status read_number(const reading *r, const ini_pair *p, const number_key *k, fitted *out)
{
    char     *to = (char *)out + k->offset;
    uint64_t  count;
    double    value;
    lm_status status =
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

static lm_status read_knots(const reading *r, const ini_pair *p, double *knots)
{
    const lm_status status = counted_parse(p->value, knots, r->err);

    if (!status)
        return LM_OK;
    lm_error_prefix(r->err, "%s", p->key);
    return fail_at(r, p->line, status);
}

static lm_status read_pair(const reading *r, const ini_pair *p, size_t form_at, fitted *out,
                           bool seen[FORM_MAX_FEATURES])
{
    const form       *f      = &forms[form_at];
    const number_key *number = find_number(p->key);
    lm_status         status;

    if (number)
        return read_number(r, p, number, out);
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
        const size_t t = term_parse(p->key);

        if (!strcmp(p->key, "macs_knots"))
            return read_knots(r, p, out->knots.macs);
        if (!strcmp(p->key, "reuse_knots"))
            return read_knots(r, p, out->knots.reuse);
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
        return no_memory(r->err);
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

static lm_status read_composed(const reading *r, const ini_document *doc, const ini_section *s,
                               calibration *cal)
{
    if (!cal->composed) {
        cal->composed = malloc(sizeof *cal->composed);
        if (!cal->composed)
            return no_memory(r->err);
        *cal->composed = (composed_set){ composed_plain, composed_plain };
    }
    return composed_file_read(doc, s, cal->composed, r->err);
}

static lm_status read_layers(const reading *r, const ini_section *s, calibration *cal)
{
    if (!cal->layers) {
        cal->layers = calloc(1, sizeof *cal->layers);
        if (!cal->layers)
            return no_memory(r->err);
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

static lm_status check_whole(const reading *r, const ini_pair *p, size_t found)
{
    int64_t         said;
    const lm_status status = text_int(p->value, &said, r->err);

    if (status || (said >= 0 && found >= (size_t)said))
        return status;
    return lm_error_set(r->err, LM_E_SYNTAX,
                        "sections: the file was cut short, %zu of %lld are there: fit again, or "
                        "copy it again; where some were taken out by hand, say how many are left",
                        found, (long long)said);
}

/* Of a file that says how many sections it has, a program has ended every line. */
static lm_status check_end(const ini_document *doc, lm_error *err)
{
    const ini_section *head = ini_find(doc, "machine");

    if (!doc->open_ended || !head || !ini_get(head, "sections"))
        return LM_OK;
    return lm_error_set(err, LM_E_SYNTAX,
                        "%s: the file was cut short within its last line: fit again, or copy it "
                        "again; by hand, end the line",
                        doc->path);
}

static lm_status read_machine(const reading *r, const ini_section *s, size_t n_sections,
                              calibration *cal)
{
    for (size_t i = 0; i < s->n_pairs; i++) {
        const ini_pair *p  = &s->pair[i];
        int64_t        *to = !strcmp(p->key, "max_ranks")    ? &cal->max_ranks
                             : !strcmp(p->key, "max_hosts")  ? &cal->max_hosts
                             : !strcmp(p->key, "tile")       ? &cal->settings.tile
                             : !strcmp(p->key, "group_tile") ? &cal->settings.group_tile
                                                             : NULL;
        lm_status       status;

        if (!strcmp(p->key, "sections"))
            status = check_whole(r, p, n_sections);
        else if (!strcmp(p->key, "dtype"))
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

static lm_status read_provenance(const ini_section *s, calibration *cal, lm_error *err)
{
    for (size_t k = 0; k < s->n_pairs; k++)
        if (!calibration_note(cal, s->pair[k].key, s->pair[k].value))
            return no_memory(err);
    return LM_OK;
}

/* Sections beside those that hold coefficients of a model; *found: this was one. */
static lm_status read_facts(const reading *r, const ini_document *doc, const ini_section *s,
                            calibration *cal, bool *found)
{
    const char *dot = strchr(s->name, '.');

    *found = true;
    if (!strcmp(s->name, "machine"))
        return read_machine(r, s, doc->n_sections, cal);
    if (!strcmp(s->name, "provenance"))
        return read_provenance(s, cal, r->err);
    if (dot && !strcmp(dot, ".intervals"))
        return read_intervals(r, s, cal);
    if (!strcmp(s->name, "measured"))
        return measured_read(doc, s, &cal->measured, r->err);
    if (overlap_file_owns(s))
        return overlap_file_read(doc, s, &cal->overlapping, r->err);
    if (sharing_owns(s))
        return sharing_read(doc, s, &cal->shared, r->err);
    if (power_file_owns(s)) {
        cal->power = malloc(sizeof *cal->power);
        return cal->power ? power_file_read(doc, s, cal->power, r->err) : no_memory(r->err);
    }
    if (composed_file_owns(s))
        return read_composed(r, doc, s, cal);
    *found = false;
    return LM_OK;
}

static lm_status read_coefficients(const reading *r, const ini_document *doc, const ini_section *s,
                                   calibration *cal)
{
    if (operator_file_owns(s)) {
        if (!cal->operators && !(cal->operators = calloc(1, sizeof *cal->operators)))
            return no_memory(r->err);
        return operator_file_read(doc, s, cal->operators, r->err);
    }
    if (collective_file_owns(s)) {
        if (!cal->allreduces && !(cal->allreduces = calloc(1, sizeof *cal->allreduces)))
            return no_memory(r->err);
        return collective_file_read(doc, s, cal->allreduces, r->err);
    }
    if (layer_model_section(s->name))
        return read_layers(r, s, cal);
    if (calibration_learned_section(s->name))
        return calibration_learned_read(s, r->path, cal, r->err);
    return read_form(r, s, cal);
}

/* All sections, and what they must hold together. */
static lm_status read_document(const reading *r, const ini_document *doc, calibration *cal)
{
    bool any = false;

    cal->max_ranks = cal->max_hosts = 1;
    cal->settings                   = term_settings_default;
    for (size_t i = 0; i < doc->n_sections; i++) {
        bool      facts;
        lm_status status = read_facts(r, doc, &doc->section[i], cal, &facts);

        if (!status && !facts)
            status = read_coefficients(r, doc, &doc->section[i], cal);
        if (status)
            return status;
        any |= !facts;
    }
    if (!any)
        return lm_error_set(r->err, LM_E_SYNTAX,
                            "%s: holds no coefficients: is this a machine file?", r->path);
    return check_allreduces(r, cal);
}

lm_status calibration_load(const char *path, calibration **out, lm_error *err)
{
    ini_document *doc = NULL;
    calibration  *cal;
    lm_status     status = ini_load(path, &doc, err);

    if (status)
        return status;
    cal    = calloc(1, sizeof *cal);
    status = cal ? read_document(&(reading){ path, err }, doc, cal) : no_memory(err);
    if (!status)
        status = check_end(doc, err);
    ini_free(doc);
    if (status) {
        calibration_free(cal);
        return status;
    }
    *out = cal;
    return LM_OK;
}
