/* Prices of single kernels and layers, and their correction by networks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "machine/sections.h"
#include "single/composed.h"
#include "single/model.h"

/* ---- [kernels.CLASS] ---- */

static const key kernel_keys[] = {
    { KEY("rows", KEY_COUNT, layer_prices, rows) },
    { KEY("mape_percent", KEY_REAL, layer_prices, errors.mape), .scale = 100 },
    { KEY("power", KEY_REAL, layer_prices, columns.join), .least = 1 },
};

static const key cut_keys[] = {
    { KEY("splits", KEY_FLAG, layer_prices, how.splits) },
    { KEY("multiprocessors", KEY_REAL, layer_prices, how.multiprocessors), .least = 1,
      .above = true },
};

/* The family of a column: its name begins with the family's. */
static size_t family_of(const columns *c, const char *name)
{
    char        family[80];
    const char *dot = strchr(name, '.');

    if (!dot)
        return COLUMN_NONE;
    snprintf(family, sizeof family, "%.*s", (int)(dot - name), name);
    return columns_find(c, family);
}

/* "1.2e-13 s/FLOP, flops": the unit is the column's own. */
static void read_kernel_price(record *r, const ini_pair *p, columns *c)
{
    char     copy[200], *word[3], *unit;
    double   price;
    resource of;
    size_t   at;

    snprintf(copy, sizeof copy, "%s", p->value);
    if (text_split(copy, ',', word, 3) != 2 || !(unit = strstr(word[0], " s/"))) {
        record_fail(r, p, LM_E_SYNTAX,
                    "%s: expected a price as '1.2e-13 s/FLOP, flops', found '%.60s'", p->key,
                    p->value);
        return;
    }
    *unit = '\0';
    record_failed(r, p, text_real(word[0], &price, r->err));
    of = strcmp(word[1], "floor") ? resource_parse(word[1]) : RESOURCE_HOST;
    if (!r->status && price < 0)
        record_fail(r, p, LM_E_ARG, "%s: a price below 0", p->key);
    if (of == N_RESOURCES)
        record_fail(r, p, LM_E_NOTFOUND,
                    "%s: '%.40s' is none of floor, host, flops, bandwidth, depth", p->key, word[1]);
    if (r->status)
        return;
    at = columns_need(c, p->key, unit + 3, of);
    if (at == COLUMN_NONE) {
        r->status = no_memory(r->err);
        return;
    }
    c->column[at].price  = price;
    c->column[at].floor  = !strcmp(word[1], "floor");
    c->column[at].parent = family_of(c, p->key);
}

static void read_kernels(record *r, layer_prices *to)
{
    const ini_pair *tiles = record_take(r, "tiles"), *p;
    bool            floor = false;

    if (tiles && !tile_set_parse(tiles->value, &to->how.set))
        record_fail(r, tiles, LM_E_NOTFOUND, "tiles: '%.40s' is none of mixed, 128, 64",
                    tiles->value);
    while ((p = record_next(r)))
        read_kernel_price(r, p, &to->columns);
    for (size_t j = 0; j < to->columns.n; j++)
        floor |= to->columns.column[j].floor;
    if (!floor)
        record_fail(r, NULL, LM_E_NOTFOUND, "[%s]: 'floor' is missing", r->section->name);
}

static void one_kind(record *r, layer_prices *p)
{
    char price[40];

    RECORD_KEYS(r, kernel_keys, p);
    if (r->out)
        record_put(r, "tiles", "%s", tile_set_name(p->how.set));
    RECORD_KEYS(r, cut_keys, p);
    if (!r->out)
        read_kernels(r, p);
    for (size_t j = 0; r->out && j < p->columns.n; j++) {
        const column *c = &p->columns.column[j];

        fprintf(r->out, "%-13s = %s s/%s, %s\n", c->name, text_exact(c->price, price, sizeof price),
                c->unit, c->floor ? "floor" : resource_name(c->resource));
    }
}

void kernels_both(record *r, calibration *cal, const char *star)
{
    size_t        c = FIRST_LAUNCH;
    layer_prices *to;

    for (; c < N_LAYER_CLASSES && (r->out || strcmp(layer_classes[c]->name, star) != 0); c++)
        if (r->out && cal->operators && cal->operators->of[c].present) {
            record_begin(r, layer_classes[c]->name);
            one_kind(r, &cal->operators->of[c]);
        }
    if (r->out)
        return;
    if (c == N_LAYER_CLASSES)
        record_fail(r, NULL, LM_E_NOTFOUND, "[%s]: no such kind of kernels", r->section->name);
    cal->operators = section_room(r, cal->operators, sizeof *cal->operators);
    if (r->status)
        return;
    to               = &cal->operators->of[c];
    to->present      = true;
    to->columns.join = layer_classes[c]->options.p;
    one_kind(r, to);
}

/* ---- [layermeter.single.CLASS] ---- */

static const key error_keys[] = {
    { KEY("mape_percent", KEY_REAL, layer_prices, errors.mape), .scale = 100 },
    { KEY("rmse_ms", KEY_REAL, layer_prices, errors.rmse), .scale = 1e3 },
};

static const key column_words[] = { { KEY("rows", KEY_COUNT, column, rows) } };

static const record_line column_line = { column_words, 1, 0 };

static void read_layer_price(record *r, const ini_pair *p, const layer_class *class, columns *c)
{
    size_t at;

    if (!layer_class_knows(class, p->key)) {
        record_fail(r, p, LM_E_NOTFOUND, "'%s' is not a key of layermeter.single.%s", p->key,
                    class->name);
        return;
    }
    at = columns_find(c, p->key);
    if (at == COLUMN_NONE)
        at = columns_need_update(c, p->key);
    if (at == COLUMN_NONE) {
        r->status = no_memory(r->err);
        return;
    }
    record_price(r, &column_line, p, NULL, c->column[at].unit, &c->column[at].price,
                 &c->column[at]);
    if (!r->status && c->column[at].price < 0)
        record_fail(r, p, LM_E_ARG, "%s: a price below 0", p->key);
}

/* Reads prices of layers. A column that the file lacks gets its family's price, never 0. */
static void read_layer_prices(record *r, const layer_class *class, columns *c)
{
    const ini_pair *p;

    for (size_t j = 0; j < c->n; j++)
        if (c->column[j].parent != COLUMN_NONE)
            c->column[j].price = NAN;
    while ((p = record_next(r)))
        read_layer_price(r, p, class, c);
    for (size_t j = 0; j < c->n; j++)
        if (isnan(c->column[j].price))
            c->column[j].price = c->column[c->column[j].parent].price;
}

static void layer_prices_both(record *r, const layer_class *class, layer_model *m, layer_prices *to)
{
    columns *c    = &to->columns;
    double   join = columns_join(c) != 1 ? columns_join(c) : (double)NAN;

    record_note(r, "single layers: %s",
                to->rows
                    ? "relative least squares, robust, non-negative, of the cheapest algorithms"
                    : "carried over from other machines");
    record_key(r, (key){ .name = "rows", .kind = KEY_COUNT }, &to->rows);
    record_key(
        r, (key){ .name = "multiprocessors", .kind = KEY_REAL, .least = -HUGE_VAL, .above = true },
        &m->multiprocessors);
    record_key(r, (key){ .name = "join", .kind = KEY_REAL, .least = 1, .most = 16 }, &join);
    RECORD_KEYS(r, error_keys, to);
    for (size_t j = 0; r->out && j < c->n; j++)
        record_price(r, &column_line, NULL, c->column[j].name, c->column[j].unit,
                     &c->column[j].price, &c->column[j]);
    if (r->out)
        return;
    if (!isnan(join))
        c->join = join;
    to->errors.n = to->rows;
    read_layer_prices(r, class, c);
}

void layers_both(record *r, calibration *cal, const char *star)
{
    size_t        c = 0;
    layer_prices *to;

    for (; c < FIRST_LAUNCH && (r->out || strcmp(layer_classes[c]->name, star) != 0); c++)
        if (r->out && cal->layers && cal->layers->of[c].present) {
            record_begin(r, layer_classes[c]->name);
            layer_prices_both(r, layer_classes[c], cal->layers, &cal->layers->of[c]);
        }
    if (r->out)
        return;
    if (c == FIRST_LAUNCH)
        record_fail(r, NULL, LM_E_NOTFOUND, "[%s]: no class of single layers of that name",
                    r->section->name);
    cal->layers = section_room(r, cal->layers, sizeof *cal->layers);
    if (r->status)
        return;
    to         = &cal->layers->of[c];
    to->errors = (stats_errors){ 0, NAN, NAN, NAN, NAN, NAN };
    if (!(to->present = layer_class_make(layer_classes[c], &to->columns)))
        r->status = no_memory(r->err);
    layer_prices_both(r, layer_classes[c], cal->layers, to);
}

/* ---- [layermeter.single.device] ---- */

void layers_device_both(record *r, calibration *cal, const char *star)
{
    if (!r->out)
        cal->layers = section_room(r, cal->layers, sizeof *cal->layers);
    if (!cal->layers || (r->out && !layer_device_known(&cal->layers->device)))
        return;
    record_begin(r, star);
    for (layer_figure f = 0; f < N_LAYER_FIGURES; f++)
        record_key(r,
                   (key){ .name  = layer_figure_name(f),
                          .kind  = KEY_REAL,
                          .least = DBL_TRUE_MIN,
                          .range = "a figure above 0",
                          .above = true },
                   &cal->layers->device.figure[f]);
}

/* ---- [composed.step], [composed.inference] ---- */

static void factors_both(record *r, const char *name, composed_factors *of)
{
    record_begin(r, name);
    record_key(r, (key){ .name = "rows", .kind = KEY_COUNT }, &of->rows);
    for (whole_part p = 0; p < N_WHOLE_PARTS; p++) {
        if (!r->out)
            of->of[p] = NAN;
        record_key(r,
                   (key){ .name  = whole_part_name(p),
                          .kind  = KEY_REAL,
                          .most  = 1e6,
                          .range = "a factor of 0 to 1e6" },
                   &of->of[p]);
        if (!r->out && isnan(of->of[p]))
            record_fail(r, NULL, LM_E_NOTFOUND,
                        "[%s] has no '%s': cut short, or edited? fit the observations again",
                        r->section->name, whole_part_name(p));
    }
}

void composed_both(record *r, calibration *cal, const char *star)
{
    const bool of_steps = !strcmp(star, "step");

    if (!r->out && !of_steps && strcmp(star, "inference") != 0)
        record_fail(r, NULL, LM_E_NOTFOUND,
                    "[%s]: expected [composed.step] or [composed.inference]", r->section->name);
    if (!r->out && !cal->composed && (cal->composed = section_room(r, NULL, sizeof *cal->composed)))
        *cal->composed = (composed_set){ composed_plain, composed_plain };
    if (r->status || !cal->composed)
        return;
    if (r->out || of_steps)
        factors_both(r, "step", &cal->composed->step);
    if (r->out || !of_steps)
        factors_both(r, "inference", &cal->composed->inference);
}
