/* Choices of regressors and features by name. */
#include "counts/feature_set.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define ALL "all"

bool feature_set_chooses(const char *set)
{
    return set && strcmp(set, ALL) != 0;
}

bool feature_set_has(const char *set, const char *name)
{
    const size_t n = strlen(name);

    if (!feature_set_chooses(set))
        return true;
    for (const char *at = set; at; at = strchr(at, '+')) {
        at += *at == '+';
        if (strcspn(at, "+") == n && !strncmp(at, name, n))
            return true;
    }
    return false;
}

static lm_status unknown(const char *name, const char *const *known, size_t n, const char *of,
                         lm_error *err)
{
    char all[300] = "";

    for (size_t limit = 1; limit <= TEXT_NEAR; limit++)
        for (size_t i = 0; i < n && strlen(name) > limit; i++)
            if (text_distance(name, known[i], limit) <= limit)
                return lm_error_set(err, LM_E_NOTFOUND,
                                    "%s has no feature '%s' (did you mean '%s'?)", of, name,
                                    known[i]);
    for (size_t i = 0; i < n; i++)
        text_add(all, sizeof all, " %s", known[i]);
    return lm_error_set(err, LM_E_NOTFOUND, "%s has no feature '%s' (its features:%s)", of, name,
                        *all ? all : " none");
}

lm_status feature_set_check(const char *set, const char *const *known, size_t n, const char *of,
                            lm_error *err)
{
    for (const char *at = set; feature_set_chooses(set) && at; at = strchr(at, '+')) {
        char   name[64];
        size_t i = 0;

        at += *at == '+';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "+"), at);
        if (!*name)
            return lm_error_set(err, LM_E_ARG, "an empty name in '%.60s'", set);
        while (i < n && strcmp(known[i], name) != 0)
            i++;
        if (i == n)
            return unknown(name, known, n, of, err);
    }
    return LM_OK;
}
