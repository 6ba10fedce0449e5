/* Templates of a network file, and text with their arguments. */
#include "network/block.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static lm_status no_memory(block_table *t)
{
    return lm_error_set(t->err, LM_E_NOMEM, "%s: out of memory", t->doc->path);
}

block *block_find(block_table *t, const char *name, size_t n)
{
    for (size_t i = 0; i < t->n_blocks; i++)
        if (strlen(t->block[i].name) == n && !strncmp(t->block[i].name, name, n))
            return &t->block[i];
    return NULL;
}

lm_status block_collect(block_table *t)
{
    const ini_document *doc = t->doc;

    t->block = calloc(doc->n_sections + 1, sizeof *t->block);
    if (!t->block)
        return no_memory(t);
    for (size_t i = 0; i < doc->n_sections; i++) {
        const ini_section *s = &doc->section[i];

        if (strncmp(s->name, "block ", 6))
            continue;
        if (!s->name[6] || strpbrk(s->name + 6, " /."))
            return ini_fail(t->doc, t->err, s->line, LM_E_SYNTAX,
                            "'%s': a block's name has no blanks, dots or slashes", s->name);
        t->block[t->n_blocks++] = (block){ .name = s->name + 6, .head = s };
    }
    for (size_t i = 0; i < doc->n_sections; i++) {
        const ini_section *s     = &doc->section[i];
        const char        *slash = strchr(s->name, '/');
        block             *b;

        if (!slash || !strncmp(s->name, "block ", 6))
            continue;
        b = block_find(t, s->name, (size_t)(slash - s->name));
        if (!b)
            return ini_fail(t->doc, t->err, s->line, LM_E_NOTFOUND,
                            "[%s]: there is no [block %.*s]", s->name, (int)(slash - s->name),
                            s->name);
        if (b->n_layers == b->room) {
            const size_t        room = b->room ? 2 * b->room : 8;
            const ini_section **more = realloc(b->layer, room * sizeof *more);

            if (!more)
                return no_memory(t);
            b->layer = more;
            b->room  = room;
        }
        b->layer[b->n_layers++] = s;
    }
    for (size_t i = 0; i < t->n_blocks; i++)
        if (!t->block[i].n_layers)
            return ini_fail(t->doc, t->err, t->block[i].head->line, LM_E_SYNTAX,
                            "block '%s' has no layers [%s/...]", t->block[i].name,
                            t->block[i].name);
    return LM_OK;
}

lm_status block_substitute(block_table *t, const environment *env, const char *text, int line,
                           const char **out)
{
    char   buffer[512];
    size_t o = 0;

    if (!strchr(text, '$')) {
        *out = arena_text(t->arena, text, strlen(text));
        return *out ? LM_OK : no_memory(t);
    }
    while (*text) {
        const char *value = text;
        size_t      n = 1, used = 1;

        if (*text == '$') {
            const argument *found = NULL;

            for (used = 1; isalnum((unsigned char)text[used]) || text[used] == '_'; used++)
                ;
            for (size_t i = 0; i < env->n; i++)
                if (strlen(env->argument[i].name) == used - 1 &&
                    !strncmp(env->argument[i].name, text + 1, used - 1))
                    found = &env->argument[i];
            if (!found)
                return ini_fail(t->doc, t->err, line, LM_E_NOTFOUND,
                                "%.*s is no argument of this block", (int)used, text);
            value = found->value;
            n     = strlen(value);
        }
        if (o + n >= sizeof buffer)
            return ini_fail(t->doc, t->err, line, LM_E_SYNTAX, "value is too long");
        memcpy(buffer + o, value, n);
        o += n;
        text += used;
    }
    *out = arena_text(t->arena, buffer, o);
    return *out ? LM_OK : no_memory(t);
}

lm_status block_bind(block_table *t, const block *b, const ini_section *use,
                     const environment *outer, environment *inner)
{
    const size_t n   = b->head->n_pairs;
    argument    *arg = arena_array(t->arena, n ? n : 1, sizeof *arg);
    lm_status    status;

    if (!arg)
        return no_memory(t);
    for (size_t i = 0; i < use->n_pairs; i++) {
        const ini_pair *p = &use->pair[i];

        if (strcmp(p->key, "block") && strcmp(p->key, "inputs") && !ini_get(b->head, p->key))
            return ini_fail(t->doc, t->err, p->line, LM_E_NOTFOUND,
                            "block '%s' has no argument '%s'", b->name, p->key);
    }
    for (size_t i = 0; i < n; i++) {
        const ini_pair    *declared = &b->head->pair[i];
        const ini_pair    *given    = ini_get(use, declared->key);
        const environment *from     = given ? outer : &(environment){ arg, i, 0 };

        if (!given && !*declared->value)
            return ini_fail(t->doc, t->err, use->line, LM_E_NOTFOUND, "block '%s' needs '%s ='",
                            b->name, declared->key);
        arg[i].name = declared->key;
        status      = block_substitute(t, from, given ? given->value : declared->value,
                                  given ? given->line : declared->line, &arg[i].value);
        if (status)
            return status;
    }
    *inner = (environment){ arg, n, outer->used_line ? outer->used_line : use->line };
    return LM_OK;
}

void block_free(block_table *t)
{
    for (size_t i = 0; i < t->n_blocks; i++)
        free(t->block[i].layer);
    free(t->block);
}
