/* Times that cannot be. */
#include "observe/doubts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "devices/device.h"
#include "observe/flags.h"
#include "observe/usual.h"

static bool add(doubts *d, const doubt *new)
{
    if (d->n == d->room) {
        const size_t room = d->room ? 2 * d->room : 16;
        doubt       *more = realloc(d->doubt, room * sizeof *more);

        if (!more)
            return false;
        d->doubt = more;
        d->room  = room;
    }
    d->doubt[d->n++] = *new;
    return true;
}

void doubts_free(doubts *d)
{
    free(d->doubt);
    *d = (doubts){ 0 };
}

/* ---- what a phase does --------------------------------------------------------------------------
 */

static double flops_of(const net_metrics *m, phase f)
{
    const double forward  = (double)m->flops_forward + (double)m->other_flops_forward;
    const double known    = (double)m->flops_backward + (double)m->other_flops_backward;
    const double backward = known > 0 ? known : 2 * forward; /* where only counts are known */

    switch (f) {
    case PHASE_FORWARD:
    case PHASE_INFERENCE: return forward;
    case PHASE_BACKWARD: return backward;
    case PHASE_STEP: return forward + backward;
    case PHASE_GRAD_INPUT: return (double)m->flops_grad_input;
    case PHASE_GRAD_WEIGHT: return (double)m->flops_grad_weight;
    default: return 0;
    }
}

static double bytes_of(const net_metrics *m)
{
    return (double)m->read_bytes + (double)m->written_bytes + (double)m->param_bytes +
           4 * ((double)m->conv_inputs + (double)m->conv_outputs);
}

/* FLOP, bytes and things started; of an update and an all-reduce what those go by. */
static usual_row row_of(const point *pt, phase f)
{
    const net_metrics *m   = &pt->load.counts;
    usual_row          row = { .seconds = pt->seconds[f] };

    if (f == PHASE_SYNC) {
        row.count[0] = pt->load.bytes;
        row.count[1] = 1;
        row.count[2] = (double)pt->row->ranks;
    } else if (f == PHASE_UPDATE) {
        row.count[0] = (double)m->param_bytes;
        row.count[1] = (double)m->param_tensors + 1;
    } else {
        row.count[0] = flops_of(m, f);
        row.count[1] = bytes_of(m);
        row.count[2] = (double)m->layers + 1;
    }
    return row;
}

/* ---- single times -------------------------------------------------------------------------------
 */

/* Times that can be judged by each other; steps of several ranks hold an all-reduce. */
typedef struct kin {
    obs_kind kind;
    phase    phase;
    bool     many;
} kin;

static bool belongs(const point *pt, const kin *k)
{
    return pt->row->kind == k->kind && !isnan(pt->seconds[k->phase]) &&
           (k->phase != PHASE_STEP || (pt->row->ranks > 1) == k->many);
}

static double decades_of(const kin *k)
{
    return k->phase == PHASE_SYNC || k->kind == OBS_LAYER ? DOUBT_DECADES_WIDE : DOUBT_DECADES;
}

static bool judge_kin(const points *p, const kin *k, usual_row *row, doubts *out)
{
    size_t n    = 0;
    bool   done = true;

    for (size_t i = 0; i < p->n_points; i++)
        if (belongs(&p->point[i], k))
            row[n++] = row_of(&p->point[i], k->phase);
    done = usual_deviations(row, n);
    for (size_t i = 0, at = 0; i < p->n_points && done; i++) {
        const point *pt = &p->point[i];

        if (!belongs(pt, k))
            continue;
        if (fabs(row[at].deviation) > decades_of(k))
            done = add(out, &(doubt){ .kind    = DOUBT_TIME,
                                      .row     = pt->row,
                                      .at      = i,
                                      .phase   = k->phase,
                                      .line    = pt->line[k->phase],
                                      .seconds = pt->seconds[k->phase],
                                      .factor  = pow(10, row[at].deviation) });
        at++;
    }
    return done;
}

static lm_status judge_times(const points *p, doubts *out, lm_error *err)
{
    usual_row *row  = malloc((p->n_points + 1) * sizeof *row);
    bool       done = row != NULL;

    for (obs_kind kind = 0; kind < OBS_N_KINDS; kind++)
        for (phase f = 0; f < N_PHASES; f++)
            for (int many = 0; many < (f == PHASE_STEP ? 2 : 1); many++)
                done = done && judge_kin(p, &(kin){ kind, f, many > 0 }, row, out);
    free(row);
    return done ? LM_OK : no_memory(err);
}

void doubts_leave_out(const doubts *d, points *p)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->doubt[i].kind == DOUBT_TIME)
            p->point[d->doubt[i].at].seconds[d->doubt[i].phase] = NAN;
}

/* ---- whole files and phases ---------------------------------------------------------------------
 */

/* FLOP a second that no device reaches, or that every device leaves far behind: a wafer of 2024 has
 * 1.25e17 in 16 bits, one core of a small board 1e9. */
#define FLOPS_ABOVE 2e17
#define FLOPS_BELOW 1e7
/* The same of the best of those times that are large enough to show what a machine can do: slower
 * ones train no networks of this size. Memory of small boards moves 2e9 bytes a second. */
#define LARGE_FLOPS      1e9
#define LARGE_FLOPS_BEST 3e8
#define LARGE_BYTES      4e6
#define LARGE_BYTES_BEST 8e8
/* The same of a known device: fast algorithms of convolutions save up to four products in five; and
 * in one file of several points the best ones reach more than this of what it has in f32. */
#define PEAKS_ABOVE 5.0
#define PEAKS_BELOW 1e-3
#define PEAKS_LEAST 8 /* times */

/* An update reads weights, gradients and its state, and writes what it changed: a pass over weights
 * is about so much of what it moves. */
#define UPDATE_SHARE 0.25

/* How fast the times of a phase are: quantiles of FLOP/s. */
typedef struct speed {
    phase  phase;
    size_t n;
    double median, best; /* log10; NAN: not known */
} speed;

static bool whole_network(const point *pt, phase f)
{
    return observation_of_network(pt->row) && !isnan(pt->seconds[f]) &&
           !(f == PHASE_STEP && pt->row->ranks > 1);
}

static speed speed_of(const points *p, phase f, double *room)
{
    speed s = { .phase = f, .median = NAN, .best = NAN };

    for (size_t i = 0; i < p->n_points; i++) {
        const point       *pt   = &p->point[i];
        const net_metrics *m    = &pt->load.counts;
        double             work = 0;

        if (!whole_network(pt, f))
            continue;
        if (f != PHASE_UPDATE)
            work = flops_of(m, f);
        else if (m->read_bytes) /* FLOP that the passes do while they move as much */
            work = (double)m->param_bytes / UPDATE_SHARE * flops_of(m, PHASE_FORWARD) /
                   (bytes_of(m) / 3);
        if (work > 0)
            room[s.n++] = log10(work / pt->seconds[f]);
    }
    if (s.n) {
        s.median = stats_quantile(room, s.n, 0.5);
        s.best   = stats_quantile(room, s.n, 0.95);
    }
    return s;
}

/* Fastest element type of the device, f32, and its limit in watts; NAN: not named, or not known. */
static lm_status device_peaks(const observations *obs, double *most, double *f32, double *watts,
                              lm_error *err)
{
    const char   *name = observations_provenance(obs, "device");
    device_list  *list;
    const device *d;
    lm_status     status;

    *most = *f32 = *watts = NAN;
    if (!name)
        return LM_OK;
    if ((status = devices_open(NULL, &list, err)))
        return status;
    if (!devices_find(list, name, &d, NULL)) {
        for (device_figure f = DEVICE_F64; f <= DEVICE_F8; f++)
            *most = fmax(*most, d->figure[f]);
        *f32   = d->figure[DEVICE_F32];
        *watts = d->figure[DEVICE_POWER];
    }
    devices_free(list);
    return LM_OK;
}

/* Most work a second of large points; NAN: there are none. */
static double best_of(const points *p, phase f)
{
    double best = NAN;

    for (size_t i = 0; i < p->n_points; i++) {
        const point       *pt   = &p->point[i];
        const net_metrics *m    = &pt->load.counts;
        const bool         copy = f == PHASE_UPDATE;
        const double       work = copy ? (double)m->param_bytes / UPDATE_SHARE : flops_of(m, f);

        if (whole_network(pt, f) &&
            (copy ? (double)m->param_bytes : work) >= (copy ? LARGE_BYTES : LARGE_FLOPS))
            best = fmax(best, work / pt->seconds[f]);
    }
    return best;
}

static bool judge_file(const points *p, const speed *s, double most, double f32, doubts *out)
{
    const double median = pow(10, s->median);
    const double passes = best_of(p, s->phase), updates = best_of(p, PHASE_UPDATE);
    doubt        d = { .kind = DOUBT_FILE, .phase = s->phase, .factor = median, .peak = NAN };

    if (median > PEAKS_ABOVE * most)
        d.peak = most;
    else if (s->n >= PEAKS_LEAST && pow(10, s->best) < PEAKS_BELOW * f32)
        d.peak = f32;
    else if (updates < LARGE_BYTES_BEST && !(passes >= LARGE_FLOPS_BEST))
        d = (doubt){ .kind = DOUBT_FILE, .phase = PHASE_UPDATE, .factor = updates, .peak = NAN };
    else if (!(median > FLOPS_ABOVE || median < FLOPS_BELOW || passes < LARGE_FLOPS_BEST))
        return true;
    return add(out, &d);
}

/* Beside all others, where there are two of them; two alone accuse each other. */
static bool judge_phases(const speed *all, size_t n, doubts *out)
{
    double median[N_PHASES], middle;
    bool   done = true;

    for (size_t i = 0; i < n; i++)
        median[i] = all[i].median;
    middle = n > 2 ? stats_quantile(median, n, 0.5) : n ? all[0].median : NAN;
    for (size_t i = n > 2 ? 0 : 1; i < n && done; i++) {
        const bool update =
            all[i].phase == PHASE_UPDATE || (n == 2 && all[0].phase == PHASE_UPDATE);
        const double off = middle - all[i].median;

        if (fabs(off) > (update ? DOUBT_DECADES_UPDATE : DOUBT_DECADES))
            done = add(out, &(doubt){ .kind   = DOUBT_PHASE,
                                      .phase  = all[i].phase,
                                      .beside = n > 2 ? N_PHASES : all[0].phase,
                                      .factor = pow(10, off) });
    }
    return done;
}

/* Watts that no device draws, a wafer 23,000 and a small board's core a few tenths; of a known
 * device shares of its limit, which means over several repetitions do not pass. */
#define WATTS_ABOVE       30000.0
#define WATTS_BELOW       0.1
#define WATTS_SHARE_ABOVE 2.0
#define WATTS_SHARE_BELOW 0.02

static bool judge_power(const observations *obs, double limit, doubts *out)
{
    double *room = malloc((obs->n_rows + 1) * sizeof *room);
    size_t  n    = 0;
    double  watts;
    bool    done = room != NULL;

    for (size_t i = 0; i < obs->n_rows && done; i++)
        if (obs->row[i].power_w > 0)
            room[n++] = obs->row[i].power_w;
    watts = n ? stats_quantile(room, n, 0.5) : NAN;
    if (watts > WATTS_ABOVE || watts < WATTS_BELOW || watts > WATTS_SHARE_ABOVE * limit ||
        watts < WATTS_SHARE_BELOW * limit)
        done = done && add(out, &(doubt){ .kind = DOUBT_POWER, .factor = watts, .peak = limit });
    free(room);
    return done;
}

static lm_status judge_units(const observations *obs, const points *p, doubts *out, lm_error *err)
{
    static const phase order[] = { PHASE_FORWARD, PHASE_INFERENCE, PHASE_BACKWARD, PHASE_STEP,
                                   PHASE_UPDATE };
    double            *room    = malloc((p->n_points + 1) * sizeof *room);
    speed              all[N_PHASES];
    size_t             n    = 0;
    double             most = NAN, f32 = NAN, watts = NAN;
    lm_status          status = room ? device_peaks(obs, &most, &f32, &watts, err) : no_memory(err);

    for (size_t i = 0; i < sizeof order / sizeof order[0] && room; i++) {
        all[n] = speed_of(p, order[i], room);
        n += all[n].n > 0;
    }
    free(room);
    if (!status && n && all[0].phase != PHASE_UPDATE && !judge_file(p, &all[0], most, f32, out))
        status = no_memory(err);
    if (!status && (!judge_phases(all, n, out) || !judge_power(obs, watts, out)))
        status = no_memory(err);
    return status;
}

/* ---- points that are there again ----------------------------------------------------------------
 */

/* Digits that a time was written with, up to twelve. */
static int digits_of(double seconds)
{
    char text[40];
    int  n = 12;

    snprintf(text, sizeof text, "%.11e", seconds);
    while (n > 1 && text[n] == '0') /* behind the first one and the point */
        n--;
    return n;
}

/* More digits than two measurements agree in by chance: tools print four or five. */
#define TELLING_DIGITS 9

static bool copied(const point *a, const point *b)
{
    int digits = 0;

    for (phase f = 0; f < N_PHASES; f++) {
        if (isnan(a->seconds[f]) != isnan(b->seconds[f]))
            return false;
        if (isnan(a->seconds[f]))
            continue;
        if (a->seconds[f] != b->seconds[f])
            return false;
        digits += digits_of(a->seconds[f]);
    }
    return digits >= TELLING_DIGITS;
}

static int first_line(const point *p)
{
    int line = 0;

    for (phase f = 0; f < N_PHASES; f++)
        if (!isnan(p->seconds[f]) && (!line || p->line[f] < line))
            line = p->line[f];
    return line;
}

/* Enough of those before a point to compare it with. */
#define AGAIN_MOST 100

/* The last of the points, beside those before it. */
static bool judge_again(const points *p, const point *const *same, size_t n, doubts *out)
{
    const point *last  = same[n - 1];
    const size_t first = n > AGAIN_MOST ? n - AGAIN_MOST : 0;
    bool         done  = true;

    for (size_t i = first; i + 1 < n; i++)
        if (copied(same[i], last))
            return add(out, &(doubt){ .kind       = DOUBT_COPY,
                                      .row        = last->row,
                                      .at         = (size_t)(last - p->point),
                                      .line       = first_line(last),
                                      .other_line = first_line(same[i]) });
    for (phase f = 0; f < N_PHASES && done; f++)
        for (size_t i = first; i + 1 < n; i++) {
            const double ratio = last->seconds[f] / same[i]->seconds[f];

            if (!(ratio > DOUBT_APART || ratio < 1 / DOUBT_APART))
                continue;
            done = add(out, &(doubt){ .kind          = DOUBT_CONTRADICTION,
                                      .row           = last->row,
                                      .at            = (size_t)(last - p->point),
                                      .phase         = f,
                                      .line          = last->line[f],
                                      .other_line    = same[i]->line[f],
                                      .seconds       = last->seconds[f],
                                      .other_seconds = same[i]->seconds[f] });
            break;
        }
    return done;
}

typedef struct place {
    uint64_t     hash;
    const point *at;
} place;

static int by_hash(const void *a, const void *b)
{
    const place *x = a, *y = b;

    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->at > y->at) - (x->at < y->at);
}

static lm_status judge_repeated(const points *p, doubts *out, lm_error *err)
{
    place        *by   = malloc((p->n_points + 1) * sizeof *by);
    const point **same = malloc((p->n_points + 1) * sizeof *same);
    size_t        n    = 0;
    bool          done = by && same;

    for (size_t i = 0; i < p->n_points && done; i++)
        if (!p->point[i].flags) /* anchors are measured again, others say why they differ */
            by[n++] = (place){ configuration_hash(p->point[i].row), &p->point[i] };
    if (done)
        qsort(by, n, sizeof *by, by_hash);
    for (size_t first = 0, m; first < n && done; first += m) {
        same[0] = by[first].at;
        for (m = 1; first + m < n && by[first + m].hash == by[first].hash &&
                    configuration_same(by[first + m].at->row, same[0]->row) && done;
             m++) {
            same[m] = by[first + m].at;
            done    = judge_again(p, same, m + 1, out);
        }
    }
    free(same);
    free(by);
    return done ? LM_OK : no_memory(err);
}

/* ---- steps --------------------------------------------------------------------------------------
 */

/* Points of which a part is in doubt already; NULL when memory runs out. */
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
        done = add(out, &(doubt){ .kind          = DOUBT_STEP,
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

/* ---- words --------------------------------------------------------------------------------------
 */

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
    switch (f) {
    case PHASE_FORWARD: return "forward passes";
    case PHASE_BACKWARD: return "backward passes";
    case PHASE_INFERENCE: return "forward passes (inference)";
    case PHASE_UPDATE: return "updates";
    default: return "steps";
    }
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
        snprintf(buffer, DOUBT_TEXT, "%s take %.2g times what %s%s let expect: are %s in seconds?",
                 plural_of(d->phase), d->factor, d->beside < N_PHASES ? "the " : "the other phases",
                 d->beside < N_PHASES ? plural_of(d->beside) : "",
                 d->beside < N_PHASES ? "both" : "they");
        break;
    case DOUBT_TIME:
        snprintf(buffer, DOUBT_TEXT,
                 "%s: %.4g s is %.2g times what the other times let expect: left out; in another "
                 "unit, or a slip?",
                 what, d->seconds, d->factor);
        break;
    case DOUBT_COPY:
        snprintf(buffer, DOUBT_TEXT,
                 "the point of line %d again, its times equal to the last digit: copied? it counts "
                 "twice",
                 d->other_line);
        break;
    case DOUBT_CONTRADICTION:
        snprintf(buffer, DOUBT_TEXT,
                 "%s: %.4g s, and %.4g s in line %d: nothing tells which is right, both count",
                 what, d->seconds, d->other_seconds, d->other_line);
        break;
    case DOUBT_POWER:
        if (!isnan(d->peak))
            snprintf(peak, sizeof peak, ", on a device of %.4g W", d->peak);
        snprintf(buffer, DOUBT_TEXT, "power of %.4g W (median)%s: is power_w in watts?", d->factor,
                 peak);
        break;
    case DOUBT_STEP:
    default:
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
