/* Sections of a machine file: prices of operators. */
#include "single/operator_file.h"

#include <math.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

#define PREFIX   "kernels."
#define RESIDUAL "residual"

static void write_class(FILE *out, operator_class class, const operator_prices *p)
{
    char value[40];

    fprintf(out, "\n[" PREFIX "%s]\n", operator_class_name(class));
    fputs(
        "; (floor^power + work^power)^(1/power); relative least squares, non-negative, Huber 0.1\n",
        out);
    fprintf(out, "rows = %zu\nmape_percent = %s\n", p->rows,
            text_exact(100 * p->mape, value, sizeof value));
    fprintf(out, "power = %s\n", text_exact(p->power, value, sizeof value));
    fprintf(out, "tiles = %s\nsplits = %s\n", tile_set_name(p->how.set),
            p->how.splits ? "yes" : "no");
    if (p->how.multiprocessors > 0)
        fprintf(out, "multiprocessors = %s\n",
                text_exact(p->how.multiprocessors, value, sizeof value));
    for (size_t j = 0; j < p->columns.n; j++) {
        const column *c = &p->columns.column[j];

        fprintf(out, "%-13s = %s s/%s, %s\n", c->name, text_exact(c->price, value, sizeof value),
                c->unit, c->floor ? "floor" : resource_name(c->resource));
    }
}

void operator_file_write(FILE *out, const operator_model *m)
{
    for (operator_class c = 0; c < N_OPERATOR_CLASSES; c++)
        if (m->of[c].columns.n)
            write_class(out, c, &m->of[c]);
    if (m->learned_file.path) {
        fputs("\n[" PREFIX RESIDUAL "]\n; what these prices leave over, learned\n", out);
        side_file_print(out, &m->learned_file);
    }
}

bool operator_file_owns(const ini_section *s)
{
    return !strncmp(s->name, PREFIX, strlen(PREFIX));
}

/* A column of a family is named behind it. */
static size_t family_of(const columns *c, const char *name)
{
    char        family[80];
    const char *dot = strchr(name, '.');

    if (!dot)
        return COLUMN_NONE;
    snprintf(family, sizeof family, "%.*s", (int)(dot - name), name);
    return columns_find(c, family);
}

/* "1.2e-13 s/FLOP, flops" */
static lm_status read_price(const ini_pair *p, columns *c, lm_error *err)
{
    char      copy[200], *word[3], *unit;
    double    price;
    lm_status status;
    size_t    at;

    snprintf(copy, sizeof copy, "%s", p->value);
    if (text_split(copy, ',', word, 3) != 2 || !(unit = strstr(word[0], " s/")))
        return lm_error_set(err, LM_E_SYNTAX,
                            "%s: expected a price as '1.2e-13 s/FLOP, flops', found '%.60s'",
                            p->key, p->value);
    *unit = '\0';
    if ((status = text_real(word[0], &price, err)))
        return status;
    if (price < 0)
        return lm_error_set(err, LM_E_ARG, "%s: a price below 0", p->key);
    if (strcmp(word[1], "floor") && resource_parse(word[1]) == N_RESOURCES)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: '%.40s' is none of floor, host, flops, bandwidth, depth", p->key,
                            word[1]);
    at = columns_need(c, p->key, unit + 3,
                      strcmp(word[1], "floor") ? resource_parse(word[1]) : RESOURCE_HOST);
    if (at == COLUMN_NONE)
        return no_memory(err);
    c->column[at].price  = price;
    c->column[at].floor  = !strcmp(word[1], "floor");
    c->column[at].parent = family_of(c, p->key);
    return LM_OK;
}

static lm_status read_pair(const ini_pair *p, operator_prices *out, lm_error *err)
{
    uint64_t n;

    if (!strcmp(p->key, "rows")) {
        const lm_status status = text_uint(p->value, &n, err);

        out->rows = status ? 0 : (size_t)n;
        return status;
    }
    if (!strcmp(p->key, "mape_percent")) {
        const lm_status status = text_real(p->value, &out->mape, err);

        out->mape /= 100;
        return status;
    }
    if (!strcmp(p->key, "power")) {
        const lm_status status = text_real(p->value, &out->power, err);

        return status || out->power >= 1
                   ? status
                   : lm_error_set(err, LM_E_ARG, "power: must be 1 or more, found %s", p->value);
    }
    if (!strcmp(p->key, "multiprocessors")) {
        const lm_status status = text_real(p->value, &out->how.multiprocessors, err);

        return status || out->how.multiprocessors >= 1
                   ? status
                   : lm_error_set(err, LM_E_ARG, "multiprocessors: must be 1 or more, found %s",
                                  p->value);
    }
    if (!strcmp(p->key, "splits"))
        return text_bool(p->value, &out->how.splits, err);
    if (!strcmp(p->key, "tiles"))
        return tile_set_parse(p->value, &out->how.set)
                   ? LM_OK
                   : lm_error_set(err, LM_E_NOTFOUND, "tiles: '%.40s' is none of mixed, 128, 64",
                                  p->value);
    return read_price(p, &out->columns, err);
}

lm_status operator_file_read(const ini_document *doc, const ini_section *s, operator_model *m,
                             lm_error *err)
{
    const operator_class class = operator_class_parse(s->name + strlen(PREFIX));
    operator_prices *p;
    bool             floor = false;

    if (!strcmp(s->name, PREFIX RESIDUAL))
        return side_file_read(s, doc->path, &m->learned_file, err);
    if (class >= OPERATOR_OTHER)
        return ini_fail(doc, err, s->line, LM_E_NOTFOUND, "[%s]: no such kind of kernels", s->name);
    p        = &m->of[class];
    p->power = operator_power(class);
    for (size_t i = 0; i < s->n_pairs; i++) {
        const lm_status status = read_pair(&s->pair[i], p, err);

        if (status) {
            lm_error_prefix(err, "%s:%d", doc->path, s->pair[i].line);
            return status;
        }
    }
    for (size_t j = 0; j < p->columns.n; j++)
        floor |= p->columns.column[j].floor;
    if (!floor)
        return ini_fail(doc, err, s->line, LM_E_NOTFOUND, "[%s]: 'floor' is missing", s->name);
    return LM_OK;
}
