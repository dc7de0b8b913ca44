// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/version.h"

#include "core/base/build_info.h"
#include "core/base/tested_releases.h"
#include "core/tensor/compute_modules.h"

namespace shardscope::cli {

void writeVersion(const TextSink& sink, bool json)
{
    const BuildInfo info = buildInfo();
    if (!json) {
        sink("shardscope " + std::string(info.version) + " (" + std::string(info.commit) + ", "
            + std::string(info.buildType) + ")\n");
        return;
    }
    sink(jsonText([&](JsonWriter& out) {
        out.beginObject();
        out.field("schema", "shardscope/version/1");
        out.field("version", info.version);
        out.field("commit", info.commit);
        out.field("build_type", info.buildType);
        out.textOrNull("sanitizers", info.sanitizers);
        out.field("static", !canLoadModules());
        out.key("modules");
        out.beginArray();
        for (const ComputeModuleState& module : computeModuleStates()) {
            out.beginObject();
            out.field("device", module.device);
            out.field("file", module.file);
            out.field("usable", module.whyNot.empty());
            out.textOrNull("why_not", module.whyNot);
            out.endObject();
        }
        out.endArray();
        out.key("tested_deepspeed");
        out.beginArray();
        for (const std::string_view release : kTestedReleases)
            out.value(release);
        out.endArray();
        out.endObject();
    }) + "\n");
}

} // namespace shardscope::cli
