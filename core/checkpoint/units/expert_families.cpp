// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/expert_families.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/folder/file_table.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/checkpoint/units/unit_states.h"

#include <algorithm>
#include <optional>

namespace shardscope {

namespace {

/// Numbers of local experts per module, summed over all groups: DeepSpeed splits large groups, so several
/// groups may have experts.
std::map<std::string, uint32_t, std::less<>> countLocalExperts(const ShapeLists& shapes)
{
    std::map<std::string, uint32_t, std::less<>> out;
    for (const auto& group : shapes) {
        for (const NamedShape& entry : group) {
            if (const auto expert = parseExpertName(entry.name)) {
                uint32_t& count = out[std::string(expert->before)];
                count = std::max(count, expert->number + 1);
            }
        }
    }
    return out;
}

/// Whether the model file lists experts among the parameters.
bool namesExperts(const Reading& reading, const PickleGraph& graph)
{
    const auto fused = FusedExperts::read(graph, reading.modelRoot, partitionsParameters(reading.out.kind));
    if (fused && !fused->isEmpty())
        return true;
    const auto shapes = readParamShapes(graph, reading.modelRoot);
    const auto namesExpert = [](const NamedShape& entry) { return parseExpertName(entry.name).has_value(); };
    return shapes && std::any_of(shapes->begin(), shapes->end(), [&](const auto& group) {
        return std::any_of(group.begin(), group.end(), namesExpert);
    });
}

/// Whether a param group is named as a group of experts. Releases before 0.19.3 list no parameters if there
/// are experts.
bool optimizesExperts(const Reading& reading)
{
    const auto& files = reading.out.optimFiles;
    const auto readable = std::find_if(files.begin(), files.end(),
        [&](FileId file) { return file != kNoFile && reading.content(file) != nullptr; });
    if (readable == files.end())
        return false;
    const PickleGraph& graph = reading.content(*readable)->pickle();
    const auto groups = readParamGroups(graph, lookup(graph, wrapperOf(graph), "base_optimizer_state"));
    return std::any_of(groups.begin(), groups.end(), [&](const GroupEntry& group) {
        const auto name = asString(graph, lookup(graph, group.options, "name"));
        return name && name->starts_with(kExpertGroupPrefix);
    });
}

} // namespace

std::string ExpertFamilies::globalName(std::string_view local, uint32_t family) const
{
    const auto expert = count > 1 ? parseExpertName(local) : std::nullopt;
    const auto experts = expert ? localExperts.find(expert->before) : localExperts.end();
    return experts == localExperts.end() ? std::string(local)
                                         : expert->renumbered(expert->number + family * experts->second);
}

Result<std::vector<ExpertFamilies>> expertFamilies(
    const Reading& reading, FileId optimFile, const ShapeLists& shapes, const FusedExperts& fused)
{
    const PickleGraph& graph = reading.content(optimFile)->pickle();
    const NodeId wrapper = wrapperOf(graph);
    const auto counts = sequenceItems(graph, lookup(graph, wrapper, "partition_count"));
    const uint32_t ranks = reading.worldSize;
    const auto localExperts = countLocalExperts(shapes);
    const bool consecutive = familiesAreConsecutive(reading.out);
    std::vector<ExpertFamilies> out(shapes.size());
    for (size_t g = 0; g < shapes.size(); ++g) {
        const int64_t recorded = g < counts.size() ? asInteger(graph, counts[g]).value_or(ranks) : ranks;
        const bool holds = std::any_of(shapes[g].begin(), shapes[g].end(), [&](const NamedShape& entry) {
            return parseExpertName(entry.name).has_value() || fused.layerOf(entry.name) != nullptr;
        });
        ExpertFamilies& families = out[g];
        families.ranksPerFamily = ranks;
        if (recorded == int64_t{ranks} || !holds)
            continue;
        if (recorded <= 0 || recorded > int64_t{ranks} || ranks % recorded != 0)
            return fail(ErrorCode::Damaged,
                "param group " + std::to_string(g) + " says that " + std::to_string(recorded)
                    + " ranks share its experts, which does not divide the " + std::to_string(ranks)
                    + " ranks of the checkpoint",
                reading.out.file(optimFile).path.string());
        families.ranksPerFamily = static_cast<uint32_t>(recorded);
        families.count = ranks / families.ranksPerFamily;
        families.localExperts = localExperts;
        families.consecutive = consecutive;
        families.rankStride = families.consecutive ? 1 : families.count;
    }
    return out;
}

bool holdsExperts(const Reading& reading)
{
    const TorchFile* file = reading.content(reading.out.templateModel);
    if (file == nullptr)
        return false;
    const PickleGraph& graph = file->pickle();
    const NodeId node = lookup(graph, reading.modelRoot, "num_experts");
    if (node != kNoNode)
        return graph.kind(node) != NodeKind::None;
    return namesExperts(reading, graph) || optimizesExperts(reading);
}

namespace {

void readExpertFile(Reading& reading, FileId file)
{
    Checkpoint& out = reading.out;
    const TorchFile* content = reading.content(file);
    if (content == nullptr)
        return;
    const PickleGraph& graph = content->pickle();
    const auto items = mappingItems(graph, graph.root());
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        const auto tensor = asTensor(graph, items[i + 1]);
        if (!name || !tensor)
            continue;
        auto param = out.findParam(*name);
        if (!param)
            param = addParameter(reading, std::string(*name), tensor->sizes, ParamRole::Frozen);
        addWholeTensor(reading, file, *param, *tensor);
    }
}

} // namespace

Status readExpertFiles(Reading& reading)
{
    Checkpoint& out = reading.out;
    std::vector<FileId> files;
    std::optional<bool> hasExperts;
    for (uint32_t i = 0; i < out.files.size(); ++i) {
        const auto parsed = parseCheckpointFileName(out.files[i].name);
        if (!parsed || parsed->role != FileRole::ExpertStates || parsed->mp != out.modelRank)
            continue;
        if (!hasExperts)
            hasExperts = holdsExperts(reading);
        if (*hasExperts)
            files.push_back(FileId{i});
        else
            markUnneeded(reading, FileId{i},
                "the model file records no experts; an earlier run with experts left this file");
    }
    SHARDSCOPE_CHECK(loadFiles(reading, files));
    for (const FileId file : files) {
        if (parseCheckpointFileName(out.file(file).name)->expert)
            readExpertFile(reading, file);
    }
    sortWholeTensors(reading);
    const FusedExperts fused = FusedExperts::of(out);
    for (uint32_t i = 0; i < out.params.size(); ++i) {
        const Parameter& param = out.params[i];
        if (param.role == ParamRole::Trainable
            && (parseExpertName(param.name) || !fused.fusedNameOf(param.name).empty())
            && out.wholeOf(ParamId{i}) == nullptr) {
            reading.add(code::kModelStatesMissing, Severity::Error,
                "no expert file holds the weights of this parameter", ParamAddress{param.name, "weight"},
                {"stock DeepSpeed opens one file per expert, layer_L_expert_X_mp_rank_MM_model_states.pt"});
            break; // one is enough
        }
    }
    return {};
}

} // namespace shardscope
