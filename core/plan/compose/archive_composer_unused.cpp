// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/archive_composer.h"

#include <algorithm>
#include <array>
#include <map>

namespace shardscope {

namespace {

constexpr uint64_t kAlignment = 16; ///< elements of any size begin at a multiple of this

} // namespace

NodeId ArchiveComposer::runOf(const StorageView& storage, std::pair<uint64_t, uint64_t> run)
{
    NewStorage made;
    made.key = storage.key;
    made.first = run.first;
    made.bytes = run.second - run.first;
    m_new.push_back(std::move(made));
    const auto parts = graph().items(graph().target(storage.node));
    const std::array id{import(parts[0]), import(parts[1]),
        m_builder.string(m_newKeyMark + std::to_string(m_new.size() - 1)), import(parts[3]),
        m_builder.integer(static_cast<int64_t>((run.second - run.first) / itemSize(storage.dtype)))};
    return m_builder.persistentId(m_builder.tuple(id));
}

void ArchiveComposer::leaveOutUnused(const StorageUse& use)
{
    std::map<std::pair<std::string_view, uint64_t>, NodeId> made; // by storage and begin of a run
    for (uint32_t i = 0; i < graph().nodeCount(); ++i) {
        const NodeId node{i};
        const auto tensor
            = looksLikeTensor(graph(), node) ? std::optional(asTensor(graph(), node)) : std::nullopt;
        if (!tensor || !*tensor || (*tensor)->elements().value_or(0) == 0)
            continue;
        const TensorView& view = **tensor;
        const auto storage = use.storages.find(view.storage.key);
        if (storage == use.storages.end())
            continue;
        const uint64_t item = itemSize(view.dtype);
        const uint64_t at = view.storageOffset * item;
        const auto& used = storage->second.used;
        auto run = std::upper_bound(used.begin(), used.end(), at,
            [](uint64_t offset, const auto& other) { return offset < other.first; });
        if (run == used.begin())
            continue;
        --run;
        const uint64_t unit = itemSize(view.storage.dtype);
        const uint64_t begin = run->first / kAlignment * kAlignment;
        const uint64_t end = std::min((run->second + unit - 1) / unit * unit, storage->second.bytes);
        auto [known, isNew] = made.try_emplace({view.storage.key, run->first}, kNoNode);
        if (isNew)
            known->second = runOf(view.storage, {begin, end});
        const auto old = graph().items(view.arguments);
        std::vector<NodeId> arguments{
            known->second, m_builder.integer(static_cast<int64_t>((at - begin) / item))};
        for (size_t a = 2; a < old.size(); ++a)
            arguments.push_back(import(old[a]));
        substitute(view.arguments, m_builder.tuple(arguments));
    }
}

} // namespace shardscope
