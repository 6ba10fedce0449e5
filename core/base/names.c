/* A set of names, each with a number: open addressing, at most half full. libc's hsearch_r cannot
 * grow. */
#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct name_slot {
    const char *name; /* NULL: free */
    size_t      number;
};

static size_t place(const names *set, const char *name)
{
    size_t i = (size_t)text_hash(name) & (set->room - 1);

    while (set->slot[i].name && strcmp(set->slot[i].name, name))
        i = (i + 1) & (set->room - 1);
    return i;
}

size_t names_find(const names *set, const char *name)
{
    const struct name_slot *slot = set->room ? &set->slot[place(set, name)] : NULL;

    return slot && slot->name ? slot->number : NAMES_NONE;
}

bool names_add(names *set, const char *name, size_t number)
{
    if (2 * (set->n + 1) > set->room) {
        const names old = *set;

        set->room = old.room ? 2 * old.room : 64;
        set->slot = calloc(set->room, sizeof *set->slot);
        if (!set->slot) {
            *set = old;
            return false;
        }
        for (size_t i = 0; i < old.room; i++)
            if (old.slot[i].name)
                set->slot[place(set, old.slot[i].name)] = old.slot[i];
        free(old.slot);
    }
    set->slot[place(set, name)] = (struct name_slot){ name, number };
    set->n++;
    return true;
}

bool names_set(names *set, const char *name, size_t number)
{
    struct name_slot *slot = set->room ? &set->slot[place(set, name)] : NULL;

    if (!slot || !slot->name)
        return names_add(set, name, number);
    slot->number = number;
    return true;
}

void names_free(names *set)
{
    free(set->slot);
    *set = (names){ NULL, 0, 0 };
}
