/** Words of the column `flags`: reasons to mistrust a time. */
#ifndef OBSERVE_FLAGS_H
#define OBSERVE_FLAGS_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

typedef enum {
    FLAG_CONTENDED = 1 << 0, /**< other programs used its cores */
    FLAG_THROTTLED = 1 << 1, /**< the clock fell, or heat or power held it down */
    FLAG_DRIFTED   = 1 << 2, /**< the machine was not as fast as usual */
    FLAG_ANCHOR    = 1 << 3, /**< a point measured again, to see whether the machine changes */
    /** the type has tensor cores, but most products ran without them */
    FLAG_NO_TENSOR_CORES = 1 << 4,
    /** messages between hosts used TCP, although the hosts have InfiniBand */
    FLAG_SOCKET = 1 << 5,
    /** a kernel of it computed something else than a CPU */
    FLAG_WRONG_RESULT = 1 << 6,
} flag;

/** Times with one of these flags are used only if nothing better was measured. */
#define FLAGS_DOUBTFUL \
    ((uint32_t)(FLAG_CONTENDED | FLAG_THROTTLED | FLAG_DRIFTED | FLAG_WRONG_RESULT))

/** Flags of the moment: measured again, a point may lose them. */
#define FLAGS_PASSING ((uint32_t)(FLAG_CONTENDED | FLAG_THROTTLED | FLAG_DRIFTED))

/** All flags, for messages. */
#define FLAGS_KNOWN                                                    \
    "contended, throttled, drifted, anchor, no_tensor_cores, socket, " \
    "wrong_result"

/** Words separated by spaces. LM_E_NOTFOUND for an unknown word. */
lm_status flags_parse(const char *text, uint32_t *out);

/** The words in the order above, as flags_parse() reads them; FLAGS_TEXT_SIZE holds all. */
void flags_print(uint32_t flags, char *buffer, size_t size);

#define FLAGS_TEXT_SIZE 96

#endif
