// SPDX-License-Identifier: Apache-2.0
#include "core/report/summary/provenance.h"

#include "core/base/text.h"
#include "core/checkpoint/model/file_names.h"
#include "core/describe/json_in.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kMostManifestBytes = uint64_t{64} << 20;
constexpr uint64_t kMostConfigBytes = uint64_t{4} << 20;

JsonNode readJson(io::FileSystem& files, const io::Path& path, uint64_t limit)
{
    const auto text = files.readSmall(path, limit);
    return text ? JsonNode::parse(*text) : JsonNode();
}

/// "transformers 4.57.1": transformers records its version next to the weights (configuration_utils.py,
/// PretrainedConfig.to_diff_dict).
std::string frameworkText(io::FileSystem& files, const Checkpoint& checkpoint)
{
    const JsonNode config = checkpoint.runFolder.empty()
        ? JsonNode()
        : readJson(files, checkpoint.runFolder / "config.json", kMostConfigBytes);
    const auto version = config.at("transformers_version").text();
    if (version && (checkpoint.wrapper.empty() || checkpoint.wrapper == "transformers"))
        return "transformers " + *version;
    return checkpoint.wrapper + (version ? ", with transformers " + *version : "");
}

/// "reshard of global_step5, 4 ranks": what this program did to get the checkpoint.
std::string jobText(io::FileSystem& files, const Checkpoint& checkpoint)
{
    const JsonNode root = readJson(files, checkpoint.tagFolder / kManifestName, kMostManifestBytes);
    const auto verb = root.at("verb").text();
    if (!verb)
        return {};
    const JsonNode source = root.at("plan").at("source");
    std::string out = *verb;
    if (const auto tag = source.at("tag").text())
        out += " of " + *tag;
    if (const auto ranks = source.at("world_size").integer<uint64_t>())
        out += ", " + formatCount(*ranks) + (*ranks == 1 ? " rank" : " ranks");
    return out;
}

} // namespace

Provenance provenanceOf(io::FileSystem& files, const Checkpoint& checkpoint)
{
    Provenance out;
    const auto add = [&](const char* name, std::string value, FileId file = kNoFile) {
        if (!value.empty())
            out.facts.push_back({name, std::move(value), file});
    };
    const FileId model = checkpoint.isReadable(checkpoint.templateModel) ? checkpoint.templateModel : kNoFile;
    add("DeepSpeed", checkpoint.deepspeedVersion, model);
    add("Framework", frameworkText(files, checkpoint));
    add("Shardscope", jobText(files, checkpoint));
    for (const CheckpointFile& file : checkpoint.files) {
        const bool isState = file.role == FileRole::ModelStates || file.role == FileRole::OptimStates
            || file.role == FileRole::LayerStates || file.role == FileRole::ExpertStates;
        if (!isState || file.identity.modifiedNs <= 0)
            continue;
        const int64_t seconds = file.identity.modifiedNs / 1'000'000'000;
        out.firstWritten = out.firstWritten == 0 ? seconds : std::min(out.firstWritten, seconds);
        out.lastWritten = std::max(out.lastWritten, seconds);
    }
    return out;
}

} // namespace shardscope
