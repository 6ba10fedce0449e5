/* Names of columns that other programs write. */
#include "observe/columns.h"

#include <string.h>

#include "base/text.h"

static const struct {
    const char *theirs, *ours;
} meant[] = { { "nodes", "hosts" },    { "machines", "hosts" },   { "gpus", "ranks" },
              { "devices", "ranks" },  { "world_size", "ranks" }, { "batch_size", "batch" },
              { "precision", "dtype" } };

const char *columns_meant(const char *name, char *const *head, size_t n)
{
    for (size_t k = 0; k < sizeof meant / sizeof meant[0]; k++) {
        if (strcmp(name, meant[k].theirs) != 0)
            continue;
        for (size_t i = 0; i < n; i++)
            if (!strcmp(text_trim(head[i]), meant[k].ours))
                return NULL;
        return meant[k].ours;
    }
    return NULL;
}
