// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/naming/expert_tensors.h"

#include "core/checkpoint/experts/expert_families.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/model/file_names.h"

#include <algorithm>
#include <map>

namespace shardscope {

std::vector<ModuleTensor> firstFamilyExperts(Reading& reading, const std::vector<NamelessGroup>& groups)
{
    std::vector<ModuleTensor> out;
    if (!holdsExperts(reading))
        return out;
    size_t families = 1;
    for (const NamelessGroup& group : groups) {
        if (!group.perRank.empty())
            families = std::max(families, reading.worldSize / group.perRank.size());
    }
    std::map<uint32_t, std::map<uint32_t, FileId>> layers;
    for (uint32_t i = 0; i < reading.out.files.size(); ++i) {
        const auto parsed = parseCheckpointFileName(reading.out.files[i].name);
        if (parsed && parsed->role == FileRole::ExpertStates && parsed->mp == reading.out.modelRank
            && parsed->layer && parsed->expert)
            layers[*parsed->layer].emplace(*parsed->expert, FileId{i});
    }
    std::vector<FileId> files;
    for (const auto& [layer, experts] : layers) {
        const auto local = static_cast<uint32_t>(experts.size() / families);
        for (const auto& [number, file] : experts) {
            if (number < local)
                files.push_back(file);
        }
    }
    if (!loadFiles(reading, files))
        return out;
    for (const FileId id : files) {
        const TorchFile* file = reading.content(id);
        if (file == nullptr)
            continue;
        const PickleGraph& graph = file->pickle();
        const auto items = mappingItems(graph, graph.root());
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(graph, items[i]);
            const auto tensor = asTensor(graph, items[i + 1]);
            const auto extent = name && tensor ? file->extentOf(*tensor)
                                               : Result<TensorExtent>(fail(ErrorCode::Damaged, "no tensor"));
            if (!extent || !tensor->elements())
                continue;
            out.push_back({*name, tensor->sizes, *tensor->elements(), tensor->dtype,
                {id, extent->record, extent->byteOffset, *tensor->elements()}, tensor->isContiguous()});
        }
    }
    return out;
}

} // namespace shardscope
