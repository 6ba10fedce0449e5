/* Shared objects that a host has to refuse, each in its own way; the build picks one. */
#include <layermeter/plugin.h>

#if defined(FAKE_FOREIGN)

/* some library that has nothing to do with us */
LM_EXPORT int layermeter_foreign(void);

int layermeter_foreign(void)
{
    return 1;
}

#else

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

#if defined(FAKE_NO_COST)
#define COST NULL
#else
#define COST cost

static lm_status cost(const lm_layer *layer, lm_cost *out)
{
    (void)layer;
    (void)out;
    return LM_OK;
}

#endif

#if defined(FAKE_TAKEN)
#define NAME "conv2d" /* a shipped type: --plugin goes first */
#else
#define NAME "pass"
#endif

static const lm_layer_type pass = {
#if defined(FAKE_SHORT_TYPE)
    .size       = 24,
#else
    .size = sizeof(lm_layer_type),
#endif
    .name       = NAME,
    .doc        = "hands its input on",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = COST,
};

static const lm_layer_type *const types[] = { &pass };

#if defined(FAKE_OLDER)
extern LM_EXPORT const lm_plugin  layermeter_plugin_v0;
const lm_plugin                   layermeter_plugin_v0 = {
#else
LM_PLUGIN = {
#endif
                      .name      = "fake",
                      .version   = "1.2.3",
                      .license   = "Apache-2.0",
                      .size      = sizeof(lm_plugin),
#if defined(FAKE_NEWER)
                      .abi_minor = LM_ABI_MINOR + 7,
#endif
#if defined(FAKE_EMPTY)
                      .types     = types,
                      .n_types   = 0,
#else
    LM_TYPES(types),
#endif
};

#endif
