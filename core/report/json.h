/** JSON written as it comes, with commas and escapes in the right places. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** `key` is NULL inside arrays and at the top. Reals that are not finite become null. */
typedef struct json {
    FILE    *out;
    unsigned depth;
    bool     started;  /* something stands in the open object or array */
    bool     one_line; /* set before the first call: JSON Lines */
} json;

void json_open(json *j, const char *key, char bracket);
/** bracket: '}' or ']' as opened; after the outermost a newline. */
void json_close(json *j, char bracket);
void json_text(json *j, const char *key, const char *value);
void json_count(json *j, const char *key, uint64_t value);
void json_real(json *j, const char *key, double value);
/** A number that is text already. */
void json_number(json *j, const char *key, const char *value);
void json_bool(json *j, const char *key, bool value);

#endif
