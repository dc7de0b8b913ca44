// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/patient.h"
#include "core/torchfile/pickle_values.h"

#include <algorithm>
#include <map>

namespace shardscope::diagnosis {

namespace {

/// Less than this is rounding and alignment.
constexpr uint64_t kLeastBytes = uint64_t{1} << 20;

/// The bytes of a file's storages, and how many of them a tensor uses.
std::pair<uint64_t, uint64_t> storedAndUsed(const TorchFile& file)
{
    const PickleGraph& graph = file.pickle();
    std::map<std::string_view, uint64_t> stored;
    std::map<std::string_view, std::vector<std::pair<uint64_t, uint64_t>>> used;
    for (const StorageView& storage : file.storagesInOrder())
        stored[storage.key] = storage.elements * itemSize(storage.dtype);
    for (uint32_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId node{i};
        if (!looksLikeTensor(graph, node))
            continue;
        const auto tensor = asTensor(graph, node);
        if (!tensor || tensor->elements().value_or(0) == 0)
            continue;
        uint64_t last = 0; // reach of the strides
        for (size_t d = 0; d < tensor->sizes.size(); ++d)
            last += (tensor->sizes[d] - 1) * tensor->strides[d];
        const uint64_t item = itemSize(tensor->dtype);
        used[tensor->storage.key].emplace_back(
            tensor->storageOffset * item, (tensor->storageOffset + last + 1) * item);
    }
    uint64_t all = 0;
    uint64_t covered = 0;
    for (const auto& [key, bytes] : stored) {
        all += bytes;
        auto& runs = used[key];
        std::sort(runs.begin(), runs.end());
        uint64_t end = 0;
        for (const auto& [first, behind] : runs) {
            const uint64_t from = std::max(first, end);
            covered += behind > from ? std::min(behind, bytes) - std::min(from, bytes) : 0;
            end = std::max(end, behind);
        }
    }
    return {all, covered};
}

Status look(const Patient& patient, FindingSink& sink)
{
    if (!patient.checkpoint)
        return {};
    for (const CheckpointFile& file : patient.checkpoint->files) {
        if (!file.content || file.status != FileStatus::Ok)
            continue;
        const auto [stored, used] = storedAndUsed(*file.content);
        if (stored - used < kLeastBytes || stored < 2 * used)
            continue;
        sink.add(Severity::Info, "most of the file is storage that no tensor uses", file.name,
            {formatBytes(stored) + " of storages", formatBytes(used) + " of them are used",
                formatBytes(stored - used) + " could be saved"});
    }
    return {};
}

} // namespace

/// Tensors that drag the flat buffer along whose views they are, so that files are many times as large as
/// what they hold.
extern const Diagnosis kStorageBloat;
const Diagnosis kStorageBloat{
    .code = "storage-bloat",
    .letter = "F5",
    .name = "Files larger than what they hold",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "It loads, and needs the memory of all of it."},
    .remedy = "write the weights anew: `export` stores tensors alone",
    .threads = "DS#3303, HF#22822, MDS#85, BS-MDS#343, DS#1324, DeeperSpeed#33",
    .look = look,
};

} // namespace shardscope::diagnosis
