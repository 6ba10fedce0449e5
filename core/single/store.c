/* Prices of single layers in machine files. */
#include "single/store.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "single/learned.h"

#define PREFIX   "layermeter.single."
#define RESIDUAL "residual"
#define DEVICE   "device"

static void print_number(FILE *out, const char *key, double value)
{
    char text[40];

    if (isfinite(value))
        fprintf(out, "%s = %s\n", key, text_exact(value, text, sizeof text));
}

static void print_class(FILE *out, const layer_class *class, const layer_prices *p,
                        double multiprocessors)
{
    fprintf(out, "\n[" PREFIX "%s]\n; single layers: %s\nrows = %zu\n", class->name,
            p->rows ? "relative least squares, robust, non-negative, of the cheapest algorithms"
                    : "carried over from other machines",
            p->rows);
    if (multiprocessors > 0)
        print_number(out, "multiprocessors", multiprocessors);
    if (columns_join(&p->columns) != 1)
        print_number(out, "join", columns_join(&p->columns));
    print_number(out, "mape_percent", 100 * p->errors.mape);
    print_number(out, "rmse_ms", 1e3 * p->errors.rmse);
    for (size_t j = 0; j < p->columns.n; j++) {
        const column *c = &p->columns.column[j];
        char          price[40];

        fprintf(out, "%s = %s s/%s, rows %zu\n", c->name, text_exact(c->price, price, sizeof price),
                c->unit, c->rows);
    }
}

/* What the residual knows of the device. */
static void print_device(FILE *out, const layer_device *d)
{
    if (!layer_device_known(d))
        return;
    fputs("\n[" PREFIX DEVICE
          "]\n; by its datasheet: FLOP/s in 32 bits, bytes/s, bytes, Hz, watts\n",
          out);
    for (layer_figure f = 0; f < N_LAYER_FIGURES; f++)
        if (d->figure[f] > 0)
            print_number(out, layer_figure_name(f), d->figure[f]);
}

static lm_status read_device(const ini_section *s, const char *path, layer_device *to,
                             lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < s->n_pairs && !status; i++) {
        const layer_figure f     = layer_figure_parse(s->pair[i].key);
        double             value = 0;

        if (f == N_LAYER_FIGURES)
            status = lm_error_set(err, LM_E_NOTFOUND, "'%s' is no key of [" PREFIX DEVICE "]",
                                  s->pair[i].key);
        else if (!(status = text_real(s->pair[i].value, &value, err)) && !(value > 0))
            status = lm_error_set(err, LM_E_ARG, "%s: must be above 0, found %s", s->pair[i].key,
                                  s->pair[i].value);
        if (status)
            lm_error_prefix(err, "%s:%d", path, s->pair[i].line);
        else
            to->figure[f] = value;
    }
    return status;
}

void layer_model_print(FILE *out, const layer_model *m)
{
    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        if (m->of[c].present)
            print_class(out, layer_classes[c], &m->of[c], m->multiprocessors);
    print_device(out, &m->device);
    if (m->learned_file.path) {
        fputs("\n[" PREFIX RESIDUAL "]\n; what these prices leave over, learned\n", out);
        side_file_print(out, &m->learned_file);
    }
}

bool layer_model_section(const char *name)
{
    return !strncmp(name, PREFIX, strlen(PREFIX));
}

/* "1.2e-11 s/FLOP, rows 120" */
static lm_status read_price(const ini_pair *p, column *c, lm_error *err)
{
    char      copy[200], unit[64], *word[3], *space;
    size_t    n;
    double    price;
    uint64_t  count  = 0;
    lm_status status = LM_OK;

    snprintf(copy, sizeof copy, "%s", p->value);
    snprintf(unit, sizeof unit, "s/%s", c->unit);
    n     = text_split(copy, ',', word, 3);
    space = n ? strchr(word[0], ' ') : NULL;
    if (!space || strcmp(text_trim(space), unit) != 0)
        return lm_error_set(err, LM_E_SYNTAX, "%s: expected a number and '%s', found '%.60s'",
                            p->key, unit, p->value);
    *space = '\0';
    status = text_real(word[0], &price, err);
    if (!status && n == 2) {
        if (strncmp(word[1], "rows ", 5))
            return lm_error_set(err, LM_E_SYNTAX, "%s: unknown word '%.60s'", p->key, word[1]);
        status = text_uint(word[1] + 5, &count, err);
    }
    if (!status && (price < 0 || n > 2))
        status =
            lm_error_set(err, LM_E_ARG, "a price below 0, or more than one: '%.60s'", p->value);
    if (status) {
        lm_error_prefix(err, "%s", p->key);
        return status;
    }
    c->price = price;
    c->rows  = (size_t)count;
    return LM_OK;
}

static lm_status read_pair(const ini_pair *p, const layer_class *class, layer_prices *to,
                           double *multiprocessors, lm_error *err)
{
    size_t    at;
    uint64_t  count;
    double    value;
    lm_status status;

    if (!strcmp(p->key, "rows")) {
        if (!(status = text_uint(p->value, &count, err)))
            to->rows = to->errors.n = (size_t)count;
        return status;
    }
    if (!strcmp(p->key, "multiprocessors"))
        return text_real(p->value, multiprocessors, err);
    if (!strcmp(p->key, "join")) {
        if (!(status = text_real(p->value, &to->columns.join, err)) &&
            !(to->columns.join >= 1 && to->columns.join <= 16))
            status = lm_error_set(err, LM_E_ARG, "join: expected 1 .. 16, found '%.60s'", p->value);
        return status;
    }
    if (!strcmp(p->key, "mape_percent") || !strcmp(p->key, "rmse_ms")) {
        if ((status = text_real(p->value, &value, err)))
            return status;
        if (*p->key == 'm')
            to->errors.mape = value / 100;
        else
            to->errors.rmse = value / 1e3;
        return LM_OK;
    }
    if (!class->known(p->key))
        return lm_error_set(err, LM_E_NOTFOUND, "'%s' is no key of " PREFIX "%s", p->key,
                            class->name);
    at = columns_find(&to->columns, p->key);
    if (at == COLUMN_NONE)
        at = columns_need_update(&to->columns, p->key);
    if (at == COLUMN_NONE)
        return no_memory(err);
    return read_price(p, &to->columns.column[at], err);
}

/* What a file does not name costs what all of its family does: nothing is free. */
static void forget(columns *c)
{
    for (size_t j = 0; j < c->n; j++)
        if (c->column[j].parent != COLUMN_NONE)
            c->column[j].price = NAN;
}

static void complete(columns *c)
{
    for (size_t j = 0; j < c->n; j++)
        if (isnan(c->column[j].price))
            c->column[j].price = c->column[c->column[j].parent].price;
}

lm_status layer_model_read(const ini_section *s, const char *path, layer_model *m, lm_error *err)
{
    size_t class = 0;
    layer_prices *to;
    lm_status     status = LM_OK;

    if (!strcmp(s->name, PREFIX RESIDUAL))
        return side_file_read(s, path, &m->learned_file, err);
    if (!strcmp(s->name, PREFIX DEVICE))
        return read_device(s, path, &m->device, err);
    while (class < N_LAYER_CLASSES &&
           strcmp(layer_classes[class]->name, s->name + strlen(PREFIX)) != 0)
        class ++;
    if (class == N_LAYER_CLASSES)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s:%d: [%s]: no class of single layers of that name", path, s->line,
                            s->name);
    to = &m->of[class];
    if (!layer_classes[class]->make(&to->columns))
        return no_memory(err);
    to->errors = (stats_errors){ 0, NAN, NAN, NAN, NAN, NAN };
    forget(&to->columns);
    for (size_t i = 0; i < s->n_pairs && !status; i++) {
        status = read_pair(&s->pair[i], layer_classes[class], to, &m->multiprocessors, err);
        if (status)
            lm_error_prefix(err, "%s:%d", path, s->pair[i].line);
    }
    complete(&to->columns);
    to->present = !status;
    return status;
}
