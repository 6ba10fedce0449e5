/* Networks from Hugging Face's config.json: numbers of parameters as published, and what is refused. */
#include "nets.h"

#include <string.h>

#include "formats/huggingface/huggingface.h"
#include "network/metrics.h"

static network *opened(const char *config, const char *const *set, size_t n, lm_error *err)
{
    const network_choices with = { .set = set, .n_set = n };
    network              *net  = NULL;

    *err = (lm_error){ LM_OK, "" };
    huggingface_load(folder_file("net.json", config), nets_registry, &with, &net, err);
    return net;
}

static net_metrics counts_of(const char *config)
{
    const bind_options b = { .batch = 1, .dtype = LM_BF16 };
    lm_error           err;
    network           *net   = opened(config, NULL, 0, &err);
    bound_network     *bound = NULL;
    net_metrics        m     = { .params = 0 };

    if (!net || bind_network(net, nets_registry, &b, &bound, &err) ||
        metrics_of_network(bound, NULL, &m, &err))
        fail_msg("%s", err.text);
    bound_network_free(bound);
    network_free(net);
    return m;
}

#define LLAMA                                                                                 \
    "\"vocab_size\": 128256, \"hidden_size\": 4096, \"num_hidden_layers\": 32, "              \
    "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"intermediate_size\": 14336, " \
    "\"max_position_embeddings\": 8192, \"hidden_act\": \"silu\", \"rope_theta\": 500000.0"
#define NEOX                                                                                      \
    "{\"architectures\": [\"GPTNeoXForCausalLM\"], \"vocab_size\": 50304, \"hidden_size\": 768, " \
    "\"num_hidden_layers\": 12, \"num_attention_heads\": 12, \"intermediate_size\": 3072, "       \
    "\"max_position_embeddings\": 2048, \"hidden_act\": \"gelu\", \"rotary_pct\": 0.25, "         \
    "\"use_parallel_residual\": true, \"tie_word_embeddings\": false}"
#define BERT                                                                                       \
    "\"vocab_size\": 30522, \"hidden_size\": 768, \"num_hidden_layers\": 12, "                     \
    "\"num_attention_heads\": 12, \"intermediate_size\": 3072, \"max_position_embeddings\": 512, " \
    "\"type_vocab_size\": 2, \"hidden_act\": \"gelu\"}"
#define DEEPSEEK                                                                             \
    "\"hidden_act\": \"silu\", \"max_position_embeddings\": 163840, \"kv_lora_rank\": 512, " \
    "\"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, "           \
    "\"v_head_dim\": 128, \"num_attention_heads\": 128, \"num_key_value_heads\": 128, "      \
    "\"moe_layer_freq\": 1, "

/* Totals of the checkpoints' own pages and of the networks that ship; in comments others' names for them. */
static void parameters_are_those_of_the_checkpoints(void **state)
{
    static const struct {
        uint64_t    params;
        const char *config;
    } of[] = {
        /* meta-llama/Meta-Llama-3-8B */
        { 8030261248, "{\"architectures\": [\"LlamaForCausalLM\"], " LLAMA "}" },
        { 8030261248, "{\"model_type\": \"llama\", " LLAMA ", \"head_dim\": null}" },
        /* meta-llama/Llama-3.2-1B */
        { 1235814400,
          "{\"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\": 128256, \"hidden_size\": "
          "2048, \"num_hidden_layers\": 16, \"num_attention_heads\": 32, \"num_key_value_heads\": "
          "8, \"head_dim\": 64, \"intermediate_size\": 8192, \"max_position_embeddings\": 131072, "
          "\"hidden_act\": \"silu\", \"tie_word_embeddings\": true, \"attention_bias\": false}" },
        /* mistralai/Mistral-7B-v0.1 */
        { 7241732096,
          "{\"architectures\": [\"MistralForCausalLM\"], \"vocab_size\": 32000, \"hidden_size\": "
          "4096, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": "
          "8, \"intermediate_size\": 14336, \"max_position_embeddings\": 32768, \"sliding_window\": "
          "4096, \"hidden_act\": \"silu\", \"tie_word_embeddings\": false}" },
        /* Qwen/Qwen2-0.5B, Qwen/Qwen2-7B */
        { 494032768,
          "{\"architectures\": [\"Qwen2ForCausalLM\"], \"vocab_size\": 151936, \"hidden_size\": "
          "896, \"num_hidden_layers\": 24, \"num_attention_heads\": 14, \"num_key_value_heads\": 2, "
          "\"intermediate_size\": 4864, \"max_position_embeddings\": 131072, \"hidden_act\": "
          "\"silu\", \"tie_word_embeddings\": true}" },
        { 7615616512,
          "{\"architectures\": [\"Qwen2ForCausalLM\"], \"vocab_size\": 152064, \"hidden_size\": "
          "3584, \"num_hidden_layers\": 28, \"num_attention_heads\": 28, \"num_key_value_heads\": "
          "4, \"intermediate_size\": 18944, \"max_position_embeddings\": 131072, \"hidden_act\": "
          "\"silu\", \"tie_word_embeddings\": false}" },
        /* Qwen/Qwen3-0.6B, Qwen/Qwen3-30B-A3B */
        { 596049920,
          "{\"architectures\": [\"Qwen3ForCausalLM\"], \"vocab_size\": 151936, \"hidden_size\": "
          "1024, \"num_hidden_layers\": 28, \"num_attention_heads\": 16, \"num_key_value_heads\": "
          "8, \"head_dim\": 128, \"intermediate_size\": 3072, \"max_position_embeddings\": 40960, "
          "\"hidden_act\": \"silu\", \"attention_bias\": false, \"tie_word_embeddings\": true}" },
        { 30532122624,
          "{\"architectures\": [\"Qwen3MoeForCausalLM\"], \"vocab_size\": 151936, \"hidden_size\": "
          "2048, \"num_hidden_layers\": 48, \"num_attention_heads\": 32, \"num_key_value_heads\": "
          "4, \"head_dim\": 128, \"moe_intermediate_size\": 768, \"num_experts\": 128, "
          "\"num_experts_per_tok\": 8, \"decoder_sparse_step\": 1, \"norm_topk_prob\": true, "
          "\"max_position_embeddings\": 40960, \"hidden_act\": \"silu\", \"attention_bias\": false, "
          "\"tie_word_embeddings\": false}" },
        /* openai-community/gpt2 */
        { 124439808,
          "{\"architectures\": [\"GPT2LMHeadModel\"], \"vocab_size\": 50257, \"n_positions\": 1024, "
          "\"n_embd\": 768, \"n_layer\": 12, \"n_head\": 12, \"n_inner\": null, "
          "\"activation_function\": \"gelu_new\"}" },
        /* EleutherAI/pythia-160m */
        { 162322944, NEOX },
        /* google-bert/bert-base-uncased, by class */
        { 109482240, "{\"architectures\": [\"BertModel\"], " BERT },
        { 110106428, "{\"architectures\": [\"BertForPreTraining\"], " BERT },
        { 109514298, "{\"architectures\": [\"BertForMaskedLM\"], " BERT },
        /* google-t5/t5-small */
        { 60506624,
          "{\"architectures\": [\"T5ForConditionalGeneration\"], \"vocab_size\": 32128, "
          "\"d_model\": 512, \"d_kv\": 64, \"d_ff\": 2048, \"num_layers\": 6, "
          "\"num_decoder_layers\": 6, \"num_heads\": 8, \"relative_attention_num_buckets\": 32}" },
        /* mistralai/Mixtral-8x7B-v0.1 */
        { 46702792704,
          "{\"architectures\": [\"MixtralForCausalLM\"], \"vocab_size\": 32000, \"hidden_size\": "
          "4096, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": "
          "8, \"intermediate_size\": 14336, \"num_local_experts\": 8, \"num_experts_per_tok\": 2, "
          "\"max_position_embeddings\": 32768, \"hidden_act\": \"silu\", \"tie_word_embeddings\": "
          "false}" },
        /* deepseek-ai/DeepSeek-V2, DeepSeek-V3 */
        { 235741434880,
          "{\"architectures\": [\"DeepseekV2ForCausalLM\"], " DEEPSEEK "\"vocab_size\": 102400, "
          "\"hidden_size\": 5120, \"num_hidden_layers\": 60, \"first_k_dense_replace\": 1, "
          "\"intermediate_size\": 12288, \"moe_intermediate_size\": 1536, \"n_routed_experts\": 160, "
          "\"n_shared_experts\": 2, \"num_experts_per_tok\": 6, \"norm_topk_prob\": false, "
          "\"scoring_func\": \"softmax\"}" },
        { 671026404352,
          "{\"architectures\": [\"DeepseekV3ForCausalLM\"], " DEEPSEEK "\"vocab_size\": 129280, "
          "\"hidden_size\": 7168, \"num_hidden_layers\": 61, \"first_k_dense_replace\": 3, "
          "\"intermediate_size\": 18432, \"moe_intermediate_size\": 2048, \"n_routed_experts\": 256, "
          "\"n_shared_experts\": 1, \"num_experts_per_tok\": 8, \"norm_topk_prob\": true, "
          "\"scoring_func\": \"sigmoid\"}" },
        /* google/vit-base-patch16-224, with three classes in place of its thousand */
        { 86567656 - 997 * 769,
          "{\"architectures\": [\"ViTForImageClassification\"], \"hidden_size\": 768, "
          "\"num_hidden_layers\": 12, \"num_attention_heads\": 12, \"intermediate_size\": 3072, "
          "\"image_size\": 224, \"patch_size\": 16, \"num_channels\": 3, \"qkv_bias\": true, "
          "\"hidden_act\": \"gelu\", \"id2label\": {\"0\": \"cat\", \"1\": \"dog\", \"2\": \"owl\"}}" },
        /* openai/whisper-tiny, what is trained of it */
        { 37184640,
          "{\"architectures\": [\"WhisperForConditionalGeneration\"], \"vocab_size\": 51865, "
          "\"d_model\": 384, \"encoder_layers\": 4, \"decoder_layers\": 4, "
          "\"encoder_attention_heads\": 6, \"decoder_attention_heads\": 6, \"encoder_ffn_dim\": "
          "1536, \"decoder_ffn_dim\": 1536, \"num_mel_bins\": 80, \"max_source_positions\": 1500, "
          "\"max_target_positions\": 448, \"activation_function\": \"gelu\"}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (counts_of(of[i].config).params != of[i].params)
            fail_msg("%llu, not %llu parameters: %s",
                     (unsigned long long)counts_of(of[i].config).params,
                     (unsigned long long)of[i].params, of[i].config);
}

/* A sample has 4096 tokens at most, unless somebody says more; an input says how many. */
static void a_sample_is_as_long_as_is_said(void **state)
{
    static const char *const set[] = { "sequence=16384" };
    lm_error                 err;
    network                 *net = opened("{\"model_type\": \"llama\", " LLAMA "}", NULL, 0, &err);
    bound_network           *bound = NULL;
    bind_options             b     = { .batch = 1, .dtype = LM_BF16 };

    (void)state;
    assert_string_equal(net->name, "net");
    assert_null(net->set);
    assert_int_equal(bind_network(net, nets_registry, &b, &bound, &err), LM_OK);
    assert_int_equal(metrics_tokens(bound), 4096);
    bound_network_free(bound);
    b.input = "512";
    assert_int_equal(bind_network(net, nets_registry, &b, &bound, &err), LM_OK);
    assert_int_equal(metrics_tokens(bound), 512);
    bound_network_free(bound);
    network_free(net);
    net = opened("{\"model_type\": \"llama\", " LLAMA "}", set, 1, &err);
    assert_string_equal(net->set, "sequence=16384");
    b.input = NULL;
    assert_int_equal(bind_network(net, nets_registry, &b, &bound, &err), LM_OK);
    assert_int_equal(metrics_tokens(bound), 16384);
    bound_network_free(bound);
    network_free(net);
}

static void what_is_not_known_is_refused_by_its_key(void **state)
{
    static const struct {
        const char *config, *why;
    } bad[] = {
        { "{\"architectures\": [\"RwkvForCausalLM\"]}",
          "unknown architecture 'RwkvForCausalLM' (known: LlamaForCausalLM, MistralForCausalLM, "
          "Qwen2ForCausalLM, Qwen3ForCausalLM, GPT2LMHeadModel, GPTNeoXForCausalLM, "
          "MixtralForCausalLM, Qwen3MoeForCausalLM, DeepseekV2ForCausalLM, DeepseekV3ForCausalLM, "
          "BertModel, BertForPreTraining, BertForMaskedLM, T5ForConditionalGeneration, "
          "T5WithLMHeadModel, ViTForImageClassification, WhisperForConditionalGeneration)" },
        { "{\"model_type\": \"mamba\"}", "unknown architecture 'mamba' (known: " },
        { "{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_act\": \"silu\"}",
          "'max_position_embeddings' is not there, which LlamaForCausalLM needs" },
        { "{\"model_type\": \"llama\", \"hidden_act\": \"gelu\", " LLAMA "}",
          "duplicate object key" },
        { "{\"model_type\": \"llama\", \"max_position_embeddings\": 0}",
          "'max_position_embeddings': expected a whole number from 1 to 10^9" },
        { "{\"model_type\": \"llama\", \"max_position_embeddings\": 1.5}",
          "'max_position_embeddings': expected a whole number from 1 to 10^9" },
        { "{\"model_type\": \"llama\", \"tie_word_embeddings\": 1, " LLAMA "}",
          "'tie_word_embeddings': expected true or false" },
        { "{\"model_type\": \"llama\", \"hidden_act\": \"relu\\n\"}",
          "'hidden_act' is 'relu ': layers of LlamaForCausalLM are known with silu alone" },
        { "{\"model_type\": \"t5\", \"feed_forward_proj\": \"gated-gelu\"}",
          "'feed_forward_proj' is 'gated-gelu': layers of T5ForConditionalGeneration are known with "
          "relu alone" },
        { "{\"model_type\": \"deepseek_v2\", \"q_lora_rank\": null, \"hidden_size\": 2048, "
          "\"vocab_size\": 102400, \"num_hidden_layers\": 27, \"first_k_dense_replace\": 1, "
          "\"num_attention_heads\": 16, \"max_position_embeddings\": 163840}",
          "'q_lora_rank' is null: DeepseekV2ForCausalLM is known here only with a number" },
        { "{\"model_type\": \"whisper\", \"encoder_layers\": 4, \"decoder_layers\": 2}",
          "'decoder_layers' is '2': layers of WhisperForConditionalGeneration are known with "
          "that of encoder_layers alone" },
        { "{\"name\": \"alexnet\"}", "no network of PALEO's" },
        { "{\"model_type\": \"llama\"", "net.json:1: " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lm_error err;
        network *net = opened(bad[i].config, NULL, 0, &err);

        assert_null(net);
        if (!strstr(err.text, bad[i].why))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_of_the_checkpoints),
        cmocka_unit_test(a_sample_is_as_long_as_is_said),
        cmocka_unit_test(what_is_not_known_is_refused_by_its_key),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
