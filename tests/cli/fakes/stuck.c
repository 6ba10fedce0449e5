/* A plugin that does not come back: in cost(), or while it is loaded. */
#include <signal.h>
#include <unistd.h>

#include <layermeter/plugin.h>

#ifdef STUCK_LOAD
__attribute__((constructor)) static void crash(void)
{
    raise(SIGSEGV);
}
#endif

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *out)
{
    (void)layer;
    (void)out;
    while (pause()) /* never 0 */
        continue;
    return LM_OK;
}

static const lm_layer_type hangs = {
    .size       = sizeof(lm_layer_type),
    .name       = "hangs",
    .doc        = "waits for ever",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
};

static const lm_layer_type *const types[] = { &hangs };

LM_PLUGIN = {
    LM_PLUGIN_HEAD, LM_TYPES(types), .name = "stuck", .version = "1.2.3", .license = "Apache-2.0",
};
