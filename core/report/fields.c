/* Fields of a record, and the views that show them. */
#include "report/fields.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

field_place field_place_of(format f)
{
    return (field_place)(1 << f);
}

/* ---- values ---- */

/* A value to be shown. */
typedef struct value {
    field_kind kind; /* FIELD_NONE: unknown; FIELD_WHOLE and FIELD_CHARS become others */
    union {
        double      real;
        uint64_t    count;
        const char *text;
        bool        flag;
    } u;
} value;

static value member(const field *f, const char *record)
{
    const void *at = record + f->at;
    value       v  = { .kind = f->kind };

    switch (f->kind) {
    case FIELD_NONE: break;
    case FIELD_REAL: v.u.real = *(const double *)at; break;
    case FIELD_COUNT: v.u.count = *(const uint64_t *)at; break;
    case FIELD_WHOLE:
        v.u.count = *(const uint64_t *)at;
        v.kind    = *(const int64_t *)at < 0 ? FIELD_NONE : FIELD_COUNT;
        break;
    case FIELD_TEXT: v.u.text = *(const char *const *)at; break;
    case FIELD_CHARS: return (value){ FIELD_TEXT, { .text = at } };
    case FIELD_FLAG: v.u.flag = *(const bool *)at; break;
    }
    return v;
}

static double number_of(value v)
{
    switch (v.kind) {
    case FIELD_REAL: return v.u.real;
    case FIELD_COUNT: return (double)v.u.count;
    case FIELD_FLAG: return v.u.flag;
    case FIELD_NONE:
    case FIELD_WHOLE:
    case FIELD_TEXT:
    case FIELD_CHARS: break;
    }
    return NAN;
}

static double in_unit(const field *f, double x)
{
    x = f->times != 0 ? f->times * x : x;
    return f->per != 0 ? x / f->per : x;
}

/* The value of a field, in the unit of people or of files; an unknown text has no kind. */
static value value_of(const field *f, size_t i, const void *record, bool people,
                      char room[FIELD_TEXT_MAX])
{
    const char *text = f->text ? f->text(record, i, room) : NULL;
    value       v    = text       ? (value){ FIELD_TEXT, { .text = text } }
                       : f->real  ? (value){ FIELD_REAL, { .real = f->real(record, i) } }
                       : f->count ? (value){ FIELD_COUNT, { .count = f->count(record, i) } }
                                  : member(f, record);

    if (people && f->for_people != 0)
        return (value){ FIELD_REAL, { .real = number_of(v) / f->for_people } };
    if (v.kind == FIELD_REAL)
        v.u.real = in_unit(f, v.u.real);
    if (v.kind == FIELD_TEXT && !v.u.text)
        v.kind = FIELD_NONE;
    return v;
}

/* ---- columns ---- */

static bool for_people(const field_view *v)
{
    return v->in == IN_TABLE || v->in == IN_PAGE;
}

/* `chosen`: --columns names it, so it is shown. */
static bool shown(const field *f, const field_view *v, bool chosen)
{
    if (chosen)
        return !(f->when & ~v->facts) && !(f->not_in & v->in);
    if (f->when & ~v->facts || f->not_in & v->in || (for_people(v) && f->worth & ~v->facts))
        return false;
    return v->in == IN_TABLE ? f->title != NULL : v->in == IN_PAGE ? f->page != NULL : true;
}

static bool has_value(const field *f)
{
    return f->kind != FIELD_NONE || f->real || f->count || f->text;
}

/* The row that describes the value of `f`. */
static const field *described(const field *f, const field *from)
{
    const field *d = from;

    if (has_value(f))
        return f;
    while (d && d->key && strcmp(d->key, f->key))
        d++;
    assert(d && d->key);
    return d;
}

/* The columns of a view, in order: `f` says when a column is shown, `d` what it holds. */
typedef struct walk {
    const field_view *v;
    const field      *f, *d;
    size_t            i;
    const char       *name;   /* stands for %s; NULL: no name */
    bool              chosen; /* also columns that are shown only on request */
} walk;

static walk walk_of(const field_view *v)
{
    return (walk){ .v = v, .f = v->fields };
}

/* False: no further column. */
static bool next(walk *w)
{
    if (w->d && w->d->each && (w->name = w->d->each(w->v->whole, ++w->i)))
        return true;
    for (w->f += w->d != NULL; w->f->key; w->f++) {
        if (!shown(w->f, w->v, w->chosen))
            continue;
        w->d    = described(w->f, w->v->from);
        w->i    = 0;
        w->name = w->d->each ? w->d->each(w->v->whole, 0) : NULL;
        if (!w->d->each || w->name)
            return true;
    }
    return false;
}

/* A key or head with the name inserted, in `room` if needed. */
static const char *named(const char *text, const char *name, char room[FIELD_TEXT_MAX])
{
    const char *at = name ? strstr(text, "%s") : NULL;

    if (!at)
        return text;
    snprintf(room, FIELD_TEXT_MAX, "%.*s%s%s", (int)(at - text), text, name, at + 2);
    return room;
}

/* ---- views ---- */

const char *field_named(const void *whole, size_t i)
{
    return i ? NULL : whole;
}

field_rows field_rows_of(const field_view *v)
{
    return field_rows_in(table_new(), v);
}

static void add_column(field_rows *rows, const walk *w, const char *key)
{
    const bool  page   = w->v->in == IN_PAGE;
    const bool  ms     = page && w->d->unit && !strcmp(w->d->unit, "ms");
    const char *head   = page ? w->f->page : w->v->in == IN_TABLE ? w->f->title : w->f->key;
    const int   yields = w->f->yields ? w->f->yields : w->d->yields;
    char        room[FIELD_TEXT_MAX];

    assert(rows->n < FIELD_COLUMNS_MAX);
    rows->column[rows->n].of  = w->d;
    rows->column[rows->n++].i = w->i;
    table_column(rows->t, key, head ? named(head, w->name, room) : key,
                 ms ? w->v->ms : w->d->digits);
    if (!w->chosen)
        table_column_look(rows->t, yields, w->f->once ? w->f->once : w->d->once);
}

/* The columns of this key; NULL: all that are shown. False: there are none. */
static bool add_columns(field_rows *rows, const field_view *v, const char *only)
{
    const size_t before = rows->n;
    walk         w      = walk_of(v);
    char         room[FIELD_TEXT_MAX];

    for (w.chosen = only != NULL; next(&w);) {
        const char *key = named(w.f->key, w.name, room);

        if (!only || !strcmp(key, only))
            add_column(rows, &w, key);
    }
    return rows->n > before;
}

field_rows field_rows_in(table *t, const field_view *v)
{
    field_rows   rows = { .t = t, .for_people = for_people(v) };
    const size_t n    = v->look ? v->look->columns.n : 0;

    for (size_t i = 0; i < n; i++)
        if (!add_columns(&rows, v, v->look->columns.at[i]))
            table_lacks(t, v->look->columns.at[i]);
    if (!n)
        (void)add_columns(&rows, v, NULL);
    if (v->look && v->look->wide)
        table_widen(t);
    return rows;
}

void field_row(field_rows *rows, const void *record)
{
    char room[FIELD_TEXT_MAX];

    for (size_t c = 0; c < rows->n; c++) {
        const field *f = rows->column[c].of;
        const value  v = value_of(f, rows->column[c].i, record, rows->for_people, room);

        switch (v.kind) {
        case FIELD_REAL: table_real(rows->t, v.u.real); break;
        case FIELD_COUNT: table_count(rows->t, v.u.count); break;
        case FIELD_FLAG: table_text(rows->t, v.u.flag ? "yes" : "no"); break;
        case FIELD_TEXT: table_text(rows->t, v.u.text); break;
        case FIELD_NONE:
        case FIELD_WHOLE:
        case FIELD_CHARS: table_real(rows->t, NAN); break;
        }
    }
}

lm_status field_rows_print(const field_rows *rows, format f, FILE *out, lm_status status,
                           lm_error *err)
{
    if (!status)
        status = table_print(rows->t, f, out, err);
    table_free(rows->t);
    return status;
}

void fields_json(const field_view *v, const void *record, json *j)
{
    char room[FIELD_TEXT_MAX], name[FIELD_TEXT_MAX];

    for (walk w = walk_of(v); next(&w);) {
        const char *key = named(w.f->key, w.name, name);
        const value x   = value_of(w.d, w.i, record, false, room);

        switch (x.kind) {
        case FIELD_REAL: json_real(j, key, x.u.real); break;
        case FIELD_COUNT: json_count(j, key, x.u.count); break;
        case FIELD_FLAG: json_bool(j, key, x.u.flag); break;
        case FIELD_TEXT: json_text(j, key, x.u.text); break;
        case FIELD_NONE:
        case FIELD_WHOLE:
        case FIELD_CHARS: json_text(j, key, NULL); break;
        }
    }
}

void fields_lines(const field_view *v, const void *record, FILE *out)
{
    char room[FIELD_TEXT_MAX], name[FIELD_TEXT_MAX];

    for (walk w = walk_of(v); next(&w);) {
        const value  x      = value_of(w.d, w.i, record, true, room);
        const char  *head   = named(w.f->page, w.name, name);
        const double number = number_of(x);

        if (x.kind == FIELD_TEXT && *x.u.text)
            fprintf(out, "  %-16s%s\n", head, x.u.text);
        else if (isfinite(number))
            fprintf(out, "  %-16s%.7g%s%s\n", head, number, w.d->unit ? " " : "",
                    w.d->unit ? w.d->unit : "");
    }
}

void fields_data(const field_view *v, const void *record, FILE *out)
{
    const char *between = "";
    char        room[FIELD_TEXT_MAX];

    for (walk w = walk_of(v); next(&w); between = " ") {
        const double x = number_of(value_of(w.d, w.i, record, false, room));

        if (isfinite(x))
            fprintf(out, "%s%.9g", between, x);
        else
            fprintf(out, "%sNaN", between);
    }
    putc('\n', out);
}

int fields_column(const field *fields, const char *key)
{
    int at = 0;

    while (fields[at].key && strcmp(fields[at].key, key))
        at++;
    assert(fields[at].key);
    return at + 1;
}

void fields_data_head(const field_view *v, FILE *out)
{
    char room[FIELD_TEXT_MAX];

    putc('#', out);
    for (walk w = walk_of(v); next(&w);)
        fprintf(out, " %s", named(w.f->key, w.name, room));
    putc('\n', out);
}

/* ---- help ---- */

TEXT_OF(unit_text, field, r->unit ? r->unit : "")

/* Fields of a field, for the help. */
static const field field_fields[] = {
    { "column", .title = "column", FIELD_AT(field, key) },
    { "unit", .title = "unit", .text = unit_text },
    { "meaning", .title = "meaning", FIELD_AT(field, help) },
    { 0 },
};

/* All columns that text or files can have. */
static walk all_columns(const field_view *v)
{
    walk w = walk_of(v);

    w.chosen = true;
    return w;
}

lm_status fields_check(const field *fields, const field *from, const word_list *keys, lm_error *err)
{
    const field_view v = { .fields = fields, .from = from, .in = IN_TABLE, .facts = ~0u };
    char             room[FIELD_TEXT_MAX];

    for (size_t i = 0; i < keys->n; i++) {
        const char *near     = NULL;
        size_t      distance = TEXT_NEAR;
        bool        found    = false;

        for (walk w = all_columns(&v); !found && next(&w);) {
            found = !strcmp(named(w.f->key, w.name, room), keys->at[i]);
            if (w.f->key == named(w.f->key, w.name, room) &&
                text_nearer(keys->at[i], w.f->key, &distance))
                near = w.f->key;
        }
        if (!found)
            return lm_error_set(err, LM_E_NOTFOUND, "no column '%.40s'%s%s%s", keys->at[i],
                                near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return LM_OK;
}

lm_status fields_help(const field *fields, const field *from, FILE *out, lm_error *err)
{
    const field_view of   = { .fields = fields, .from = from, .in = IN_TABLE, .facts = ~0u };
    const field_view v    = { .fields = field_fields, .in = IN_TABLE };
    field_rows       rows = field_rows_of(&v);
    char             room[FIELD_TEXT_MAX];

    for (walk w = all_columns(&of); next(&w);) {
        field shown_as = *w.d;

        shown_as.key = named(w.f->key, w.name, room);
        field_row(&rows, &shown_as);
    }
    return field_rows_print(&rows, FORMAT_TABLE, out, LM_OK, err);
}
