/* Which configurations of which networks were measured. */
#include "fit/measured.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

/* Batches follow each other, so that those of a network share a line. */
static int compare(const measured_at *a, const measured_at *b)
{
    int order = strcmp(a->network, b->network);

    if (!order)
        order = strcmp(a->input, b->input);
    if (!order)
        order = (a->ranks > b->ranks) - (a->ranks < b->ranks);
    if (!order)
        order = (a->batch > b->batch) - (a->batch < b->batch);
    return order;
}

/* Where it is, or belongs. */
static size_t place(const measured_set *set, const measured_at *at)
{
    size_t low = 0, high = set->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (compare(&set->at[middle], at) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool measured_has(const measured_set *set, const measured_at *at)
{
    const size_t i = place(set, at);

    return i < set->n && !compare(&set->at[i], at);
}

measured_batches measured_on(const measured_set *set, const measured_at *at)
{
    measured_at first = *at, last = *at;
    size_t      from;

    first.batch = 0;
    last.batch  = INT64_MAX;
    from        = place(set, &first);
    return (measured_batches){ set->at + from, place(set, &last) - from };
}

bool measured_batch(const measured_batches *of, int64_t batch)
{
    size_t low = 0, high = of->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (of->at[middle].batch == batch)
            return true;
        if (of->at[middle].batch < batch)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool make_room(measured_set *set)
{
    const size_t room = set->room ? 2 * set->room : 64;
    measured_at *more;

    if (!set->arena && !(set->arena = arena_new()))
        return false;
    if (set->n < set->room)
        return true;
    if (!(more = realloc(set->at, room * sizeof *more)))
        return false;
    set->at   = more;
    set->room = room;
    return true;
}

bool measured_add(measured_set *set, const measured_at *at)
{
    const size_t i    = place(set, at);
    measured_at  mine = *at;

    if (i < set->n && !compare(&set->at[i], at))
        return true;
    if (!make_room(set))
        return false;
    mine.network = arena_text(set->arena, at->network, strlen(at->network));
    mine.input   = arena_text(set->arena, at->input, strlen(at->input));
    if (!mine.network || !mine.input)
        return false;
    memmove(set->at + i + 1, set->at + i, (set->n - i) * sizeof *set->at);
    set->at[i] = mine;
    set->n++;
    return true;
}

void measured_free(measured_set *set)
{
    arena_free(set->arena);
    free(set->at);
    *set = (measured_set){ .n = 0 };
}

/* Batches a line, so that none gets longer than INI files allow. */
#define BATCHES 10

void measured_write(FILE *out, const measured_set *set)
{
    size_t lines = 0, on_line = 0;

    for (size_t i = 0; i < set->n; i++) {
        const measured_at *at = &set->at[i], *last = i ? at - 1 : NULL;

        if (!i)
            fputs("\n[measured]\n", out);
        if (last && on_line < BATCHES && !strcmp(last->network, at->network) &&
            !strcmp(last->input, at->input) && last->ranks == at->ranks) {
            fprintf(out, " %lld", (long long)at->batch);
            on_line++;
            continue;
        }
        fprintf(out, "%sat%zu = %s, %s, ranks %lld, batch %lld", i ? "\n" : "", ++lines,
                at->network, at->input, (long long)at->ranks, (long long)at->batch);
        on_line = 1;
    }
    if (set->n)
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

/* Takes what follows the last comma off the text. */
static char *last_part(char *text)
{
    char *comma = strrchr(text, ',');

    if (!comma)
        return NULL;
    *comma = '\0';
    return text_trim(comma + 1);
}

/* From its end on: names may hold commas. */
static lm_status read_line(char *text, measured_set *set, lm_error *err)
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

lm_status measured_read(const ini_document *doc, const ini_section *s, measured_set *set,
                        lm_error *err)
{
    for (size_t i = 0; i < s->n_pairs; i++) {
        char           *text   = strdup(s->pair[i].value);
        const lm_status status = text ? read_line(text, set, err) : no_memory(err);

        free(text);
        if (status) {
            lm_error_prefix(err, "%s:%d: %s", doc->path, s->pair[i].line, s->pair[i].key);
            return status;
        }
    }
    return LM_OK;
}
