// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/verify_export.h"

#include "core/base/job_context.h"
#include "core/base/text.h"
#include "core/engine/verify/export_output.h"
#include "core/engine/verify/written_tensors.h"
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/formats/npy_folder.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "core/torchfile/torch_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
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

/// Adds the tensors of a written distributed checkpoint to `output`, by its `.metadata` and the archives that
/// it lists. VerifyFailed if these do not open, or if data is beyond the end of its file.
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

constexpr uint64_t kIndexLimit = uint64_t{1} << 30;
constexpr std::string_view kIndexEnd = ".index.json";

/// "model.safetensors", "pytorch_model-00001-of-00002.bin" and similar files contain the weights, all others
/// the state in their name.
std::string stateOf(const std::string& file)
{
    static constexpr std::string_view kNumbers = "-00000-of-00000";
    std::string stem = file.substr(0, file.rfind('.'));
    if (stem.size() > kNumbers.size()) {
        std::string end = stem.substr(stem.size() - kNumbers.size());
        std::ranges::replace_if(
            end, [](char c) { return c >= '0' && c <= '9'; }, '0');
        if (end == kNumbers)
            stem.resize(stem.size() - kNumbers.size());
    }
    const bool weights
        = std::ranges::find(kExportFormats, stem, &ExportFormatTraits::stem) != kExportFormats.end();
    return weights ? "weight" : stem;
}

/// Whether the state's index, if there is one, lists every tensor of the state with its file.
Status checkIndex(
    io::FileSystem& files, const io::Path& folder, const std::string& name, const ExportOutput& output)
{
    SHARDSCOPE_TRY(const std::string text, files.readSmall(folder / name, kIndexLimit));
    const auto index = nlohmann::json::parse(text, nullptr, false);
    const auto map = index.is_object() ? index.find("weight_map") : index.end();
    if (map == index.end() || !map->is_object())
        return wrongOutput("the written index does not open again", folder / name);
    std::map<std::string, std::string> found;
    for (const auto& [tensor, file] : map->items())
        found.emplace(tensor, file.is_string() ? file.get<std::string>() : std::string());
    if (found != output.filesOf(stateOf(name.substr(0, name.size() - kIndexEnd.size()))))
        return wrongOutput("the index lists other files than those that contain the tensors", folder / name);
    return {};
}

/// Checks files of many tensors by their own headers.
Status readShards(io::FileSystem& files, const io::Path& folder, ExportOutput& output, JobContext& job)
{
    SHARDSCOPE_TRY(const auto entries, files.list(folder));
    for (const io::DirectoryEntry& entry : entries) {
        SHARDSCOPE_CHECK(job.poll());
        if (!holdsTensors(entry.name))
            continue;
        const auto tensors = writtenTensors(files, folder / entry.name, job);
        if (!tensors)
            return notOpened(tensors.error(), folder / entry.name);
        for (const SafeTensor& tensor : *tensors)
            SHARDSCOPE_CHECK(output.add(stateOf(entry.name), entry.name, tensor));
    }
    SHARDSCOPE_CHECK(output.checkComplete(folder));
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.name.ends_with(kIndexEnd))
            SHARDSCOPE_CHECK(checkIndex(files, folder, entry.name, output));
    }
    return {};
}

/// Checks files of one tensor each by their index and their own headers.
Status readNpyFiles(io::FileSystem& files, const io::Path& folder, ExportOutput& output, JobContext& job)
{
    const auto tensors = readNpyFolder(files, folder, job);
    if (!tensors)
        return notOpened(tensors.error(), folder);
    for (const NpyTensor& entry : *tensors)
        SHARDSCOPE_CHECK(output.add(entry.state, entry.file, entry.tensor));
    return output.checkComplete(folder);
}

Result<std::unique_ptr<OutputModel>> openExport(
    io::FileSystem& files, const io::Path& folder, const WritePlan& plan, JobContext& job)
{
    if (!plan.exported)
        return fail(ErrorCode::Internal, "a plan that exports is not an export plan");
    auto out = std::make_unique<ExportOutput>(plan);
    switch (traitsOf(plan.exported->options.format).layout) {
    case ExportLayout::Shards:
    case ExportLayout::OneFile:
        SHARDSCOPE_CHECK(readShards(files, folder, *out, job));
        break;
    case ExportLayout::FilePerTensor:
        SHARDSCOPE_CHECK(readNpyFiles(files, folder, *out, job));
        break;
    case ExportLayout::Distributed:
        SHARDSCOPE_CHECK(readDistributed(files, folder, plan, *out, job));
        break;
    }
    return std::unique_ptr<OutputModel>(std::move(out));
}

} // namespace

ExecuteHooks exportHooks()
{
    ExecuteHooks hooks;
    hooks.openOutput = openExport;
    return hooks;
}

} // namespace shardscope
