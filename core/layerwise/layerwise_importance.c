/* Importance of the features of a learned model. */
#include "layerwise/layerwise_importance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "base/random.h"

/* Predicts again with one feature permuted. */
typedef struct asking {
    const layerwise_model *m;
    layerwise_lot          lot; /* with rows of its own */
    layerwise_answer      *told;
    size_t                *order;
} asking;

static void asking_free(asking *a)
{
    free_all(a->lot.x, a->told, a->order);
}

static lm_status asking_new(const layerwise_model *m, const layerwise_lot *l, asking *a,
                            lm_error *err)
{
    const size_t cells = l->n * l->n_features;

    *a       = (asking){ m, *l, malloc((l->n + 1) * sizeof *a->told),
                         malloc((l->n + 1) * sizeof *a->order) };
    a->lot.x = malloc((cells + 1) * sizeof *a->lot.x);
    if (!a->told || !a->order || !a->lot.x) {
        asking_free(a);
        return no_memory(err);
    }
    memcpy(a->lot.x, l->x, cells * sizeof *a->lot.x);
    return LM_OK;
}

/* Counts rows with a prediction: values that no training row had give none. */
static lm_status error_of(asking *a, double *out, lm_error *err)
{
    double    sum = 0;
    size_t    n   = 0;
    lm_status status;

    for (size_t i = 0; i < a->lot.n; i++)
        a->told[i].value = NAN;
    status = layerwise_predict_lot(a->m, &a->lot, NULL, NULL, a->told, err);
    for (size_t i = 0; i < a->lot.n && !status; i++)
        if (!isnan(a->told[i].value)) {
            sum += fabs(a->told[i].value / a->lot.y[i] - 1);
            n++;
        }
    *out = n ? sum / (double)n : NAN;
    return status;
}

static size_t word_of(const char *feature)
{
    return strcspn(feature, ".");
}

static bool same_word(const char *a, const char *b)
{
    const size_t n = word_of(a);

    return a[n] ? n == word_of(b) && b[n] && !strncmp(a, b, n) : !strcmp(a, b);
}

/* All columns of the word in one order, so that rows keep one flag. */
static lm_status shuffled(asking *a, const layerwise_lot *like, const char *name, uint64_t seed,
                          double *out, lm_error *err)
{
    const size_t width = like->n_features;
    lm_status    status;

    for (size_t i = 0; i < like->n; i++)
        a->order[i] = i;
    random_shuffle(a->order, like->n, &seed);
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < like->n && same_word(name, like->feature[k].name); i++)
            a->lot.x[i * width + k] = like->x[a->order[i] * width + k];
    status = error_of(a, out, err);
    memcpy(a->lot.x, like->x, like->n * width * sizeof *a->lot.x);
    return status;
}

ORDER_DOWN_BY(by_rise, layerwise_worth, rise)

static bool is_first(const layerwise_task *t, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (same_word(t->feature[k].name, t->feature[i].name))
            return false;
    return true;
}

static lm_status weigh(const layerwise_model *m, const layerwise_task *t, const layerwise_lot *l,
                       uint64_t seed, layerwise_worth_taker *take, void *context, lm_error *err)
{
    layerwise_worth worth[LAYERWISE_FEATURES];
    char            word[LAYERWISE_FEATURES][LAYERWISE_NAME], task[LAYERWISE_NAME + 8];
    size_t          n = 0;
    double          as_is;
    asking          a;
    lm_status       status = asking_new(m, l, &a, err);

    if (status)
        return status;
    snprintf(task, sizeof task, "%s%s", t->name, t->target == LAYERWISE_WATTS ? ", watts" : "");
    status = error_of(&a, &as_is, err);
    for (size_t k = 0; k < t->n_features && !status; k++) {
        const char *name = t->feature[k].name;
        double      error;

        if (!is_first(t, k))
            continue;
        status = shuffled(&a, l, name, seed, &error, err);
        snprintf(word[n], LAYERWISE_NAME, "%.*s", (int)word_of(name), name);
        worth[n] = (layerwise_worth){ m->kind->name, task, word[n], l->n, as_is, error - as_is };
        n++;
    }
    qsort(worth, n, sizeof *worth, by_rise);
    for (size_t k = 0; k < n && !status; k++)
        take(context, &worth[k]);
    asking_free(&a);
    return status;
}

lm_status layerwise_importance(const layerwise_model *m, const layerwise_data *d, uint64_t seed,
                               layerwise_worth_taker *take, void *context, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < m->n_tasks && !status; i++)
        for (size_t l = 0; l < d->n_lots && !status; l++)
            if (d->lot[l].target == m->task[i].target && !strcmp(d->lot[l].task, m->task[i].name))
                status = weigh(m, &m->task[i], &d->lot[l], seed, take, context, err);
    return status;
}
