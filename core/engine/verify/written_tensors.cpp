// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/written_tensors.h"

#include "core/torchfile/torch_tensors.h"

namespace shardscope {

namespace {

constexpr std::string_view kTorchEnd = ".bin";

} // namespace

bool holdsTensors(const std::string& name)
{
    return name.ends_with(".safetensors") || name.ends_with(kTorchEnd);
}

Result<std::vector<SafeTensor>> writtenTensors(io::FileSystem& files, const io::Path& path, JobContext& job)
{
    if (path.extension() == kTorchEnd) {
        SHARDSCOPE_TRY(const auto file, TorchFile::open(files, path, ReadMode::Strict, job));
        return stateDictTensors(*file);
    }
    SHARDSCOPE_TRY(SafetensorsHeader header, readSafetensors(files, path, job));
    return std::move(header.tensors);
}

} // namespace shardscope
