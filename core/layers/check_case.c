/* Generation of uses of a layer type. */
#include "layers/check_case.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "layers/schema.h"

uint64_t case_below(case_random *r, uint64_t n)
{
    return random_below(&r->state, n);
}

static bool chance(case_random *r, unsigned percent)
{
    return case_below(r, 100) < percent;
}

static int64_t one_of(case_random *r, const int64_t *values, size_t n)
{
    return values[case_below(r, n)];
}

#define ONE_OF(r, ...)                            \
    one_of((r), (const int64_t[]){ __VA_ARGS__ }, \
           sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/* ---- shapes ---- */

/* Small numbers, many with common divisors. */
static int64_t small_dim(case_random *r)
{
    return ONE_OF(r, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16, 16);
}

static lm_tensor some_tensor(case_random *r, lm_dtype dtype)
{
    lm_tensor t = { .dtype = dtype, .rank = (uint32_t)ONE_OF(r, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5) };

    t.dim[0] = ONE_OF(r, 1, 2, 3, 4, 6);
    for (uint32_t d = 1; d < t.rank; d++)
        t.dim[d] = small_dim(r);
    return t;
}

static void drop_dim(lm_tensor *t, uint32_t at)
{
    for (uint32_t d = at; d + 1 < t->rank; d++)
        t->dim[d] = t->dim[d + 1];
    t->dim[--t->rank] = 0;
}

static lm_dtype integer_type(case_random *r)
{
    return (lm_dtype)ONE_OF(r, LM_I64, LM_I64, LM_I32, LM_U8);
}

/* Relation of a layer's inputs. */
typedef enum pattern {
    EQUAL,
    BROADCAST, /* some dimensions are 1, or leading ones are missing */
    PRODUCT,   /* m x k with k x n or n x k */
    ONE_DIFFERS,
    TWO_DIFFER, /* and the first one's is a multiple, as for heads that share keys */
    NUMBERS,    /* later ones are class or row numbers */
    MASK,       /* the first one is a condition for the others */
    ANYHOW,
    N_PATTERNS
} pattern;

static void follow_broadcast(case_random *r, lm_tensor *t)
{
    while (t->rank > 1 && chance(r, 25))
        drop_dim(t, 0);
    for (uint32_t d = 0; d < t->rank; d++)
        if (chance(r, 30))
            t->dim[d] = 1;
}

static void follow_product(case_random *r, const lm_tensor *first, lm_tensor *t)
{
    const uint32_t n = t->rank;

    if (n < 2)
        return;
    if (chance(r, 50)) {
        t->dim[n - 2] = first->dim[n - 1];
        t->dim[n - 1] = small_dim(r);
    } else {
        t->dim[n - 2] = small_dim(r);
    }
    while (t->rank > 2 && chance(r, 20))
        drop_dim(t, 0);
}

static void follow_numbers(case_random *r, lm_tensor *t)
{
    t->dtype = integer_type(r);
    switch (case_below(r, 4)) {
    case 0:
        if (t->rank > 1)
            drop_dim(t, (uint32_t)case_below(r, t->rank));
        break;
    case 1:
        while (t->rank > 1)
            drop_dim(t, 1);
        break;
    case 2: *t = some_tensor(r, t->dtype); break;
    default: break; /* one mask for each element */
    }
}

/* Generates the inputs after the first. */
static void follow(case_random *r, check_case *c)
{
    const pattern   how   = (pattern)case_below(r, N_PATTERNS);
    lm_tensor      *first = &c->input[0];
    const uint32_t  axis  = (uint32_t)case_below(r, first->rank);
    const uint32_t  other = (uint32_t)case_below(r, first->rank);
    const int64_t   size = small_dim(r), size2 = small_dim(r);
    const bool      all_alike = chance(r, 60);
    const lm_tensor base      = *first;

    if (how == TWO_DIFFER)
        first->dim[axis] *= ONE_OF(r, 1, 2, 3);
    if (how == BROADCAST)
        follow_broadcast(r, first);
    if (how == MASK)
        first->dtype = (lm_dtype)ONE_OF(r, LM_U8, LM_U8, LM_I32);
    for (uint32_t i = 1; i < c->n_inputs; i++) {
        lm_tensor *t = &c->input[i];

        *t = base;
        switch (how) {
        case BROADCAST: follow_broadcast(r, t); break;
        case MASK:
            if (!all_alike)
                follow_broadcast(r, t);
            break;
        case PRODUCT: follow_product(r, first, t); break;
        case ONE_DIFFERS: t->dim[axis] = all_alike ? size : small_dim(r); break;
        case TWO_DIFFER:
            if (other != axis)
                t->dim[other] = all_alike ? size : size2;
            break;
        case NUMBERS: follow_numbers(r, t); break;
        case ANYHOW: *t = some_tensor(r, chance(r, 70) ? c->dtype : integer_type(r)); break;
        case EQUAL:
        case N_PATTERNS: break;
        }
    }
}

static void fresh_inputs(const lm_layer_type *type, case_random *r, check_case *c)
{
    const uint32_t most = type->max_inputs ? type->max_inputs : type->min_inputs + 2;
    const uint32_t high = most < CASE_INPUTS ? most : CASE_INPUTS;
    const uint32_t low  = type->min_inputs < high ? type->min_inputs : high;

    if (type->flags & LM_SOURCE) { /* the host feeds the batch */
        c->n_inputs = 1;
        c->input[0] = (lm_tensor){ .dtype = c->dtype, .rank = 1, .dim = { ONE_OF(r, 1, 2, 3, 4) } };
        return;
    }
    c->n_inputs = low + (uint32_t)case_below(r, high - low + 1);
    if (!c->n_inputs)
        return;
    c->input[0] = some_tensor(r, chance(r, 80) ? c->dtype : integer_type(r));
    if (c->n_inputs > 1)
        follow(r, c);
}

/* ---- parameters ---- */

static bool in_range(const lm_param *p, double value)
{
    return (p->min == 0 && p->max == 0) || (value >= p->min && value <= p->max);
}

/* A dimension of some input. */
static int64_t known_dim(case_random *r, const check_case *c)
{
    const lm_tensor *t = c->n_inputs ? &c->input[case_below(r, c->n_inputs)] : NULL;

    return t && t->rank ? t->dim[case_below(r, t->rank)] : small_dim(r);
}

/* Mostly small, sometimes a dimension of the inputs, seldom an end of the range. */
static int64_t some_int(case_random *r, const check_case *c, const lm_param *p)
{
    const bool bounded = p->min != 0 || p->max != 0;

    for (int tries = 0; tries < 8; tries++) {
        const unsigned how   = (unsigned)case_below(r, 100);
        int64_t        value = ONE_OF(r, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 16, -1, -2);

        if (how < 25)
            value = known_dim(r, c);
        else if (how < 40) { /* two statements: C does not order draws within an expression */
            value = known_dim(r, c) + 1;
            value /= ONE_OF(r, 2, 3, 4);
        } else if (how < 42 && bounded)
            value = (int64_t)(chance(r, 50) ? p->max : p->min);
        if (in_range(p, (double)value))
            return value;
    }
    return bounded ? (int64_t)p->min : 1;
}

static double some_real(case_random *r, const lm_param *p)
{
    static const double usual[] = { 0, 0.1, 0.25, 0.5, 0.9, 1, 1.5, 2, -1 };
    const bool          bounded = p->min != 0 || p->max != 0;

    for (int tries = 0; tries < 8; tries++) {
        const double value = usual[case_below(r, sizeof usual / sizeof usual[0])];

        if (in_range(p, value))
            return value;
    }
    return bounded ? p->min : 1;
}

static void append(char *text, const char *separator, int64_t value)
{
    const size_t n = strlen(text);

    if (n < CASE_TEXT - 12)
        snprintf(text + n, CASE_TEXT - n, "%s%lld", n ? separator : "", (long long)value);
}

static void some_choice(case_random *r, const lm_param *p, char *text)
{
    const char *choice = p->choices;
    uint64_t    n      = 1;

    for (const char *at = choice; *at; at++)
        n += *at == '|';
    for (n = case_below(r, n); n > 0; n--)
        choice = strchr(choice, '|') + 1;
    snprintf(text, CASE_TEXT, "%.*s", (int)strcspn(choice, "|"), choice);
}

static void some_shape(case_random *r, const check_case *c, char *text)
{
    const uint64_t n = 1 + case_below(r, 4);

    for (uint64_t i = 0; i < n; i++)
        append(text, "x", chance(r, 30) ? known_dim(r, c) : small_dim(r));
}

/* Another shape of `t`: joins neighbours, and may leave one dimension open. */
static void some_reshape(case_random *r, const lm_tensor *t, char *text)
{
    const uint32_t open   = (uint32_t)case_below(r, t->rank);
    const bool     leave  = chance(r, 50);
    int64_t        joined = 1;

    for (uint32_t d = 0; d < t->rank; d++) {
        const bool whole = joined == 1;

        joined *= t->dim[d];
        if (d + 1 < t->rank && chance(r, 35))
            continue;
        if (leave && d >= open && !strchr(text, '-'))
            append(text, ",", -1);
        else
            append(text, ",", whole && chance(r, 30) ? 0 : joined);
        joined = 1;
    }
}

static void some_order(case_random *r, uint32_t rank, uint32_t n, char *text)
{
    int64_t order[LM_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        order[i] = i;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t j    = i + case_below(r, rank - i);
        const int64_t  swap = order[i];

        order[i] = order[j];
        order[j] = swap;
        append(text, ",", order[i]);
    }
}

/* Generates a list: axes, an order, a shape, or a number for each dimension. */
static void some_list(case_random *r, const check_case *c, const lm_param *p, char *text)
{
    static const lm_tensor none = { .rank = 1, .dim = { 1 } };
    const lm_tensor       *t    = c->n_inputs && c->input[0].rank ? &c->input[0] : &none;
    const uint32_t         rank = t->rank;
    const uint32_t         n    = 1 + (uint32_t)case_below(r, rank);
    const uint32_t         many = chance(r, 60) ? rank : n;

    switch (case_below(r, 6)) {
    case 0: append(text, ",", (int64_t)case_below(r, 2 * rank) - rank); break; /* one axis */
    case 1: some_order(r, rank, rank, text); break;
    case 2: some_order(r, rank, n, text); break; /* some axes */
    case 3: some_reshape(r, t, text); break;
    case 4: /* one dimension larger, the others as they are or left open */
        for (uint32_t d = 0; d < rank; d++)
            append(text, ",", chance(r, 25) ? small_dim(r) : chance(r, 30) ? -1 : t->dim[d]);
        break;
    default: /* a number for each dimension, or for the last ones */
        for (uint32_t d = 0; d < many; d++)
            append(text, ",", some_int(r, &(check_case){ 0 }, p));
    }
}

static void guess_value(case_random *r, const check_case *c, const lm_param *p, char *text)
{
    const uint32_t n = p->count > 1 && chance(r, 40) ? p->count : 1;

    text[0] = '\0';
    switch ((enum lm_kinds)p->kind) {
    case LM_BOOL: strcpy(text, chance(r, 50) ? "yes" : "no"); break;
    case LM_ENUM: some_choice(r, p, text); break;
    case LM_SHAPE: some_shape(r, c, text); break;
    case LM_LIST: some_list(r, c, p, text); break;
    case LM_TEXT: strcpy(text, "text"); break;
    case LM_REAL:
        for (uint32_t i = 0; i < n; i++) {
            const size_t used = strlen(text);
            char         number[32];

            snprintf(text + used, CASE_TEXT - used, "%s%s", i ? "," : "",
                     text_exact(some_real(r, p), number, sizeof number));
        }
        break;
    case LM_INT:
        for (uint32_t i = 0; i < n; i++)
            append(text, ",", some_int(r, c, p));
    }
}

/* Generates a value; retries if a shape or list is out of range. */
static void some_value(case_random *r, const check_case *c, const lm_param *p, char *text)
{
    lm_value ignored;

    for (int tries = 0; tries < 16; tries++) {
        guess_value(r, c, p, text);
        if (!schema_parse(p, text, &ignored, NULL))
            return;
    }
    text[0] = '\0';
    append(text, ",", some_int(r, c, p));
}

/* ---- cases ---- */

static void set_param(const lm_layer_type *type, case_random *r, check_case *c, uint32_t i)
{
    const lm_param p = schema_param(type, i);

    if (p.fallback && chance(r, 50))
        c->text[i][0] = '\0';
    else
        some_value(r, c, &p, c->text[i]);
}

/* Replaces a size, everywhere or in one place. */
static void change_size(case_random *r, check_case *c)
{
    lm_tensor    *t     = &c->input[case_below(r, c->n_inputs)];
    const int64_t other = small_dim(r);
    int64_t       old;
    uint32_t      at;

    if (!t->rank)
        return;
    at  = (uint32_t)case_below(r, t->rank);
    old = t->dim[at];
    if (chance(r, 50)) {
        t->dim[at] = other;
        return;
    }
    for (uint32_t i = 0; i < c->n_inputs; i++)
        for (uint32_t d = 0; d < c->input[i].rank; d++)
            if (c->input[i].dim[d] == old)
                c->input[i].dim[d] = other;
}

static void change_type(case_random *r, check_case *c)
{
    const lm_dtype other = (lm_dtype)ONE_OF(r, LM_F32, LM_F16, LM_BF16, LM_F64);
    const lm_dtype old   = c->dtype;

    c->dtype = other;
    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (c->input[i].dtype == old)
            c->input[i].dtype = other;
}

static void change_rank(case_random *r, check_case *c)
{
    const bool     more = chance(r, 50);
    const uint32_t at   = (uint32_t)case_below(r, 4);
    const int64_t  size = small_dim(r);

    for (uint32_t i = 0; i < c->n_inputs; i++) {
        lm_tensor *t = &c->input[i];

        if (!more && t->rank > 1) {
            drop_dim(t, at % t->rank);
        } else if (more && t->rank < LM_MAX_RANK) {
            const uint32_t to = at % (t->rank + 1);

            memmove(&t->dim[to + 1], &t->dim[to], (t->rank - to) * sizeof t->dim[0]);
            t->dim[to] = size;
            t->rank++;
        }
    }
}

static void change_one_thing(const lm_layer_type *type, case_random *r, check_case *c)
{
    const uint32_t n_params = type->n_params < CASE_PARAMS ? type->n_params : CASE_PARAMS;

    if (n_params && chance(r, 60)) {
        set_param(type, r, c, (uint32_t)case_below(r, n_params));
    } else if (type->flags & LM_SOURCE) {
        c->input[0].dim[0] = small_dim(r);
    } else if (c->n_inputs) {
        const unsigned how = (unsigned)case_below(r, 10);

        if (how < 7)
            change_size(r, c);
        else if (how < 9)
            change_type(r, c);
        else
            change_rank(r, c);
    }
}

/* Chooses the inputs that want gradients; integers have none. */
static void choose_gradients(case_random *r, check_case *c)
{
    c->chooses = chance(r, 60);
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        const bool real = lm_dtype_is_real(c->input[i].dtype);

        c->wants[i] = real && chance(r, 60);
        c->chooses |= !real;
    }
}

void case_generate(const lm_layer_type *type, const check_case *known, size_t n_known,
                   case_random *r, check_case *out)
{
    if (n_known && chance(r, 60)) {
        *out = known[case_below(r, n_known)];
        for (uint64_t n = 1 + case_below(r, 2); n > 0; n--)
            change_one_thing(type, r, out);
    } else {
        memset(out, 0, sizeof *out);
        out->dtype = (lm_dtype)ONE_OF(r, LM_F32, LM_F32, LM_F32, LM_F16, LM_BF16, LM_F64);
        fresh_inputs(type, r, out);
        for (uint32_t i = 0; i < type->n_params && i < CASE_PARAMS; i++)
            set_param(type, r, out, i);
    }
    choose_gradients(r, out);
}

lm_status case_parse(const registry_entry *entry, check_case *c, lm_error *err)
{
    const lm_layer_type *type = &entry->type;

    if (type->n_params > CASE_PARAMS)
        return lm_error_set(err, LM_E_UNSUPPORTED, "more than %d parameters", CASE_PARAMS);
    for (uint32_t i = 0; i < type->n_params; i++) {
        const lm_param p = schema_param(type, i);
        lm_status      status;

        if (!c->text[i][0] && entry->fallback[i].kind)
            c->value[i] = entry->fallback[i];
        else if ((status = schema_parse(&p, c->text[i], &c->value[i], err)))
            return status;
        if (p.kind == LM_TEXT)
            c->value[i].u.text = c->text[i][0] ? "text" : entry->fallback[i].u.text;
    }
    return LM_OK;
}

/* Does input i have the batch in front, as a network's input? Else it is a constant. */
static bool is_data(const check_case *c, uint32_t i)
{
    return c->input[i].rank > 1 && c->input[i].dim[0] == c->input[0].dim[0];
}

static void print_input(const check_case *c, uint32_t i, char *buffer, size_t size)
{
    const lm_tensor *t    = &c->input[i];
    const bool       data = is_data(c, i);

    text_add(buffer, size, "[in%u]\ntype = %s\nshape = ", i, data ? "input" : "constant");
    for (uint32_t d = data; d < t->rank; d++)
        text_add(buffer, size, "%s%lld", d > data ? "x" : "", (long long)t->dim[d]);
    if (t->dtype != c->dtype)
        text_add(buffer, size, "\ndtype = %s", text_dtype_name(t->dtype));
    text_add(buffer, size, "\n\n");
}

void case_print(const lm_layer_type *type, const check_case *c, char *buffer, size_t size)
{
    const bool     source   = (type->flags & LM_SOURCE) != 0;
    const uint32_t n_inputs = source ? 0 : c->n_inputs;
    const int64_t  batch    = c->n_inputs && c->input[0].rank ? c->input[0].dim[0] : 1;
    bool           any_data = source && !(type->flags & LM_CONSTANT);

    for (uint32_t i = 0; i < n_inputs; i++)
        any_data |= is_data(c, i);
    buffer[0] = '\0';
    text_add(buffer, size, "; layermeter show FILE --batch %lld --dtype %s\n", (long long)batch,
             text_dtype_name(c->dtype));
    for (uint32_t i = 0; i < n_inputs && c->chooses; i++)
        text_add(buffer, size, "%s in%u%s", i ? "," : "; gradients wanted:", i,
                 c->wants[i] ? "" : " no");
    text_add(buffer, size, "%s[network]\nname = case\n", n_inputs && c->chooses ? "\n" : "");
    if (!any_data) /* a network needs an input */
        text_add(buffer, size, "output = unused, layer\n\n[unused]\ntype = input\nshape = 1\n");
    text_add(buffer, size, "\n");
    for (uint32_t i = 0; i < n_inputs; i++)
        print_input(c, i, buffer, size);
    text_add(buffer, size, "[layer]\ntype = %s\n", type->name);
    for (uint32_t i = 0; i < n_inputs; i++)
        text_add(buffer, size, "%s%s%u", i ? ", " : "inputs = ", "in", i);
    if (n_inputs)
        text_add(buffer, size, "\n");
    for (uint32_t i = 0; i < type->n_params && i < CASE_PARAMS; i++)
        if (c->text[i][0])
            text_add(buffer, size, "%s = %s\n", schema_param(type, i).name, c->text[i]);
}
