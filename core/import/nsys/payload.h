/**
 * What NCCL says of its calls, as payloads of NVTX ranges. Nsight Systems has the fields of a payload
 * in NVTX_PAYLOAD_SCHEMA_ENTRIES, and its bytes, behind a head of 32, in NVTX_EVENTS.binaryData: the
 * schema at byte 8, the size of the payload at byte 16, little-endian. NVIDIA documents the tables,
 * not the head, which is as others found it: a payload that does not fit it tells nothing.
 */
#ifndef IMPORT_NSYS_PAYLOAD_H
#define IMPORT_NSYS_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** Fields that are of use, by their names in NCCL's nvtx_payload_schemas.h. */
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

/** Adds a field; those of a schema come in their order. `type` as in nvToolsExtPayload.h.
 * offset < 0: behind the field before it. */
lm_status payload_add(payload_schemas *to, int64_t domain, int64_t id, const char *name,
                      int64_t type, int64_t offset, lm_error *err);
void      payload_free(payload_schemas *of);

/** A field of a payload; false: it has none, or is damaged. */
bool payload_find(const payload_schemas *of, int64_t domain, const void *blob, size_t size,
                  payload_field f, uint64_t *out);

#endif
