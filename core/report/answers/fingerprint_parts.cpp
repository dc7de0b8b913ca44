// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/fingerprint_parts.h"

#include "core/base/text.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr size_t kShownBytes = 32;

std::string shortened(const std::string& text)
{
    return text.size() <= kShownBytes ? text : text.substr(0, kShownBytes) + " …";
}

} // namespace

uint64_t expectedOf(const PartialFingerprint& fingerprint, const std::string& state)
{
    const auto found = std::ranges::find(fingerprint.expected, state, &StateShare::state);
    return found == fingerprint.expected.end() ? 0 : found->elements;
}

void writeStateTable(const TextSink& sink, const TextStyle& style, const std::vector<StateShare>& states,
    const std::vector<DigestedScalar>& scalars)
{
    sink("\n");
    TextTable table({{"part"}, {"digest"}, {"value"}});
    for (const StateShare& share : states)
        table.add({share.state, share.digest.text(), formatCount(share.elements) + " elements"});
    for (const DigestedScalar& scalar : scalars)
        table.add({scalar.state.empty() ? scalar.name : scalar.name + " " + scalar.state,
            scalar.digest.text(), shortened(scalar.text)});
    table.write(sink, style, "  ");
}

} // namespace shardscope
