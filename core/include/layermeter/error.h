/** An error: a code and one line of text. */
#ifndef LAYERMETER_ERROR_H
#define LAYERMETER_ERROR_H

#include <layermeter/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Plain data: lives on the caller's stack, travels over MPI. */
typedef struct lm_error {
    lm_status code;
    char      text[508]; /**< "resnet50.ini:41: layer 'c2': window reaches over 7 pixels ..." */
} lm_error;

/** Writes code and text (cut to fit) and returns `code`. `err` may be NULL. */
LM_API lm_status lm_error_set(lm_error *err, lm_status code, const char *fmt, ...) LM_PRINTF(3, 4);

/** Puts "<prefix>: " in front of the text. `err` may be NULL. */
LM_API void lm_error_prefix(lm_error *err, const char *fmt, ...) LM_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
