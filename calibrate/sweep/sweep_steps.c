/* Forms of a network's step in a section: optimizers, buckets, progress of buckets. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "network/optimizer.h"
#include "sweep/sweep_points.h"

static const char *const usual_optimizer = "";
static const int64_t     one_message     = 0;

const sweep_steps sweep_steps_usual = { .optimizers = { &usual_optimizer, 1 },
                                        .buckets    = { &one_message, 1, false },
                                        .phases     = { .training = true } };

/* The functions behind value_type.read. */
#define READER const value_form *how, const char *text, struct arena *room, void *out, lm_error *err

lm_status sweep_check_optimizer(const char *word, lm_error *err)
{
    optimizer       o;
    const lm_status status = optimizer_parse(word, &o, err);

    /* a known optimizer may have no update that can be run */
    return status ? status : optimizer_check_measured(o, err);
}

static lm_status read_optimizers(READER)
{
    word_list words;
    lm_status status = type_names.read(how, text, room, &words, err);

    for (size_t i = 0; !status && i < words.n; i++)
        status = sweep_check_optimizer(words.at[i], err);
    if (!status)
        *(word_list *)out = words;
    return status;
}

/* One item of a list: 0, a size or a range of sizes. */
static lm_status add_bucket(const char *item, struct arena *room, size_t *space, int64_t **all,
                            size_t *n, lm_error *err)
{
    int64_t   zero = 0, *list = NULL, *more = *all;
    size_t    found  = 1;
    lm_status status = strcmp(item, "0") ? text_list(item, text_bytes, &list, &found, err) : LM_OK;

    for (size_t i = 0; i < found && !status; i++) {
        if (!(more = arena_grow(room, *all, *n, space, sizeof *more))) {
            status = no_memory(err);
        } else {
            *all           = more;
            (*all)[(*n)++] = list ? list[i] : zero;
        }
    }
    free(list);
    return status;
}

static lm_status read_buckets(READER)
{
    word_list items;
    int64_t  *all   = NULL;
    size_t    space = 0, n = 0;
    lm_status status = type_names.read(how, text, room, &items, err);

    for (size_t i = 0; !status && i < items.n; i++)
        status = add_bucket(items.at[i], room, &space, &all, &n, err);
    if (!status)
        *(count_list *)out = (count_list){ all, n, false };
    return status;
}

static lm_status read_progress(READER)
{
    struct sweep_progress found = { .n = 0 };
    word_list             words;
    lm_status             status = type_names.read(how, text, room, &words, err);

    if (!status && words.n > sizeof found.at)
        return lm_error_set(err, LM_E_SYNTAX, "more than %zu", sizeof found.at);
    for (; !status && found.n < words.n; found.n++)
        status = setting_parse(SETTING_PROGRESS, words.at[found.n], &found.at[found.n], err);
    if (!status)
        *(struct sweep_progress *)out = found;
    return status;
}

static lm_status read_phases(READER)
{
    struct sweep_phases *to = out;
    word_list            words;
    lm_status            status = type_names.read(how, text, room, &words, err);

    *to = (struct sweep_phases){ .training = false };
    for (size_t i = 0; !status && i < words.n; i++)
        if (!strcmp(words.at[i], "training"))
            to->training = true;
        else if (!strcmp(words.at[i], phase_name(PHASE_INFERENCE)))
            to->inference = true;
        else
            status = lm_error_set(
                err, LM_E_ARG, "expected training, inference or both, found '%.40s'", words.at[i]);
    return status;
}

const value_type type_optimizers = { .size = sizeof(word_list), .read = read_optimizers };
const value_type type_buckets    = { .size = sizeof(count_list), .read = read_buckets };
const value_type type_progress   = { .size = sizeof(struct sweep_progress), .read = read_progress };
const value_type type_phases     = { .size = sizeof(struct sweep_phases), .read = read_phases };

/* Adds the progress of buckets to the settings of the section's variants. */
static lm_status add_progress(sweep_loading *l, const sweep_steps *steps, size_t i, sweep_point *p)
{
    if (!steps->progress.n)
        return LM_OK;
    p->how.value[SETTING_PROGRESS] = steps->progress.at[i];
    return sweep_settings_write(l, &p->how, 1u << SETTING_PROGRESS, &p->row.settings);
}

static lm_status add_bucketed(sweep_loading *l, const sweep_steps *steps, sweep_point p)
{
    lm_status status = LM_OK;
    size_t    i      = 0;

    do {
        status = add_progress(l, steps, i, &p);
        if (!status)
            status = sweep_add(l, &p);
    } while (!status && ++i < steps->progress.n);
    return status;
}

lm_status sweep_steps_add(sweep_loading *l, const sweep_steps *steps, const sweep_point *point)
{
    sweep_point evaluation = *point;
    lm_status   status     = LM_OK;

    evaluation.row.phase = PHASE_INFERENCE;
    for (size_t o = 0; o < steps->optimizers.n && steps->phases.training; o++)
        for (size_t b = 0; b < steps->buckets.n && !status; b++) {
            sweep_point p = *point;

            p.row.optimizer = steps->optimizers.at[o];
            p.row.bucket_bytes =
                p.row.ranks > 1 ? steps->buckets.at[b] : 0; /* else nothing to send */
            status = p.row.bucket_bytes ? add_bucketed(l, steps, p) : sweep_add(l, &p);
        }
    if (!status && steps->phases.inference && point->row.ranks == 1) /* ranks exchange nothing */
        status = sweep_add(l, &evaluation);
    return status;
}
