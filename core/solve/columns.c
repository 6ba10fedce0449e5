/* Columns: the named regressors of one class of kernels or layers. */
#include "solve/columns.h"

#include <stdlib.h>
#include <string.h>

static const char *const resources[N_RESOURCES] = { "host", "flops", "bandwidth", "depth" };

const char *resource_name(resource r)
{
    return resources[r];
}

resource resource_parse(const char *name)
{
    resource r = 0;

    while (r < N_RESOURCES && strcmp(resources[r], name))
        r++;
    return r;
}

size_t columns_find(const columns *c, const char *name)
{
    const size_t at = names_find(&c->index, name);

    return at == NAMES_NONE ? COLUMN_NONE : at;
}

size_t columns_need(columns *c, const char *name, const char *unit, resource r)
{
    const size_t at = columns_find(c, name);
    char        *own, *own_unit;

    if (at != COLUMN_NONE)
        return at;
    if (!c->arena && !(c->arena = arena_new()))
        return COLUMN_NONE;
    if (c->n == c->room) {
        const size_t room = c->room ? 2 * c->room : 64;
        column      *more = realloc(c->column, room * sizeof *more);

        if (!more)
            return COLUMN_NONE;
        c->column = more;
        c->room   = room;
    }
    own      = arena_text(c->arena, name, strlen(name));
    own_unit = arena_text(c->arena, unit, strlen(unit));
    if (!own || !own_unit || !names_add(&c->index, own, c->n))
        return COLUMN_NONE;
    c->column[c->n] = (column){
        .name = own, .unit = own_unit, .resource = r, .from = COLUMN_NONE, .parent = COLUMN_NONE
    };
    return c->n++;
}

double columns_join(const columns *c)
{
    return c->join > 0 ? c->join : 1;
}

void columns_free(columns *c)
{
    free(c->column);
    names_free(&c->index);
    arena_free(c->arena);
    *c = (columns){ 0 };
}
