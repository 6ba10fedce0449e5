/* Rows of steps, layers and all-reduces, whatever profiler saw them. */
#include "import/profile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/operations.h"

#define TIMES_MAX 1000000 /* of steps, as many of layers and of all-reduces */

typedef struct step {
    size_t  region;
    int64_t track, number;
    double  start, length;
} step;

typedef struct traced_layer {
    size_t layer;
    double seconds;
} traced_layer;

typedef struct traced_message {
    int64_t  bytes, ranks;
    lm_dtype dtype;
    double   seconds;
} traced_message;

/* A network, and where its layers begin among all. */
typedef struct traced_region {
    network       *net;
    bound_network *bound;
    size_t         first;
} traced_region;

struct profile {
    const char           *path;
    const extrap_options *given;
    const registry       *reg;
    log_rows             *out;
    traced_region        *region; /* as many as given->regions */
    names                 layers;
    size_t                n_layers;
    double                per_second, world;
    step                 *step;
    traced_layer         *time;
    traced_message       *message;
    size_t                n_steps, step_room, n_times, time_room, n_messages, message_room;
};

/* ---- opening --------------------------------------------------------------------------------- */

/* Layers of a network are found by name; of two networks with the same one, the first. */
static lm_status open_region(profile *p, size_t r, lm_error *err)
{
    const extrap_said *said  = &p->given->fixed;
    traced_region     *to    = &p->region[r];
    const char        *name  = p->given->regions.name[r].ours;
    int32_t            dtype = LM_F32;
    lm_status          status;

    if ((status = network_open(name, p->reg, NULL, &to->net, err)) ||
        (said->text[EXTRAP_DTYPE] && (status = text_dtype(said->text[EXTRAP_DTYPE], &dtype, err))))
        return status;
    /* at a batch of 1 a sample could not be told from a dimension */
    const bind_options options = { .batch = said->count[EXTRAP_BATCH] > 1
                                                ? said->count[EXTRAP_BATCH]
                                                : 2,
                                   .dtype = (lm_dtype)dtype,
                                   .input = said->text[EXTRAP_INPUT] };

    to->first = p->n_layers;
    if ((status = bind_network(to->net, p->reg, &options, &to->bound, err)))
        return status;
    for (size_t i = 0; i < to->bound->n_layers; i++) {
        const char *layer = to->bound->layer[i].decl->name;

        if (names_find(&p->layers, layer) == NAMES_NONE &&
            !names_add(&p->layers, layer, to->first + i))
            return no_memory(err);
    }
    p->n_layers += to->bound->n_layers;
    return LM_OK;
}

lm_status profile_open(const char *path, const extrap_options *given, const registry *reg,
                       log_rows *out, profile **made, lm_error *err)
{
    profile  *p      = calloc(1, sizeof *p);
    lm_status status = p ? LM_OK : no_memory(err);

    if (status)
        return status;
    *p        = (profile){ .path = path, .given = given, .reg = reg, .out = out, .per_second = 1 };
    p->world  = NAN;
    p->region = calloc(given->regions.n + 1, sizeof *p->region);
    if (!p->region)
        status = no_memory(err);
    for (size_t r = 0; r < given->regions.n && !status; r++)
        if ((status = open_region(p, r, err)))
            lm_error_prefix(err, "%s: region '%.60s'", path, given->regions.name[r].theirs);
    if (status)
        profile_close(p);
    else
        *made = p;
    return status;
}

void profile_close(profile *p)
{
    if (!p)
        return;
    for (size_t r = 0; p->region && r < p->given->regions.n; r++) {
        bound_network_free(p->region[r].bound);
        network_free(p->region[r].net);
    }
    names_free(&p->layers);
    free(p->region);
    free(p->step);
    free(p->time);
    free(p->message);
    free(p);
}

void profile_unit(profile *p, double per_second)
{
    p->per_second = per_second;
}

void profile_world(profile *p, double ranks)
{
    p->world = ranks;
}

/* ---- what was seen --------------------------------------------------------------------------- */

bool profile_whole(double x)
{
    return x >= 1 && x < 9007199254740992.0 && x == floor(x); /* 2^53 */
}

size_t profile_region(const profile *p, const char *range, int64_t *number)
{
    for (size_t r = 0; r < p->given->regions.n; r++) {
        const char  *name  = p->given->regions.name[r].theirs;
        const size_t n     = strlen(name);
        const char  *digit = range + n;
        char        *end;

        if (strncmp(range, name, n) != 0)
            continue;
        *number = -1;
        if (!*digit)
            return r;
        while (*digit && strchr(" #_:=-", *digit))
            digit++;
        if (!isdigit((unsigned char)*digit))
            continue;
        *number = strtoll(digit, &end, 10);
        if (!*end)
            return r;
    }
    return PROFILE_NONE;
}

size_t profile_layer(const profile *p, const char *range)
{
    const size_t at = names_find(&p->layers, range);

    return at == NAMES_NONE ? PROFILE_NONE : at;
}

lm_status profile_add_step(profile *p, size_t at, int64_t track, int64_t number, double start,
                           double length, lm_error *err)
{
    if (!isfinite(start) || !(length > 0 && isfinite(length)) || p->n_steps == TIMES_MAX) {
        p->out->n_broken++;
        return LM_OK;
    }
    if (!array_grow(&p->step, p->n_steps, &p->step_room, sizeof *p->step))
        return no_memory(err);
    p->step[p->n_steps++] = (step){ at, track, number, start, length };
    return LM_OK;
}

lm_status profile_add_layer(profile *p, size_t layer, double seconds, lm_error *err)
{
    if (!(seconds > 0 && isfinite(seconds)) || p->n_times == TIMES_MAX) {
        p->out->n_broken++;
        return LM_OK;
    }
    if (!array_grow(&p->time, p->n_times, &p->time_room, sizeof *p->time))
        return no_memory(err);
    p->time[p->n_times++] = (traced_layer){ layer, seconds };
    return LM_OK;
}

lm_status profile_add_message(profile *p, double bytes, double ranks, lm_dtype dtype,
                              double seconds, lm_error *err)
{
    if (ranks == 1) /* nothing was sent */
        return LM_OK;
    if (!profile_whole(bytes) || (ranks != 0 && !profile_whole(ranks)) || !dtype ||
        !(seconds > 0 && isfinite(seconds)) || p->n_messages == TIMES_MAX) {
        p->out->n_broken++;
        return LM_OK;
    }
    if (!array_grow(&p->message, p->n_messages, &p->message_room, sizeof *p->message))
        return no_memory(err);
    p->message[p->n_messages++] =
        (traced_message){ (int64_t)bytes, (int64_t)ranks, dtype, seconds };
    return LM_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static lm_status add_row(profile *p, const extrap_series *series, double *seconds, size_t n,
                         int64_t repeats, lm_error *err)
{
    observation row;
    bool        none;
    lm_status   status = extrap_row(series, p->given, seconds, n, &row, &none, err);

    if (status) {
        lm_error_prefix(err, "%s", p->path);
        return status;
    }
    if (repeats)
        row.repeats = repeats;
    return log_add(p->out, &row, err);
}

/* The phase that --fixed says, else the one that is usual. */
static const char *phase_of(const profile *p, const char *usual)
{
    const char *said = p->given->fixed.text[EXTRAP_PHASE];

    return said ? said : usual;
}

static int by_start(const void *a, const void *b)
{
    const step *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* From the beginning of each step to that of the next; without a next one their own lengths. */
static size_t step_times(const profile *p, size_t from, size_t end, double *seconds)
{
    size_t n = 0;

    for (size_t i = from; i + 1 < end; i++) {
        const step *x = &p->step[i], *y = x + 1;

        if (x->track == y->track && y->start > x->start &&
            (x->number < 0 ? y->number < 0 : y->number == x->number + 1))
            seconds[n++] = (y->start - x->start) / p->per_second;
    }
    for (size_t i = from; !n && i < end; i++)
        seconds[i - from] = p->step[i].length / p->per_second;
    return n ? n : end - from;
}

static lm_status add_steps(profile *p, const char *called, lm_error *err)
{
    double   *seconds = calloc(p->n_steps + 1, sizeof *seconds);
    lm_status status  = seconds ? LM_OK : no_memory(err);

    if (p->n_steps)
        qsort(p->step, p->n_steps, sizeof *p->step, by_start);
    for (size_t i = 0, end; i < p->n_steps && !status; i = end) {
        const size_t  r      = p->step[i].region;
        extrap_series series = { .metric = phase_of(p, "step"), .said = p->given->fixed };

        for (end = i + 1; end < p->n_steps && p->step[end].region == r; end++)
            ;
        if (r == PROFILE_NONE) {
            status = lm_error_set(err, LM_E_ARG,
                                  "%s: %zu steps, but of which network? Give --region %s=NETWORK "
                                  "--fixed batch=N",
                                  p->path, end - i, called);
            break;
        }
        series.name = p->given->regions.name[r].ours;
        if (profile_whole(p->world) && !series.said.count[EXTRAP_RANKS])
            series.said.count[EXTRAP_RANKS] = (int64_t)p->world;
        status = add_row(p, &series, seconds, step_times(p, i, end, seconds), 0, err);
    }
    free(seconds);
    return status;
}

static int by_layer(const void *a, const void *b)
{
    const traced_layer *x = a, *y = b;

    return (x->layer > y->layer) - (x->layer < y->layer);
}

/* The layer as an observation says it; false: as none. */
static lm_status layer_said(const profile *p, size_t layer, operation_list *list, lm_error *err)
{
    size_t r = p->given->regions.n - 1;

    while (p->region[r].first > layer)
        r--;
    return operations_add(list, p->region[r].bound,
                          p->region[r].bound->layer[layer - p->region[r].first].decl->name, false,
                          err);
}

static lm_status add_layer(profile *p, size_t layer, double *seconds, size_t n, lm_error *err)
{
    operation_list list   = { 0 };
    lm_status      status = layer_said(p, layer, &list, err);

    if (!status && list.n == 1) {
        extrap_series series = { .name   = log_keep(p->out, list.of->type, strlen(list.of->type)),
                                 .metric = phase_of(p, "forward"),
                                 .said   = p->given->fixed };
        const char  **said   = series.said.text;

        said[EXTRAP_KIND]      = "layer";
        said[EXTRAP_INPUT]     = log_keep(p->out, list.of->input, strlen(list.of->input));
        said[EXTRAP_GEOMETRY]  = log_keep(p->out, list.of->geometry, strlen(list.of->geometry));
        said[EXTRAP_OPTIMIZER] = NULL;
        /* a layer by itself */
        series.said.count[EXTRAP_RANKS] = series.said.count[EXTRAP_NODES] = 0;
        series.said.count[EXTRAP_DEVICES] = series.said.count[EXTRAP_BUCKET_BYTES] = 0;
        status = series.name && said[EXTRAP_INPUT] && said[EXTRAP_GEOMETRY]
                     ? add_row(p, &series, seconds, n, 0, err)
                     : no_memory(err);
    } else if (!status) {
        p->out->n_broken += n; /* no row can say it */
    }
    operations_free(&list);
    return status;
}

static lm_status add_layers(profile *p, lm_error *err)
{
    double   *seconds = calloc(p->n_times + 1, sizeof *seconds);
    lm_status status  = seconds ? LM_OK : no_memory(err);

    if (p->n_times)
        qsort(p->time, p->n_times, sizeof *p->time, by_layer);
    for (size_t i = 0, end; i < p->n_times && !status; i = end) {
        for (end = i; end < p->n_times && p->time[end].layer == p->time[i].layer; end++)
            seconds[end - i] = p->time[end].seconds;
        status = add_layer(p, p->time[i].layer, seconds, end - i, err);
    }
    free(seconds);
    return status;
}

static int by_message(const void *a, const void *b)
{
    const traced_message *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->ranks != y->ranks)
        return x->ranks < y->ranks ? -1 : 1;
    if (x->dtype != y->dtype)
        return x->dtype < y->dtype ? -1 : 1;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* The least time of each size: a kernel begins before the slowest rank is there, and waits for it. */
static lm_status add_messages(profile *p, lm_error *err)
{
    lm_status status = LM_OK;

    if (p->n_messages)
        qsort(p->message, p->n_messages, sizeof *p->message, by_message);
    for (size_t i = 0, end; i < p->n_messages && !status; i = end) {
        const traced_message *m = &p->message[i];
        extrap_series series = { .name = "allreduce", .metric = "sync", .said = p->given->fixed };
        double        least  = m->seconds;

        for (end = i + 1; end < p->n_messages && p->message[end].bytes == m->bytes &&
                          p->message[end].ranks == m->ranks && p->message[end].dtype == m->dtype;
             end++)
            ;
        series.said.text[EXTRAP_KIND]      = "collective";
        series.said.text[EXTRAP_INPUT]     = NULL;
        series.said.text[EXTRAP_OPTIMIZER] = NULL;
        series.said.text[EXTRAP_PHASE]     = NULL;
        series.said.text[EXTRAP_DTYPE]     = text_dtype_name(m->dtype);
        series.said.count[EXTRAP_BATCH]    = 0;
        series.said.count[EXTRAP_BYTES]    = m->bytes;
        if (m->ranks)
            series.said.count[EXTRAP_RANKS] = m->ranks;
        status = add_row(p, &series, &least, 1, (int64_t)(end - i), err);
    }
    return status;
}

lm_status profile_rows(profile *p, const char *called, const char *nothing, lm_error *err)
{
    const size_t before = p->out->n_rows;
    lm_status    status;

    if ((status = add_steps(p, called, err)) || (status = add_layers(p, err)) ||
        (status = add_messages(p, err)))
        return status;
    return p->out->n_rows > before ? LM_OK
                                   : lm_error_set(err, LM_E_SYNTAX, "%s: %s", p->path, nothing);
}
