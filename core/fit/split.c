/* Folds of points. */
#include "fit/split.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "base/random.h"
#include "base/text.h"

#define KFOLD_USUAL 10

static const char *const kinds[] = {
    [SPLIT_NETWORK] = "network", [SPLIT_DEVICE] = "device", [SPLIT_RANKS] = "ranks",
    [SPLIT_BATCH] = "batch",     [SPLIT_IMAGE] = "image",   [SPLIT_BYTES] = "bytes",
    [SPLIT_CLOCK] = "clock",     [SPLIT_KFOLD] = "kfold",   [SPLIT_NONE] = "none",
};

/* ---- rules ---- */

static bool has_range(split_kind kind)
{
    return kind == SPLIT_RANKS || kind == SPLIT_BATCH || kind == SPLIT_IMAGE ||
           kind == SPLIT_BYTES || kind == SPLIT_CLOCK;
}

/* "64..", "16..512", "64KiB.." */
static lm_status parse_range(const char *text, split_rule *out, lm_error *err)
{
    const char           *dots  = strstr(text, "..");
    const text_int_parser parse = out->kind == SPLIT_BYTES ? text_bytes : text_int;
    char                  first[32];
    lm_status             status;

    if (!dots || (size_t)(dots - text) >= sizeof first)
        return lm_error_set(err, LM_E_ARG, "expected a range like 64.. or 16..512, found '%.40s'",
                            text);
    snprintf(first, sizeof first, "%.*s", (int)(dots - text), text);
    out->to = INT64_MAX;
    status  = parse(first, &out->from, err);
    if (!status && dots[2])
        status = parse(dots + 2, &out->to, err);
    if (!status && (out->from < 1 || out->to < out->from))
        status = lm_error_set(err, LM_E_ARG, "%.40s: expected a range of numbers above 0, upwards",
                              text);
    return status;
}

static lm_status parse_k(const char *text, split_rule *out, lm_error *err)
{
    uint64_t        k;
    const lm_status status = text_uint(text, &k, err);

    if (status)
        return status;
    if (k < 2)
        return lm_error_set(err, LM_E_ARG, "kfold=%.20s: expected 2 parts or more", text);
    out->k = (size_t)k;
    return LM_OK;
}

lm_status split_rule_parse(const char *text, split_rule *out, lm_error *err)
{
    const size_t n      = strcspn(text, "=");
    split_rule   rule   = { .k = KFOLD_USUAL, .seed = 1 };
    lm_status    status = LM_OK;

    while (rule.kind <= SPLIT_NONE &&
           (strlen(kinds[rule.kind]) != n || strncmp(kinds[rule.kind], text, n) != 0))
        rule.kind++;
    if (rule.kind <= SPLIT_NONE && text[n]) {
        if (rule.kind == SPLIT_KFOLD)
            status = parse_k(text + n + 1, &rule, err);
        else if (has_range(rule.kind))
            status = parse_range(text + n + 1, &rule, err);
        else
            rule.kind = SPLIT_NONE + 1;
    }
    if (rule.kind > SPLIT_NONE)
        status = lm_error_set(
            err, LM_E_ARG,
            "expected network, device, ranks, batch, image, bytes, clock, kfold, kfold=K, "
            "ranks=A.., batch=A..B, image=A.., bytes=A.. or none; found '%.40s'",
            text);
    if (!status)
        *out = rule;
    return status;
}

const char *split_rule_print(const split_rule *rule, char *buffer, size_t size)
{
    const char *kind = kinds[rule->kind];

    if (rule->kind == SPLIT_KFOLD)
        snprintf(buffer, size, "%s=%zu", kind, rule->k);
    else if (rule->from && rule->to == INT64_MAX)
        snprintf(buffer, size, "%s=%" PRId64 "..", kind, rule->from);
    else if (rule->from)
        snprintf(buffer, size, "%s=%" PRId64 "..%" PRId64, kind, rule->from, rule->to);
    else
        snprintf(buffer, size, "%s", kind);
    return buffer;
}

/* ---- folds ---- */

/* Value that decides a point's fold: points of equal values are left out together. */
typedef struct keyed {
    uint64_t value;
    size_t   at;
} keyed;

ORDER_BY_BOTH(by_value, keyed, value, at)

/* Does the kind group by exact numbers, not by octaves? */
static bool exact(split_kind kind)
{
    return kind == SPLIT_RANKS || kind == SPLIT_BYTES || kind == SPLIT_CLOCK;
}

static uint64_t octave_of(int64_t value)
{
    uint64_t octave = 0;

    while (value >> octave > 1)
        octave++;
    return octave;
}

/* The number that a split by ranks, batches or images compares; 0: the point has none. */
static int64_t number_of(const point *p, split_kind kind)
{
    int64_t dim[3];
    size_t  n;

    if (kind == SPLIT_RANKS)
        return p->row->ranks;
    if (kind == SPLIT_BYTES)
        return p->row->kind == OBS_COLLECTIVE ? p->row->bytes : 0;
    if (p->row->kind == OBS_COLLECTIVE)
        return 0;
    if (kind == SPLIT_CLOCK)
        return observation_held_mhz(p->row) > 0 ? (int64_t)observation_held_mhz(p->row) : 0;
    if (kind == SPLIT_BATCH)
        return p->row->batch;
    return !text_shape(p->input, dim, 3, &n, &(lm_error){ 0 }) && n == 3 ? dim[1] : 0;
}

static bool add_fold(split *s, const char *name)
{
    s->name[s->n_folds]   = arena_text(s->arena, name, strlen(name));
    s->points[s->n_folds] = 0;
    return s->name[s->n_folds++] != NULL;
}

static void put_point(split *s, size_t point_at, size_t fold)
{
    s->fold[point_at] = fold;
    s->points[fold]++;
}

static bool fold_networks(const points *p, split *s)
{
    size_t *fold_of = malloc((p->n_groups + 1) * sizeof *fold_of);

    for (size_t g = 0; fold_of && g < p->n_groups; g++) {
        fold_of[g] = s->n_folds;
        if (g == p->collectives)
            fold_of[g] = SPLIT_ALWAYS;
        else if (!add_fold(s, p->group[g])) {
            free(fold_of);
            return false;
        }
    }
    for (size_t i = 0; fold_of && i < p->n_points; i++)
        if (fold_of[p->point[i].group] != SPLIT_ALWAYS)
            put_point(s, i, fold_of[p->point[i].group]);
    free(fold_of);
    return fold_of != NULL;
}

static bool fold_values(split *s, keyed *key, size_t n)
{
    const split_kind kind = s->rule.kind;

    qsort(key, n, sizeof *key, by_value);
    for (size_t i = 0; i < n; i++) {
        const uint64_t value = key[i].value;
        char           name[64];

        if (i == 0 || value != key[i - 1].value) {
            if (s->rule.from)
                split_rule_print(&s->rule, name, sizeof name);
            else if (exact(kind) || value == 0)
                snprintf(name, sizeof name, "%" PRIu64, exact(kind) ? value : 1);
            else
                snprintf(name, sizeof name, "%" PRIu64 "..%" PRIu64, UINT64_C(1) << value,
                         (UINT64_C(1) << value) - 1 + (UINT64_C(1) << value));
            if (!add_fold(s, name))
                return false;
        }
        put_point(s, key[i].at, s->n_folds - 1);
    }
    return true;
}

static lm_status fold_numbers(const points *p, split *s, keyed *key, lm_error *err)
{
    const split_rule *rule = &s->rule;
    char              text[64];
    size_t            n = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        const int64_t number = number_of(&p->point[i], rule->kind);

        if (number == 0 || (rule->from && (number < rule->from || number > rule->to)))
            continue;
        key[n++] = (keyed){ rule->from          ? 0
                            : exact(rule->kind) ? (uint64_t)number
                                                : octave_of(number),
                            i };
    }
    if (rule->from && n == 0)
        return lm_error_set(err, LM_E_ARG, "nothing was measured with %s",
                            split_rule_print(rule, text, sizeof text));
    return fold_values(s, key, n) ? LM_OK : no_memory(err);
}

/* Configurations in the order of their keys, shuffled (Fisher & Yates; Durstenfeld 1964) and dealt
 * out one by one: the parts differ by one configuration at most. */
static lm_status fold_randomly(const points *p, split *s, keyed *key, lm_error *err)
{
    size_t  *place = calloc(p->n_points + 1, sizeof *place);
    uint64_t state = s->rule.seed;
    size_t   n     = 0;
    char     text[512];

    if (!place)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++) {
        observation_key(p->point[i].row, text, sizeof text);
        key[i] = (keyed){ text_hash(text), i };
    }
    qsort(key, p->n_points, sizeof *key, by_value);
    for (size_t i = 0; i < p->n_points; i++)
        n += i == 0 || key[i].value != key[i - 1].value;
    for (size_t i = 0; i < n; i++) {
        const size_t other = (size_t)random_below(&state, i + 1);

        place[i]     = place[other];
        place[other] = i;
    }
    if (s->rule.k > n) {
        free(place);
        return lm_error_set(err, LM_E_ARG, "kfold=%zu: only %zu configuration%s measured",
                            s->rule.k, n, n == 1 ? " was" : "s were");
    }
    for (size_t k = 0; k < s->rule.k; k++) {
        snprintf(text, sizeof text, "%zu", k + 1);
        if (!add_fold(s, text)) {
            free(place);
            return no_memory(err);
        }
    }
    n = 0;
    for (size_t i = 0; i < p->n_points; i++) {
        n += i > 0 && key[i].value != key[i - 1].value;
        put_point(s, key[i].at, place[n] % s->rule.k);
        s->unit[key[i].at] = n;
    }
    free(place);
    return LM_OK;
}

/* Counting sort by fold. */
lm_status split_index(split *s, size_t n, lm_error *err)
{
    size_t *next = malloc((s->n_folds + 1) * sizeof *next);

    s->point = malloc((n + 1) * sizeof *s->point);
    s->first = calloc(s->n_folds + 2, sizeof *s->first);
    if (!next || !s->point || !s->first) {
        free(next);
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++)
        s->first[(s->fold[i] == SPLIT_ALWAYS ? s->n_folds : s->fold[i]) + 1]++;
    for (size_t f = 0; f <= s->n_folds; f++) {
        next[f] = s->first[f];
        s->first[f + 1] += s->first[f];
    }
    for (size_t i = 0; i < n; i++)
        s->point[next[s->fold[i] == SPLIT_ALWAYS ? s->n_folds : s->fold[i]]++] = i;
    free(next);
    return LM_OK;
}

lm_status split_new(const points *p, const split_rule *rule, split *out, lm_error *err)
{
    const size_t most   = (p->n_points > rule->k ? p->n_points : rule->k) + p->n_groups + 1;
    split        s      = { .rule   = *rule,
                            .unit   = malloc((p->n_points + 1) * sizeof *s.unit),
                            .fold   = malloc((p->n_points + 1) * sizeof *s.fold),
                            .name   = calloc(most, sizeof *s.name),
                            .points = calloc(most, sizeof *s.points),
                            .arena  = arena_new() };
    keyed       *key    = malloc((p->n_points + 1) * sizeof *key);
    lm_status    status = LM_OK;

    if (!s.fold || !s.unit || !s.name || !s.points || !s.arena || !key)
        status = no_memory(err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        s.fold[i] = SPLIT_ALWAYS;
    if (!status)
        switch (rule->kind) {
        case SPLIT_NETWORK: status = fold_networks(p, &s) ? LM_OK : no_memory(err); break;
        case SPLIT_DEVICE:
            status = lm_error_set(err, LM_E_ARG,
                                  "no row says on which machine it was measured: keep a file for "
                                  "each, fit one and validate the others with --machine");
            break;
        case SPLIT_RANKS:
        case SPLIT_BATCH:
        case SPLIT_IMAGE:
        case SPLIT_BYTES:
        case SPLIT_CLOCK: status = fold_numbers(p, &s, key, err); break;
        case SPLIT_KFOLD: status = fold_randomly(p, &s, key, err); break;
        case SPLIT_NONE: break;
        }
    free(key);
    if (!status && rule->kind != SPLIT_KFOLD)
        memcpy(s.unit, s.fold, p->n_points * sizeof *s.unit);
    if (!status)
        status = split_index(&s, p->n_points, err);
    if (status)
        split_free(&s);
    else
        *out = s;
    return status;
}

void split_free(split *s)
{
    arena_free(s->arena);
    free_all(s->fold, s->unit, s->name, s->points, s->point, s->first);
    *s = (split){ .n_folds = 0 };
}

folds split_folds(const split *s, const points *p)
{
    return (folds){
        .of = s->fold, .rows = p->n_points, .n = s->n_folds, .all = s->rule.kind == SPLIT_NONE
    };
}

lm_status points_staying(const points *p, const fold_turn *t, points *rest, lm_error *err)
{
    *rest          = *p;
    rest->n_points = 0;
    rest->point    = malloc((p->n_points + 1) * sizeof *rest->point);
    if (!rest->point)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++)
        if (fold_in(t, i))
            rest->point[rest->n_points++] = p->point[i];
    return LM_OK;
}
