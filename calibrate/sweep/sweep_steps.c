/* Forms of a network's step in a section: optimizers, buckets, progress of buckets. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "network/optimizer.h"
#include "sweep/sweep_points.h"

/* The words of a list, in the arena. */
static lm_status split(sweep_loading *l, const char *text, char **word, size_t max, size_t *n)
{
    char *copy = arena_text(l->s->arena, text, strlen(text));

    if (!copy)
        return sweep_no_memory(l);
    *n = text_split(copy, ',', word, max + 1);
    return *n > max ? lm_error_set(l->err, LM_E_SYNTAX, "more than %zu", max) : LM_OK;
}

lm_status sweep_check_optimizer(const char *word, lm_error *err)
{
    const lm_tensor any = { .dtype = LM_F32, .rank = 1, .dim = { 1 } };
    lm_kernel       unused;
    optimizer       o;
    lm_status       status = optimizer_parse(word, &o, err);

    /* a known optimizer may have no update that can be run */
    return status ? status : optimizer_update(o, &any, &unused, err);
}

static lm_status read_optimizers(sweep_loading *l, const char *text, sweep_steps *out)
{
    char     *word[SWEEP_MAX_OPTIMIZERS + 1];
    lm_status status;

    out->optimizer[0] = ""; /* the usual one */
    out->n_optimizers = 1;
    if (!text)
        return LM_OK;
    status = split(l, text, word, SWEEP_MAX_OPTIMIZERS, &out->n_optimizers);
    for (size_t i = 0; i < out->n_optimizers && !status; i++) {
        status            = sweep_check_optimizer(word[i], l->err);
        out->optimizer[i] = word[i];
    }
    return status;
}

/* One item of the list: 0, a size or a range of sizes. */
static lm_status read_bucket(const char *item, sweep_steps *out, lm_error *err)
{
    int64_t   zero = 0, *list = NULL;
    size_t    n      = 1;
    lm_status status = strcmp(item, "0") ? text_list(item, text_bytes, &list, &n, err) : LM_OK;

    for (size_t i = 0; i < n && !status; i++) {
        if (out->n_buckets == SWEEP_MAX_BUCKETS)
            status = lm_error_set(err, LM_E_SYNTAX, "more than %d", SWEEP_MAX_BUCKETS);
        else
            out->bucket[out->n_buckets++] = list ? list[i] : zero;
    }
    free(list);
    return status;
}

static lm_status read_buckets(sweep_loading *l, const char *text, sweep_steps *out)
{
    char     *word[SWEEP_MAX_BUCKETS + 1];
    size_t    n      = 0;
    lm_status status = split(l, text ? text : "0", word, SWEEP_MAX_BUCKETS, &n);

    for (size_t i = 0; !status && i < n; i++)
        status = read_bucket(word[i], out, l->err);
    return status;
}

static lm_status read_progress(sweep_loading *l, const char *text, sweep_steps *out)
{
    char     *word[3];
    lm_status status;

    out->n_progress = 1;
    if (!text)
        return LM_OK;
    out->says_progress = true;
    status             = split(l, text, word, 2, &out->n_progress);
    for (size_t i = 0; i < out->n_progress && !status; i++)
        status = setting_parse(SETTING_PROGRESS, word[i], &out->progress[i], l->err);
    return status;
}

/* `training, inference`; not given: training. */
static lm_status read_phases(sweep_loading *l, const char *text, sweep_steps *out)
{
    char     *word[3];
    size_t    n      = 0;
    lm_status status = split(l, text ? text : "training", word, 2, &n);

    for (size_t i = 0; i < n && !status; i++)
        if (!strcmp(word[i], "training"))
            out->training = true;
        else if (!strcmp(word[i], phase_name(PHASE_INFERENCE)))
            out->inference = true;
        else
            status = lm_error_set(l->err, LM_E_ARG,
                                  "expected training, inference or both, found '%.40s'", word[i]);
    return status;
}

/* The line of a key; the line of the section if the key is missing. */
static int line_of(const ini_section *s, const char *key)
{
    const ini_pair *p = ini_get(s, key);

    return p ? p->line : s->line;
}

lm_status sweep_steps_read(sweep_loading *l, const ini_section *s, const sweep_values *v,
                           sweep_steps *out)
{
    lm_status status;

    *out = (sweep_steps){ .n_buckets = 0 };
    if ((status = read_optimizers(l, v->optimizers, out)))
        return sweep_fail_at(l, line_of(s, "optimizer"), status, "optimizer");
    if ((status = read_buckets(l, v->buckets, out)))
        return sweep_fail_at(l, line_of(s, "bucket"), status, "bucket");
    if ((status = read_progress(l, v->progress, out)))
        return sweep_fail_at(l, line_of(s, "progress"), status, "progress");
    if ((status = read_phases(l, v->phases, out)))
        return sweep_fail_at(l, line_of(s, "phases"), status, "phases");
    return LM_OK;
}

/* Adds to the settings that the section's variants wrote. */
static lm_status add_progress(sweep_loading *l, const sweep_steps *steps, uint8_t progress,
                              sweep_point *p)
{
    char text[200];

    if (!steps->says_progress)
        return LM_OK;
    p->how.value[SETTING_PROGRESS] = progress;
    settings_print(&p->how, l->limits.settings | 1u << SETTING_PROGRESS, text, sizeof text);
    p->row.settings = arena_text(l->s->arena, text, strlen(text));
    return p->row.settings ? LM_OK : sweep_no_memory(l);
}

static lm_status add_bucketed(sweep_loading *l, const sweep_steps *steps, sweep_point p)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < steps->n_progress && !status; i++) {
        status = add_progress(l, steps, steps->progress[i], &p);
        if (!status)
            status = sweep_add(l, &p);
    }
    return status;
}

lm_status sweep_steps_add(sweep_loading *l, const sweep_steps *steps, const sweep_point *point)
{
    sweep_point evaluation = *point;
    lm_status   status     = LM_OK;

    evaluation.row.phase = PHASE_INFERENCE;
    for (size_t o = 0; o < steps->n_optimizers && steps->training; o++)
        for (size_t b = 0; b < steps->n_buckets && !status; b++) {
            sweep_point p = *point;

            p.row.optimizer    = steps->optimizer[o];
            p.row.bucket_bytes = p.row.ranks > 1 ? steps->bucket[b] : 0; /* else nothing to send */
            status             = p.row.bucket_bytes ? add_bucketed(l, steps, p) : sweep_add(l, &p);
        }
    if (!status && steps->inference && point->row.ranks == 1) /* ranks exchange nothing */
        status = sweep_add(l, &evaluation);
    return status;
}
