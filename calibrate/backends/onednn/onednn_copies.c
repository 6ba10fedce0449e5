/* Copies of a case's memory that take turns. */
#include "onednn_copies.h"

#include <string.h>

#include "measure/machine_state.h"
#include "ranks/pulse.h"

enum { LINE = 64 };

/* All copies together are twice as large as the cache, as hardware does not drop exactly the oldest lines. */
uint64_t copies_wanted(bool cold, uint64_t bytes)
{
    return cold ? 2 * (uint64_t)machine_cache_bytes() / bytes + 2 : 1;
}

typedef struct copying {
    char       *to;
    const char *from;
} copying;

static void copy_share(void *context, int64_t begin, int64_t end)
{
    const copying *c = context;

    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin));
}

void copies_fill(const team *t, char *memory, size_t stride, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        team_run(t, (int64_t)stride, copy_share, &(copying){ memory + i * stride, memory });
        pulse_tick();
    }
}

void copies_read(const void *at, uint64_t bytes)
{
    const volatile char *line = at;

    for (uint64_t i = 0; i < bytes; i += LINE)
        (void)line[i];
}
