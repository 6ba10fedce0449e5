/* The program of generation: steps of decoding, and their sum. */
#include "program/generation.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"

typedef struct walk {
    generation_price price;
    void            *by;
    generation_step *step;
    size_t           n, room;
    lm_error        *err;
} walk;

static lm_status ask(walk *w, int64_t context, size_t *at)
{
    generation_step s = { .context = context };
    lm_status       status;

    if ((status = w->price(w->by, context, &s.seconds, w->err)))
        return status;
    if (!array_grow(&w->step, w->n, &w->room, sizeof *w->step))
        return no_memory(w->err);
    *at           = w->n;
    w->step[w->n] = s;
    w->n++;
    return LM_OK;
}

/* Sum of the steps on a line, from the left one up to the right one, which is excluded: n f(left) +
 * (f(right) - f(left)) (n - 1) / 2. */
static void add_line(walk *w, size_t left, size_t right)
{
    const double n = (double)(w->step[right].context - w->step[left].context);

    w->step[left].weight += (n + 1) / 2;
    w->step[right].weight += (n - 1) / 2;
}

/* Does the middle step lie on the line through two others? */
static bool on_line(const walk *w, size_t left, size_t middle, size_t right)
{
    const generation_step *a = &w->step[left], *m = &w->step[middle], *b = &w->step[right];
    const double share = (double)(m->context - a->context) / (double)(b->context - a->context);

    return fabs(a->seconds + share * (b->seconds - a->seconds) - m->seconds) <=
           GENERATION_TOLERANCE * m->seconds;
}

static lm_status add_between(walk *w, size_t left, size_t right, int halved)
{
    const int64_t a = w->step[left].context, b = w->step[right].context;
    size_t        middle = 0;
    lm_status     status;

    if (b - a <= 1) {
        if (b > a)
            add_line(w, left, right);
        return LM_OK;
    }
    if ((status = ask(w, a + (b - a) / 2, &middle)))
        return status;
    if (halved && on_line(w, left, middle, right)) {
        add_line(w, left, middle);
        add_line(w, middle, right);
        return LM_OK;
    }
    status = add_between(w, left, middle, halved + 1);
    return status ? status : add_between(w, middle, right, halved + 1);
}

lm_status generation_steps(int64_t context, int64_t tokens, generation_price price, void *by,
                           generation_step **step, size_t *n, lm_error *err)
{
    walk      w    = { .price = price, .by = by, .err = err };
    size_t    left = 0, right = 0;
    lm_status status;

    if (tokens < 1 || context < 0 || tokens > INT64_MAX - context)
        return lm_error_set(err, LM_E_ARG, "%lld tokens after %lld do not fit 64 bits",
                            (long long)tokens, (long long)context);
    status = ask(&w, context, &left);
    if (!status && tokens > 1)
        status = ask(&w, context + tokens - 1, &right);
    if (!status)
        status = add_between(&w, left, right, 0);
    if (status) {
        free(w.step);
        return status;
    }
    w.step[right].weight += 1;
    *step = w.step;
    *n    = w.n;
    return LM_OK;
}
