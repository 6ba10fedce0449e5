/* Text of kernels, and checks of kernels. */
#include "layers/kernel_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

static const char *const passes[LM_N_PASSES] = { "forward", "grad_input", "grad_weight" };

const char *kernel_pass_name(lm_pass pass)
{
    return passes[pass];
}

lm_status kernel_pass_parse(const char *name, lm_pass *out, lm_error *err)
{
    for (lm_pass p = 0; p < LM_N_PASSES; p++)
        if (!strcmp(passes[p], name)) {
            *out = p;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_NOTFOUND, "unknown pass '%.40s' (forward grad_input grad_weight)",
                        name);
}

typedef struct field {
    const char *name;
    size_t      offset;
    int         count;    /* 1, or 3 for depth, height, width */
    int64_t     minimum;  /* minimum of each number */
    bool        optional; /* 0 if missing; not printed if 0 */
} field;

#define ONE(op, name, least)                                   \
    {                                                          \
#name, offsetof(lm_kernel, u.op.name), 1, least, false \
    }
#define TRIPLE(op, name, least)                                \
    {                                                          \
#name, offsetof(lm_kernel, u.op.name), 3, least, false \
    }
#define OPTIONAL(op, name)                                \
    {                                                     \
#name, offsetof(lm_kernel, u.op.name), 1, 0, true \
    }
#define END                  \
    {                        \
        NULL, 0, 0, 0, false \
    }
#define WINDOWED(op)                                                                     \
    TRIPLE(op, in, 1), TRIPLE(op, out, 1), TRIPLE(op, window, 1), TRIPLE(op, stride, 1), \
        TRIPLE(op, pad, 0), TRIPLE(op, dilation, 1)

static const field opaque_fields[]  = { ONE(opaque, flops, 0), ONE(opaque, read_bytes, 0),
                                        ONE(opaque, written_bytes, 0), END };
static const field gemm_fields[]    = { ONE(gemm, batch, 1),
                                        ONE(gemm, m, 1),
                                        ONE(gemm, n, 1),
                                        ONE(gemm, k, 1),
                                        ONE(gemm, bias, 0),
                                        OPTIONAL(gemm, activations),
                                        OPTIONAL(gemm, result_bytes),
                                        END };
static const field conv_fields[]    = { ONE(conv, n, 1),
                                        ONE(conv, c_in, 1),
                                        ONE(conv, c_out, 1),
                                        ONE(conv, groups, 1),
                                        ONE(conv, bias, 0),
                                        WINDOWED(conv),
                                        END };
static const field pool_fields[]    = { ONE(pool, n, 1), ONE(pool, channels, 1), ONE(pool, mode, 0),
                                        WINDOWED(pool),  OPTIONAL(pool, taps),   END };
static const field map_fields[]     = { ONE(map, elements, 1),
                                        ONE(map, operands, 0),
                                        ONE(map, flops_per_element, 0),
                                        OPTIONAL(map, reads),
                                        OPTIONAL(map, writes),
                                        OPTIONAL(map, width),
                                        END };
static const field norm_fields[]    = { ONE(norm, rows, 1),       ONE(norm, group, 1),
                                        ONE(norm, inner, 1),      OPTIONAL(norm, rms),
                                        OPTIONAL(norm, channels), END };
static const field softmax_fields[] = { ONE(softmax, rows, 1), ONE(softmax, group, 1), END };
static const field gather_fields[]  = { ONE(gather, rows, 1), ONE(gather, width, 1),
                                        ONE(gather, table_rows, 1), END };
static const field copy_fields[]    = { ONE(copy, bytes, 0), END };
static const field reduce_fields[]  = { ONE(reduce, rows, 1), ONE(reduce, group, 1),
                                        ONE(reduce, inner, 1), END };
static const field attention_fields[]  = { ONE(attention, batch, 1),
                                           ONE(attention, heads, 1),
                                           ONE(attention, kv_heads, 1),
                                           ONE(attention, queries, 1),
                                           ONE(attention, keys, 1),
                                           ONE(attention, width, 1),
                                           ONE(attention, value_width, 1),
                                           ONE(attention, causal, 0),
                                           OPTIONAL(attention, dropout),
                                           OPTIONAL(attention, latent),
                                           END };
static const field collective_fields[] = { ONE(collective, bytes, 1), ONE(collective, ranks, 1),
                                           ONE(collective, nodes, 1), END };

static const struct {
    lm_op        op;
    const char  *name;
    const field *fields;
} ops[] = {
    { LM_OP_OPAQUE, "opaque", opaque_fields },
    { LM_OP_GEMM, "gemm", gemm_fields },
    { LM_OP_CONV, "conv", conv_fields },
    { LM_OP_POOL, "pool", pool_fields },
    { LM_OP_MAP, "map", map_fields },
    { LM_OP_NORM, "norm", norm_fields },
    { LM_OP_SOFTMAX, "softmax", softmax_fields },
    { LM_OP_GATHER, "gather", gather_fields },
    { LM_OP_COPY, "copy", copy_fields },
    { LM_OP_REDUCE, "reduce", reduce_fields },
    { LM_OP_ATTENTION, "attention", attention_fields },
    { LM_OP_ALLREDUCE, "allreduce", collective_fields },
};

#define N_OPS (sizeof ops / sizeof ops[0])

/* Index of an operation; N_OPS: unknown. */
static size_t place_of(lm_op op)
{
    size_t i = 0;

    while (i < N_OPS && ops[i].op != op)
        i++;
    return i;
}

static const field *fields_of(lm_op op)
{
    const size_t i = place_of(op);

    return i < N_OPS ? ops[i].fields : collective_fields;
}

const char *kernel_op_name(lm_op op)
{
    const size_t i = place_of(op);

    return i < N_OPS ? ops[i].name : "unknown";
}

bool kernel_op_of_layers(lm_op op)
{
    return op != LM_OP_ALLREDUCE && place_of(op) < N_OPS;
}

lm_status kernel_op_parse(const char *name, lm_op *out, lm_error *err)
{
    for (size_t i = 0; i < N_OPS; i++)
        if (!strcmp(ops[i].name, name)) {
            *out = ops[i].op;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_NOTFOUND, "unknown kernel '%.40s'", name);
}

size_t kernel_geometry_size(lm_op op)
{
    size_t end = offsetof(lm_kernel, u);

    for (const field *f = fields_of(op); f->name; f++) {
        const size_t behind = f->offset + (size_t)f->count * sizeof(int64_t);

        end = behind > end ? behind : end;
    }
    return end - offsetof(lm_kernel, u);
}

const char *kernel_print_geometry(const lm_kernel *k, char *buffer, size_t size)
{
    size_t n = 0;

    buffer[0] = '\0';
    for (const field *f = fields_of(k->op); f->name && n < size; f++) {
        int64_t v[3];

        memcpy(v, (const char *)k + f->offset, (size_t)f->count * sizeof v[0]);
        if (f->optional && !v[0])
            continue;
        if (f->count == 1)
            snprintf(buffer + n, size - n, "%s%s=%lld", n ? " " : "", f->name, (long long)v[0]);
        else
            snprintf(buffer + n, size - n, "%s%s=%lldx%lldx%lld", n ? " " : "", f->name,
                     (long long)v[0], (long long)v[1], (long long)v[2]);
        n = strlen(buffer);
    }
    if (k->repeat > 1 && n < size)
        snprintf(buffer + n, size - n, " repeat=%u", k->repeat);
    return buffer;
}

static lm_status check_groups(const lm_kernel *k, lm_error *err)
{
    if (k->op == LM_OP_CONV &&
        (k->u.conv.c_in % k->u.conv.groups || k->u.conv.c_out % k->u.conv.groups))
        return lm_error_set(err, LM_E_ARG, "groups must divide c_in and c_out");
    return LM_OK;
}

lm_status kernel_check(const lm_kernel *k, lm_error *err)
{
    if (!lm_dtype_bytes(k->dtype))
        return lm_error_set(err, LM_E_ARG, "unknown element type %d", k->dtype);
    for (const field *f = fields_of(k->op); f->name; f++) {
        int64_t v[3];

        memcpy(v, (const char *)k + f->offset, (size_t)f->count * sizeof v[0]);
        for (int i = 0; i < f->count; i++)
            if (v[i] < f->minimum)
                return lm_error_set(err, LM_E_ARG, "%s: %lld is below %lld", f->name,
                                    (long long)v[i], (long long)f->minimum);
    }
    return check_groups(k, err);
}

/* One number, or three joined by x. */
static lm_status parse_numbers(const field *f, char *text, int64_t v[3], lm_error *err)
{
    char        *part[4];
    const size_t n = text_split(text, 'x', part, 4);
    lm_status    status;

    if (n != (size_t)f->count)
        return lm_error_set(err, LM_E_SYNTAX, "%s: expected %d number%s", f->name, f->count,
                            f->count == 1 ? "" : "s joined by x");
    for (int i = 0; i < f->count; i++) {
        if ((status = text_int(part[i], &v[i], err))) {
            lm_error_prefix(err, "%s", f->name);
            return status;
        }
        if (v[i] < f->minimum || v[i] > INT64_C(1) << 40)
            return lm_error_set(err, LM_E_ARG, "%s: %lld is outside %lld .. 2^40", f->name,
                                (long long)v[i], (long long)f->minimum);
    }
    return LM_OK;
}

lm_status kernel_parse_geometry(const char *text, lm_kernel *k, lm_error *err)
{
    const field *fields = fields_of(k->op);
    lm_kernel    copy   = *k;
    unsigned     seen   = 0;
    char        *words = strdup(text), *save = NULL;
    lm_status    status = words ? LM_OK : no_memory(err);

    copy.repeat = 1;
    memset(&copy.u, 0, sizeof copy.u);
    for (char *w = words ? strtok_r(words, " ", &save) : NULL; w && !status;
         w       = strtok_r(NULL, " ", &save)) {
        char        *value = strchr(w, '=');
        const field *f     = fields;
        int64_t      v[3];

        if (!value) {
            status = lm_error_set(err, LM_E_SYNTAX, "expected name=value, found '%.40s'", w);
            break;
        }
        *value++ = '\0';
        if (!strcmp(w, "repeat")) {
            const field repeat = { "repeat", 0, 1, 1, false };

            status = parse_numbers(&repeat, value, v, err);
            if (!status && v[0] > UINT32_MAX)
                status = lm_error_set(err, LM_E_ARG, "repeat: too large");
            if (!status)
                copy.repeat = (uint32_t)v[0];
            continue;
        }
        while (f->name && strcmp(f->name, w))
            f++;
        if (!f->name) {
            status =
                lm_error_set(err, LM_E_NOTFOUND, "%s has no '%.40s'", kernel_op_name(k->op), w);
            break;
        }
        status = parse_numbers(f, value, v, err);
        if (!status)
            memcpy((char *)&copy + f->offset, v, (size_t)f->count * sizeof v[0]);
        seen |= 1u << (f - fields);
    }
    for (const field *f = fields; f->name && !status; f++) {
        if (!f->optional && !(seen & 1u << (f - fields)))
            status = lm_error_set(err, LM_E_SYNTAX, "%s: '%s=' is missing", kernel_op_name(k->op),
                                  f->name);
    }
    if (!status)
        status = check_groups(&copy, err);
    free(words);
    if (!status)
        *k = copy;
    return status;
}
