// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/weight_files.h"

#include "core/checkpoint/folder/wrapper_files.h"
#include "core/torchfile/torch_tensors.h"

namespace shardscope {

namespace {

Result<std::vector<SafeTensor>> tensorsOf(const CheckContext& context, const io::Path& path)
{
    if (path.extension() == ".safetensors") {
        SHARDSCOPE_TRY(SafetensorsHeader header, readSafetensors(context.files, path, context.job));
        return std::move(header.tensors);
    }
    SHARDSCOPE_TRY(const auto file, TorchFile::open(context.files, path, ReadMode::Tolerant, context.job));
    return stateDictTensors(*file);
}

bool isWeightName(std::string_view name)
{
    return name.ends_with(".safetensors") || (name.starts_with("pytorch_model") && name.ends_with(".bin"));
}

Status addFrom(const CheckContext& context, const io::Path& folder, const std::vector<FolderEntry>& entries,
    std::string_view prefix, std::vector<WeightFile>& out)
{
    for (const FolderEntry& entry : entries) {
        if (entry.isFolder || !isWeightName(entry.name))
            continue;
        SHARDSCOPE_CHECK(context.job.poll());
        auto tensors = tensorsOf(context, folder / entry.name);
        if (tensors)
            out.push_back({std::string(prefix) + entry.name, std::move(*tensors)});
    }
    return {};
}

} // namespace

Result<std::vector<WeightFile>> weightFilesNextTo(const CheckContext& context)
{
    std::vector<WeightFile> out;
    SHARDSCOPE_CHECK(addFrom(context, context.found.runFolder, context.run, kNextToTag, out));
    SHARDSCOPE_CHECK(addFrom(context, context.found.tagFolder, context.tag, "", out));
    return out;
}

std::optional<ParamId> paramOfTensor(const Checkpoint& checkpoint, std::string_view tensor)
{
    constexpr std::string_view kModule = "module.";
    if (const auto param = checkpoint.findParam(tensor))
        return param;
    if (const auto param = checkpoint.findParam(std::string(kModule) + std::string(tensor)))
        return param;
    return tensor.starts_with(kModule) ? checkpoint.findParam(tensor.substr(kModule.size())) : std::nullopt;
}

} // namespace shardscope
