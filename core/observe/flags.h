/** Words of the column `flags`: what keeps a time from being taken at its word. */
#ifndef OBSERVE_FLAGS_H
#define OBSERVE_FLAGS_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

typedef enum {
    FLAG_CONTENDED = 1 << 0, /**< others kept the threads from their cores */
    FLAG_THROTTLED = 1 << 1, /**< the clock fell, or was held down by heat or power */
    FLAG_DRIFTED   = 1 << 2, /**< measured while the machine was not as fast as usual */
    FLAG_ANCHOR    = 1 << 3, /**< a point measured once more, to see whether the machine changes */
} flag;

/** A time that has one of these is only used where nothing better was measured. */
#define FLAGS_DOUBTFUL ((uint32_t)(FLAG_CONTENDED | FLAG_THROTTLED | FLAG_DRIFTED))

/** All flags, for messages: "contended, throttled, drifted, anchor". */
#define FLAGS_KNOWN "contended, throttled, drifted, anchor"

/** Words separated by spaces. LM_E_NOTFOUND for one that is no flag. */
lm_status flags_parse(const char *text, uint32_t *out);

/** The words in the order above, as flags_parse() reads them; FLAGS_TEXT_SIZE holds all. */
void flags_print(uint32_t flags, char *buffer, size_t size);

#define FLAGS_TEXT_SIZE 48

#endif
