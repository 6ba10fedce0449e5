/* Arguments of a network file, its templates, and text with arguments in it. */
#include "network/block.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/expr.h"
#include "base/no_memory.h"
#include "base/text.h"

#define VALUE_BYTES 512          /* a value, arguments replaced */
#define QUOTE_BYTES 40           /* of a text that a message quotes */
#define VALUE_COST  32           /* memory beside the text of a value */
#define SPENT_MAX   (64ul << 20) /* 200000 layers of 300 bytes each */

block *block_find(block_table *t, const char *name, size_t n)
{
    for (size_t i = 0; i < t->n_blocks; i++)
        if (strlen(t->block[i].name) == n && !strncmp(t->block[i].name, name, n))
            return &t->block[i];
    return NULL;
}

const char *block_slash(const char *section)
{
    const char *end = section + strcspn(section, "/$"); /* ${a / b}: no slash of a block */

    return *end == '/' && strncmp(section, "block ", 6) ? end : NULL;
}

bool argument_is_name(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return !*text;
}

/* Keys of every layer; blocks and arguments must not have these names. */
static bool is_reserved(const char *name)
{
    static const char *const words[] = { "type",       "block", "inputs", "when", "shares",
                                         "functional", "split", "frozen", NULL };
    size_t                   i       = 0;

    while (words[i] && strcmp(words[i], name))
        i++;
    return words[i] != NULL;
}

static lm_status check_head(const block_table *t, const ini_section *head, const char *name)
{
    if (!*name || strpbrk(name, " /."))
        return ini_fail(t->doc, t->err, head->line, LM_E_SYNTAX,
                        "'%s': a block's name has no blanks, dots or slashes", head->name);
    if (is_reserved(name))
        return ini_fail(t->doc, t->err, head->line, LM_E_SYNTAX,
                        "'%s' is a key of every layer: give the block another name", name);
    if (head->n_pairs > BLOCK_ARGUMENTS_MAX)
        return ini_fail(t->doc, t->err, head->line, LM_E_SYNTAX, "more than %d arguments",
                        BLOCK_ARGUMENTS_MAX);
    for (size_t i = 0; i < head->n_pairs; i++) {
        const ini_pair *p = &head->pair[i];

        if (!argument_is_name(p->key))
            return ini_fail(t->doc, t->err, p->line, LM_E_SYNTAX,
                            "'%.40s': an argument's name has letters, digits and _ only", p->key);
        if (is_reserved(p->key))
            return ini_fail(t->doc, t->err, p->line, LM_E_SYNTAX,
                            "'%s' is a key of every layer: give the argument another name", p->key);
    }
    return LM_OK;
}

lm_status block_spend(block_table *t, size_t bytes, int line)
{
    t->spent += bytes;
    if (t->spent > SPENT_MAX)
        return ini_fail(t->doc, t->err, line, LM_E_SYNTAX,
                        "the file unfolds to more than %lu MiB of text", SPENT_MAX >> 20);
    return LM_OK;
}

lm_status block_collect(block_table *t)
{
    const ini_document *doc = t->doc;
    lm_status           status;

    t->block = calloc(doc->n_sections + 1, sizeof *t->block);
    if (!t->block)
        return no_memory(t->err);
    for (size_t i = 0; i < doc->n_sections; i++) {
        const ini_section *s = &doc->section[i];

        if (strncmp(s->name, "block ", 6))
            continue;
        if ((status = check_head(t, s, s->name + 6)))
            return status;
        t->block[t->n_blocks++] = (block){ .name = s->name + 6, .head = s };
    }
    for (size_t i = 0; i < doc->n_sections; i++) {
        const ini_section *s     = &doc->section[i];
        const char        *slash = block_slash(s->name);
        block             *b;

        if (!slash)
            continue;
        b = block_find(t, s->name, (size_t)(slash - s->name));
        if (!b)
            return ini_fail(t->doc, t->err, s->line, LM_E_NOTFOUND,
                            "[%s]: there is no [block %.*s]", s->name, (int)(slash - s->name),
                            s->name);
        if (!array_grow(&b->layer, b->n_layers, &b->room, sizeof *b->layer))
            return no_memory(t->err);
        b->layer[b->n_layers++] = s;
    }
    for (size_t i = 0; i < t->n_blocks; i++)
        if (!t->block[i].n_layers)
            return ini_fail(t->doc, t->err, t->block[i].head->line, LM_E_SYNTAX,
                            "block '%s' has no layers [%s/...]", t->block[i].name,
                            t->block[i].name);
    return LM_OK;
}

/* A text with arguments, its line and its scope. */
typedef struct substitution {
    block_table       *t;
    const environment *env;
    int                line;
} substitution;

static const argument *find_argument(const environment *env, const char *name, size_t n)
{
    for (; env; env = env->outer)
        for (size_t i = 0; i < env->n; i++)
            if (strlen(env->argument[i].name) == n && !strncmp(env->argument[i].name, name, n))
                return &env->argument[i];
    return NULL;
}

static lm_status unknown_argument(const char *name, size_t n, lm_error *err)
{
    const bool cut = n > QUOTE_BYTES;

    return lm_error_set(err, LM_E_NOTFOUND, "there is no argument $%.*s%s here",
                        cut ? QUOTE_BYTES : (int)n, name, cut ? "..." : "");
}

static lm_status argument_number(void *context, const char *name, size_t n, int64_t *out,
                                 lm_error *err)
{
    const substitution *s = context;
    const argument     *a = find_argument(s->env, name, n);

    if (!a)
        return unknown_argument(name, n, err);
    if (text_int(a->value, out, NULL))
        return lm_error_set(err, LM_E_ARG, "$%s is '%.40s', no whole number", a->name, a->value);
    return LM_OK;
}

static lm_status prefix_line(const substitution *s, lm_status status)
{
    lm_error_prefix(s->t->err, "%s:%d", s->t->doc->path, s->line);
    return status;
}

/* ${expression} at `text`: its value as text, and its length. */
static lm_status evaluate(substitution *s, const char *text, char *out, size_t size, size_t *used)
{
    char        inside[VALUE_BYTES];
    const char *end = strchr(text, '}');
    int64_t     value;
    lm_status   status;

    if (!end)
        return ini_fail(s->t->doc, s->t->err, s->line, LM_E_SYNTAX, "'${' without '}'");
    *used = (size_t)(end - text) + 1;
    if (*used - 3 >= sizeof inside)
        return ini_fail(s->t->doc, s->t->err, s->line, LM_E_SYNTAX,
                        "%.*s...: an expression longer than %zu bytes: make parts of it arguments",
                        QUOTE_BYTES, text, sizeof inside - 1);
    snprintf(inside, sizeof inside, "%.*s", (int)(*used - 3), text + 2);
    status = expr_eval(inside, argument_number, s, &value, s->t->err);
    if (status) {
        const bool cut = *used > QUOTE_BYTES;

        lm_error_prefix(s->t->err, "%.*s%s", cut ? QUOTE_BYTES : (int)*used, text,
                        cut ? "..." : "");
        return prefix_line(s, status);
    }
    snprintf(out, size, "%" PRId64, value);
    return LM_OK;
}

lm_status block_substitute(block_table *t, const environment *env, const char *text, int line,
                           const char **out)
{
    substitution s = { t, env, line };
    char         buffer[VALUE_BYTES], number[24];
    size_t       o = 0;
    lm_status    status;

    if (!strchr(text, '$')) {
        const size_t n = strlen(text);

        if ((status = block_spend(t, n + VALUE_COST, line)))
            return status;
        *out = arena_text(t->arena, text, n);
        return *out ? LM_OK : no_memory(t->err);
    }
    while (*text) {
        const char *value = text;
        size_t      n = strcspn(text, "$"), used = n;

        if (!n && text[1] == '{') {
            if ((status = evaluate(&s, text, number, sizeof number, &used)))
                return status;
            value = number;
            n     = strlen(number);
        } else if (!n) {
            const argument *found;

            for (used = 1; isalnum((unsigned char)text[used]) || text[used] == '_'; used++)
                ;
            found = find_argument(env, text + 1, used - 1);
            if (!found)
                return prefix_line(&s, unknown_argument(text + 1, used - 1, t->err));
            value = found->value;
            n     = strlen(value);
        }
        if (n >= sizeof buffer - o)
            return ini_fail(t->doc, t->err, line, LM_E_SYNTAX,
                            "a value with arguments in it is longer than %zu bytes",
                            sizeof buffer - 1);
        memcpy(buffer + o, value, n);
        o += n;
        text += used;
    }
    if ((status = block_spend(t, o + VALUE_COST, line)))
        return status;
    *out = arena_text(t->arena, buffer, o);
    return *out ? LM_OK : no_memory(t->err);
}

lm_status block_bind(block_table *t, const block *b, const ini_section *use,
                     const environment *outer, environment *inner)
{
    const size_t       n      = b->head->n_pairs;
    const environment *file   = outer;
    argument          *arg    = arena_array(t->arena, n ? n : 1, sizeof *arg);
    lm_status          status = block_spend(t, n * sizeof *arg, use->line);

    if (status)
        return status;
    if (!arg)
        return no_memory(t->err);
    while (file->outer)
        file = file->outer;
    for (size_t i = 0; i < use->n_pairs; i++) {
        const ini_pair *p = &use->pair[i];

        if (strcmp(p->key, "block") && strcmp(p->key, "inputs") && strcmp(p->key, "when") &&
            !ini_get(b->head, p->key))
            return ini_fail(t->doc, t->err, p->line, LM_E_NOTFOUND,
                            "block '%s' has no argument '%s'", b->name, p->key);
    }
    for (size_t i = 0; i < n; i++) {
        const ini_pair    *declared = &b->head->pair[i];
        const ini_pair    *given    = ini_get(use, declared->key);
        const environment *from     = given ? outer : &(environment){ arg, i, 0, file };

        if (!given && !*declared->value)
            return ini_fail(t->doc, t->err, use->line, LM_E_NOTFOUND, "block '%s' needs '%s ='",
                            b->name, declared->key);
        arg[i].name = declared->key;
        status      = block_substitute(t, from, given ? given->value : declared->value,
                                  given ? given->line : declared->line, &arg[i].value);
        if (status)
            return status;
    }
    *inner = (environment){ arg, n, outer->used_line ? outer->used_line : use->line, file };
    return LM_OK;
}

void block_free(block_table *t)
{
    for (size_t i = 0; i < t->n_blocks; i++)
        free(t->block[i].layer);
    free(t->block);
}
