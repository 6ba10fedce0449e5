/* Fields of what a step needs in memory. */
#include "report/memory_fields.h"

TEXT_OF(pass, memory_row, timeline_pass_name(r->use.pass))
REAL_OF(reserved_low, memory_row, r->reserved[0])
REAL_OF(reserved_high, memory_row, r->reserved[1])
TEXT_OF(layer, memory_row, r->use.layer ? r->use.layer : "")

#define USE(member)      FIELD_AT(memory_row, use.member), IN_MB
#define PART(which)      USE(part[which]), .worth = 1u << (which)
#define OF_LAYER(member) FIELD_AT(memory_layer_row, of.member), IN_MB

const field memory_fields[] = {
    { "batch", .title = "batch", FIELD_AT(memory_row, batch), .help = "samples of the device" },
    { "stage", .title = "stage", FIELD_AT(memory_row, stage), .when = MEMORY_STAGED,
      .help = "of the pipeline: the one that needs most, or --stage", .yields = -1 },
    { "weights_bytes", .title = "weights", PART(MEMORY_WEIGHTS), .help = "trained weights",
      .yields = -2 },
    { "frozen_bytes", .title = "frozen", PART(MEMORY_FROZEN), .help = "weights without gradient",
      .yields = -3 },
    { "weights_16bit_bytes", .title = "weight copies", PART(MEMORY_COPIES),
      .help = "copies of weights, in mixed precision; in FP8 with scales", .yields = -5 },
    { "masters_bytes", .title = "masters", USE(part[MEMORY_MASTERS]), .when = 1u << MEMORY_MASTERS,
      .help = "copies of weights in single precision, which are updated", .yields = -5 },
    { "gathered_bytes", .title = "gathered", USE(part[MEMORY_GATHERED]),
      .when = 1u << MEMORY_GATHERED, .help = "weights of other ranks, while they are used",
      .yields = -6 },
    { "gradients_bytes", .title = "gradients", PART(MEMORY_GRADIENTS), .help = "of the weights",
      .yields = -4 },
    { "buckets_bytes", .title = "buckets", PART(MEMORY_BUCKETS),
      .help = "what gradients are copied to for the all-reduce", .yields = -7 },
    { "optimizer_bytes", .title = "optimizer", PART(MEMORY_OPTIMIZER), .help = "its state",
      .yields = -2 },
    { "cache_bytes", .title = "KV cache", PART(MEMORY_CACHE),
      .help = "decoding: keys and values of all tokens, the new ones among them", .yields = -1 },
    { "inputs_bytes", .title = "inputs", PART(MEMORY_INPUTS), .help = "of the network",
      .yields = -9 },
    { "activations_bytes", .title = "activations", PART(MEMORY_ACTIVATIONS),
      .help = "outputs of layers that anything still reads", .yields = -1 },
    { "saved_bytes", .title = "saved", PART(MEMORY_SAVED),
      .help = "masks, indices and statistics that layers keep", .yields = -8 },
    { "activation_gradients_bytes", .title = "act. gradients", PART(MEMORY_BACKWARD),
      .help = "gradients of activations", .yields = -5 },
    { "workspace_bytes", .title = "workspace", PART(MEMORY_WORKSPACE), .help = "scratch of layers",
      .yields = -7 },
    { "overhead_bytes", .title = "overhead", PART(MEMORY_OVERHEAD),
      .help = "what --framework-overhead adds", .yields = -7 },
    { "peak_bytes", .title = "peak", USE(peak), .help = "all of it" },
    { "at_layer", .title = "at", .text = layer, .help = "first layer that reaches the peak",
      .yields = -10 },
    { "at_pass", .title = "pass", .text = pass, .help = "its pass", .yields = -10 },
    { "kept_bytes", .title = "kept", USE(kept),
      .help = "activations and saved at the beginning of the backward pass", .yields = -11 },
    { "recompute_flops", .title = "recompute [FLOP]", FIELD_AT(memory_row, use.recompute_flops),
      .when = MEMORY_RECOMPUTED, .help = "of forward passes that run again", .yields = -12 },
    { "reserved_low_bytes", .real = reserved_low, IN_MB, .when = MEMORY_LIMITED,
      .help = "by the allocator at the peak, the least" },
    { "reserved_high_bytes", .real = reserved_high, IN_MB, .when = MEMORY_LIMITED,
      .help = "by the allocator at the peak, the most" },
    { "fits", .title = "fits", FIELD_AT(memory_row, fits), .when = MEMORY_LIMITED,
      .help =
          "the device's memory; close: context, libraries and allocator may need what is left" },
    { "set", FIELD_AT(memory_row, set), .when = MEMORY_SET, .not_in = IN_JSON, /* said once there */
      .help = "arguments of the network" },
    { 0 },
};

const field memory_layer_fields[] = {
    { "layer", .title = "layer", FIELD_AT(memory_layer_row, name), .help = "of the network" },
    { "type", .title = "type", FIELD_AT(memory_layer_row, type), .help = "of the layer" },
    { "weights_bytes", .title = "weights", OF_LAYER(weights), .help = "trained and frozen" },
    { "kept_bytes", .title = "kept", OF_LAYER(kept), .help = "activations between the passes" },
    { "saved_bytes", .title = "saved", OF_LAYER(saved), .help = "masks, indices and statistics" },
    { "live_forward_bytes", .title = "live in forward", OF_LAYER(live_forward),
      .help = "everything while it runs forward" },
    { "live_backward_bytes", .title = "in backward", OF_LAYER(live_backward),
      .help = "everything while it runs backward" },
    { 0 },
};
