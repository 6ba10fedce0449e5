/* Architectures of Hugging Face's transformers: configuration_*.py of each has the keys and their defaults. */
#include "formats/huggingface/architectures.h"

#include "formats/huggingface/huggingface.h"

/* ---- decoders ---- */

#define SEQUENCE(key)                                                                  \
    {                                                                                  \
        "sequence", (key), NULL, NULL, NULL, CONFIG_NUMBER, (double)HUGGINGFACE_TOKENS \
    }
#define NUMBER(argument, key)                                 \
    {                                                         \
        (argument), (key), NULL, NULL, NULL, CONFIG_NUMBER, 0 \
    }
#define NUMBER_OR(argument, key, other, over)                      \
    {                                                              \
        (argument), (key), (other), (over), NULL, CONFIG_NUMBER, 0 \
    }
#define FLAG(argument, key, usual)                             \
    {                                                          \
        (argument), (key), NULL, NULL, (usual), CONFIG_FLAG, 0 \
    }
#define END_ARGUMENT     \
    {                    \
        .argument = NULL \
    }
#define END_MUST    \
    {               \
        .key = NULL \
    }

/* Keys that all decoders of Llama's kind share. */
#define DECODER                                                                    \
    SEQUENCE("max_position_embeddings"), NUMBER("vocabulary", "vocab_size"),       \
        NUMBER("width", "hidden_size"), NUMBER("layers", "num_hidden_layers"),     \
        NUMBER("heads", "num_attention_heads"),                                    \
        NUMBER_OR("kv_heads", "num_key_value_heads", "num_attention_heads", NULL), \
        NUMBER_OR("head_width", "head_dim", "hidden_size", "num_attention_heads")

static const config_argument llama[] = { DECODER,
                                         NUMBER("intermediate", "intermediate_size"),
                                         FLAG("qkv_bias", "attention_bias", "0"),
                                         FLAG("output_bias", "attention_bias", "0"),
                                         FLAG("mlp_bias", "mlp_bias", "0"),
                                         FLAG("tied", "tie_word_embeddings", "0"),
                                         END_ARGUMENT };

static const config_argument qwen2[] = { DECODER, NUMBER("intermediate", "intermediate_size"),
                                         FLAG("tied", "tie_word_embeddings", "0"), END_ARGUMENT };

static const config_must silu[] = { { "hidden_act", "silu", NULL }, END_MUST };

static const config_must qwen3[] = { { "hidden_act", "silu", NULL },
                                     { "attention_bias", "false", NULL },
                                     END_MUST };

static const config_argument gpt2[] = { SEQUENCE("n_positions"),
                                        NUMBER("vocabulary", "vocab_size"),
                                        NUMBER("positions", "n_positions"),
                                        NUMBER("width", "n_embd"),
                                        NUMBER("layers", "n_layer"),
                                        NUMBER("heads", "n_head"),
                                        { "inner", "n_inner", NULL, NULL, "", CONFIG_NUMBER, 0 },
                                        END_ARGUMENT };

static const config_must gpt2_must[] = { { "activation_function", "gelu_new|gelu", NULL },
                                         { "tie_word_embeddings", "true", NULL },
                                         { "add_cross_attention", "false", NULL },
                                         END_MUST };

static const config_argument gpt_neox[] = { SEQUENCE("max_position_embeddings"),
                                            NUMBER("vocabulary", "vocab_size"),
                                            NUMBER("width", "hidden_size"),
                                            NUMBER("layers", "num_hidden_layers"),
                                            NUMBER("heads", "num_attention_heads"),
                                            NUMBER("intermediate", "intermediate_size"),
                                            END_ARGUMENT };

static const config_must gpt_neox_must[] = { { "hidden_act", "gelu|gelu_fast|gelu_new", "gelu" },
                                             { "use_parallel_residual", "true", NULL },
                                             { "attention_bias", "true", NULL },
                                             { "tie_word_embeddings", "false", NULL },
                                             { "rotary_pct", "0.25", NULL },
                                             END_MUST };

/* ---- experts ---- */

static const config_argument mixtral[] = { DECODER, NUMBER("intermediate", "intermediate_size"),
                                           NUMBER("experts", "num_local_experts"),
                                           NUMBER("top_k", "num_experts_per_tok"), END_ARGUMENT };

static const config_must mixtral_must[] = { { "hidden_act", "silu", NULL },
                                            { "tie_word_embeddings", "false", NULL },
                                            END_MUST };

static const config_argument qwen3_moe[] = { DECODER,
                                             NUMBER("intermediate", "moe_intermediate_size"),
                                             NUMBER("experts", "num_experts"),
                                             NUMBER("top_k", "num_experts_per_tok"), END_ARGUMENT };

static const config_must qwen3_moe_must[] = {
    { "hidden_act", "silu", NULL },           { "attention_bias", "false", NULL },
    { "tie_word_embeddings", "false", NULL }, { "decoder_sparse_step", "1", NULL },
    { "norm_topk_prob", "true", "false" },    END_MUST
};

#define DEEPSEEK                                                                                 \
    SEQUENCE("max_position_embeddings"), NUMBER("vocabulary", "vocab_size"),                     \
        NUMBER("width", "hidden_size"), NUMBER("layers", "num_hidden_layers"),                   \
        { "dense_layers", "first_k_dense_replace", NULL, NULL, NULL, CONFIG_COUNT, 0 },          \
        NUMBER("heads", "num_attention_heads"), NUMBER("q_rank", "q_lora_rank"),                 \
        NUMBER("kv_rank", "kv_lora_rank"), NUMBER("head_width", "qk_nope_head_dim"),             \
        NUMBER("rotary", "qk_rope_head_dim"), NUMBER("value_width", "v_head_dim"),               \
        NUMBER("intermediate", "intermediate_size"), NUMBER("experts", "n_routed_experts"),      \
        NUMBER("top_k", "num_experts_per_tok"), NUMBER("expert_width", "moe_intermediate_size"), \
        { "shared_experts", "n_shared_experts", NULL, NULL, "0", CONFIG_COUNT, 0 },              \
        FLAG("normalise", "norm_topk_prob", "0")

static const config_argument deepseek_v2[] = {
    DEEPSEEK, { "score", "scoring_func", NULL, NULL, "softmax", CONFIG_WORD, 0 }, END_ARGUMENT
};

static const config_argument deepseek_v3[] = {
    DEEPSEEK, { "score", "scoring_func", NULL, NULL, "sigmoid", CONFIG_WORD, 0 }, END_ARGUMENT
};

static const config_must deepseek_must[] = { { "hidden_act", "silu", NULL },
                                             { "attention_bias", "false", NULL },
                                             { "tie_word_embeddings", "false", NULL },
                                             { "moe_layer_freq", "1", NULL },
                                             { "scoring_func", "softmax|sigmoid", NULL },
                                             END_MUST };

/* ---- encoders, and both ---- */

static const config_argument bert[] = { SEQUENCE("max_position_embeddings"),
                                        NUMBER("vocabulary", "vocab_size"),
                                        NUMBER("positions", "max_position_embeddings"),
                                        NUMBER("types", "type_vocab_size"),
                                        NUMBER("width", "hidden_size"),
                                        NUMBER("layers", "num_hidden_layers"),
                                        NUMBER("heads", "num_attention_heads"),
                                        NUMBER("intermediate", "intermediate_size"),
                                        END_ARGUMENT };

static const config_must bert_must[] = { { "hidden_act", "gelu", NULL },
                                         { "is_decoder", "false", NULL },
                                         { "position_embedding_type", "absolute", NULL },
                                         { "tie_word_embeddings", "true", NULL },
                                         END_MUST };

static const config_argument t5[] = { NUMBER("vocabulary", "vocab_size"),
                                      NUMBER("width", "d_model"),
                                      NUMBER("layers", "num_layers"),
                                      NUMBER("heads", "num_heads"),
                                      NUMBER("head_width", "d_kv"),
                                      NUMBER("hidden", "d_ff"),
                                      NUMBER("buckets", "relative_attention_num_buckets"),
                                      END_ARGUMENT };

static const config_must t5_must[] = { { "feed_forward_proj", "relu", NULL },
                                       { "num_decoder_layers", "=num_layers|null", NULL },
                                       { "tie_word_embeddings", "true", NULL },
                                       END_MUST };

static const config_argument vit[] = { { "classes", "num_labels", "id2label", NULL, "2",
                                         CONFIG_ENTRIES, 0 },
                                       NUMBER("image", "image_size"),
                                       NUMBER("patch", "patch_size"),
                                       NUMBER("width", "hidden_size"),
                                       NUMBER("layers", "num_hidden_layers"),
                                       NUMBER("heads", "num_attention_heads"),
                                       NUMBER("mlp", "intermediate_size"),
                                       END_ARGUMENT };

static const config_must vit_must[] = { { "hidden_act", "gelu", NULL },
                                        { "qkv_bias", "true", NULL },
                                        { "num_channels", "3", NULL },
                                        END_MUST };

static const config_argument whisper[] = { NUMBER("bands", "num_mel_bins"),
                                           NUMBER("vocabulary", "vocab_size"),
                                           NUMBER("positions", "max_target_positions"),
                                           NUMBER("target", "max_target_positions"),
                                           NUMBER("width", "d_model"),
                                           NUMBER("layers", "encoder_layers"),
                                           NUMBER("heads", "encoder_attention_heads"),
                                           NUMBER("hidden", "encoder_ffn_dim"),
                                           END_ARGUMENT };

static const config_must whisper_must[] = { { "activation_function", "gelu", NULL },
                                            { "decoder_layers", "=encoder_layers", NULL },
                                            { "decoder_attention_heads", "=encoder_attention_heads",
                                              NULL },
                                            { "decoder_ffn_dim", "=encoder_ffn_dim", NULL },
                                            { "max_source_positions", "1500", NULL },
                                            END_MUST };

const architecture architectures[] = {
    { "LlamaForCausalLM", "llama", "mistral_7b", NULL, llama, silu },
    { "MistralForCausalLM", "mistral", "mistral_7b", NULL, llama, silu },
    { "Qwen2ForCausalLM", "qwen2", "mistral_7b", "qkv_bias=1", qwen2, silu },
    { "Qwen3ForCausalLM", "qwen3", "qwen3_8b", NULL, qwen2, qwen3 },
    { "GPT2LMHeadModel", "gpt2", "gpt2", NULL, gpt2, gpt2_must },
    { "GPTNeoXForCausalLM", "gpt_neox", "gpt_neox_20b", NULL, gpt_neox, gpt_neox_must },
    { "MixtralForCausalLM", "mixtral", "mixtral_8x7b", NULL, mixtral, mixtral_must },
    { "Qwen3MoeForCausalLM", "qwen3_moe", "qwen3_30b_a3b", NULL, qwen3_moe, qwen3_moe_must },
    { "DeepseekV2ForCausalLM", "deepseek_v2", "deepseek_v2", NULL, deepseek_v2, deepseek_must },
    { "DeepseekV3ForCausalLM", "deepseek_v3", "deepseek_v2", "score_bias=1", deepseek_v3,
      deepseek_must },
    { "BertModel", "bert", "bert_base", NULL, bert, bert_must },
    { "BertForPreTraining", NULL, "bert_base", "pretraining=1", bert, bert_must },
    { "BertForMaskedLM", NULL, "bert_base", "pretraining=1 pooler=0", bert, bert_must },
    { "T5ForConditionalGeneration", "t5", "t5_small", NULL, t5, t5_must },
    { "T5WithLMHeadModel", NULL, "t5_small", NULL, t5, t5_must },
    { "ViTForImageClassification", "vit", "vit_b_16", NULL, vit, vit_must },
    { "WhisperForConditionalGeneration", "whisper", "whisper_tiny", NULL, whisper, whisper_must },
};

const size_t n_architectures = sizeof architectures / sizeof *architectures;
