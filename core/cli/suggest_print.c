/* Suggested points: printed, and written as a sweep. */
#include "cli/cmd_suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"

/* ---- printed -----------------------------------------------------------------------------------
 */

/* An interval that keeps more than this share of its width has not been narrowed. */
#define HARDLY 0.98

static void add_columns(const suggest_job *q, table *t)
{
    table_column(t, "point", "point", 0);
    table_column(t, "network", "network", 0);
    table_column(t, "input", "input", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "ranks", "ranks", 0);
    table_column(t, "step_ms", "step [ms]", TABLE_MS(2));
    table_column(t, "seconds", "measure [s]", 2);
    table_column(t, "total_seconds", "in all [s]", 2);
    for (size_t k = 0; k < q->a->asked.n; k++) {
        char key[300], title[300];

        snprintf(key, sizeof key, "%.200s_percent", q->a->asked.at[k]);
        snprintf(title, sizeof title, "%.200s +- [%%]", q->a->asked.at[k]);
        table_column(t, key, title, 1);
    }
}

/* Half of it, in percent. */
static double half_width(const suggest_job *q, size_t after, size_t k)
{
    return 50 * q->s.width[after * q->a->asked.n + k];
}

static void add_widths(const suggest_job *q, table *t, size_t after)
{
    for (size_t k = 0; k < q->a->asked.n; k++)
        table_real(t, half_width(q, after, k));
}

/* Row 0 is what is known now. */
static double add_rows(const suggest_job *q, table *t)
{
    double total = 0;

    table_count(t, 0);
    table_text(t, "");
    table_text(t, "");
    for (int empty = 0; empty < 4; empty++)
        table_real(t, NAN);
    table_real(t, 0);
    add_widths(q, t, 0);
    for (size_t i = 0; i < q->s.n; i++) {
        const size_t     at = q->s.at[i];
        const candidate *c  = &q->c.item[at];

        total += q->cost[at];
        table_count(t, i + 1);
        table_text(t, c->name);
        table_text(t, c->input);
        table_count(t, (uint64_t)c->batch);
        table_count(t, (uint64_t)c->ranks);
        table_real(t, 1e3 * q->step[at]);
        table_real(t, q->cost[at]);
        table_real(t, total);
        add_widths(q, t, i + 1);
    }
    return total;
}

/* What is left where nothing more can be learned is told as well. */
static void print_gain(const suggest_job *q, size_t k, double total, FILE *out)
{
    const double before = half_width(q, 0, k), after = half_width(q, q->s.n, k);

    if (after > HARDLY * before)
        fprintf(
            out,
            "%zu point%s in %.3g s would hardly narrow the interval of %s, +-%.3g %%: what is left is how "
            "much networks and repetitions differ from any formula\n",
            q->s.n, q->s.n == 1 ? "" : "s", total, q->a->asked.at[k], before);
    else
        fprintf(
            out,
            "%zu point%s in %.3g s would narrow the interval of %s from +-%.3g %% to +-%.3g %%\n",
            q->s.n, q->s.n == 1 ? "" : "s", total, q->a->asked.at[k], before, after);
}

static void print_words(const suggest_job *q, double total, FILE *out)
{
    for (size_t k = 0; k < q->a->asked.n; k++)
        print_gain(q, k, total, out);
    if (q->s.n_refused)
        fprintf(out, "%zu point%s that would tell more %s not fit into %s\n", q->s.n_refused,
                q->s.n_refused == 1 ? "" : "s", q->s.n_refused == 1 ? "does" : "do", q->memory);
    if (!q->n_learned)
        fprintf(
            out, "%s: times, costs and intervals are guesses %s\n",
            q->obs
                ? "no time of a network's forward or backward pass, update or all-reduce is known"
                : "nothing is measured yet",
            q->known ? "around the machine file's" : "of a CPU core's");
    if (q->a->output)
        fprintf(out, "to measure them: layermeter calibrate %s -o FOLDER (a new one)\n",
                q->a->output);
}

lm_status suggest_print(const suggest_job *q, lm_error *err)
{
    const format f = q->a->format;
    table       *t = table_new();
    double       total;
    lm_status    status;

    add_columns(q, t);
    total  = add_rows(q, t);
    status = table_print(t, f, stdout, err);
    table_free(t);
    if (!status)
        print_words(q, total, f == FORMAT_TABLE ? stdout : stderr);
    return status;
}

/* ---- as a sweep file ---------------------------------------------------------------------------
 */

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

/* What the sweep says of all its points. */
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

/* The backend that was asked for, or that measured what there is. */
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

lm_status suggest_sweep_write(const suggest_job *q, lm_error *err)
{
    const suggestion *s       = &q->s;
    bool              several = false;
    sweep_head        head;
    file_draft        draft;
    lm_status         status = make_head(q, &head, err);

    if (status || (status = file_draft_open(&draft, q->a->output, err)))
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
