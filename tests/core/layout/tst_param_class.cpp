// SPDX-License-Identifier: Apache-2.0
#include "core/layout/map_query.h"

#include <doctest/doctest.h>

#include <array>
#include <set>

using namespace shardscope;

namespace {

struct Case {
    const char* name;
    ParamClass expected;
    Shape shape = {8, 8};
};

const Case kCases[] = {
    // LLaMA, Qwen, Mistral
    {"model.embed_tokens.weight", ParamClass::Embedding},
    {"model.layers.0.self_attn.q_proj.weight", ParamClass::Attention},
    {"model.layers.0.self_attn.q_proj.bias", ParamClass::Bias},
    {"model.layers.0.self_attn.q_norm.weight", ParamClass::Norm},
    {"model.layers.0.mlp.gate_proj.weight", ParamClass::Mlp},
    {"model.layers.0.mlp.gate_up_proj.weight", ParamClass::Mlp},
    {"model.layers.0.input_layernorm.weight", ParamClass::Norm, {8}},
    {"model.norm.weight", ParamClass::Norm, {8}},
    {"lm_head.weight", ParamClass::Embedding},
    {"layers.3.attention.wo.weight", ParamClass::Attention},
    {"layers.3.feed_forward.w2.weight", ParamClass::Mlp},
    {"tok_embeddings.weight", ParamClass::Embedding},
    {"output.weight", ParamClass::Embedding},
    // mixtures of experts
    {"model.layers.1.block_sparse_moe.experts.3.w1.weight", ParamClass::Expert},
    {"model.layers.1.block_sparse_moe.gate.weight", ParamClass::Other}, // of a router, which is dense
    {"blocks.0.deepspeed_moe.gate.wg.weight", ParamClass::Other},
    {"blocks.0.deepspeed_moe.experts.deepspeed_experts.1.0.bias", ParamClass::Bias},
    {"layers.0.up_proj.bias:tp0", ParamClass::Bias},
    {"norm.weight:tp1", ParamClass::Norm},
    {"model.layers.1.mlp.experts.31.down_proj.weight", ParamClass::Expert},
    {"model.layers.1.mlp.shared_expert.up_proj.weight", ParamClass::Expert},
    {"deepspeed_moe.experts.deepspeed_experts.0.fc1.weight", ParamClass::Expert},
    // GPT-2, OPT, BLOOM, GPT-NeoX
    {"transformer.wte.weight", ParamClass::Embedding},
    {"transformer.wpe.weight", ParamClass::Embedding},
    {"transformer.h.0.ln_1.weight", ParamClass::Norm, {8}},
    {"transformer.h.0.ln_1.bias", ParamClass::Norm, {8}},
    {"transformer.h.0.attn.c_attn.weight", ParamClass::Attention},
    {"transformer.h.0.attn.c_proj.bias", ParamClass::Bias, {8}},
    {"transformer.h.0.mlp.c_proj.weight", ParamClass::Mlp},
    {"transformer.ln_f.weight", ParamClass::Norm, {8}},
    {"model.decoder.layers.0.self_attn.out_proj.weight", ParamClass::Attention},
    {"model.decoder.layers.0.fc1.weight", ParamClass::Mlp},
    {"transformer.word_embeddings.weight", ParamClass::Embedding},
    {"transformer.word_embeddings_layernorm.weight", ParamClass::Norm, {8}},
    {"h.0.self_attention.query_key_value.weight", ParamClass::Attention},
    {"gpt_neox.layers.0.mlp.dense_h_to_4h.weight", ParamClass::Mlp},
    {"embed_out.weight", ParamClass::Embedding},
    // BERT, T5, ViT
    {"bert.embeddings.word_embeddings.weight", ParamClass::Embedding},
    {"bert.embeddings.LayerNorm.weight", ParamClass::Norm, {8}},
    {"bert.encoder.layer.0.attention.output.dense.weight", ParamClass::Attention},
    {"bert.encoder.layer.0.intermediate.dense.weight", ParamClass::Mlp},
    {"encoder.block.0.layer.1.DenseReluDense.wo.weight", ParamClass::Mlp},
    {"shared.weight", ParamClass::Embedding},
    {"vit.blocks.0.attn.qkv.weight", ParamClass::Attention},
    {"vit.bn1.weight", ParamClass::Norm, {8}},
    // anything else
    {"0.weight", ParamClass::Norm, {8}},
    {"0.weight", ParamClass::Other},
    {"0.bias", ParamClass::Bias, {8}},
    {"scale", ParamClass::Other, {1}},
    {"", ParamClass::Other},
    {"\xFF.\xFE", ParamClass::Other},
};

} // namespace

TEST_CASE("classes of the parameter names of common models")
{
    for (const Case& item : kCases) {
        CAPTURE(item.name);
        CHECK(paramClassName(classOf(item.name, item.shape, ParamRole::Trainable))
            == paramClassName(item.expected));
    }
    CHECK(classOf("model.layers.0.self_attn.rotary_emb.inv_freq", {8}, ParamRole::Buffer)
        == ParamClass::Buffer);
}

TEST_CASE("every class has its own name")
{
    std::set<std::string_view> names;
    for (const auto value : {ParamClass::Embedding, ParamClass::Attention, ParamClass::Mlp,
             ParamClass::Expert, ParamClass::Norm, ParamClass::Bias, ParamClass::Other, ParamClass::Buffer})
        names.insert(paramClassName(value));
    CHECK(names.size() == 8);
}
