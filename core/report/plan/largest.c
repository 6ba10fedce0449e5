/* The largest batches that fit, of 'layermeter plan'. */
#include "report/plan/parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "plan/limits.h"

/* Memory and step time of a batch. */
typedef struct large {
    int64_t    batch;
    memory_use use, beyond; /* at one sample more */
    bool       limited;     /* by memory; else by the data set */
    prediction step;
} large;

static lm_status needs(const plan_job *job, size_t i, int64_t batch, bool many, memory_use *out,
                       lm_error *err)
{
    const plan_side     *side = &job->side[i];
    const step_setup    *s    = &job->question.setup;
    const memory_options with = room_options(&s->sync, s->optimizer, side->who->dtype, &side->room,
                                             many, s->sync.accumulation > 1);
    bind_options         b    = limits_bind(side->who, s->program);

    b.batch = batch;
    return memory_of_step(job->net, job->reg, &b, &with, out, NULL, err);
}

/* No batch is larger than the data set, where that is known. */
static int64_t most_of(const plan_job *job)
{
    const int64_t dataset = job->question.training.dataset;

    return dataset ? dataset : INT64_MAX;
}

static lm_status find_large(const plan_job *job, size_t i, int64_t nodes, large *out, lm_error *err)
{
    const plan_side *side = &job->side[i];
    step_setup       s    = job->question.setup;
    const int64_t    most = most_of(job);
    char             needed[ROOM_TEXT];
    lm_status        status;

    s.nodes = nodes;
    if (!side->room.bytes)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s does not say what memory its device has: give --memory 80GB or --device",
            side->name);
    out->batch = batch_limit(job->machine[i].fits, step_setup_ranks(&s), s.sync.accumulation);
    if (!out->batch) {
        status = needs(job, i, 1, step_setup_ranks(&s) > 1, &out->use, err);
        return status ? status
                      : lm_error_set(err, LM_E_NOTFOUND,
                                     "%s: not even batch 1 fits %.6g GB: it needs %s; take another "
                                     "--optimizer, --dtype or device",
                                     side->name, 1e-9 * (double)side->room.bytes,
                                     room_needs((double)out->use.peak, side->room.overhead > 0,
                                                ROOM_RESERVED, needed));
    }
    out->limited = out->batch <= most;
    if (!out->limited)
        out->batch = most;
    s.batch = out->batch;
    status  = needs(job, i, out->batch, step_setup_ranks(&s) > 1, &out->use, err);
    if (!status)
        status = needs(job, i, out->batch + 1, step_setup_ranks(&s) > 1, &out->beyond, err);
    if (!status)
        status = predict_step(side->who, &s, &out->step, err);
    return status;
}

/* Largest batch if a tenth of the memory is in use already. */
static int64_t in_less(const plan_job *job, size_t i, const large *l)
{
    step_setup    s    = job->question.setup;
    const int64_t most = most_of(job);
    int64_t       fits;

    s.nodes = l->step.nodes;
    fits    = batch_limit(job->machine[i].fits_less, step_setup_ranks(&s), s.sync.accumulation);
    return fits < most ? fits : most;
}

static largest_row row_of(const plan_job *job, size_t i, const large *l)
{
    const plan_side *side = &job->side[i];

    return (largest_row){ .machine       = side->name,
                          .device        = side->device ? side->device : "",
                          .batch         = l->batch,
                          .batch_in_less = in_less(job, i, l),
                          .accumulation  = job->question.setup.sync.accumulation,
                          .memory        = (double)side->room.bytes,
                          .needs         = (double)l->use.peak,
                          .one_more      = l->limited ? (double)l->beyond.peak : NAN,
                          .step          = l->step };
}

static void large_sentence(const plan_job *job, size_t i, const large *l, FILE *out)
{
    const plan_side *side = &job->side[i];

    if (l->limited)
        fprintf(
            out,
            "%s: the largest batch that fits %.6g GB is %lld on %lld node%s; it is %lld if a tenth "
            "of the memory is not free\n",
            side->name, 1e-9 * (double)side->room.bytes, (long long)l->batch,
            (long long)l->step.nodes, l->step.nodes == 1 ? "" : "s", (long long)in_less(job, i, l));
    else
        fprintf(out, "%s: the whole data set of %lld samples fits %.6g GB\n", side->name,
                (long long)l->batch, 1e-9 * (double)side->room.bytes);
}

lm_status plan_print_largest(const plan_job *job, const table_look *look, lm_error *err)
{
    const format         f      = look->format;
    const plan_question *q      = &job->question;
    FILE                *words  = f == FORMAT_TABLE ? stdout : stderr;
    large               *all    = calloc(job->n * q->n_nodes, sizeof *all);
    const field_view     v      = { .fields = largest_fields,
                                    .in     = field_place_of(f),
                                    .facts  = plan_program_fact(q->setup.program),
                                    .look   = look };
    field_rows           rows   = field_rows_of(&v);
    lm_status            status = all ? LM_OK : no_memory(err);

    for (size_t k = 0; k < job->n * q->n_nodes && !status; k++) {
        const size_t i = k / q->n_nodes;

        status = find_large(job, i, q->nodes[k % q->n_nodes], &all[k], err);
        if (!status) {
            const largest_row r = row_of(job, i, &all[k]);

            field_row(&rows, &r);
        }
    }
    for (size_t k = 0; k < job->n * q->n_nodes && !status && f != FORMAT_JSON; k++)
        large_sentence(job, k / q->n_nodes, &all[k], words);
    if (!status && f == FORMAT_JSON) {
        json j = { .out = stdout };

        json_open(&j, NULL, '{');
        json_text(&j, "network", job->network);
        if (q->setup.program == PROGRAM_INFERENCE)
            json_text(&j, "phase", program_kind_name(q->setup.program));
        else
            json_text(&j, "optimizer", optimizer_name(q->setup.optimizer));
        table_json(rows.t, &j, "points");
        json_close(&j, '}');
    } else if (!status) {
        if (f == FORMAT_TABLE)
            putchar('\n');
        status = table_print(rows.t, f, stdout, err);
    }
    table_free(rows.t);
    free(all);
    return status;
}
