/* Options as other programs call them: what to give instead. */
#include "options/slots.h"

#include <stdio.h>
#include <string.h>

/* Words of other programs, and what has that meaning here. */
static const struct {
    const char *typed;   /* words between blanks */
    const char *command; /* that it is of; NULL: any */
    const char *option;  /* that the command must have; NULL: none */
    const char *said;
} hints[] = {
    { "gpus num-gpus n-gpus ngpus gpu-count", "memory", NULL,
      "give a layout: --tp 8, --pp 2, --dp 4; layouts that fit: 'layermeter plan NETWORK --device H100 "
      "--gpus 8', also with --phase decode" },
    { "gpus num-gpus n-gpus ngpus gpu-count", NULL, "gpus", "give --gpus" },
    { "gpus num-gpus n-gpus ngpus gpu-count", NULL, "devices-per-node",
      "give --devices-per-node 8, of each of --nodes" },
    { "gpus-per-node gpu-per-node", NULL, "devices-per-node", "give --devices-per-node" },
    { "num-nodes n-nodes hosts", NULL, "nodes", "give --nodes" },
    { "gpu gpu-type accelerator hardware card", NULL, "device", "give --device" },
    { "batch-size bs micro-batch micro-batch-size per-device-batch mbs", NULL, "batch",
      "give --batch, the samples of a device" },
    { "global-batch-size total-batch gbs", NULL, "global-batch", "give --global-batch" },
    { "seq seq-len seq-length seqlen sequence-length max-seq-len", NULL, "sequence",
      "give --sequence" },
    { "ctx ctx-len context-length prompt prompt-tokens input-tokens", NULL, "context",
      "give --context" },
    { "max-new-tokens output-tokens", NULL, "new-tokens", "give --new-tokens" },
    { "precision type fp16 bf16 amp fp8 float16 bfloat16 half", NULL, "dtype",
      "give --dtype f16 or bf16; with weights in f32 --mixed" },
    { "cost max-cost money", NULL, "budget", "give --budget 500USD" },
    { "hours days time max-time", NULL, "deadline", "give --deadline 24h" },
    { "tensor-parallel tensor-parallel-size tensor-model-parallel-size", NULL, "tp", "give --tp" },
    { "pipeline-parallel pipeline-parallel-size pipeline-model-parallel-size", NULL, "pp",
      "give --pp" },
    { "zero-stage", NULL, "zero", "give --zero" },
    { "grad-accum gradient-accumulation gradient-accumulation-steps accumulation", NULL,
      "accumulate", "give --accumulate" },
    { "checkpointing activation-checkpointing gradient-checkpointing", NULL, "recompute",
      "give --recompute" },
    { "network fabric link", NULL, "interconnect", "give --interconnect or --bandwidth" },
    { "qps rps requests throughput", "plan", "rate", "give --phase inference --rate N" },
    { "samples images", NULL, "dataset", "give --dataset" },
    { "resolution image-size img-size size", NULL, "image", "give --image" },
    { "inference training decode generate", NULL, "phase",
      "give --phase training, inference or decode" },
    { "cloud provider region vm sku", NULL, "instance",
      "give --instance NAME, a section of the price file (--prices)" },
    { "json csv", NULL, "format", "give --format json or csv" },
    { "lora lora-rank lora-r peft adapter", NULL, NULL,
      "give the rank as an argument of the network, llama3_8b:lora=16" },
    { "quantization quantize quant int8 int4 load-in-8bit load-in-4bit", NULL, "dtype",
      "integer weights cannot be predicted: give --dtype f16, bf16 or f8" },
    { "currency", NULL, "budget",
      "give --budget or --price in that currency; the price file has the rates" },
    { "mfu efficiency utilization", NULL, "ppp-comp",
      "MFU is part of the output; for a time from a share of the peak give --model paleo --ppp-comp 0.4" },
};

/* Is `name`, of n bytes, one of the words? */
static bool is_word(const char *words, const char *name, size_t n)
{
    while (*words) {
        const size_t length = strcspn(words, " ");

        if (length == n && !strncmp(words, name, n))
            return true;
        words += length + strspn(words + length, " ");
    }
    return false;
}

const char *options_hint(const options *o, const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (is_word(hints[i].typed, name, n) &&
            (!hints[i].command || !strcmp(hints[i].command, o->command->name)) &&
            (!hints[i].option || options_find(o, hints[i].option, strlen(hints[i].option))))
            return hints[i].said;
    return NULL;
}

/* Does a value end in a letter behind a number: "4M"? */
static bool is_rounded(const char *value)
{
    const size_t digits = strspn(value, "0123456789.");

    return digits && value[digits] && strchr("kKMGBT", value[digits]) && !value[digits + 1];
}

/* Is it two numbers: "8x8"? */
static bool is_product(const char *value)
{
    const size_t n = strspn(value, "0123456789");

    return n && value[n] == 'x' && value[n + 1] &&
           !value[n + 1 + strspn(value + n + 1, "0123456789")];
}

/* A name in place of a number. */
static bool is_name(const char *value)
{
    return (*value >= 'a' && *value <= 'z') || (*value >= 'A' && *value <= 'Z');
}

static bool is_prompt(const char *value)
{
    return !strcmp(value, "prefill") || !strcmp(value, "prompt");
}

static bool is_auto(const char *value)
{
    return !strcmp(value, "auto") || !strcmp(value, "max");
}

static bool is_number(const char *value)
{
    return *value && !value[strspn(value, "0123456789")];
}

/* "1000/s" */
static bool is_per_second(const char *value)
{
    return !strcmp(value + strspn(value, "0123456789.kM"), "/s");
}

static const struct {
    const char *option;
    bool (*is)(const char *value);
    const char *said;
} value_hints[] = {
    { "devices", is_number, "it names a file of datasheets; --gpus sets the number of devices" },
    { "rate", is_per_second, "it counts samples per second: leave out the unit" },
    { "batch", is_auto, "'layermeter plan NETWORK --largest-batch' finds the largest that fits" },
    { "phase", is_prompt, "the pass of a prompt is --phase inference --input TOKENS" },
    { "global-batch", is_rounded, "it counts samples, written out, or tokens, 4Mtokens" },
    { "batch", is_rounded,
      "it counts samples, written out; of a language model, tokens / --sequence" },
    { "dataset", is_name, "it counts samples: ImageNet has 1281167, CIFAR-10 50000" },
    { "nodes", is_product, "give --nodes, and the devices of each as --devices-per-node" },
    { "gpus", is_product, "give --nodes, and the devices of each as --devices-per-node" },
};

const char *options_value_hint(const char *option, const char *value)
{
    for (size_t i = 0; i < sizeof value_hints / sizeof value_hints[0]; i++)
        if (!strcmp(option, value_hints[i].option) && value_hints[i].is(value))
            return value_hints[i].said;
    return NULL;
}
