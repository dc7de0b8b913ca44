// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/experts.h"

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

LocalNames::LocalNames(const Checkpoint& checkpoint, const FlatUnit& unit)
    : m_checkpoint(checkpoint)
{
    if (unit.firstRank == 0)
        return; // the first family's numbers are those of all
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
