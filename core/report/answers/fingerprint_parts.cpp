// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/fingerprint_parts.h"

#include "core/base/text.h"

namespace shardscope {

namespace {

constexpr size_t kShownBytes = 32;

std::string shortened(const std::string& text)
{
    return text.size() <= kShownBytes ? text : text.substr(0, kShownBytes) + " …";
}

} // namespace

void writeScalarDigests(JsonWriter& json, const std::vector<DigestedScalar>& scalars)
{
    json.arrayField("scalars");
    for (const DigestedScalar& scalar : scalars) {
        json.beginObject();
        json.field("name", scalar.name);
        json.field("state", scalar.state);
        json.field("text", scalar.text);
        json.field("digest", scalar.digest.text());
        json.endObject();
    }
    json.endArray();
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
