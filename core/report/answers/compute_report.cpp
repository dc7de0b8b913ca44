// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/compute_report.h"

namespace shardscope {

void writeCompute(JsonWriter& json, const ComputeReport& compute)
{
    json.objectField("compute");
    json.field("device", compute.device);
    json.field("by", compute.by);
    json.textOrNull("reason", compute.reason);
    json.textList("notes", compute.notes);
    json.endObject();
}

std::string computeText(const ComputeReport& compute)
{
    std::string out = compute.device + " (" + compute.by + ")";
    for (const std::string& note : compute.notes)
        out += "; " + note;
    return out;
}

} // namespace shardscope
