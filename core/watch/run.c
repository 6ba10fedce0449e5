/* A watched run: history of the values beside the metric, epochs, and the run as a row of
 * observations. */
#include "watch/run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "epochs/follow.h"
#include "network/autocast.h"
#include "sample/device_sample.h"

/* ---- values beside the metric ---------------------------------------------------------------- */

/* Number of bins: enough for means over a hundredth of the remembered time, within a few %. */
#define HISTORY_BINS 4096

/* Repetitions are epochs or steps, by the nearer planned time, if that is within this factor. */
#define WATCH_FAR 3.0

#define FIRST_STEP 0.05 /* s, of a bin, at first */
#define ENOUGH     12.0 /* epochs that must remain when the older half goes */

enum { BUSY, CLOCK, WATTS, LIMIT, HELD_POWER, HELD_HEAT, N_SUMS };

typedef struct sum {
    double of;
    size_t n;
} sum;

struct watch_history {
    double start, step; /* s */
    size_t n;           /* bins */
    sum    bin[HISTORY_BINS][N_SUMS];
};

lm_status watch_history_new(watch_history **out, lm_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return no_memory(err);
    (*out)->step = FIRST_STEP;
    return LM_OK;
}

void watch_history_free(watch_history *h)
{
    free(h);
}

static void forget_half(watch_history *h)
{
    const size_t half = HISTORY_BINS / 2;

    memmove(h->bin, h->bin + half, half * sizeof *h->bin);
    memset(h->bin + half, 0, half * sizeof *h->bin);
    h->start += h->step * (double)half;
    h->n = h->n > half ? h->n - half : 0;
}

static void merge_pairs(watch_history *h)
{
    for (size_t i = 0; i < HISTORY_BINS / 2; i++)
        for (size_t k = 0; k < N_SUMS; k++) {
            const sum a = h->bin[2 * i][k], b = h->bin[2 * i + 1][k];

            h->bin[i][k] = (sum){ a.of + b.of, a.n + b.n };
        }
    memset(h->bin + HISTORY_BINS / 2, 0, (HISTORY_BINS / 2) * sizeof *h->bin);
    h->n = (h->n + 1) / 2;
    h->step *= 2;
}

static void add(sum *s, double value)
{
    if (isnan(value))
        return;
    s->of += value;
    s->n++;
}

static double share_of(float held, unsigned bits)
{
    return isnan(held) ? (double)NAN : ((unsigned long long)held & bits) != 0;
}

void watch_history_add(watch_history *h, double time, const float beside[N_BESIDE], double period)
{
    const float held = beside[BESIDE_HELD], busy = beside[BESIDE_BUSY];
    const bool  idle = (!isnan(held) && ((unsigned long long)held & HELD_IDLE)) || busy == 0;
    sum        *bin;

    if (!h->n || time > h->start + 3 * h->step * HISTORY_BINS) { /* no older value remains */
        memset(h->bin, 0, sizeof h->bin);
        h->start = time;
        h->n     = 0;
    }
    while (time >= h->start + h->step * HISTORY_BINS) {
        if (0.5 * h->step * HISTORY_BINS >= ENOUGH * period)
            forget_half(h);
        else
            merge_pairs(h);
    }
    h->n = (size_t)((time - h->start) / h->step) + 1;
    bin  = h->bin[h->n - 1];
    add(&bin[BUSY], 0.01 * (double)busy);
    add(&bin[CLOCK], idle ? (double)NAN : (double)beside[BESIDE_CLOCK]); /* an idle clock is low */
    add(&bin[WATTS], (double)beside[BESIDE_POWER]);
    add(&bin[LIMIT], (double)beside[BESIDE_POWER_LIMIT]);
    add(&bin[HELD_POWER], share_of(held, HELD_POWER_CAP | HELD_POWER_BRAKE));
    add(&bin[HELD_HEAT], share_of(held, HELD_HARDWARE | HELD_THERMAL | HELD_HARD_THERMAL));
}

static double mean(const watch_history *h, size_t from, size_t to, size_t which)
{
    sum all = { 0, 0 };

    for (size_t i = from; i < to; i++) {
        all.of += h->bin[i][which].of;
        all.n += h->bin[i][which].n;
    }
    return all.n ? all.of / (double)all.n : (double)NAN;
}

watch_means watch_history_means(const watch_history *h, double from, double to)
{
    const double a = floor((from - h->start) / h->step), b = ceil((to - h->start) / h->step);
    const size_t first = a > 0 ? (size_t)fmin(a, (double)h->n) : 0,
                 last  = b > 0 ? (size_t)fmin(b, (double)h->n) : 0;

    double      value[N_SUMS];
    watch_means out;

    for (size_t k = 0; k < N_SUMS; k++)
        value[k] = mean(h, first, last, k);
    memcpy(&out, value, sizeof out); /* doubles in this order */
    return out;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

/* Means of the values beside the metric, weighted by time. */
typedef struct weighed {
    double sum, weight;
} weighed;

enum { N_MEANS = sizeof(watch_means) / sizeof(double) };

/* All steady epochs or steps of one scale. */
typedef struct collected {
    stats_moments length;
    double        least;
    weighed       mean[N_MEANS];
} collected;

struct watch_run {
    const watch_plan *plan;
    watch_taker       take;
    void             *context;
    epochs_follower  *epochs;
    watch_history    *history;
    collected         all[2], clean[2]; /* by scale; clean: nothing held the clock down */
    double            fastest, usual_mhz, neither;
    bool              said;
    watch_verdict     last; /* of a step */
};

/* watch_means consists of doubles: they are summed by index. */
static void collect(collected *c, double seconds, const watch_means *means)
{
    double value[N_MEANS];

    memcpy(value, means, sizeof value);
    stats_add(&c->length, seconds, 1);
    c->least = c->length.n == 1 ? seconds : fmin(c->least, seconds);
    for (size_t i = 0; i < N_MEANS; i++)
        if (!isnan(value[i])) {
            c->mean[i].sum += seconds * value[i];
            c->mean[i].weight += seconds;
        }
}

static watch_means collected_means(const collected *c)
{
    double      value[N_MEANS];
    watch_means out;

    for (size_t i = 0; i < N_MEANS; i++)
        value[i] = c->mean[i].weight > 0 ? c->mean[i].sum / c->mean[i].weight : (double)NAN;
    memcpy(&out, value, sizeof value);
    return out;
}

static watch_scale scale_of(const watch_plan *p, double seconds)
{
    const double of_epoch = fabs(log(seconds / p->epoch.expected)),
                 of_step  = fabs(log(seconds / p->step.expected));

    if (fmin(of_epoch, of_step) > log(WATCH_FAR))
        return WATCH_NEITHER;
    return of_epoch <= of_step ? WATCH_EPOCHS : WATCH_STEPS;
}

static watch_verdict judge(const watch_run *r, watch_scale scale, double seconds,
                           const watch_means *means)
{
    const watch_plan *p = r->plan;

    return watch_judge(seconds, scale == WATCH_EPOCHS ? &p->epoch : &p->step,
                       p->exposed / p->step.expected, p->nodes * p->devices, means, r->usual_mhz);
}

/* Of many steps only changes are reported. */
static bool is_news(watch_run *r, const watched *w)
{
    const bool news = w->scale != WATCH_STEPS || !w->judged || !r->said ||
                      w->verdict.finding != r->last.finding || w->verdict.cause != r->last.cause;

    if (w->judged) {
        r->last = w->verdict;
        r->said = true;
    }
    return news;
}

static lm_status take(void *context, const epoch *e, const epochs *all, lm_error *err)
{
    watch_run *r = context;
    watched    w = { .epoch = *e, .scale = scale_of(r->plan, all->steady) };

    if (w.scale == WATCH_NEITHER)
        r->neither = all->steady;
    w.judged = w.scale != WATCH_NEITHER && (e->kind == EPOCH_STEADY || e->kind == EPOCH_IRREGULAR);
    if (w.judged) {
        w.means     = watch_history_means(r->history, e->start, e->start + e->length);
        w.usual_mhz = r->usual_mhz;
        w.verdict   = judge(r, w.scale, e->length, &w.means);
        if (e->kind == EPOCH_STEADY)
            collect(&r->all[w.scale], e->length, &w.means);
        if (e->kind == EPOCH_STEADY && !watch_throttled(&w.means, r->usual_mhz))
            collect(&r->clean[w.scale], e->length, &w.means);
        if (e->length < r->fastest && !isnan(w.means.clock_mhz)) {
            r->fastest   = e->length;
            r->usual_mhz = w.means.clock_mhz;
        }
    }
    return is_news(r, &w) ? r->take(r->context, &w, err) : LM_OK;
}

lm_status watch_run_new(const watch_plan *plan, watch_taker taker, void *context, watch_run **out,
                        lm_error *err)
{
    watch_run *r = calloc(1, sizeof *r);
    lm_status  status;

    if (!r)
        return no_memory(err);
    *r     = (watch_run){ .plan      = plan,
                          .take      = taker,
                          .context   = context,
                          .fastest   = INFINITY,
                          .usual_mhz = NAN,
                          .neither   = NAN };
    status = epochs_follower_new(EPOCHS_LAYERMETER, take, r, &r->epochs, err);
    if (!status)
        status = watch_history_new(&r->history, err);
    if (status)
        watch_run_free(r);
    else
        *out = r;
    return status;
}

void watch_run_free(watch_run *r)
{
    if (!r)
        return;
    epochs_follower_free(r->epochs);
    watch_history_free(r->history);
    free(r);
}

lm_status watch_run_add(watch_run *r, double time, float value, const float beside[N_BESIDE],
                        lm_error *err)
{
    watch_history_add(r->history, time, beside, epochs_follower_period(r->epochs));
    return epochs_follower_add(r->epochs, time, value, err);
}

double watch_run_interval(const watch_run *r)
{
    return epochs_follower_interval(r->epochs);
}

lm_status watch_run_end(watch_run *r, watch_summary *out, lm_error *err)
{
    const lm_status     status = epochs_follower_end(r->epochs, err);
    const watch_scale   scale  = r->all[WATCH_EPOCHS].length.n ? WATCH_EPOCHS : WATCH_STEPS;
    const stats_moments m      = r->all[scale].length;
    const collected    *clean  = &r->clean[scale];
    const double        reach =
        m.n > 2 ? stats_student90(m.n - 1) * sqrt(m.squares / (double)(m.n - 1) / (double)m.n)
                       : (double)NAN;

    if (status)
        return status;
    if (!m.n && !isnan(r->neither))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "something repeats every %.4g s: neither the plan's epoch (%.4g s) nor "
                            "its step (%.4g s)",
                            r->neither, r->plan->epoch.expected, r->plan->step.expected);
    if (!m.n)
        return lm_error_set(err, LM_E_NOTFOUND, "no epoch is like another: nothing to compare");
    *out         = (watch_summary){ .scale       = scale,
                                    .n           = m.n,
                                    .mean        = m.mean,
                                    .low         = m.mean - reach,
                                    .high        = m.mean + reach,
                                    .least       = r->all[scale].least,
                                    .n_clean     = clean->length.n,
                                    .clean       = clean->length.mean,
                                    .clean_least = clean->least,
                                    .clean_means = collected_means(clean),
                                    .means       = collected_means(&r->all[scale]),
                                    .usual_mhz   = r->usual_mhz };
    out->verdict = judge(r, scale, m.mean, &out->means);
    return LM_OK;
}

/* ---- as an observation ----------------------------------------------------------------------- */

static lm_status check_row(const watch_plan *p, lm_error *err)
{
    if (!p->plain)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "no observation: a row cannot hold --set or --grad-dtype");
    if (p->micro_steps > 1)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "no observation: a row cannot hold accumulated gradients");
    if (strcmp(p->sync, "once") != 0 && strncmp(p->sync, "ddp", 3) != 0)
        return lm_error_set(err, LM_E_UNSUPPORTED, "no observation: a row cannot hold --sync %.40s",
                            p->sync);
    return LM_OK;
}

lm_status watch_observation(const watch_plan *p, const watch_summary *s, observation *out,
                            lm_error *err)
{
    /* steps of an epoch; the evaluation counts as some of them */
    const bool      clean  = s->n_clean >= 2;
    const double    steps  = s->scale == WATCH_STEPS ? 1 : p->epoch.expected / p->step.expected;
    const lm_status status = check_row(p, err);

    if (status)
        return status;
    *out              = observation_blank;
    out->kind         = OBS_NETWORK;
    out->phase        = PHASE_STEP;
    out->name         = p->network;
    out->input        = p->input;
    out->optimizer    = p->optimizer;
    out->batch        = p->batch;
    out->ranks        = p->nodes * p->devices;
    out->hosts        = p->nodes;
    out->bucket_bytes = p->bucket_bytes;
    out->repeats = (int64_t)(clean ? s->n_clean : s->n) * (s->scale == WATCH_STEPS ? 1 : p->steps);
    out->seconds = (clean ? s->clean : s->mean) / steps;
    out->min_seconds = (clean ? s->clean_least : s->least) / steps;
    out->clock_mhz   = clean ? s->clean_means.clock_mhz : s->means.clock_mhz;
    out->power_w     = clean ? s->clean_means.watts : s->means.watts;
    if (*p->mixed)
        out->settings = strcmp(p->mixed, "f16") != 0 ? "mixed=bf16" : "mixed=f16";
    out->flags = clean || !watch_throttled(&s->means, s->usual_mhz) ? "" : "throttled";
    return text_dtype(p->dtype, &out->dtype, err);
}

/* ---- its row in a file ----------------------------------------------------------------------- */

/* A row, or the header row, as text with its newline; malloc'ed. */
static char *printed(const observation *row)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out  = open_memstream(&text, &size);

    if (!out)
        return NULL;
    if (row)
        observation_print(out, row, "ok");
    else
        observation_print_head(out);
    return fclose(out) ? NULL : text;
}

static lm_status begin(const char *path, const observation *row, const char *machine, lm_error *err)
{
    const time_t now = time(NULL);
    char         date[40];
    file_draft   draft;
    lm_status    status = file_draft_open(&draft, path, err);

    if (status)
        return status;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    fprintf(draft.stream, "# layermeter observations, format 1\n# date: %s\n# program: watch\n",
            date);
    if (*machine)
        fprintf(draft.stream, "# planned on: %s\n", machine);
    observation_print_head(draft.stream);
    observation_print(draft.stream, row, "ok");
    return file_draft_commit(&draft, err);
}

/* Checks that the file has our columns and a newline at its end. */
static lm_status check_columns(const char *path, lm_error *err)
{
    char     *text = NULL, *head = printed(NULL);
    size_t    size;
    lm_status status = head ? file_read_text(path, &text, &size, err) : no_memory(err);

    if (!status) {
        const char *at = text;

        while (*at == '#' || *at == '\n')
            at += strcspn(at, "\n") + (*at != '\0' && strchr(at, '\n') != NULL);
        if (strncmp(at, head, strlen(head)) != 0)
            status = lm_error_set(err, LM_E_SYNTAX,
                                  "%s: its columns are not those that this program writes: name a "
                                  "new file",
                                  path);
        else if (text[size - 1] != '\n')
            status =
                lm_error_set(err, LM_E_SYNTAX,
                             "%s: its last line is cut short: remove it, or name a new file", path);
    }
    free(text);
    free(head);
    return status;
}

/* Takes the settings of the file's first network with the same element type. */
static void take_over(const observations *obs, observation *row)
{
    for (size_t i = 0; i < obs->n_rows; i++) {
        const observation *other = &obs->row[i];

        if (other->kind != OBS_NETWORK || other->dtype != row->dtype ||
            autocast_of_settings(other->settings) != autocast_of_settings(row->settings))
            continue;
        row->settings  = other->settings;
        row->algorithm = other->algorithm;
        row->threads   = other->threads;
        return;
    }
}

static lm_status write_behind(const char *path, const char *text, lm_error *err)
{
    const int    fd  = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    const size_t n   = strlen(text);
    bool         ok  = fd >= 0 && write(fd, text, n) == (ssize_t)n && !fsync(fd);
    const int    why = errno;

    if (fd >= 0)
        ok = !close(fd) && ok;
    return ok ? LM_OK : lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(why));
}

lm_status observation_append(const char *path, const observation *row, const char *machine,
                             lm_error *err)
{
    observations *obs  = NULL;
    observation   own  = *row;
    char         *text = NULL;
    struct stat   info;
    lm_status     status;

    if (stat(path, &info) && errno == ENOENT)
        return begin(path, row, machine, err);
    status = observations_load(path, &obs, err);
    if (!status)
        status = check_columns(path, err);
    if (!status) {
        take_over(obs, &own);
        text   = printed(&own);
        status = text ? write_behind(path, text, err) : no_memory(err);
    }
    free(text);
    observations_free(obs);
    return status;
}
