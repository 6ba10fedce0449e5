/* Doubts in words. */
#include <math.h>
#include <stdio.h>

#include "observe/doubts.h"

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
