/* Keys of sections of INI files. */
#include "base/ini_keys.h"

#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"

const ini_key *ini_key_find(const ini_key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (!strcmp(keys->name, name))
            return keys;
    return NULL;
}

static lm_status unknown_key(const char *path, const ini_pair *p, const ini_key *keys,
                             const char *what, lm_error *err)
{
    char known[300] = "";

    for (; keys->name; keys++)
        text_add(known, sizeof known, " %s", keys->name);
    return lm_error_set(err, LM_E_NOTFOUND, "%s:%d: unknown key '%.40s' of %s; known are%s", path,
                        p->line, p->key, what, known);
}

lm_status ini_key_read(const char *path, const ini_pair *p, const ini_key *keys, const char *what,
                       struct arena *room, void *out, lm_error *err)
{
    const ini_key *k    = ini_key_find(keys, p->key);
    const char    *text = k ? arena_text(room, p->value, strlen(p->value)) : NULL;
    lm_status      status;

    if (!k)
        return unknown_key(path, p, keys, what, err);
    status =
        text ? k->form.type->read(&k->form, text, room, (char *)out + k->at, err) : no_memory(err);
    if (status)
        lm_error_prefix(err, "%s:%d: %s", path, p->line, p->key);
    return status;
}

lm_status ini_keys_read(const char *path, const ini_section *s, const ini_key *keys,
                        const char *what, struct arena *room, void *out, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < s->n_pairs && !status; i++)
        status = ini_key_read(path, &s->pair[i], keys, what, room, out, err);
    return status;
}
