/* Suggested points as a sweep file. */
#include "suggest/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"

static void put_real(FILE *out, const char *key, double value)
{
    char text[40];

    fprintf(out, "%-11s = %s\n", key, text_exact(value, text, sizeof text));
}

/* "dtype=bf16 layout=nhwc", a key a line. */
static lm_status put_variant(FILE *out, const char *variant, lm_error *err)
{
    char  *copy = strdup(variant), *word[32];
    size_t n;

    if (!copy)
        return no_memory(err);
    n = text_split(copy, ' ', word, 32);
    for (size_t i = 0; i < n; i++) {
        char *value = strchr(word[i], '=');

        if (!value)
            continue;
        *value++ = '\0';
        fprintf(out, "%-11s = %s\n", word[i], value);
    }
    free(copy);
    return LM_OK;
}

static const char *collective_of(const char *backend)
{
    return !strcmp(backend, "cudnn") ? "nccl" : "mpi";
}

/* Keys of the sweep that hold for all points. */
typedef struct sweep_head {
    const char     *backend, *optimizer;
    int64_t         threads;
    const stopping *stop;
} sweep_head;

static lm_status put_head(FILE *out, const suggest_job *q, const sweep_head *h, bool several,
                          lm_error *err)
{
    const bool simulated = !strcmp(h->backend, "sim");
    lm_status  status;

    fprintf(
        out,
        "; Written by layermeter suggest: what to measure next for %s, what tells most per second first.\n"
        "; layermeter calibrate THIS_FILE -o FOLDER measures it, into a new folder: --resume goes on with\n"
        "; the sweep of the folder only. Seconds are as expected, with all repetitions.\n\n"
        "[sweep]\n%-11s = %s\n",
        q->asked, "backend", h->backend);
    if (several && !simulated)
        fprintf(out, "%-11s = %s\n", "collective", collective_of(h->backend));
    fprintf(out, "%-11s = %lld\n", "threads", (long long)h->threads);
    fprintf(out, "%-11s = %lld\n", "warmup", (long long)h->stop->warmup);
    fprintf(out, "%-11s = %lld\n", "min_repeats", (long long)h->stop->min_repeats);
    fprintf(out, "%-11s = %lld\n", "max_repeats", (long long)h->stop->max_repeats);
    put_real(out, "max_seconds", h->stop->max_seconds);
    put_real(out, "precision", h->stop->precision);
    status = put_variant(out, q->variant, err);
    if (simulated)
        fprintf(out, "\n[sim]\nmachine = %s\n", q->a->machine);
    return status;
}

static void put_point(FILE *out, const sweep_head *h, size_t number, const candidate *c,
                      double cost)
{
    fprintf(out, "\n[networks.%zu] ; about %.2g s\nnetworks  = %s\nbatch     = %lld\n", number,
            cost, c->name, (long long)c->batch);
    if (c->image)
        fprintf(out, "image     = %lld\n", (long long)c->image);
    if (c->ranks > 1)
        fprintf(out, "ranks     = %lld\n", (long long)c->ranks);
    if (strcmp(h->optimizer, optimizer_name(OPTIMIZER_MOMENTUM)) != 0)
        fprintf(out, "optimizer = %s\n", h->optimizer);
}

/* The wanted backend, or the one of the existing measurements. */
static const char *backend_of(const suggest_job *q)
{
    if (q->a->backend)
        return q->a->backend;
    return q->obs ? observations_provenance(q->obs, "compute_backend") : "onednn";
}

static lm_status make_head(const suggest_job *q, sweep_head *h, lm_error *err)
{
    *h = (sweep_head){ .backend   = backend_of(q),
                       .optimizer = optimizer_name(q->update),
                       .threads   = 1,
                       .stop      = &stopping_usual };
    if (!h->backend)
        return lm_error_set(
            err, LM_E_ARG,
            "%s: does not say what measured it (# compute_backend: ...): if it was layermeter, "
            "give --backend onednn or cudnn; times of another framework must be measured with "
            "that one, without -o",
            q->obs->path);
    if (!strcmp(h->backend, "sim") && !q->a->machine)
        return lm_error_set(
            err, LM_E_ARG,
            "%s: its times are simulated: give the coefficients behind them, --machine FILE",
            q->obs->path);
    for (size_t i = 0; i < q->p.n_points; i++)
        if (observation_of_network(q->p.point[i].row) && q->p.point[i].row->threads)
            h->threads = q->p.point[i].row->threads;
    return LM_OK;
}

lm_status suggest_sweep_write(const suggest_job *q, const char *path, lm_error *err)
{
    const suggestion *s       = &q->s;
    bool              several = false;
    sweep_head        head;
    file_draft        draft;
    lm_status         status = make_head(q, &head, err);

    if (status || (status = file_draft_open(&draft, path, err)))
        return status;
    for (size_t i = 0; i < s->n; i++)
        several |= q->c.item[s->at[i]].ranks > 1;
    status = put_head(draft.stream, q, &head, several, err);
    for (size_t i = 0; i < s->n; i++)
        put_point(draft.stream, &head, i + 1, &q->c.item[s->at[i]], q->cost[s->at[i]]);
    if (!status)
        return file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    return status;
}
