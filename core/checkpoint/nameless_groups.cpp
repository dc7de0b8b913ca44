// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/nameless_groups.h"

#include "core/checkpoint/expert_families.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

namespace {

constexpr size_t kMostKept = 100'000;

NodeId wrapperOf(const PickleGraph& graph)
{
    return lookup(graph, graph.root(), "optimizer_state_dict");
}

/// Ranks whose files are there, with them; the others as kNoFile.
std::vector<FileId> usableFiles(const Reading& reading)
{
    std::vector<FileId> out;
    for (const FileId file : reading.out.optimFiles) {
        const bool usable
            = reading.content(file) != nullptr && reading.out.file(file).status != FileStatus::Foreign;
        out.push_back(usable ? file : kNoFile);
    }
    return out;
}

std::optional<int64_t> numberAt(const PickleGraph& graph, std::string_view key, size_t group)
{
    const auto items = sequenceItems(graph, lookup(graph, wrapperOf(graph), key));
    return group < items.size() ? asInteger(graph, items[group]) : std::nullopt;
}

StoredRun runOf(const Reading& reading, FileId file, NodeId node, DType& type)
{
    const TorchFile& content = *reading.content(file);
    const auto tensor = asTensor(content.pickle(), node);
    if (!tensor || tensor->sizes.size() != 1 || !tensor->isContiguous())
        return {};
    const auto extent = content.extentOf(*tensor);
    if (!extent)
        return {};
    type = tensor->dtype;
    return {file, extent->record, extent->byteOffset, tensor->sizes[0]};
}

bool fitsContiguous(const NamelessGroup& group, uint64_t elements, uint64_t factor)
{
    const uint64_t align = factor * group.perRank.size();
    const uint64_t part = (elements + align - 1) / align * factor;
    for (uint64_t rank = 0; rank < group.perRank.size(); ++rank) {
        const StoredRun& run = group.perRank[rank];
        const uint64_t begin = std::min(rank * part, elements);
        if (run.isPresent() && (run.elements > part || run.elements < std::min(part, elements - begin)))
            return false;
    }
    return true;
}

} // namespace

bool NamelessGroup::mayHold(uint64_t elements) const
{
    if (recorded && !sliced)
        return elements == *recorded;
    if (sliced)
        return elements == partitionElements();
    // Lean masters keep fewer zeros than two per rank (zero12.md, eras A to D).
    const uint64_t stored = exactElements();
    return elements <= stored && stored - elements < 2 * perRank.size()
        && (fitsContiguous(*this, elements, 2) || fitsContiguous(*this, elements, 1));
}

uint64_t NamelessGroup::partitionElements() const
{
    uint64_t most = 0;
    for (const StoredRun& run : perRank)
        most = std::max(most, run.isPresent() ? run.elements : 0);
    return most;
}

uint64_t NamelessGroup::exactElements() const
{
    if (recorded && !sliced)
        return *recorded;
    uint64_t sum = 0;
    for (const StoredRun& run : perRank)
        sum += run.isPresent() ? run.elements : 0;
    return sliced ? partitionElements() : sum;
}

std::vector<NamelessGroup> readNamelessGroups(const Reading& reading)
{
    const bool sliced = reading.out.kind == CheckpointKind::Zero3;
    const std::string_view key = sliced ? "fp32_flat_groups" : "single_partition_of_fp32_groups";
    const std::vector<FileId> files = usableFiles(reading);
    std::optional<size_t> count;
    for (const FileId file : files) {
        if (file == kNoFile)
            continue;
        const PickleGraph& graph = reading.content(file)->pickle();
        const size_t groups = sequenceItems(graph, lookup(graph, wrapperOf(graph), key)).size();
        if (count.value_or(groups) != groups)
            return {};
        count = groups;
    }
    std::vector<NamelessGroup> out(count.value_or(0));
    for (size_t g = 0; g < out.size(); ++g) {
        NamelessGroup& group = out[g];
        group.sliced = sliced;
        size_t ranks = files.size();
        int64_t padding = 0;
        bool padded = true;
        for (size_t rank = 0; rank < files.size(); ++rank) {
            if (files[rank] == kNoFile) {
                padded = false;
                group.perRank.emplace_back();
                continue;
            }
            const PickleGraph& graph = reading.content(files[rank])->pickle();
            const auto shared = numberAt(graph, "partition_count", g);
            if (!sliced && shared && *shared > 0 && files.size() % static_cast<size_t>(*shared) == 0)
                ranks = static_cast<size_t>(*shared);
            group.perRank.push_back(runOf(reading, files[rank],
                sequenceItems(graph, lookup(graph, wrapperOf(graph), key))[g], group.type));
        }
        const size_t stride = // between the first family's ranks
            familiesAreConsecutive(reading) ? 1 : files.size() / std::max<size_t>(ranks, 1);
        for (size_t i = 0; i < ranks; ++i)
            group.perRank[i] = group.perRank[i * stride];
        group.perRank.resize(ranks);
        for (size_t i = 0; i < ranks && padded; ++i) {
            const auto recorded = numberAt(reading.content(files[i * stride])->pickle(), "group_paddings", g);
            padded = recorded && *recorded >= 0;
            padding += recorded.value_or(0);
        }
        const auto first = ranks > 0 && padded
            ? numberAt(reading.content(files[0])->pickle(), "group_paddings", g)
            : std::nullopt;
        if (!first || !group.perRank[0].isPresent())
            continue;
        const bool lean = reading.out.kind != CheckpointKind::Bf16;
        const uint64_t part = group.perRank[0].elements + (lean ? static_cast<uint64_t>(*first) : 0);
        if (part * ranks >= static_cast<uint64_t>(padding))
            group.recorded = part * ranks - static_cast<uint64_t>(padding);
    }
    return out;
}

bool ShardEvidence::agrees(const ModuleTensor& copy, const NamelessGroup& group, uint64_t position)
{
    if (group.sliced || !copy.contiguous || !isFloatingPoint(copy.dtype) || !isFloatingPoint(group.type))
        return true;
    const uint64_t last = copy.elements > kSample ? copy.elements - kSample : 0;
    return sameFrom(copy, 0, group, position) && (last == 0 || sameFrom(copy, last, group, position + last));
}

bool ShardEvidence::sameFrom(
    const ModuleTensor& copy, uint64_t first, const NamelessGroup& group, uint64_t position)
{
    const uint64_t part = group.partitionElements();
    const uint64_t rank = part == 0 ? 0 : position / part;
    if (rank >= group.perRank.size() || !group.perRank[rank].isPresent())
        return true;
    const StoredRun& run = group.perRank[rank];
    const uint64_t offset = position - rank * part;
    if (offset >= run.elements)
        return false; // padding was cut off there
    const uint64_t count = std::min({kSample, copy.elements - first, run.elements - offset});
    const uint32_t masterBytes = itemSize(group.type);
    const uint32_t copyBytes = itemSize(copy.dtype);
    const Bytes& masters = read(run.file, run.byteOffset + offset * masterBytes, count * masterBytes);
    const Bytes& copies = read(copy.run.file, copy.run.byteOffset + first * copyBytes, count * copyBytes);
    for (uint64_t i = 0; i < count && !masters.empty() && !copies.empty(); ++i) {
        const double master = elementAsDouble(group.type, masters.data() + i * masterBytes);
        const uint8_t* stored = copies.data() + i * copyBytes;
        const auto cast = elementOf(copy.dtype, master);
        const bool same = cast && std::equal(cast->begin(), cast->end(), stored);
        if (!same && !(std::isnan(master) && std::isnan(elementAsDouble(copy.dtype, stored))))
            return false;
    }
    return true;
}

const ShardEvidence::Bytes& ShardEvidence::read(FileId file, uint64_t byte, uint64_t bytes)
{
    if (m_known.size() > kMostKept)
        m_known.clear();
    const auto [known, isNew] = m_known.try_emplace({index(file), byte, bytes});
    if (!isNew)
        return known->second;
    std::unique_ptr<io::ReadFile>& open = m_files[index(file)];
    if (!open) {
        if (auto opened = m_reading.files.openRead(m_reading.out.file(file).path))
            open = std::move(*opened);
    }
    Bytes out(bytes);
    if (open && open->readAt(byte, out))
        known->second = std::move(out);
    return known->second;
}

} // namespace shardscope
