/* Sizes and offsets of the plugin ABI, major 1, on LP64. A change here breaks every plugin in the
 * field: append to a record (and raise the minor), never move what is there. */
#include <assert.h>

#include <layermeter/error.h>
#include <layermeter/plugin.h>

#define SIZE(type, bytes)       static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, member, bytes) static_assert(offsetof(type, member) == (bytes), #type "." #member)
#define SIZE_LAST(type, member)                                                         \
    static_assert(sizeof(type) == offsetof(type, member) + sizeof(((type *)0)->member), \
                  #type " has padding at its end")

SIZE(void *, 8);
SIZE(size_t, 8);
SIZE(lm_error, 512);

/* atoms: frozen */
SIZE(lm_tensor, 80);
AT(lm_tensor, rank, 4);
AT(lm_tensor, dim, 8);
AT(lm_tensor, reserved, 72);
SIZE(lm_work, 24);
AT(lm_work, read_bytes, 8);
AT(lm_work, written_bytes, 16);
SIZE(lm_value, 72);
AT(lm_value, count, 4);
AT(lm_value, u, 8);

/* records: `size` first, no padding, grown only at the end */
SIZE(lm_kernel, 280);
AT(lm_kernel, size, 0);
AT(lm_kernel, op, 8);
AT(lm_kernel, pass, 12);
AT(lm_kernel, dtype, 16);
AT(lm_kernel, repeat, 20);
AT(lm_kernel, u, 24);
SIZE_LAST(lm_kernel, u);
static_assert(sizeof(((lm_kernel *)0)->u) == 256, "the union of kernels");
AT(lm_kernel, u.gemm.bias, 24 + 32);
AT(lm_kernel, u.gemm.activations, 24 + 40);
AT(lm_kernel, u.norm.inner, 24 + 16);
AT(lm_kernel, u.norm.rms, 24 + 24);
AT(lm_kernel, u.norm.channels, 24 + 32);
AT(lm_kernel, u.reduce.inner, 24 + 16);
AT(lm_kernel, u.attention.batch, 24);
AT(lm_kernel, u.attention.causal, 24 + 56);
AT(lm_kernel, u.attention.dropout, 24 + 64);
AT(lm_kernel, u.conv.in, 24 + 40);
AT(lm_kernel, u.conv.dilation, 24 + 40 + 5 * 24);
AT(lm_kernel, u.pool.in, 24 + 24);
AT(lm_kernel, u.pool.dilation, 24 + 24 + 5 * 24);

SIZE(lm_param, 64);
AT(lm_param, doc, 8);
AT(lm_param, fallback, 16);
AT(lm_param, choices, 24);
AT(lm_param, min, 32);
AT(lm_param, max, 40);
AT(lm_param, kind, 48);
AT(lm_param, count, 52);
AT(lm_param, unit, 56);
SIZE_LAST(lm_param, unit);

SIZE(lm_host, 24);
AT(lm_host, size, 0);
AT(lm_host, abi_minor, 8);
AT(lm_host, fail, 16);
SIZE_LAST(lm_host, fail);

SIZE(lm_layer, 88);
AT(lm_layer, size, 0);
AT(lm_layer, host, 8);
AT(lm_layer, type, 16);
AT(lm_layer, name, 24);
AT(lm_layer, param, 32);
AT(lm_layer, input, 40);
AT(lm_layer, output, 48);
AT(lm_layer, n_params, 56);
AT(lm_layer, n_inputs, 60);
AT(lm_layer, n_outputs, 64);
AT(lm_layer, reserved, 68);
AT(lm_layer, dtype, 72);
AT(lm_layer, wants_gradient, 80);
SIZE_LAST(lm_layer, wants_gradient);

SIZE(lm_cost, 112);
AT(lm_cost, size, 0);
AT(lm_cost, pass, 8);
AT(lm_cost, saved_bytes, 80);
AT(lm_cost, workspace_bytes, 88);
AT(lm_cost, keeps, 96);
AT(lm_cost, cached_bytes, 104);
SIZE_LAST(lm_cost, cached_bytes);

SIZE(lm_weight, 104);
AT(lm_weight, size, 0);
AT(lm_weight, role, 8);
AT(lm_weight, tensor, 16);
AT(lm_weight, flags, 96);
SIZE_LAST(lm_weight, reserved);

SIZE(lm_sink, 24);
AT(lm_sink, size, 0);
AT(lm_sink, weight, 8);
AT(lm_sink, kernel, 16);

SIZE(lm_layer_type, 112);
AT(lm_layer_type, size, 0);
AT(lm_layer_type, name, 8);
AT(lm_layer_type, doc, 16);
AT(lm_layer_type, params, 24);
AT(lm_layer_type, param_size, 32);
AT(lm_layer_type, n_params, 40);
AT(lm_layer_type, min_inputs, 44);
AT(lm_layer_type, max_inputs, 48);
AT(lm_layer_type, n_outputs, 52);
AT(lm_layer_type, flags, 56);
AT(lm_layer_type, infer, 64);
AT(lm_layer_type, cost, 72);
AT(lm_layer_type, weights, 80);
AT(lm_layer_type, lower, 88);
AT(lm_layer_type, extension, 96);
AT(lm_layer_type, split, 104);
SIZE_LAST(lm_layer_type, split);

SIZE(lm_split, 88);
AT(lm_split, size, 0);
AT(lm_split, param, 8);
AT(lm_split, parts, 16);
AT(lm_split, exchanged_bytes, 24);
AT(lm_split, way, 32);
AT(lm_split, sums, 36);
AT(lm_split, exchanges, 40);
AT(lm_split, sizes, 48);
AT(lm_split, own_bytes, 80);
SIZE_LAST(lm_split, own_bytes);

SIZE(lm_plugin, 48);
AT(lm_plugin, size, 0);
AT(lm_plugin, abi_minor, 8);
AT(lm_plugin, n_types, 12);
AT(lm_plugin, types, 16);
AT(lm_plugin, name, 24);
AT(lm_plugin, version, 32);
AT(lm_plugin, license, 40);
SIZE_LAST(lm_plugin, license);

/* numbers that stand in files and in plugins */
static_assert(LM_OK == 0 && LM_E_ARG == -1 && LM_E_SHAPE == -2 && LM_E_UNSUPPORTED == -3 &&
                  LM_E_OVERFLOW == -4 && LM_E_NOMEM == -5 && LM_E_IO == -6 && LM_E_SYNTAX == -7 &&
                  LM_E_ABI == -8 && LM_E_NOTFOUND == -9,
              "status codes");
static_assert(LM_F32 == 1 && LM_F16 == 2 && LM_BF16 == 3 && LM_F64 == 4 && LM_I32 == 5 &&
                  LM_I8 == 6 && LM_F8 == 7 && LM_I64 == 8 && LM_U8 == 9,
              "element types");
static_assert(LM_FORWARD == 0 && LM_GRAD_INPUT == 1 && LM_GRAD_WEIGHT == 2 && LM_N_PASSES == 3,
              "passes");
static_assert(LM_OP_OPAQUE == 0 && LM_OP_GEMM == 1 && LM_OP_CONV == 2 && LM_OP_POOL == 3 &&
                  LM_OP_MAP == 4 && LM_OP_NORM == 5 && LM_OP_SOFTMAX == 6 && LM_OP_GATHER == 7 &&
                  LM_OP_COPY == 8 && LM_OP_REDUCE == 9 && LM_OP_ATTENTION == 10 &&
                  LM_OP_ALLREDUCE == 0x100,
              "ops");
static_assert(LM_INT == 1 && LM_REAL == 2 && LM_BOOL == 3 && LM_ENUM == 4 && LM_TEXT == 5 &&
                  LM_SHAPE == 6 && LM_LIST == 7,
              "parameter kinds");
static_assert(LM_KEEPS_INPUT == 1 && LM_KEEPS_OUTPUT == 2 && LM_FROZEN == 1 && LM_EXPERT == 2 &&
                  LM_FUNCTIONAL == 1 && LM_SOURCE == 2 && LM_CONSTANT == 4 && LM_VIEW == 8 &&
                  LM_FIXED_PART == 16,
              "flags");
static_assert(LM_WHOLE == 0 && LM_COLUMNS == 1 && LM_ROWS == 2 && LM_HEADS == 3 &&
                  LM_VOCABULARY == 4 && LM_TOKENS == 5 && LM_RING == 6 && LM_ULYSSES == 7 &&
                  LM_EXPERTS == 8 && LM_ROUTED == 9 && LM_SUMS_OUTPUT == 1 && LM_SUMS_INPUT == 2,
              "ways to split");
static_assert(LM_MAX_RANK == 8 && LM_ABI_MAJOR == 1, "limits");

int main(void)
{
    return 0;
}
