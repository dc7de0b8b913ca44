// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/file_names.h"

#include "core/base/text_cursor.h"

#include <charconv>
#include <cstdio>
#include <tuple>

namespace shardscope {

namespace {

/// "-0.8": part 0 of 8. The fast writer appends it to the full file name.
bool stripFastWriterSuffix(std::string_view& name)
{
    const size_t at = name.rfind(".pt-");
    if (at == std::string_view::npos)
        return false;
    TextCursor cursor(name.substr(at + 4));
    uint32_t part = 0;
    uint32_t count = 0;
    if (!cursor.takeNumber(part) || !cursor.takeText(".") || !cursor.takeNumber(count)
        || !cursor.rest().empty())
        return false;
    name = name.substr(0, at + 3);
    return true;
}

bool parseZeroName(std::string_view name, CheckpointFileName& out)
{
    TextCursor cursor(name);
    out.bf16Prefix = cursor.takeText("bf16_");
    if (!cursor.takeText("zero_pp_rank_") || !cursor.takeNumber(out.dp) || !cursor.takeText("_mp_rank_")
        || !cursor.takeNumber(out.mp))
        return false;
    if (cursor.rest() == "_model_states.pt" && !out.bf16Prefix) {
        out.role = FileRole::ModelStates;
        out.zero3Model = true;
        return true;
    }
    out.role = FileRole::OptimStates;
    out.oldSpelling = cursor.rest() == "optim_states.pt";
    return out.oldSpelling || cursor.rest() == "_optim_states.pt";
}

bool parseModelName(std::string_view name, CheckpointFileName& out)
{
    TextCursor cursor(name);
    out.role = FileRole::ModelStates;
    return cursor.takeText("mp_rank_") && cursor.takeNumber(out.mp) && cursor.rest() == "_model_states.pt";
}

/// expp_rank_P_mp_rank_MM_optim_states.pt, and expert_X_… of releases with a single MoE layer.
bool parseOldExpertName(std::string_view name, CheckpointFileName& out)
{
    TextCursor cursor(name);
    uint32_t number = 0;
    out.role = FileRole::ExpertStates;
    if (cursor.takeText("expp_rank_"))
        return cursor.takeNumber(number) && cursor.takeText("_mp_rank_") && cursor.takeNumber(out.mp)
            && cursor.rest() == "_optim_states.pt";
    return cursor.takeText("expert_") && cursor.takeNumber(number) && name.ends_with("_model_states.pt");
}

bool parseExpertName(std::string_view name, CheckpointFileName& out)
{
    TextCursor cursor(name);
    uint32_t layer = 0;
    uint32_t expert = 0;
    out.role = FileRole::ExpertStates;
    if (!cursor.takeText("layer_") || !cursor.takeNumber(layer) || !cursor.takeText("_expert_")
        || !cursor.takeNumber(expert) || !cursor.takeText("_mp_rank_") || !cursor.takeNumber(out.mp))
        return false;
    out.layer = layer;
    out.expert = expert;
    return cursor.rest() == "_model_states.pt";
}

/// layer_LL-model_states.pt, layer_LL-model_TT-model_states.pt, and names with other axes of a topology in
/// between.
bool parseLayerName(std::string_view name, CheckpointFileName& out)
{
    TextCursor cursor(name);
    uint32_t layer = 0;
    uint32_t tp = 0;
    out.role = FileRole::LayerStates;
    if (!cursor.takeText("layer_") || !cursor.takeNumber(layer) || !cursor.takeText("-"))
        return false;
    out.layer = layer;
    if (cursor.takeText("model_") && cursor.takeNumber(tp))
        out.tp = tp;
    return name.ends_with("model_states.pt");
}

std::tuple<uint64_t, std::string_view> tagKey(std::string_view tag)
{
    size_t end = tag.size();
    while (end > 0 && (tag[end - 1] < '0' || tag[end - 1] > '9'))
        --end;
    size_t begin = end;
    while (begin > 0 && tag[begin - 1] >= '0' && tag[begin - 1] <= '9')
        --begin;
    uint64_t number = 0;
    std::from_chars(tag.data() + begin, tag.data() + end, number);
    return {number, tag};
}

} // namespace

std::optional<CheckpointFileName> parseCheckpointFileName(std::string_view name)
{
    const bool part = stripFastWriterSuffix(name);
    using Rule = bool (*)(std::string_view, CheckpointFileName&);
    for (const Rule rule :
        {&parseZeroName, &parseModelName, &parseOldExpertName, &parseExpertName, &parseLayerName}) {
        CheckpointFileName out;
        if (rule(name, out)) {
            out.fastWriterPart = part;
            return out;
        }
    }
    return std::nullopt;
}

std::string modelFileName(uint32_t mp)
{
    char text[64];
    std::snprintf(text, sizeof text, "mp_rank_%02u_model_states.pt", mp);
    return text;
}

std::string zero3ModelFileName(uint32_t dp, uint32_t mp)
{
    char text[96];
    std::snprintf(text, sizeof text, "zero_pp_rank_%u_mp_rank_%02u_model_states.pt", dp, mp);
    return text;
}

std::string optimFileName(uint32_t dp, uint32_t mp, bool bf16Prefix)
{
    char text[96];
    std::snprintf(text, sizeof text, "%szero_pp_rank_%u_mp_rank_%02u_optim_states.pt",
        bf16Prefix ? "bf16_" : "", dp, mp);
    return text;
}

bool tagLess(std::string_view a, std::string_view b)
{
    return tagKey(a) < tagKey(b);
}

} // namespace shardscope
