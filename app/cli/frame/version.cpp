// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/version.h"

#include "core/base/build_info.h"

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
        out.endObject();
    }) + "\n");
}

} // namespace shardscope::cli
