/* Rows: measured or predicted work, as counts in columns. */
#include "solve/rows.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"

/* Makes room for one more of n; false: memory ran out. */
static bool grow(rows *r, void **array, size_t n, size_t *room, size_t size)
{
    const size_t wanted = *room ? *room + *room / 2 : 256;
    void        *more;

    if (r->failed)
        return false;
    if (n < *room)
        return true;
    more = realloc(*array, wanted * size);
    if (!more) {
        r->failed = true;
        return false;
    }
    *array = more;
    *room  = wanted;
    return true;
}

void rows_begin(rows *r, double seconds, double weight, unsigned stage)
{
    void *to = r->row;

    if (!grow(r, &to, r->n, &r->row_room, sizeof *r->row))
        return;
    r->row         = to;
    r->row[r->n++] = (row_entry){ r->n_parts, seconds, weight, (uint8_t)stage };
    rows_part(r);
    rows_alternative(r);
}

void rows_part(rows *r)
{
    void *to = r->part;

    if (!grow(r, &to, r->n_parts, &r->part_room, sizeof *r->part))
        return;
    r->part               = to;
    r->part[r->n_parts++] = (row_part){ r->n_alternatives };
}

void rows_alternative(rows *r)
{
    void *to = r->alternative;

    if (!grow(r, &to, r->n_alternatives, &r->alternative_room, sizeof *r->alternative))
        return;
    r->alternative                      = to;
    r->alternative[r->n_alternatives++] = r->n_items;
}

void rows_item(rows *r, size_t column_at, double value)
{
    void *to = r->item;

    r->failed |= column_at == COLUMN_NONE;
    if (value == 0 || !grow(r, &to, r->n_items, &r->item_room, sizeof *r->item))
        return;
    r->item               = to;
    r->item[r->n_items++] = (row_item){ (uint32_t)column_at, value };
}

lm_status rows_check(const rows *r, lm_error *err)
{
    return r->failed ? no_memory(err) : LM_OK;
}

void rows_clear(rows *r)
{
    r->n_items = r->n_alternatives = r->n_parts = r->n = 0;
    r->failed                                          = false;
}

void rows_free(rows *r)
{
    free_all(r->item, r->alternative, r->part, r->row);
    *r = (rows){ 0 };
}

static size_t parts_end(const rows *r, size_t at)
{
    return at + 1 < r->n ? r->row[at + 1].first_part : r->n_parts;
}

static size_t alternatives_end(const rows *r, size_t part)
{
    return part + 1 < r->n_parts ? r->part[part + 1].first_alternative : r->n_alternatives;
}

static size_t items_end(const rows *r, size_t alternative)
{
    return alternative + 1 < r->n_alternatives ? r->alternative[alternative + 1] : r->n_items;
}

/* The current prices; NULL: those of the columns. */
static double price_of(const columns *c, const double *price, size_t column_at)
{
    return price ? price[column_at] : c->column[column_at].price;
}

static double alternative_seconds(const rows *r, size_t alternative, const columns *c,
                                  const double *price)
{
    double       sum = 0;
    const size_t end = items_end(r, alternative);

    for (size_t i = r->alternative[alternative]; i < end; i++)
        sum += price_of(c, price, r->item[i].column) * r->item[i].value;
    return sum;
}

/* Did rows determine a price of the alternative, or one that a price of it began with? */
static bool is_determined(const rows *r, size_t alternative, const columns *c)
{
    const size_t end = items_end(r, alternative);

    for (size_t i = r->alternative[alternative]; i < end; i++) {
        const column *of = &c->column[r->item[i].column];

        if (of->rows || (of->from != COLUMN_NONE && c->column[of->from].rows))
            return true;
    }
    return false;
}

/* Cheapest alternative of a part; COLUMN_NONE: a part without alternatives, which costs nothing.
 * With the columns' prices, those that no row determined are chosen only if all are such. */
static size_t cheapest(const rows *r, size_t part, const columns *c, const double *price)
{
    const size_t first = r->part[part].first_alternative, end = alternatives_end(r, part);
    size_t       best  = COLUMN_NONE;
    double       least = INFINITY;

    if (end == first + 1)
        return first;
    for (int any = price != NULL; any < 2 && best == COLUMN_NONE; any++)
        for (size_t a = first; a < end; a++) {
            const double seconds = alternative_seconds(r, a, c, price);

            if (seconds < least && (any || is_determined(r, a, c))) {
                least = seconds;
                best  = a;
            }
        }
    return best;
}

void rows_copy(rows *r, const rows *from, size_t at)
{
    const row_entry *row   = &from->row[at];
    const size_t     first = row->first_part, end = parts_end(from, at);

    rows_begin(r, row->seconds, row->weight, row->stage);
    for (size_t part = first; part < end; part++) {
        const size_t one = from->part[part].first_alternative, last = alternatives_end(from, part);

        if (part > first)
            rows_part(r);
        for (size_t a = one; a < last; a++) {
            const size_t behind = items_end(from, a);

            if (part > first || a > one)
                rows_alternative(r);
            for (size_t i = from->alternative[a]; i < behind; i++)
                rows_item(r, from->item[i].column, from->item[i].value);
        }
    }
}

row_cost rows_cost(const rows *r, size_t at, const columns *c, const double *price,
                   row_item *vector, size_t *n)
{
    const size_t end  = parts_end(r, at);
    row_cost     cost = { 0, 0 };
    size_t       used = 0;

    for (size_t part = r->row[at].first_part; part < end; part++) {
        const size_t chosen = cheapest(r, part, c, price);
        const size_t last   = chosen == COLUMN_NONE ? 0 : items_end(r, chosen);

        for (size_t i = chosen == COLUMN_NONE ? 0 : r->alternative[chosen]; i < last; i++) {
            const row_item *item    = &r->item[i];
            const double    seconds = price_of(c, price, item->column) * item->value;

            if (c->column[item->column].floor)
                cost.floor += seconds;
            else
                cost.work += seconds;
            if (vector)
                vector[used] = *item;
            used++;
        }
    }
    if (n)
        *n = used;
    return cost;
}

void rows_ways(const rows *r, size_t at, const columns *c,
               void (*see)(void *context, const row_way *way), void *context)
{
    const size_t end = parts_end(r, at);

    for (size_t part = r->row[at].first_part; part < end; part++) {
        const size_t first = r->part[part].first_alternative, last = alternatives_end(r, part);
        const size_t chosen = cheapest(r, part, c, NULL);

        for (size_t a = first; a < last; a++) {
            const row_way way = { .item    = r->item + r->alternative[a],
                                  .n       = items_end(r, a) - r->alternative[a],
                                  .chosen  = a == chosen,
                                  .choice  = last > first + 1,
                                  .seconds = alternative_seconds(r, a, c, NULL),
                                  .least   = alternative_seconds(r, chosen, c, NULL) };

            see(context, &way);
        }
    }
}

size_t rows_longest(const rows *r)
{
    size_t longest = 0;

    for (size_t at = 0; at < r->n; at++) {
        const size_t end = parts_end(r, at);
        size_t       sum = 0;

        for (size_t part = r->row[at].first_part; part < end; part++) {
            const size_t last = alternatives_end(r, part);
            size_t       most = 0;

            for (size_t a = r->part[part].first_alternative; a < last; a++) {
                const size_t items = items_end(r, a) - r->alternative[a];

                most = items > most ? items : most;
            }
            sum += most;
        }
        longest = sum > longest ? sum : longest;
    }
    return longest;
}

/* x^p and its inverse. For p = 4 without libm's pow(), which would take most of a fit's time. */
static double power(double x, double p)
{
    return p == 4 ? (x * x) * (x * x) : pow(x, p);
}

static double root(double x, double p)
{
    return p == 4 ? sqrt(sqrt(x)) : pow(x, 1 / p);
}

double rows_seconds(row_cost cost, double p)
{
    const double most = fmax(cost.floor, cost.work);

    if (p == 1 || most <= 0)
        return cost.floor + cost.work;
    return most * root(power(cost.floor / most, p) + power(cost.work / most, p), p);
}

double rows_priced(const rows *r, size_t at, const columns *c)
{
    return rows_seconds(rows_cost(r, at, c, NULL, NULL, NULL), columns_join(c));
}

double rows_slope(double part, double seconds, double p)
{
    const double share = part / seconds;

    if (p == 1 || seconds <= 0)
        return 1;
    return p == 4 ? share * share * share : pow(share, p - 1);
}
