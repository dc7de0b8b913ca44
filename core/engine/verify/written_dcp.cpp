// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/written_dcp.h"

#include "core/base/text.h"
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "core/torchfile/torch_file.h"

#include <map>
#include <set>

namespace shardscope {

namespace {

/// The single tensor in a file.
Result<SafeTensor> wholeTensor(io::FileSystem& files, const io::Path& path, JobContext& job)
{
    SHARDSCOPE_TRY(const auto file, TorchFile::open(files, path, ReadMode::Strict, job));
    const PickleGraph& graph = file->pickle();
    SHARDSCOPE_TRY(const TensorView tensor, asTensor(graph, graph.root()));
    if (!tensor.isContiguous() || tensor.storageOffset != 0)
        return fail(ErrorCode::Damaged, "the archive has no whole tensor", path.string());
    SHARDSCOPE_TRY(const TensorExtent extent, file->extentOf(tensor));
    SafeTensor out;
    out.dtype = tensor.dtype;
    out.shape = tensor.sizes;
    out.elements = tensor.elements().value_or(0);
    out.byteOffset = extent.byteOffset;
    out.bytes = out.elements * itemSize(tensor.dtype);
    return out;
}

/// Sizes of files, each read once.
class FileSizes
{
public:
    FileSizes(io::FileSystem& files, const io::Path& folder)
        : m_files(files)
        , m_folder(folder)
    {
    }

    Result<uint64_t> of(const std::string& name)
    {
        if (const auto known = m_sizes.find(name); known != m_sizes.end())
            return known->second;
        SHARDSCOPE_TRY(const io::FileInfo info, m_files.stat(m_folder / name));
        return m_sizes[name] = info.identity.bytes;
    }

private:
    io::FileSystem& m_files;
    const io::Path& m_folder;
    std::map<std::string, uint64_t> m_sizes;
};

} // namespace

Status readDistributed(io::FileSystem& files, const io::Path& folder, const WritePlan& plan,
    ExportOutput& output, JobContext& job)
{
    const auto entries = readDcpMetadata(files, folder, job);
    if (!entries)
        return notOpened(entries.error(), folder);
    std::map<std::string_view, const ExportTensor*> planned;
    for (const ExportTensor& tensor : plan.exported->tensors)
        planned.emplace(tensor.name, &tensor);
    FileSizes sizes(files, folder);
    for (const DcpEntry& entry : *entries) {
        SHARDSCOPE_CHECK(job.poll());
        const DcpPlace& place
            = entry.isTensor && !entry.chunks.empty() ? entry.chunks.front().place : entry.place;
        const auto size = sizes.of(place.file);
        if (!size)
            return notOpened(size.error(), folder / place.file);
        const auto meant = planned.find(entry.key);
        const bool whole = meant == planned.end() || (place.offset == 0 && place.bytes == *size);
        if (place.offset + place.bytes > *size || !whole || entry.chunks.size() > 1)
            return wrongOutput("the metadata has wrong places for `" + toValidUtf8(entry.key) + "`", folder);
        if (meant == planned.end())
            continue;
        auto tensor = wholeTensor(files, folder / place.file, job);
        if (!tensor)
            return notOpened(tensor.error(), folder / place.file);
        if (tensor->dtype != entry.dtype || tensor->shape != entry.shape)
            return wrongOutput(
                "the metadata has other elements of `" + toValidUtf8(entry.key) + "` than its file", folder);
        tensor->name = entry.key;
        SHARDSCOPE_CHECK(output.add(meant->second->state, place.file, *tensor));
    }
    return output.checkComplete(folder);
}

} // namespace shardscope
