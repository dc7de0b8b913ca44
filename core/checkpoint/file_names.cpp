// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/file_names.h"

#include "core/base/text_cursor.h"

#include <charconv>
#include <cstdio>
#include <tuple>

namespace shardscope {

namespace {

/// "-0.8": part 0 of 8, as the fast writer appends it to a whole file name.
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

bool parseExpertOrLayerName(std::string_view name, CheckpointFileName& out)
{
    uint32_t ignored = 0;
    TextCursor expertGroup(name);
    if (expertGroup.takeText("expp_rank_") && expertGroup.takeNumber(ignored)) {
        out.role = FileRole::ExpertStates;
        return name.ends_with("_optim_states.pt");
    }
    TextCursor oldExpert(name);
    if (oldExpert.takeText("expert_") && oldExpert.takeNumber(ignored)) {
        out.role = FileRole::ExpertStates;
        return name.ends_with("_model_states.pt");
    }
    TextCursor layer(name);
    if (!layer.takeText("layer_") || !layer.takeNumber(ignored))
        return false;
    out.role = layer.takeText("_expert_") ? FileRole::ExpertStates : FileRole::LayerStates;
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
    for (const Rule rule : {&parseZeroName, &parseModelName, &parseExpertOrLayerName}) {
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
