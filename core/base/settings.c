/* Words of the settings of measurements. */
#include "base/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define SEPARATORS " ,\t"

const char *setting_value(const char *settings, const char *key, size_t *n)
{
    const size_t length = strlen(key);

    for (const char *word = settings ? settings : ""; *(word += strspn(word, SEPARATORS));) {
        const size_t all = strcspn(word, SEPARATORS);

        if (all > length && word[length] == '=' && !strncmp(word, key, length)) {
            *n = all - length - 1;
            return word + length + 1;
        }
        word += all;
    }
    return NULL;
}

bool setting_is(const char *settings, const char *key, const char *value)
{
    size_t      n;
    const char *its = setting_value(settings, key, &n);

    return its && n == strlen(value) && !strncmp(its, value, n);
}

lm_dtype setting_dtype(const char *settings, const char *key)
{
    size_t      n;
    const char *its = setting_value(settings, key, &n);
    lm_dtype    type;
    char        name[16];

    snprintf(name, sizeof name, "%.*s", its ? (int)n : 0, its ? its : "");
    return !its || text_dtype(name, &type, NULL) ? 0 : type;
}
