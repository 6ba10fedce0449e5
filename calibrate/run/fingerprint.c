/* Settings and machine of a run. */
#include "run/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "observe/observation.h"
#include "run/agreement.h"

#define KEY_BYTES 1200

static uint32_t short_hash(const char *text)
{
    const uint64_t h = text_hash(text);

    return (uint32_t)(h ^ h >> 32);
}

static uint64_t mix(uint64_t hash, const char *text)
{
    return (hash ^ text_hash(text)) * 0x9E3779B97F4A7C15u;
}

void fingerprint_sweep(const sweep *plan, char out[FINGERPRINT_BYTES])
{
    const stopping *s      = &plan->stop;
    uint64_t        points = 0;
    char            text[KEY_BYTES];
    int             n;

    for (size_t i = 0; i < plan->n_points; i++) { /* a sum, so that their order does not matter */
        observation_key(&plan->point[i].row, text, sizeof text);
        points += mix(0, text);
    }
    snprintf(text, sizeof text, "%lld %lld %lld %.17g %.17g", (long long)s->warmup,
             (long long)s->min_repeats, (long long)s->max_repeats, s->max_seconds, s->precision);
    n = snprintf(out, FINGERPRINT_BYTES,
                 "points=%zu:%08" PRIx32 " repetitions=%08" PRIx32
                 " backends=%.24s,%.24s threads=%lld",
                 plan->n_points, (uint32_t)(points ^ points >> 32), short_hash(text), plan->compute,
                 plan->collective ? plan->collective : "none", (long long)plan->threads);
    if (!plan->sim.machine)
        return;
    snprintf(text, sizeof text, "%s %s %.17g %" PRIu64, plan->sim.machine, plan->sim.model,
             plan->sim.noise, plan->sim.seed);
    snprintf(out + n, FINGERPRINT_BYTES - (size_t)n, " sim=%08" PRIx32, short_hash(text));
}

/* Does a rank before this one run on the same host? */
static bool host_seen(const agreement *a, int rank)
{
    for (int r = 0; r < rank; r++)
        if (!strcmp(a->rank[r].host, a->rank[rank].host))
            return true;
    return false;
}

void fingerprint_machine(const bench *b, char out[FINGERPRINT_BYTES])
{
    const agreement *a     = b->ranks;
    int              hosts = 0;
    int64_t          cores = 0;
    uint64_t         cpu = 0, devices = 0;

    out[0] = '\0';
    if (!a || b->compute->type->virtual)
        return;
    for (int r = 0; r < a->n_ranks; r++) {
        const rank_facts *f = &a->rank[r];

        for (int32_t i = 0; i < f->n_devices; i++)
            if (!strcmp(f->device[i].key, "gpu") || !strcmp(f->device[i].key, "device"))
                devices = mix(devices, f->device[i].value);
        if (host_seen(a, r))
            continue;
        hosts++;
        cores += f->cores;
        cpu = mix(cpu, f->cpu);
    }
    snprintf(out, FINGERPRINT_BYTES, "hosts=%d cores=%lld cpu=%08" PRIx32 " devices=%08" PRIx32,
             hosts, (long long)cores, (uint32_t)(cpu ^ cpu >> 32),
             (uint32_t)(devices ^ devices >> 32));
}

/* The value of `key` ("cpu", n bytes long) in a fingerprint, with its length; NULL: it has none. */
static const char *find_value(const char *fingerprint, const char *key, size_t n, size_t *length)
{
    for (const char *p = fingerprint; *p; p += strspn(p, " ")) {
        const size_t word = strcspn(p, " ");

        if (word > n && p[n] == '=' && !strncmp(p, key, n)) {
            *length = word - n - 1;
            return p + n + 1;
        }
        p += word;
    }
    return NULL;
}

/* The first key whose value differs, in `key`; false if none does. */
static bool fingerprint_differs(const char *there, const char *here, char *key, size_t size)
{
    for (const char *p = here; *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, "= "), word = strcspn(p, " ");
        size_t       length;
        const char  *value = find_value(there, p, n, &length);

        if (!value || length != word - n - 1 || strncmp(value, p + n + 1, length) != 0) {
            snprintf(key, size, "%.*s", (int)n, p);
            return true;
        }
        p += word;
    }
    return false;
}

/* The value of a line "# key: value" of a head. */
static bool find_line(const char *head, const char *key, char out[FINGERPRINT_BYTES])
{
    const size_t n = strlen(key);

    for (const char *line = head; *line == '#'; line++) {
        const size_t length = strcspn(line, "\r\n");

        if (length > n + 4 && !strncmp(line + 2, key, n) && line[n + 2] == ':') {
            snprintf(out, FINGERPRINT_BYTES, "%.*s", (int)(length - n - 4), line + n + 4);
            return true;
        }
        if (!(line = strchr(line, '\n')))
            break;
    }
    return false;
}

static bool has_buckets(const sweep *plan)
{
    for (size_t i = 0; i < plan->n_points; i++)
        if (plan->point[i].row.bucket_bytes > 0)
            return true;
    return false;
}

/* The collective's own description of its measurements, for backend_type.describe(). */
static void hear_collective(void *context, const char *key, const char *value)
{
    if (!strcmp(key, "collective"))
        snprintf(context, FINGERPRINT_BYTES, "%s", value);
}

static bool collective_differs(const char *head, const bench *b)
{
    char there[FINGERPRINT_BYTES], here[FINGERPRINT_BYTES] = "";

    if (b->collective)
        b->collective->type->describe(b->collective, hear_collective, here);
    return here[0] && find_line(head, "collective", there) && strcmp(there, here) != 0;
}

lm_status fingerprint_check(const char *path, const char *head, const bench *b, lm_error *err)
{
    char there[FINGERPRINT_BYTES], here[FINGERPRINT_BYTES], key[40];

    fingerprint_sweep(b->plan, here);
    if (find_line(head, "sweep_fingerprint", there) &&
        fingerprint_differs(there, here, key, sizeof key))
        return lm_error_set(err, LM_E_ARG,
                            "%s: is of another sweep (its %s are others): --force replaces it, "
                            "another -o keeps it",
                            path, key);
    fingerprint_machine(b, here);
    if (here[0] && find_line(head, "machine_fingerprint", there) &&
        fingerprint_differs(there, here, key, sizeof key))
        return lm_error_set(err, LM_E_ARG,
                            "%s: was measured on another machine (%s differ): --force replaces it, "
                            "another -o keeps it",
                            path, key);
    if (collective_differs(head, b))
        return lm_error_set(err, LM_E_ARG,
                            "%s: its all-reduces were measured in another way (see its line '# "
                            "collective:'): --force replaces it, another -o keeps it",
                            path);
    /* one line of the head states for all rows where an exposed all-reduce begins */
    if (has_buckets(b->plan) && !find_line(head, OBSERVATIONS_EXPOSED, there))
        return lm_error_set(err, LM_E_ARG,
                            "%s: its all-reduces in buckets begin with each rank's own pass, those "
                            "of this program with the last rank's: --force replaces it, another -o "
                            "keeps it",
                            path);
    return LM_OK;
}
