/** A JSON writer that sets commas and escapes. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** `key` is NULL inside arrays and at the top. Reals that are not finite become null. */
typedef struct json {
    FILE    *out;
    unsigned depth;
    bool     started;  /* the open object or array is not empty */
    bool     one_line; /* set before the first call: JSON Lines */
} json;

void json_open(json *j, const char *key, char bracket);
/** bracket: '}' or ']' for the last opened; a newline follows the outermost. */
void json_close(json *j, char bracket);
void json_text(json *j, const char *key, const char *value);
void json_count(json *j, const char *key, uint64_t value);
void json_real(json *j, const char *key, double value);
/** A number that is a text already. */
void json_number(json *j, const char *key, const char *value);
void json_bool(json *j, const char *key, bool value);

#endif
