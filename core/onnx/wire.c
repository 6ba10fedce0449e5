/* Growing arrays, texts and numbers for the reader. */
#include "onnx/wire.h"

#include <string.h>
#include <sys/mman.h>

#define PARTS_MAX  4000000 /* limit of attributes, names and numbers of all nodes together */
#define SKIP_BYTES ((size_t)8 << 20)

bool wire_no_memory(reading *r)
{
    r->no_memory = true;
    return false;
}

bool wire_too_many(reading *r, const char *what)
{
    r->too_many = what;
    return false;
}

bool wire_grow(reading *r, void **array, size_t n, size_t *room, size_t size)
{
    void *more;

    if (++r->n_parts > PARTS_MAX)
        return wire_too_many(r, "4,000,000 parts");
    more = arena_grow(r->arena, *array, n, room, size);
    if (!more)
        return wire_no_memory(r);
    *array = more;
    return true;
}

pb_callback_t wire_into(wire_callback *decode, wire_target *arg)
{
    return (pb_callback_t){ .funcs.decode = decode, .arg = arg };
}

/* Reading a mapped file makes its pages resident, on some systems large pages. Pages are released
 * from time to time, so that weights never count as memory. */
bool wire_skip(reading *r, pb_istream_t *stream)
{
    r->skipped += stream->bytes_left;
    if (r->skipped > SKIP_BYTES) {
        madvise(r->map, r->map_size, MADV_DONTNEED);
        r->skipped = 0;
    }
    return pb_read(stream, NULL, stream->bytes_left);
}

bool wire_text(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target *t = *arg;
    const size_t       n = stream->bytes_left;
    char              *text;

    (void)field;
    if (n > (size_t)1 << 16)
        return wire_too_many(t->r, "65,536 bytes in a name");
    text = arena_alloc(t->r->arena, n + 1);
    if (!text)
        return wire_no_memory(t->r);
    *(const char **)t->to = text;
    return pb_read(stream, (pb_byte_t *)text, n) && !memchr(text, '\0', n);
}

bool wire_names(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target *t    = *arg;
    text_list         *list = t->to;
    wire_target        one  = { t->r, NULL };
    void              *to   = &one;

    if (!wire_grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item))
        return false;
    one.to = &list->item[list->n++];
    return wire_text(stream, field, &to);
}

bool wire_ints(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target *t    = *arg;
    int_list          *list = t->to;

    (void)field;
    while (stream->bytes_left) {
        uint64_t value;

        if (!wire_grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item) ||
            !pb_decode_varint(stream, &value))
            return false;
        list->item[list->n++] = (int64_t)value;
    }
    return true;
}

bool wire_floats(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target *t    = *arg;
    float_list        *list = t->to;

    (void)field;
    while (stream->bytes_left) {
        if (!wire_grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item) ||
            !pb_decode_fixed32(stream, &list->item[list->n]))
            return false;
        list->n++;
    }
    return true;
}

/* ---- where nodes come from ---- */

/* Metadata of torch.onnx.export(dynamo=True): the call of the traced program behind a node. There,
 * names of parameters begin with "p_", names of buffers with "b_". */
#define SOURCE_KEY       "pkg.torch.onnx.fx_node"
#define SOURCE_KEY_BYTES (sizeof SOURCE_KEY - 1)

/* Words to find in it. No end of a word is the beginning of one, so a simple scan suffices. */
static const char *const source_words[N_SOURCE_WORDS] = {
    [SOURCE_PARAMETER] = "%p_", [SOURCE_NORM] = "batch_norm"
};

static bool take_key(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    node_source *s = *arg;
    char         key[sizeof SOURCE_KEY];

    (void)field;
    s->next = stream->bytes_left == SOURCE_KEY_BYTES;
    if (!s->next)
        return wire_skip(s->r, stream);
    if (!pb_read(stream, (pb_byte_t *)key, SOURCE_KEY_BYTES))
        return false;
    s->next = !memcmp(key, SOURCE_KEY, SOURCE_KEY_BYTES);
    return true;
}

/* Scans a source without storing it, because sources are long. */
static bool take_source(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    node_source *s                       = *arg;
    size_t       matched[N_SOURCE_WORDS] = { 0 };

    (void)field;
    if (!s->next)
        return wire_skip(s->r, stream);
    s->told = true;
    while (stream->bytes_left) {
        pb_byte_t c;

        if (!pb_read(stream, &c, 1))
            return false;
        for (int w = 0; w < N_SOURCE_WORDS && c; w++) {
            const char *word = source_words[w];

            if (!word[matched[w]]) /* found */
                continue;
            matched[w] = c == (pb_byte_t)word[matched[w]] ? matched[w] + 1 : c == (pb_byte_t)*word;
            s->has[w] |= !word[matched[w]];
        }
    }
    return true;
}

bool wire_source(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    node_source                *s       = ((const wire_target *)*arg)->to;
    onnx_StringStringEntryProto message = onnx_StringStringEntryProto_init_zero;

    (void)field;
    s->next         = false;
    message.key.arg = message.value.arg = s;
    message.key.funcs.decode            = take_key;
    message.value.funcs.decode          = take_source;
    return pb_decode(stream, onnx_StringStringEntryProto_fields, &message);
}
