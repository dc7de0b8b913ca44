// SPDX-License-Identifier: Apache-2.0
#include "core/engine/written_tensors.h"

#include "core/torchfile/pickle_values.h"
#include "core/torchfile/torch_file.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kTorchEnd = ".bin";

Result<std::vector<SafeTensor>> torchTensors(io::FileSystem& files, const io::Path& path, JobContext& job)
{
    SHARDSCOPE_TRY(const auto file, TorchFile::open(files, path, ReadMode::Strict, job));
    const PickleGraph& graph = file->pickle();
    const auto items = mappingItems(graph, graph.root());
    std::vector<SafeTensor> out;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        SHARDSCOPE_TRY(const TensorView tensor, asTensor(graph, items[i + 1]));
        if (!name || !tensor.isContiguous() || tensor.storageOffset != 0)
            return fail(ErrorCode::Damaged, "the pickle is no dict of whole tensors", path.string());
        SHARDSCOPE_TRY(const TensorExtent extent, file->extentOf(tensor));
        SafeTensor written;
        written.name = *name;
        written.dtype = tensor.dtype;
        written.shape = tensor.sizes;
        written.elements = tensor.elements().value_or(0);
        written.byteOffset = extent.byteOffset;
        written.bytes = written.elements * itemSize(tensor.dtype);
        out.push_back(std::move(written));
    }
    std::stable_sort(out.begin(), out.end(),
        [](const SafeTensor& a, const SafeTensor& b) { return a.byteOffset < b.byteOffset; });
    return out;
}

} // namespace

bool holdsTensors(const std::string& name)
{
    return name.ends_with(".safetensors") || name.ends_with(kTorchEnd);
}

Result<std::vector<SafeTensor>> writtenTensors(io::FileSystem& files, const io::Path& path, JobContext& job)
{
    if (path.extension() == kTorchEnd)
        return torchTensors(files, path, job);
    SHARDSCOPE_TRY(SafetensorsHeader header, readSafetensors(files, path, job));
    return std::move(header.tensors);
}

} // namespace shardscope
