// SPDX-License-Identifier: Apache-2.0
#include "core/layout/map_looks.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

/// Calls `visit` with every dot-separated part of a name until it returns true.
template <class Visit>
bool anyPart(std::string_view name, Visit visit)
{
    for (;;) {
        const size_t dot = name.find('.');
        if (visit(name.substr(0, dot)))
            return true;
        if (dot == std::string_view::npos)
            return false;
        name.remove_prefix(dot + 1);
    }
}

bool contains(std::string_view text, std::string_view word)
{
    return text.find(word) != std::string_view::npos;
}

template <size_t N>
bool isOneOf(std::string_view part, const std::array<std::string_view, N>& words)
{
    return std::find(words.begin(), words.end(), part) != words.end();
}

bool isNorm(std::string_view part)
{
    // ln, ln1, ln_f, bn2: two letters, then a number or a suffix
    const bool shortName = (part.starts_with("ln") || part.starts_with("bn"))
        && (part.size() == 2 || part[2] == '_' || (part[2] >= '0' && part[2] <= '9'));
    return shortName || contains(part, "norm");
}

bool isEmbedding(std::string_view part)
{
    static constexpr std::array<std::string_view, 9> kWords{
        "wte", "wpe", "emb", "head", "shared", "score", "classifier", "qa_outputs", "unembed"};
    return contains(part, "embed") || part.ends_with("_head") || isOneOf(part, kWords);
}

bool isAttention(std::string_view part)
{
    static constexpr std::array<std::string_view, 22> kWords{"q_proj", "k_proj", "v_proj", "o_proj",
        "qkv_proj", "qkv", "c_attn", "query", "key", "value", "wq", "wk", "wv", "wqkv", "in_proj", "out_proj",
        "to_q", "to_k", "to_v", "to_out", "q_a_proj", "kv_b_proj"};
    return contains(part, "attn") || contains(part, "attention") || part == "query_key_value"
        || isOneOf(part, kWords);
}

bool isMlp(std::string_view part)
{
    static constexpr std::array<std::string_view, 16> kWords{"gate_proj", "up_proj", "down_proj", "gate_up",
        "gate_up_proj", "c_fc", "fc1", "fc2", "w1", "w2", "w3", "wi", "wi_0", "wi_1", "fc_in", "fc_out"};
    return contains(part, "mlp") || contains(part, "ffn") || contains(part, "feed_forward")
        || contains(part, "feedforward") || contains(part, "dense_h_to_4h") || contains(part, "dense_4h_to_h")
        || contains(part, "densereludense") || part == "intermediate" || part == "dense"
        || isOneOf(part, kWords);
}

bool isExpert(std::string_view part)
{
    return contains(part, "expert") || part == "moe" || part.ends_with("_moe");
}

/// What chooses the experts is dense: every rank has it.
bool isRouter(std::string_view part)
{
    return part == "router" || part == "gate";
}

/// Without the part that a colon adds to a name that several slices or stages have ("norm.weight:tp1").
std::string_view withoutPart(std::string_view name)
{
    const size_t colon = name.rfind(':');
    const std::string_view part = colon == std::string_view::npos ? "" : name.substr(colon + 1);
    return part.starts_with("tp") || part.starts_with("pp") ? name.substr(0, colon) : name;
}

} // namespace

ParamClass classOf(std::string_view name, const Shape& shape, ParamRole role)
{
    if (role == ParamRole::Buffer)
        return ParamClass::Buffer;
    std::string lower(withoutPart(name));
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    }
    const std::string_view whole = lower;
    const size_t dot = whole.rfind('.');
    const std::string_view last = dot == std::string_view::npos ? whole : whole.substr(dot + 1);
    const std::string_view module = dot == std::string_view::npos ? whole : whole.substr(0, dot);
    const size_t moduleDot = module.rfind('.');
    const std::string_view owner
        = moduleDot == std::string_view::npos ? module : module.substr(moduleDot + 1);

    // A norm's bias belongs to the norm; otherwise the parameter's own name decides before its owner's.
    if (isNorm(owner) || isNorm(last))
        return ParamClass::Norm;
    if (last == "bias" || last.ends_with("_bias") || last.starts_with("bias_"))
        return ParamClass::Bias;
    if (anyPart(whole, isExpert))
        return anyPart(whole, isRouter) && !contains(whole, "experts.") ? ParamClass::Other
                                                                        : ParamClass::Expert;
    if (anyPart(whole, isAttention))
        return ParamClass::Attention;
    if (isEmbedding(owner) || isEmbedding(last) || whole == "output.weight")
        return ParamClass::Embedding;
    if (anyPart(whole, isMlp))
        return ParamClass::Mlp;
    if (anyPart(whole, isEmbedding))
        return ParamClass::Embedding;
    if (shape.size() == 1 && last == "weight") // only norms have one-dimensional weights
        return ParamClass::Norm;
    return ParamClass::Other;
}

std::string_view paramClassName(ParamClass value)
{
    switch (value) {
    case ParamClass::Embedding:
        return "embedding";
    case ParamClass::Attention:
        return "attention";
    case ParamClass::Mlp:
        return "mlp";
    case ParamClass::Expert:
        return "expert";
    case ParamClass::Norm:
        return "norm";
    case ParamClass::Bias:
        return "bias";
    case ParamClass::Other:
        return "other";
    case ParamClass::Buffer:
        return "buffer";
    }
    return "other";
}

} // namespace shardscope
