/* Implausible times. */
#include "observe/doubts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "observe/judge.h"

/* "forward of resnet18, batch 8" */
static const char *what_of(const doubt *d, char *buffer, size_t size)
{
    const observation *row = d->row;
    int                n   = snprintf(buffer, size, "%s of %.60s", phase_name(d->phase), row->name);

    if (row->kind == OBS_COLLECTIVE)
        snprintf(buffer, size, "%.60s of %lld bytes", row->name, (long long)row->bytes);
    else if (n > 0 && (size_t)n < size)
        snprintf(buffer + n, size - (size_t)n, ", batch %lld", (long long)row->batch);
    return buffer;
}

static const char *plural_of(phase f)
{
    return f == PHASE_FORWARD     ? "forward passes"
           : f == PHASE_BACKWARD  ? "backward passes"
           : f == PHASE_INFERENCE ? "forward passes (inference)"
           : f == PHASE_UPDATE    ? "updates"
                                  : "steps";
}

const char *doubt_text(const doubt *d, char buffer[DOUBT_TEXT])
{
    char what[120] = "", peak[60] = "";

    if (d->row)
        what_of(d, what, sizeof what);
    switch (d->kind) {
    case DOUBT_FILE:
        if (!isnan(d->peak))
            snprintf(peak, sizeof peak, ", on a device of %.2g FLOP/s", d->peak);
        snprintf(buffer, DOUBT_TEXT, "%s of %.2g %s%s: are the times in seconds?",
                 plural_of(d->phase), d->factor,
                 d->phase == PHASE_UPDATE ? "bytes/s (the best)" : "FLOP/s (median)", peak);
        break;
    case DOUBT_PHASE:
        snprintf(buffer, DOUBT_TEXT,
                 "%s take %.2g times as long as %s%s suggest: are %s in seconds?",
                 plural_of(d->phase), d->factor, d->beside < N_PHASES ? "the " : "the other phases",
                 d->beside < N_PHASES ? plural_of(d->beside) : "",
                 d->beside < N_PHASES ? "both" : "they");
        break;
    case DOUBT_TIME:
        snprintf(buffer, DOUBT_TEXT,
                 "%s: %.4g s is %.2g times what the other times suggest: left out; wrong unit, or "
                 "a typing error?",
                 what, d->seconds, d->factor);
        break;
    case DOUBT_REFUSED:
        snprintf(buffer, DOUBT_TEXT, "left out: %.60s does not take this input: %.200s",
                 d->row->name, d->why);
        break;
    case DOUBT_COPY:
        snprintf(buffer, DOUBT_TEXT,
                 "the same point as in line %d, with exactly the same times: a copy? it counts "
                 "twice",
                 d->other_line);
        break;
    case DOUBT_CONTRADICTION:
        snprintf(buffer, DOUBT_TEXT,
                 "%s: %.4g s, and %.4g s in line %d: it is unknown which is right: both are used",
                 what, d->seconds, d->other_seconds, d->other_line);
        break;
    case DOUBT_MODES:
        snprintf(buffer, DOUBT_TEXT,
                 "%s: %.4g s, and %.4g s of %s in line %d: both left out, because one must be in "
                 "the wrong phase; phase is step in training, inference in evaluation mode",
                 what, d->seconds, d->other_seconds,
                 d->beside == PHASE_INFERENCE ? "its inference" : "the same step", d->other_line);
        break;
    case DOUBT_POWER:
        if (!isnan(d->peak))
            snprintf(peak, sizeof peak, ", on a device of %.4g W", d->peak);
        snprintf(buffer, DOUBT_TEXT, "power of %.4g W (median)%s: is power_w in watts?", d->factor,
                 peak);
        break;
    case DOUBT_STEP:
    case N_DOUBTS:
        snprintf(buffer, DOUBT_TEXT,
                 "%s: %.4g s, but forward, backward and update are %.4g s together: of other runs, "
                 "or units?",
                 what, d->seconds, d->other_seconds);
    }
    return buffer;
}

void doubts_print(const doubts *d, const char *before, const char *path, FILE *out)
{
    for (size_t first = 0, n; first < d->n; first += n) {
        const size_t said = d->doubt[first].kind == DOUBT_COPY ? 1 : DOUBTS_SAID;

        for (n = 0; first + n < d->n && d->doubt[first + n].kind == d->doubt[first].kind; n++) {
            const doubt *one = &d->doubt[first + n];
            char         text[DOUBT_TEXT], line[16] = "";

            if (n >= said)
                continue;
            if (one->line)
                snprintf(line, sizeof line, ":%d", one->line);
            fprintf(out, "%s%s%s: %s\n", before, path, line, doubt_text(one, text));
        }
        if (n > said)
            fprintf(out, "%s%s: and %zu more like it\n", before, path, n - said);
    }
}

bool doubts_add(doubts *d, const doubt *new)
{
    if (!array_grow(&d->doubt, d->n, &d->room, sizeof *d->doubt))
        return false;
    d->doubt[d->n++] = *new;
    return true;
}

void doubts_free(doubts *d)
{
    free(d->doubt);
    *d = (doubts){ 0 };
}

void doubts_leave_out(const doubts *d, points *p)
{
    for (size_t i = 0; i < d->n; i++) {
        const doubt *one = &d->doubt[i];

        if (one->kind == DOUBT_TIME || one->kind == DOUBT_MODES)
            p->point[one->at].seconds[one->phase] = NAN;
        if (one->kind == DOUBT_MODES)
            p->point[one->other_at].seconds[one->beside] = NAN;
    }
}

double phase_flops(const net_metrics *m, phase f)
{
    const double forward  = (double)m->flops_forward + (double)m->other_flops_forward;
    const double known    = (double)m->flops_backward + (double)m->other_flops_backward;
    const double backward = known > 0 ? known : 2 * forward; /* if only counts are known */

    switch (f) {
    case PHASE_FORWARD:
    case PHASE_INFERENCE: return forward;
    case PHASE_BACKWARD: return backward;
    case PHASE_STEP: return forward + backward;
    case PHASE_GRAD_INPUT: return (double)m->flops_grad_input;
    case PHASE_GRAD_WEIGHT: return (double)m->flops_grad_weight;
    case PHASE_UPDATE:
    case PHASE_SYNC:
    case PHASE_GRAD:
    case PHASE_BACKWARD_GRAD:
    case PHASE_GRAD_ONE:
    case PHASE_STEP_MANY:
    case PHASE_EXPOSED:
    case PHASE_OVERLAPPED:
    case PHASE_P95:
    case N_TIMES: break;
    }
    return 0;
}

double phase_bytes(const net_metrics *m)
{
    return (double)m->read_bytes + (double)m->written_bytes + (double)m->param_bytes +
           4 * ((double)m->conv_inputs + (double)m->conv_outputs);
}

/* Points with a doubtful part so far; NULL when memory runs out. */
static bool *find_doubted(const points *p, const doubts *d)
{
    bool *doubted = calloc(p->n_points + 1, sizeof *doubted);

    for (size_t i = 0; i < d->n && doubted; i++)
        if (d->doubt[i].kind == DOUBT_PHASE)
            memset(doubted, true, p->n_points);
        else if (d->doubt[i].kind == DOUBT_TIME)
            doubted[d->doubt[i].at] = true;
    return doubted;
}

static lm_status judge_steps(const points *p, doubts *out, lm_error *err)
{
    bool *doubted = find_doubted(p, out);
    bool  done    = doubted != NULL;

    for (size_t i = 0; i < p->n_points && done; i++) {
        const point  *pt  = &p->point[i];
        const double *s   = pt->seconds;
        const double  sum = s[PHASE_FORWARD] + s[PHASE_BACKWARD] + s[PHASE_UPDATE];

        if (pt->row->ranks > 1 || doubted[i] || !(s[PHASE_STEP] < DOUBT_STEP_SHARE * sum))
            continue;
        done = doubts_add(out, &(doubt){ .kind          = DOUBT_STEP,
                                         .row           = pt->row,
                                         .at            = i,
                                         .phase         = PHASE_STEP,
                                         .line          = pt->line[PHASE_STEP],
                                         .other_line    = pt->line[PHASE_FORWARD],
                                         .seconds       = s[PHASE_STEP],
                                         .other_seconds = sum });
    }
    free(doubted);
    return done ? LM_OK : no_memory(err);
}

static int by_kind(const void *a, const void *b)
{
    const doubt *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                              : (int)x->phase - (int)y->phase;
}

lm_status doubts_find(const observations *obs, const points *p, doubts *out, lm_error *err)
{
    doubts    found = { 0 };
    lm_status status;

    if ((status = judge_units(obs, p, &found, err)) || (status = judge_times(p, &found, err)) ||
        (status = judge_repeated(p, &found, err)) || (status = judge_steps(p, &found, err))) {
        doubts_free(&found);
        return status;
    }
    if (found.n)
        qsort(found.doubt, found.n, sizeof *found.doubt, by_kind);
    *out = found;
    return LM_OK;
}
