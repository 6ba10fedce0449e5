/* Rows that are written for Extra-P. */
#include "import/extrap_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "observe/flags.h"

/* The wanted kind, else the first that the file has. */
static lm_status choose_kind(const observations *obs, const obs_kind *wanted, obs_kind *out,
                             lm_error *err)
{
    static const obs_kind order[] = { OBS_NETWORK, OBS_COUNTS, OBS_COLLECTIVE,
                                      OBS_LAYER,   OBS_KERNEL, OBS_STREAM };

    if (wanted) {
        *out = *wanted;
        return LM_OK;
    }
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
        for (size_t i = 0; i < obs->n_rows; i++)
            if (obs->row[i].kind == order[k] && !obs->row[i].skipped) {
                *out = order[k];
                return LM_OK;
            }
    return lm_error_set(err, LM_E_ARG, "%s: every row is skipped", obs->path);
}

static bool is_wanted(const word_list *list, obs_kind kind, const observation *row)
{
    if (row->skipped || row->kind != kind)
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->at[i], row->name))
            return true;
    return !list->n;
}

/* The configuration of a row, with its phase. */
#define KEY_TEXT 1024
static void key_of(const observation *row, char key[KEY_TEXT])
{
    size_t n;

    observation_key(row, key, KEY_TEXT - 40);
    n = strlen(key);
    snprintf(key + n, KEY_TEXT - n, " %d %lld", (int)row->phase, (long long)row->threads);
}

lm_status extrap_rows_measured(const observations *obs, const word_list *name,
                               const obs_kind *wanted, extrap_rows *out, lm_error *err)
{
    names     good  = { 0 };
    arena    *texts = arena_new();
    char      key[KEY_TEXT];
    obs_kind  kind   = OBS_NETWORK;
    lm_status status = choose_kind(obs, wanted, &kind, err);

    *out = (extrap_rows){ .row = malloc(obs->n_rows * sizeof *out->row) };
    if (!status && (!out->row || !texts))
        status = no_memory(err);
    for (int pass = 0; pass < 2; pass++) /* first the configurations without a flag */
        for (size_t i = 0; i < obs->n_rows && !status; i++) {
            const observation *row = &obs->row[i];
            uint32_t           flags;

            if (!is_wanted(name, kind, row))
                continue;
            flags_parse(row->flags, &flags);
            key_of(row, key);
            if (pass && (!flags || names_find(&good, key) == NAMES_NONE)) {
                out->row[out->n++] = *row;
                out->n_flagged += flags != 0;
            } else if (!pass && !flags) {
                const char *kept = arena_text(texts, key, strlen(key));

                status = kept && names_set(&good, kept, i) ? LM_OK : no_memory(err);
            }
        }
    names_free(&good);
    arena_free(texts);
    if (status || out->n)
        return status;
    return lm_error_set(err, LM_E_NOTFOUND, "%s: no %s%s%.60s in it", obs->path,
                        obs_kind_names[kind], name->n ? " named " : "",
                        name->n ? name->at[name->n - 1] : "");
}

lm_status extrap_rows_new(size_t n_steps, extrap_rows *out, lm_error *err)
{
    *out = (extrap_rows){ .row = calloc(n_steps, N_PHASES * sizeof *out->row) };
    return out->row ? LM_OK : no_memory(err);
}

static void add_part(extrap_rows *rows, const predictor *who, const step_setup *s,
                     const prediction *p, phase f, double seconds)
{
    observation *row = &rows->row[rows->n];

    if (isnan(seconds))
        return;
    *row         = observation_blank;
    row->kind    = OBS_NETWORK;
    row->phase   = f;
    row->name    = who->network;
    row->input   = who->input ? who->input : "";
    row->dtype   = who->dtype;
    row->batch   = p->batch;
    row->hosts   = p->nodes;
    row->ranks   = p->nodes * p->devices;
    row->seconds = seconds;
    if (s->program == PROGRAM_TRAINING && s->sync.rule == SYNC_DDP)
        row->bucket_bytes = (int64_t)s->sync.limit_bytes;
    rows->n++;
}

void extrap_rows_step(extrap_rows *rows, const predictor *who, const step_setup *s,
                      const prediction *p)
{
    const struct {
        phase  phase;
        double seconds;
    } parts[] = { { PHASE_FORWARD, p->forward },
                  { PHASE_BACKWARD, p->backward },
                  { PHASE_SYNC, p->exposed },
                  { PHASE_UPDATE, p->grad - p->exposed },
                  { PHASE_STEP, p->step } };

    if (s->program == PROGRAM_INFERENCE) {
        add_part(rows, who, s, p, PHASE_INFERENCE, p->step);
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        add_part(rows, who, s, p, parts[i].phase, parts[i].seconds);
}

void extrap_rows_common(extrap_rows *rows, size_t n, char *left_out, size_t size)
{
    size_t there[N_TIMES] = { 0 }, kept = 0;

    for (size_t i = 0; i < rows->n; i++)
        there[rows->row[i].phase]++;
    for (size_t i = 0; i < rows->n; i++)
        if (there[rows->row[i].phase] >= n)
            rows->row[kept++] = rows->row[i];
    rows->n   = kept;
    *left_out = '\0';
    for (size_t f = 0; f < N_TIMES; f++)
        if (there[f] && there[f] < n)
            text_add(left_out, size, "%s%s", *left_out ? ", " : "", phase_name((phase)f));
}

void extrap_rows_free(extrap_rows *rows)
{
    free(rows->row);
}
