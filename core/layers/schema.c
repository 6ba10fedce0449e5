/* Parameter schemas: parse and check values of a model file. */
#include "layers/schema.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

lm_param schema_param(const lm_layer_type *type, uint32_t i)
{
    lm_param     param  = { 0 };
    const size_t stride = type->param_size;

    memcpy(&param, (const char *)type->params + i * stride,
           stride < sizeof param ? stride : sizeof param);
    if (param.count == 0)
        param.count = 1;
    return param;
}

uint32_t schema_find(const lm_layer_type *type, const char *name)
{
    for (uint32_t i = 0; i < type->n_params; i++)
        if (!strcmp(schema_param(type, i).name, name))
            return i;
    return type->n_params;
}

const char *schema_describe(const lm_param *param, char *buffer, size_t size)
{
    const char *one = param->kind == LM_REAL ? "number" : "integer";

    switch ((enum lm_kinds)param->kind) {
    case LM_BOOL: snprintf(buffer, size, "yes or no"); break;
    case LM_TEXT: snprintf(buffer, size, "text"); break;
    case LM_SHAPE: snprintf(buffer, size, "shape such as 3x224x224"); break;
    case LM_ENUM: snprintf(buffer, size, "one of %s", param->choices); break;
    case LM_LIST: snprintf(buffer, size, "integers joined by commas"); break;
    case LM_INT:
    case LM_REAL:
        if (param->count > 1)
            snprintf(buffer, size, "%u %ss (one is repeated)", param->count, one);
        else
            snprintf(buffer, size, "%s", one);
    }
    return buffer;
}

static lm_status check_range(const lm_param *p, double value, lm_error *err)
{
    char low[40], high[40];

    if ((p->min == 0 && p->max == 0) || (value >= p->min && value <= p->max))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG, "%s: %g is outside %s .. %s", p->name, value,
                        text_exact(p->min, low, sizeof low), text_exact(p->max, high, sizeof high));
}

static lm_status parse_enum(const lm_param *p, const char *text, int64_t *out, lm_error *err)
{
    const char *choice = p->choices;
    int64_t     i      = 0;

    for (;; i++) {
        const size_t n = strcspn(choice, "|");

        if (strlen(text) == n && !strncmp(choice, text, n)) {
            *out = i;
            return LM_OK;
        }
        if (!choice[n])
            break;
        choice += n + 1;
    }
    return lm_error_set(err, LM_E_ARG, "%s: expected one of %s, found '%.60s'", p->name, p->choices,
                        text);
}

/* "3", "3,5" or "3x5" */
static lm_status parse_numbers(const lm_param *p, const char *text, lm_value *out, lm_error *err)
{
    char      copy[256], *part[LM_MAX_RANK + 1];
    size_t    n;
    lm_status status;

    if (strlen(text) >= sizeof copy)
        return lm_error_set(err, LM_E_ARG, "%s: value is too long", p->name);
    strcpy(copy, text);
    n = text_split(copy, strchr(copy, ',') || p->kind == LM_REAL ? ',' : 'x', part,
                   LM_MAX_RANK + 1);
    if (n != 1 && n != p->count)
        return lm_error_set(err, LM_E_ARG, "%s: expected %s%u values, found %zu in '%.60s'",
                            p->name, p->count > 1 ? "1 or " : "", p->count, n, text);
    for (size_t i = 0; i < p->count; i++) {
        const char *item = part[n == 1 ? 0 : i];

        if (p->kind == LM_REAL) {
            status = text_real(item, &out->u.f[i], err);
        } else {
            status = text_int(item, &out->u.i[i], err);
        }
        if (status) {
            lm_error_prefix(err, "%s", p->name);
            return status;
        }
        status = check_range(p, p->kind == LM_REAL ? out->u.f[i] : (double)out->u.i[i], err);
        if (status)
            return status;
    }
    out->count = p->count;
    return LM_OK;
}

/* "0,-1,768" */
static lm_status parse_list(const lm_param *p, const char *text, lm_value *out, lm_error *err)
{
    char      copy[256], *part[LM_MAX_RANK + 1];
    size_t    n;
    lm_status status = LM_OK;

    if (strlen(text) >= sizeof copy)
        return lm_error_set(err, LM_E_ARG, "%s: value is too long", p->name);
    strcpy(copy, text);
    n = text_split(copy, ',', part, LM_MAX_RANK + 1);
    if (n > LM_MAX_RANK)
        return lm_error_set(err, LM_E_ARG, "%s: more than %d integers", p->name, LM_MAX_RANK);
    for (size_t i = 0; i < n && !status; i++) {
        if ((status = text_int(part[i], &out->u.i[i], err)))
            lm_error_prefix(err, "%s", p->name);
        else
            status = check_range(p, (double)out->u.i[i], err);
    }
    out->count = (uint32_t)n;
    return status;
}

lm_status schema_parse(const lm_param *p, const char *text, lm_value *out, lm_error *err)
{
    lm_value  value  = { .kind = p->kind, .count = 1 };
    lm_status status = LM_OK;
    bool      flag   = false;
    size_t    n      = 0;

    switch ((enum lm_kinds)p->kind) {
    case LM_INT:
    case LM_REAL: status = parse_numbers(p, text, &value, err); break;
    case LM_BOOL:
        status       = text_bool(text, &flag, err);
        value.u.i[0] = flag;
        break;
    case LM_ENUM: status = parse_enum(p, text, &value.u.i[0], err); break;
    case LM_LIST: status = parse_list(p, text, &value, err); break;
    case LM_TEXT: value.u.text = text; break;
    case LM_SHAPE:
        status      = text_shape(text, value.u.i, LM_MAX_RANK, &n, err);
        value.count = (uint32_t)n;
        for (size_t i = 0; !status && i < n; i++)
            if ((status = check_range(p, (double)value.u.i[i], err)))
                return status;
        break;
    default: /* open: kinds of a plugin */
        return lm_error_set(err, LM_E_ABI, "%s: unknown kind %d", p->name, p->kind);
    }
    if (status) {
        if (p->kind == LM_BOOL || p->kind == LM_SHAPE)
            lm_error_prefix(err, "%s", p->name);
        return status;
    }
    *out = value;
    return LM_OK;
}

/* One number or all of them, joined. */
static void print_numbers(const lm_param *p, const lm_value *v, char *buffer, size_t size)
{
    const bool repeats = p->kind == LM_INT || p->kind == LM_REAL;
    uint32_t   n       = v->count;
    size_t     used    = 0;
    char       one[40];

    while (repeats && n > 1 && v->u.i[n - 1] == v->u.i[0])
        n--;
    n       = n == 1 ? 1 : v->count;
    *buffer = '\0';
    for (uint32_t i = 0; i < n && used < size; i++) {
        if (p->kind == LM_REAL)
            text_exact(v->u.f[i], one, sizeof one);
        else
            snprintf(one, sizeof one, "%lld", (long long)v->u.i[i]);
        used += (size_t)snprintf(buffer + used, size - used, "%s%s",
                                 !i                    ? ""
                                 : p->kind == LM_SHAPE ? "x"
                                                       : ",",
                                 one);
    }
    if (used >= size)
        *buffer = '\0';
}

const char *schema_print(const lm_param *p, const lm_value *v, char *buffer, size_t size)
{
    const char *choice = p->choices;

    switch ((enum lm_kinds)p->kind) {
    case LM_BOOL: snprintf(buffer, size, "%s", v->u.i[0] ? "yes" : "no"); break;
    case LM_TEXT: snprintf(buffer, size, "%s", v->u.text); break;
    case LM_ENUM:
        for (int64_t i = 0; i < v->u.i[0]; i++)
            choice += strcspn(choice, "|") + 1;
        snprintf(buffer, size, "%.*s", (int)strcspn(choice, "|"), choice);
        break;
    case LM_INT:
    case LM_REAL:
    case LM_SHAPE:
    case LM_LIST: print_numbers(p, v, buffer, size);
    }
    return buffer;
}

bool schema_is_fallback(const lm_param *p, const lm_value *v)
{
    lm_value usual;
    char     mine[256], theirs[256];

    return p->fallback && !schema_parse(p, p->fallback, &usual, &(lm_error){ 0 }) &&
           !strcmp(schema_print(p, v, mine, sizeof mine),
                   schema_print(p, &usual, theirs, sizeof theirs));
}

static bool good_name(const char *name)
{
    if (!name || !islower((unsigned char)*name))
        return false;
    for (; *name; name++)
        if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

lm_status schema_check(const lm_layer_type *type, lm_error *err)
{
    if (!good_name(type->name) || strlen(type->name) > 49)
        return lm_error_set(err, LM_E_ARG,
                            "type name '%.60s': expected [a-z][a-z0-9_]*, at most 49",
                            type->name ? type->name : "(null)");
    for (uint32_t i = 0; i < type->n_params; i++) {
        const lm_param p = schema_param(type, i);
        lm_value       value;
        lm_status      status;

        if (!good_name(p.name))
            return lm_error_set(err, LM_E_ARG, "type '%s': parameter %u has no proper name",
                                type->name, i);
        if (!strcmp(p.name, "type") || !strcmp(p.name, "inputs") || !strcmp(p.name, "block") ||
            !strcmp(p.name, "functional") || !strcmp(p.name, "shares") || !strcmp(p.name, "when"))
            return lm_error_set(err, LM_E_ARG, "type '%s': parameter name '%s' is reserved",
                                type->name, p.name);
        if (schema_find(type, p.name) != i)
            return lm_error_set(err, LM_E_ARG, "type '%s': two parameters '%s'", type->name,
                                p.name);
        if (p.kind < LM_INT || p.kind > LM_LIST)
            return lm_error_set(err, LM_E_ABI, "type '%s': parameter '%s' has unknown kind %d",
                                type->name, p.name, p.kind);
        if (p.count > LM_MAX_RANK || (p.kind == LM_ENUM && !p.choices) || p.min > p.max)
            return lm_error_set(err, LM_E_ARG,
                                "type '%s': parameter '%s': bad count, choices or range",
                                type->name, p.name);
        if (p.fallback && (status = schema_parse(&p, p.fallback, &value, err))) {
            lm_error_prefix(err, "type '%s': default", type->name);
            return status;
        }
    }
    return LM_OK;
}
