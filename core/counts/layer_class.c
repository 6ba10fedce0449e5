/* Classes of single layers. */
#include "counts/layer_class.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts/kernel_class.h"

/* Strength of the ridge that holds columns to their families; a hundred rows of a member outweigh
 * it. */
#define LAUNCH_CLASS(class, text, cuts, power_of)                                  \
    static const layer_class class_of_##class = { .name    = text,                 \
                                                  .options = { .p      = power_of, \
                                                               .huber  = 0.1,      \
                                                               .power  = 1,        \
                                                               .ridge  = 0.01,     \
                                                               .rounds = 8,        \
                                                               .least  = 1,        \
                                                               .sample = 4000,     \
                                                               .seed   = 1 },        \
                                                  .fewest  = 20,                   \
                                                  .tilings = cuts,                 \
                                                  .launch  = true };
LAUNCH_TABLE(LAUNCH_CLASS)

#define LAUNCH_ENTRY(class, name, tilings, power) &class_of_##class,

const layer_class *const layer_classes[N_LAYER_CLASSES] = { &layer_class_conv, &layer_class_dense,
                                                            &layer_class_product,
                                                            &layer_class_other,
                                                            LAUNCH_TABLE(LAUNCH_ENTRY) };

bool layer_class_make(const layer_class *class, columns *c)
{
    column_spec s = { .family = 0 };

    for (size_t j = 0; class->describe(j, &s); j++) {
        if (columns_need(c, s.name, s.unit, s.resource) != j)
            return false;
        c->column[j].floor  = s.floor;
        c->column[j].parent = s.family ? s.family : COLUMN_NONE;
    }
    if (class->relate)
        class->relate(c);
    return true;
}

bool layer_class_knows(const layer_class *class, const char *name)
{
    column_spec s = { .family = 0 };

    for (size_t j = 0; class->describe(j, &s); j++)
        if (!strcmp(s.name, name))
            return true;
    return optimizer_column(name);
}

const char *layer_class_part(size_t class, char out[40])
{
    const layer_class *of = layer_classes[class];

    snprintf(out, 40, "%s%s", of->launch ? "kernels " : "single.", of->name);
    return out;
}

size_t layer_class_of(const layer_shape *s)
{
    size_t i = 0;

    if (s->kind == SHAPE_LAUNCH)
        return launch_class_of(s->kernel);
    while (i < FIRST_LAUNCH && !layer_classes[i]->has(s))
        i++;
    return i < FIRST_LAUNCH ? i : N_LAYER_CLASSES;
}

size_t layer_class_among(const layer_shape *s, size_t dense)
{
    const size_t class = layer_class_of(s);

    return class == LAYER_DENSE && dense < LAYER_DENSE_ROWS ? LAYER_PRODUCT : class;
}

double shape_flops(const layer_shape *s)
{
    const double outputs = s->kind == SHAPE_CONV ? (double)lm_volume(s->out) : 1;

    return 2 * (double)s->n * outputs * s->weights;
}

double shape_bytes(const layer_shape *s)
{
    return 4 * (s->inputs + s->outputs);
}

#define CALL ".call"

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

size_t columns_need_update(columns *c, const char *name)
{
    const bool call = ends_with(name, CALL);

    return columns_need(c, name, call ? "call" : "element",
                        call ? RESOURCE_HOST : RESOURCE_BANDWIDTH);
}

#define UPDATE_NAME (sizeof UPDATE + 40 + sizeof CALL)

/* "update.adam", "update.adam.call"; printf() would be a tenth of a prediction. */
static const char *update_name(const char *of, const char *end, char buffer[UPDATE_NAME])
{
    const size_t n = strnlen(of, 40);

    memcpy(buffer, UPDATE, sizeof UPDATE - 1);
    memcpy(buffer + sizeof UPDATE - 1, of, n);
    strcpy(buffer + sizeof UPDATE - 1 + n, end);
    return buffer;
}

/* Has the optimizer further launches? All except sgd have states. */
static bool launches_more(const char *of, bool call)
{
    return call && strcmp(of, "sgd") != 0;
}

bool optimizer_priced(const columns *c, const char *of, bool call)
{
    char name[UPDATE_NAME];

    return columns_find(c, update_name(of, "", name)) != COLUMN_NONE &&
           (!launches_more(of, call) ||
            columns_find(c, update_name(of, CALL, name)) != COLUMN_NONE);
}

static bool updates(const layer_run *run, const layer_shape *s)
{
    return run->update && (s->weights > 0 || run->trains_inputs);
}

void layer_update_need(columns *c, const layer_run *run, const layer_shape *s)
{
    char name[UPDATE_NAME];

    if (!updates(run, s))
        return;
    (void)columns_need_update(c, update_name(run->optimizer, "", name));
    if (launches_more(run->optimizer, run->alone))
        (void)columns_need_update(c, update_name(run->optimizer, CALL, name));
}

double layer_updated(const layer_run *run, const layer_shape *s)
{
    return s->weights + (run->trains_inputs ? s->inputs + s->outputs : 0);
}

size_t columns_need_update_from(columns *c, const char *of, double elements)
{
    char name[64];

    snprintf(name, sizeof name, UPDATE "%.24s" UPDATE_FROM "%.0f", of, elements);
    return columns_need_update(c, name);
}

double column_updates_from(const column *c, const char *usual)
{
    const size_t n = strlen(usual), more = strlen(UPDATE_FROM);

    if (strncmp(c->name, usual, n) != 0 || strncmp(c->name + n, UPDATE_FROM, more) != 0)
        return NAN;
    return strtod(c->name + n + more, NULL);
}

/* Column of an update of so many elements. Columns of updates come last. */
static size_t update_column(const columns *c, const char *of, double elements)
{
    char        name[UPDATE_NAME];
    const char *usual = update_name(of, "", name);
    double      most  = 0;
    size_t      at    = COLUMN_NONE;

    for (size_t j = c->n; j-- > 0 && optimizer_column(c->column[j].name);) {
        const double from = column_updates_from(&c->column[j], usual);

        if (from <= elements && from > most) {
            most = from;
            at   = j;
        }
    }
    return at == COLUMN_NONE ? columns_find(c, usual) : at;
}

void layer_update_item(const columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    char name[UPDATE_NAME];

    rows_part(r);
    rows_alternative(r);
    if (!updates(run, s))
        return;
    rows_item(r, update_column(c, run->optimizer, fmax(layer_updated(run, s), run->together)),
              layer_updated(run, s));
    if (launches_more(run->optimizer, run->alone))
        rows_item(r, columns_find(c, update_name(run->optimizer, CALL, name)), 1);
}

bool optimizer_column(const char *name)
{
    return !strncmp(name, UPDATE, strlen(UPDATE)) && name[strlen(UPDATE)];
}
