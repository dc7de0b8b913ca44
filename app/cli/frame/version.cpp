// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/version.h"

#include "core/base/build_info.h"
#include "core/base/tested_releases.h"
#include "core/compute/compute_modules.h"
#include "core/describe/json_out.h"
#include "core/describe/schema_out.h"

namespace shardscope::cli {

namespace {

void describeVersion(auto& out, const BuildInfo& info)
{
    out.answer("version", "VersionAnswer", "Version and build of the program.");
    out.field("version", info.version);
    out.field("commit", info.commit);
    out.field("build_type", info.buildType);
    out.textOrNull("sanitizers", info.sanitizers);
    out.field("static", !canLoadModules(), "whether this is the static program, which cannot load modules");
    out.list("modules", computeModuleStates(), [](auto& each, const ComputeModuleState& module) {
        each.word("device", module.device, {"torch", "cuda"});
        each.field("file", module.file);
        each.field("usable", module.whyNot.empty());
        each.textOrNull("why_not", module.whyNot);
    });
    out.field("tested_deepspeed", kTestedReleases, "releases of DeepSpeed, oldest first");
}

} // namespace

void writeVersion(const TextSink& sink, bool json)
{
    const BuildInfo info = buildInfo();
    if (!json) {
        sink("shardscope " + std::string(info.version) + " (" + std::string(info.commit) + ", "
            + std::string(info.buildType) + ")\n");
        return;
    }
    writeObject(sink, [&](JsonOut& out) { describeVersion(out, info); });
}

std::string versionSchema()
{
    return schemaOf("version", [](SchemaOut& out) { describeVersion(out, buildInfo()); });
}

} // namespace shardscope::cli
