/* Payloads of NCCL's ranges. */
#include "import/nsys/payload.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"

#define HEAD 32

static const char *const field_names[N_PAYLOAD_FIELDS] = { "NCCL communicator ID",
                                                           "Message size [bytes]", "No. of ranks" };

typedef struct payload_schema {
    int64_t domain, id;
    int64_t end; /* of the field before; -1: not known, behind one of another type */
    struct {
        int64_t at; /* -1: not there */
        size_t  width;
    } field[N_PAYLOAD_FIELDS];
} payload_schema;

/* Bytes of a field (nvToolsExtPayload.h, NVTX_PAYLOAD_ENTRY_TYPE_*); 0: no whole number. */
static size_t width_of(int64_t type)
{
    switch (type) {
    case 5: /* int and unsigned */
    case 6:
    case 15: /* int32, uint32 */
    case 16: return 4;
    case 7: /* long, unsigned long, long long, unsigned long long */
    case 8:
    case 9:
    case 10:
    case 17: /* int64, uint64 */
    case 18:
    case 22: /* size_t */ return 8;
    default: return 0;
    }
}

static payload_schema *schema_of(const payload_schemas *of, int64_t domain, int64_t id)
{
    for (size_t i = 0; i < of->n; i++)
        if (of->schema[i].domain == domain && of->schema[i].id == id)
            return &of->schema[i];
    return NULL;
}

lm_status payload_add(payload_schemas *to, int64_t domain, int64_t id, const char *name,
                      int64_t type, int64_t offset, lm_error *err)
{
    const size_t    width = width_of(type);
    payload_schema *s     = schema_of(to, domain, id);

    if (!s) {
        if (to->n == 1024) /* NCCL has two dozen */
            return LM_OK;
        if (!array_grow(&to->schema, to->n, &to->room, sizeof *to->schema))
            return no_memory(err);
        s  = &to->schema[to->n++];
        *s = (payload_schema){ .domain = domain, .id = id };
        for (int f = 0; f < N_PAYLOAD_FIELDS; f++)
            s->field[f].at = -1;
    }
    if (offset < 0)
        offset = s->end < 0 || !width
                     ? -1
                     : (s->end + (int64_t)width - 1) / (int64_t)width * (int64_t)width;
    if (offset > 4096) /* no payload of NCCL is as large */
        offset = -1;
    s->end = offset < 0 || !width ? -1 : offset + (int64_t)width;
    for (int f = 0; f < N_PAYLOAD_FIELDS; f++)
        if (!strcmp(name, field_names[f])) {
            s->field[f].at    = width ? offset : -1;
            s->field[f].width = width;
        }
    return LM_OK;
}

void payload_free(payload_schemas *of)
{
    free(of->schema);
    *of = (payload_schemas){ .n = 0 };
}

static uint64_t little_endian(const unsigned char *at, size_t n)
{
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | at[n];
    return value;
}

bool payload_find(const payload_schemas *of, int64_t domain, const void *blob, size_t size,
                  payload_field f, uint64_t *out)
{
    const unsigned char  *bytes = blob;
    const payload_schema *s;

    if (!blob || size < HEAD || little_endian(bytes + 16, 8) != size - HEAD ||
        !(s = schema_of(of, domain, (int64_t)little_endian(bytes + 8, 4))) || s->field[f].at < 0 ||
        (uint64_t)s->field[f].at + s->field[f].width > size - HEAD)
        return false;
    *out = little_endian(bytes + HEAD + s->field[f].at, s->field[f].width);
    return true;
}
