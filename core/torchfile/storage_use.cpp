// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/storage_use.h"

#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kMinBytes = uint64_t{1} << 20;

/// Runs that overlap become one; those that touch stay apart, as torch would write them.
void mergeRuns(std::vector<std::pair<uint64_t, uint64_t>>& runs)
{
    std::sort(runs.begin(), runs.end());
    std::vector<std::pair<uint64_t, uint64_t>> out;
    for (const auto& run : runs) {
        if (!out.empty() && run.first < out.back().second)
            out.back().second = std::max(out.back().second, run.second);
        else
            out.push_back(run);
    }
    runs = std::move(out);
}

} // namespace

bool StorageUse::isBloated() const
{
    return storedBytes - usedBytes >= kMinBytes && storedBytes / 2 >= usedBytes;
}

StorageUse storageUseOf(const TorchFile& file)
{
    const PickleGraph& graph = file.pickle();
    StorageUse out;
    for (const StorageView& storage : file.storagesInOrder())
        out.storages[std::string(storage.key)].bytes = storage.elements * itemSize(storage.dtype);
    for (uint32_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId node{i};
        if (!looksLikeTensor(graph, node))
            continue;
        const auto tensor = asTensor(graph, node); // it has checked that the tensor is inside its storage
        const auto storage = tensor ? out.storages.find(tensor->storage.key) : out.storages.end();
        if (storage == out.storages.end() || tensor->elements().value_or(0) == 0)
            continue;
        uint64_t last = 0; // reach of the strides
        for (size_t d = 0; d < tensor->sizes.size(); ++d)
            last += (tensor->sizes[d] - 1) * tensor->strides[d];
        const uint64_t item = itemSize(tensor->dtype);
        storage->second.used.emplace_back(
            tensor->storageOffset * item, (tensor->storageOffset + last + 1) * item);
    }
    for (auto& [key, storage] : out.storages) {
        mergeRuns(storage.used);
        out.storedBytes += storage.bytes;
        for (const auto& [begin, end] : storage.used)
            out.usedBytes += end - begin;
    }
    return out;
}

} // namespace shardscope
