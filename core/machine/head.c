/* Head of a machine file: description, provenance, and networks measured as a whole. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "machine/sections.h"

/* Limit of tiles of channels; a larger number was edited. */
#define TILE_MOST 1024

static const key keys[] = {
    { KEY("max_ranks", KEY_WHOLE, calibration, max_ranks), .least = 1 },
    { KEY("max_hosts", KEY_WHOLE, calibration, max_hosts), .least = 1 },
    { KEY("tile", KEY_WHOLE, calibration, settings.tile), .least = 1 },
    { KEY("group_tile", KEY_WHOLE, calibration, settings.group_tile), .least = 1 },
};

static void write_head(record *r, const calibration *cal)
{
    if (cal->transferred)
        record_put(r, "transferred", "yes");
    if (cal->dtype)
        record_put(r, "dtype", "%s", text_dtype_name(cal->dtype));
}

static void check_tile(record *r, const char *name, int64_t value)
{
    const ini_pair *p = record_take(r, name);

    if (p && (value > TILE_MOST || (value & (value - 1))))
        record_fail(r, p, LM_E_ARG,
                    "%s: expected a power of two up to %d, found %" PRId64 ": counts would not be "
                    "those of the fit; fit the observations again",
                    name, TILE_MOST, value);
}

static void check_whole(record *r)
{
    const ini_pair *p    = record_take(r, SECTION_COUNT);
    int64_t         said = 0;

    if (!p || r->status)
        return;
    if ((r->status = text_int(p->value, &said, r->err)))
        lm_error_prefix(r->err, "%s:%d", r->path, p->line);
    else if (said < 0 || r->sections < (size_t)said)
        record_fail(r, p, LM_E_SYNTAX,
                    SECTION_COUNT ": the file was cut short, %zu of %" PRId64
                                  " are there: fit again, or copy it again; where some were "
                                  "taken out by hand, say how many are left",
                    r->sections, said);
}

static void read_head(record *r, calibration *cal)
{
    const ini_pair *hosts       = record_take(r, "max_hosts"), *p;
    const ini_pair *transferred = record_take(r, "transferred"), *dtype = record_take(r, "dtype");

    record_take(r, SECTION_SUM); /* checked when the file was read */
    check_whole(r);
    check_tile(r, "tile", cal->settings.tile);
    check_tile(r, "group_tile", cal->settings.group_tile);
    if (dtype && !r->status && (r->status = text_dtype(dtype->value, &cal->dtype, r->err)))
        lm_error_prefix(r->err, "%s:%d", r->path, dtype->line);
    if (transferred && strcmp(transferred->value, "yes") != 0)
        record_fail(r, transferred, LM_E_ARG,
                    "transferred: expected yes, or no such key, found '%.40s'", transferred->value);
    cal->transferred = transferred != NULL;
    if ((p = record_next(r)))
        record_fail(r, p, LM_E_NOTFOUND, "[machine] has no key '%s'", p->key);
    if (hosts && cal->max_hosts > cal->max_ranks)
        record_fail(r, hosts, LM_E_ARG,
                    "max_hosts: %" PRId64 " hosts for %" PRId64 " ranks (max_ranks)",
                    cal->max_hosts, cal->max_ranks);
}

void head_both(record *r, calibration *cal, const char *star)
{
    (void)star;
    record_begin(r, "");
    if (r->out) {
        record_put(r, SECTION_COUNT, "%zu", r->sections);
        record_put(r, SECTION_SUM, CHECKSUM_ROOM);
    }
    RECORD_KEYS(r, keys, cal);
    if (r->out)
        write_head(r, cal);
    else
        read_head(r, cal);
}

/* Sets the device of a transferred machine: the target. Files of earlier versions do not name it
 * separately. */
static void name_device(record *r, calibration *cal)
{
    const char *to = calibration_told(cal, "transferred_to");
    char        name[80];

    if (!to || calibration_told(cal, "device"))
        return;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(to, ","), to);
    if (!calibration_note(cal, "device", name))
        r->status = no_memory(r->err);
}

void provenance_both(record *r, calibration *cal, const char *star)
{
    const ini_pair *p;

    (void)star;
    record_begin(r, "");
    for (size_t i = 0; r->out && i < cal->n_provenance; i++)
        record_put(r, cal->provenance[i].key, "%s", cal->provenance[i].value);
    while (!r->out && (p = record_next(r)))
        if (!calibration_note(cal, p->key, p->value))
            r->status = no_memory(r->err);
    if (!r->out)
        name_device(r, cal);
}

/* ---- what was measured whole ---- */

/* Batches per line, within the length of INI lines. */
#define BATCHES 10

static void write_measured(FILE *out, const measured_set *set)
{
    size_t n_lines = 0, on_line = 0;

    for (size_t i = 0; i < set->n; i++) {
        const measured_at *at = &set->at[i], *last = i ? at - 1 : NULL;

        if (last && on_line < BATCHES && !strcmp(last->network, at->network) &&
            !strcmp(last->input, at->input) && last->ranks == at->ranks) {
            fprintf(out, " %" PRId64, at->batch);
            on_line++;
            continue;
        }
        fprintf(out, "%sat%zu = %s, %s, ranks %" PRId64 ", batch %" PRId64, i ? "\n" : "",
                ++n_lines, at->network, at->input, at->ranks, at->batch);
        on_line = 1;
    }
    fputc('\n', out);
}

static lm_status count_of(char *text, const char *word, int64_t *out, lm_error *err)
{
    const size_t n = strlen(word);
    lm_status    status;

    if (strncmp(text, word, n) != 0 || text[n] != ' ')
        return lm_error_set(err, LM_E_SYNTAX, "expected '%s N', found '%.40s'", word, text);
    if ((status = text_int(text + n + 1, out, err)))
        return status;
    return *out >= 1 ? LM_OK : lm_error_set(err, LM_E_ARG, "%s: must be 1 or more", word);
}

/* Cuts off the part after the last comma. */
static char *last_part(char *text)
{
    char *comma = strrchr(text, ',');

    if (!comma)
        return NULL;
    *comma = '\0';
    return text_trim(comma + 1);
}

/* Reads from the end, because names may have commas. */
static lm_status read_measured(char *text, measured_set *set, lm_error *err)
{
    char       *batches = last_part(text);
    char       *ranks   = batches ? last_part(text) : NULL;
    char       *input   = ranks ? last_part(text) : NULL;
    char       *number[BATCHES + 1];
    measured_at at;
    lm_status   status;
    size_t      n;

    if (!input || !*input || !*text)
        return lm_error_set(err, LM_E_SYNTAX, "expected 'NETWORK, INPUT, ranks N, batch N N ...'");
    at = (measured_at){ .network = text, .input = input };
    if ((status = count_of(ranks, "ranks", &at.ranks, err)))
        return status;
    if (strncmp(batches, "batch ", 6) != 0)
        return lm_error_set(err, LM_E_SYNTAX, "expected 'batch N N ...', found '%.40s'", batches);
    n = text_split(batches + 6, ' ', number, BATCHES + 1);
    for (size_t i = 0; i < n; i++) {
        if ((status = text_int(number[i], &at.batch, err)))
            return status;
        if (at.batch < 1)
            return lm_error_set(err, LM_E_ARG, "batch: must be 1 or more");
        if (!measured_add(set, &at))
            return no_memory(err);
    }
    return LM_OK;
}

void measured_both(record *r, calibration *cal, const char *star)
{
    const ini_pair *p;

    (void)star;
    if (r->out && cal->measured.n) {
        record_begin(r, "");
        write_measured(r->out, &cal->measured);
    }
    while (!r->out && (p = record_next(r))) {
        char *text = strdup(p->value);

        record_failed(r, p, text ? read_measured(text, &cal->measured, r->err) : no_memory(r->err));
        free(text);
    }
}
