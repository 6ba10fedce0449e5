/* What ranks of one host take from each other. */
#include "sync/sharing.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define PREFIX "sharing."

static const struct {
    const char *name;
    part        which;
    size_t      at;
} keys[] = {
    { "forward", PART_FORWARD, offsetof(sharing_at, forward) },
    { "backward", PART_BACKWARD, offsetof(sharing_at, backward) },
    { "update", PART_UPDATE, offsetof(sharing_at, update) },
};

#define N_KEYS (sizeof keys / sizeof keys[0])

static double value_of(const sharing_at *s, size_t key)
{
    return *(const double *)(const void *)((const char *)s + keys[key].at);
}

double sharing_times(const sharing *s, part which, int64_t devices)
{
    double at = 1, times = 1, slope = 0;
    size_t key = 0;

    while (key < N_KEYS && keys[key].which != which)
        key++;
    for (size_t i = 0; i < s->n && key < N_KEYS && at < (double)devices; i++) {
        const double here = value_of(&s->of[i], key);

        if (isnan(here))
            continue;
        slope = (here - times) / ((double)s->of[i].devices - at);
        at    = (double)s->of[i].devices;
        times = here;
    }
    return fmax(1, times + slope * ((double)devices - at));
}

bool sharing_known(const sharing *s, int64_t devices)
{
    return devices < 2 || (s->n && devices <= s->of[s->n - 1].devices);
}

void sharing_write(FILE *out, const sharing *s)
{
    char text[40];

    for (size_t i = 0; i < s->n; i++) {
        fprintf(out,
                "\n[" PREFIX "%lld]\n; what a part takes with so many ranks of a host at work, for "
                "each second alone: medians\nrows = %zu\n",
                (long long)s->of[i].devices, s->of[i].rows);
        for (size_t k = 0; k < N_KEYS; k++)
            if (!isnan(value_of(&s->of[i], k)))
                fprintf(out, "%s = %s s/s\n", keys[k].name,
                        text_exact(value_of(&s->of[i], k), text, sizeof text));
    }
}

bool sharing_owns(const ini_section *s)
{
    return !strncmp(s->name, PREFIX, strlen(PREFIX));
}

static lm_status read_pair(const ini_pair *p, sharing_at *to, lm_error *err)
{
    uint64_t  n;
    lm_status status;

    if (!strcmp(p->key, "rows")) {
        if (!(status = text_uint(p->value, &n, err)))
            to->rows = (size_t)n;
        return status;
    }
    for (size_t k = 0; k < N_KEYS; k++) {
        double value;
        char   number[60] = "", unit[8] = "", more;

        if (strcmp(p->key, keys[k].name) != 0)
            continue;
        if (sscanf(p->value, "%59s %7s %c", number, unit, &more) != 2 || strcmp(unit, "s/s") != 0)
            return lm_error_set(err, LM_E_SYNTAX, "%s: expected a number and 's/s', found '%.60s'",
                                p->key, p->value);
        if ((status = text_real(number, &value, err)))
            return status;
        if (!(value >= 1))
            return lm_error_set(err, LM_E_ARG, "%s: must be 1 or more", p->key);
        *(double *)(void *)((char *)to + keys[k].at) = value;
        return LM_OK;
    }
    return lm_error_set(err, LM_E_NOTFOUND, "[" PREFIX "N] has no key '%.40s'", p->key);
}

lm_status sharing_read(const ini_document *doc, const ini_section *s, sharing *to, lm_error *err)
{
    sharing_at at = { .forward = NAN, .backward = NAN, .update = NAN };
    uint64_t   devices;

    if (text_uint(s->name + strlen(PREFIX), &devices, err) || devices < 2 || devices > INT32_MAX ||
        (to->n && (int64_t)devices <= to->of[to->n - 1].devices))
        return ini_fail(doc, err, s->line, LM_E_ARG,
                        "[%s]: expected a number of devices above 1 and those before it", s->name);
    if (to->n == SHARING_MOST)
        return ini_fail(doc, err, s->line, LM_E_ARG, "[%s]: more than %d numbers of devices",
                        s->name, SHARING_MOST);
    at.devices = (int64_t)devices;
    for (size_t i = 0; i < s->n_pairs; i++) {
        const lm_status status = read_pair(&s->pair[i], &at, err);

        if (status) {
            lm_error_prefix(err, "%s:%d", doc->path, s->pair[i].line);
            return status;
        }
    }
    if (!at.rows)
        return ini_fail(doc, err, s->line, LM_E_NOTFOUND, "[%s] lacks the key 'rows'", s->name);
    to->of[to->n++] = at;
    return LM_OK;
}
