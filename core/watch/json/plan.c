/* Reads an answer of a plan. */
#include "watch/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/checksum.h"
#include "base/file.h"
#include "observe/observation.h"

#define AGAIN "layermeter plan ... --format json"

/* The object that is read, and its first fault. */
typedef struct reading {
    const char *path;
    lm_error   *err;
    lm_status   status;
} reading;

static void wrong(reading *r, const char *key, const char *what)
{
    if (!r->status)
        r->status = lm_error_set(r->err, LM_E_SYNTAX,
                                 "%s: '%s' is %s: is it what 'layermeter plan --format json' of "
                                 "this version writes?",
                                 r->path, key, what);
}

static const json_t *get(reading *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!value)
        wrong(r, key, "not there");
    return value;
}

/* A text, or "" for null. */
static void get_text(reading *r, const json_t *object, const char *key, char *out, size_t size)
{
    const json_t *value = get(r, object, key);
    const char   *text  = json_string_value(value);
    bool          plain = true;

    *out = '\0';
    for (const char *c = text; c && *c; c++)
        plain &= (unsigned char)*c >= ' ' && *c != 127;
    if (value && !text && !json_is_null(value))
        wrong(r, key, "no text");
    else if (!plain)
        wrong(r, key, "a text with control characters");
    else if (text && strlen(text) >= size)
        wrong(r, key, "too long");
    else if (text)
        strcpy(out, text);
}

/* Products of two of them are counts, too. */
#define MOST_COUNT ((int64_t)1 << 30)

static int64_t get_count(reading *r, const json_t *object, const char *key, int64_t least,
                         int64_t most)
{
    const json_t *value = get(r, object, key);

    if (value && (!json_is_integer(value) || json_integer_value(value) < least))
        wrong(r, key, least ? "no count above 0" : "no count");
    else if (value && json_integer_value(value) > most)
        wrong(r, key, "too large");
    return json_integer_value(value);
}

/* Seconds above 0; NAN for null. */
static double get_seconds(reading *r, const json_t *object, const char *key)
{
    const json_t *value = get(r, object, key);

    if (!value || json_is_null(value))
        return NAN;
    if (!json_is_number(value) || !(json_number_value(value) >= 0))
        wrong(r, key, "no time");
    return json_number_value(value);
}

static planned_time get_time(reading *r, const json_t *object, const char *name)
{
    char         key[32];
    planned_time t;

    snprintf(key, sizeof key, "%s_s", name);
    t.expected = get_seconds(r, object, key);
    if (!(t.expected > 0))
        wrong(r, key, "no time above 0");
    snprintf(key, sizeof key, "%s_low_s", name);
    t.low = get_seconds(r, object, key);
    snprintf(key, sizeof key, "%s_high_s", name);
    t.high = get_seconds(r, object, key);
    if (t.low > t.high)
        wrong(r, key, "below the low end of its interval");
    return t;
}

static void get_plan(reading *r, const json_t *root, const json_t *plan, watch_plan *out)
{
    char set[8], grad_dtype[8];

    get_text(r, root, "network", out->network, sizeof out->network);
    get_text(r, root, "input", out->input, sizeof out->input);
    get_text(r, root, "dtype", out->dtype, sizeof out->dtype);
    if (json_object_get(root, "mixed")) /* plans of before have none */
        get_text(r, root, "mixed", out->mixed, sizeof out->mixed);
    get_text(r, root, "optimizer", out->optimizer, sizeof out->optimizer);
    get_text(r, plan, "machine", out->machine, sizeof out->machine);
    get_text(r, plan, "sync", out->sync, sizeof out->sync);
    get_text(r, plan, "grad_dtype", grad_dtype, sizeof grad_dtype);
    set[0]            = json_is_null(get(r, root, "set")) ? '\0' : '1';
    out->plain        = !set[0] && !*grad_dtype;
    out->nodes        = get_count(r, plan, "nodes", 1, MOST_COUNT);
    out->devices      = get_count(r, plan, "devices", 1, MOST_COUNT);
    out->batch        = get_count(r, plan, "batch", 1, MOST_COUNT);
    out->micro_steps  = get_count(r, plan, "micro_steps", 0, MOST_COUNT);
    out->bucket_bytes = get_count(r, plan, "bucket_bytes", 0, INT64_MAX);
    out->steps        = get_count(r, plan, "steps_per_epoch", 1, MOST_COUNT);
    out->evaluations  = get_count(r, plan, "evaluations_per_epoch", 0, MOST_COUNT);
    out->step         = get_time(r, plan, "step");
    out->epoch        = get_time(r, plan, "epoch");
    out->exposed      = get_seconds(r, plan, "exposed_s");
    if (!r->status && out->nodes > OBSERVATION_MOST_RANKS / out->devices)
        wrong(r, "nodes", "too many of so many devices");
}

/* The wanted answer. Its plan is null if no plan meets the limits. */
static const json_t *find_answer(reading *r, const json_t *root, const char *question,
                                 watch_plan *out)
{
    const json_t *answers = get(r, root, "answers"), *found = NULL;

    for (size_t i = 0; !found && i < json_array_size(answers); i++) {
        const json_t *each = json_array_get(answers, i);

        get_text(r, each, "question", out->question, sizeof out->question);
        if (!question || !strcmp(question, out->question))
            found = each;
    }
    if (r->status)
        return NULL;
    found = json_object_get(found, "plan");
    if (!json_is_object(found))
        r->status = lm_error_set(r->err, LM_E_NOTFOUND, "%s: the plan has no answer%s%.40s",
                                 r->path, question ? " to: " : "", question ? question : "");
    return found;
}

/* Checks the checksum of a plan, if it has one. */
static lm_status check_sum(const char *path, const char *text, const json_t *root, lm_error *err)
{
    const json_t *sum = json_object_get(root, "checksum");
    char          quoted[CHECKSUM_DIGITS + 3];
    const char   *digits = NULL;

    if (!sum)
        return LM_OK;
    if (json_string_length(sum) == CHECKSUM_DIGITS) {
        snprintf(quoted, sizeof quoted, "\"%s\"", json_string_value(sum));
        for (const char *at = text; (at = strstr(at, quoted)); at++)
            digits = at + 1;
    }
    if (!digits)
        return lm_error_set(err, LM_E_SYNTAX,
                            "%s: 'checksum' is no text of 16 digits: damaged? run '" AGAIN
                            "' again, or take it out",
                            path);
    return checksum_check(path, text, digits, AGAIN, "its 'checksum'", err);
}

lm_status watch_plan_load(const char *path, const char *question, watch_plan *out, lm_error *err)
{
    reading       r    = { path, err, LM_OK };
    watch_plan    p    = { .question = "" };
    char         *text = NULL;
    size_t        size;
    json_t       *root;
    json_error_t  why;
    const json_t *plan;

    if (file_read_text(path, &text, &size, err))
        return err ? err->code : LM_E_IO;
    root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        r.status = lm_error_set(err, LM_E_SYNTAX, "%s:%d: no JSON: %s", path, why.line, why.text);
    else
        r.status = check_sum(path, text, root, err);
    free(text);
    if (r.status) {
        json_decref(root);
        return r.status;
    }
    plan = json_is_object(root) ? find_answer(&r, root, question, &p) : NULL;
    if (!json_is_object(root))
        r.status = lm_error_set(err, LM_E_SYNTAX, "%s: no plan", path);
    if (!r.status)
        get_plan(&r, root, plan, &p);
    json_decref(root);
    if (!r.status)
        *out = p;
    return r.status;
}
