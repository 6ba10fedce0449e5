/* Words of the column `flags`. */
#include "observe/flags.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const words[] = { "contended",       "throttled", "drifted",     "anchor",
                                     "no_tensor_cores", "socket",    "wrong_result" };

#define N_WORDS (sizeof words / sizeof words[0])

lm_status flags_parse(const char *text, uint32_t *out)
{
    uint32_t flags = 0;

    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        const size_t n = strcspn(text, " ");
        size_t       w = 0;

        while (w < N_WORDS && (strlen(words[w]) != n || strncmp(words[w], text, n)))
            w++;
        if (w == N_WORDS)
            return LM_E_NOTFOUND;
        flags |= 1u << w;
        text += n;
    }
    *out = flags;
    return LM_OK;
}

void flags_print(uint32_t flags, char *buffer, size_t size)
{
    buffer[0] = '\0';
    for (size_t w = 0; w < N_WORDS; w++)
        if (flags & 1u << w)
            text_add(buffer, size, "%s%s", *buffer ? " " : "", words[w]);
}
