// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/experts.h"

#include "core/base/text_cursor.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kMark = "deepspeed_experts.";

} // namespace

std::optional<ExpertName> parseExpertName(std::string_view name)
{
    const size_t at = name.find(kMark);
    if (at == std::string_view::npos)
        return std::nullopt;
    ExpertName out;
    out.before = name.substr(0, at + kMark.size());
    TextCursor cursor(name.substr(out.before.size()));
    if (!cursor.takeNumber(out.number) || (!cursor.atEnd() && !cursor.rest().starts_with('.')))
        return std::nullopt;
    out.after = cursor.rest();
    return out;
}

bool familiesAreConsecutive(const Checkpoint& checkpoint)
{
    const auto optionIn = [&](FileId file) -> std::optional<bool> {
        if (file == kNoFile || !checkpoint.file(file).content)
            return std::nullopt;
        const PickleGraph& graph = checkpoint.file(file).content->pickle();
        const NodeId option
            = lookup(graph, lookup(graph, graph.root(), "ds_config"), "use_data_before_expert_parallelism");
        return option == kNoNode ? std::nullopt : std::optional(asBool(graph, option).value_or(false));
    };
    if (const auto recorded = optionIn(checkpoint.templateModel))
        return *recorded;
    // Before 0.19.3 model files with experts have no configuration.
    const auto readable = std::find_if(checkpoint.optimFiles.begin(), checkpoint.optimFiles.end(),
        [&](FileId file) { return file != kNoFile && checkpoint.file(file).content != nullptr; });
    return readable != checkpoint.optimFiles.end() && optionIn(*readable).value_or(false);
}

LocalNames::LocalNames(const Checkpoint& checkpoint, const FlatUnit& unit)
    : m_checkpoint(checkpoint)
{
    if (unit.firstRank == 0)
        return; // the numbers are the same in all families
    for (const ParamId id : unit.params) {
        const auto expert = parseExpertName(checkpoint.params[index(id)].name);
        if (!expert)
            continue;
        const auto [first, isNew] = m_first.emplace(expert->before, expert->number);
        first->second = std::min(first->second, expert->number);
    }
}

std::string LocalNames::of(ParamId param) const
{
    const std::string& name = m_checkpoint.params[index(param)].name;
    const auto expert = parseExpertName(name);
    const auto first = expert ? m_first.find(expert->before) : m_first.end();
    return first == m_first.end() ? name : expert->renumbered(expert->number - first->second);
}

} // namespace shardscope
