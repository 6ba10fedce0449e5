/**
 * Parameters of NCCL's calls: payloads of NVTX ranges. Nsight Systems stores the fields of a
 * payload in NVTX_PAYLOAD_SCHEMA_ENTRIES. NVTX_EVENTS.binaryData has a head of 32 bytes and the
 * payload. The head has the schema at byte 8 and the payload's size at byte 16, little-endian.
 * NVIDIA documents the tables, but not the head, which others found. A payload with another head is
 * ignored.
 */
#ifndef IMPORT_NSYS_PAYLOAD_H
#define IMPORT_NSYS_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** Used fields, by their names in NCCL's nvtx_payload_schemas.h. */
typedef enum payload_field {
    PAYLOAD_COMMUNICATOR, /**< "NCCL communicator ID" */
    PAYLOAD_BYTES,        /**< "Message size [bytes]" */
    PAYLOAD_RANKS,        /**< "No. of ranks" */
    N_PAYLOAD_FIELDS
} payload_field;

/** Schemas of a trace. Zero-initialise. */
typedef struct payload_schemas {
    struct payload_schema *schema;
    size_t                 n, room;
} payload_schemas;

/** Adds a field; the fields of a schema come in order. `type` as in nvToolsExtPayload.h. offset <
 * 0: directly behind the previous field. */
lm_status payload_add(payload_schemas *to, int64_t domain, int64_t id, const char *name,
                      int64_t type, int64_t offset, lm_error *err);
void      payload_free(payload_schemas *of);

/** Finds a field of a payload; false: absent, or the payload is damaged. */
bool payload_find(const payload_schemas *of, int64_t domain, const void *blob, size_t size,
                  payload_field f, uint64_t *out);

#endif
