// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/experts/expert_files.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/experts/expert_families.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/folder/file_table.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/checkpoint/units/whole_tensors.h"

#include <optional>

namespace shardscope {

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
