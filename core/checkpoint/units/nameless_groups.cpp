// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/nameless_groups.h"

#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/units/expert_families.h"
#include "core/checkpoint/units/unit_states.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

namespace {

constexpr size_t kMaxKept = 100'000;

/// By rank: its file, or kNoFile if the file is not usable.
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

/// What one rank's file lists for all groups.
struct GroupLists {
    const PickleGraph* graph = nullptr; ///< null if the file is missing
    std::span<const NodeId> masters;
    std::span<const NodeId> counts;
    std::span<const NodeId> paddings;

    [[nodiscard]] std::optional<int64_t> number(std::span<const NodeId> list, size_t group) const
    {
        return group < list.size() ? asInteger(*graph, list[group]) : std::nullopt;
    }
};

/// By rank. Empty if the files differ in their number of groups.
std::vector<GroupLists> listsOf(const Reading& reading, const std::vector<FileId>& files)
{
    const bool sliced = partitionsParameters(reading.out.kind);
    const std::string_view key = sliced ? "fp32_flat_groups" : "single_partition_of_fp32_groups";
    std::vector<GroupLists> out(files.size());
    std::optional<size_t> count;
    for (size_t rank = 0; rank < files.size(); ++rank) {
        if (files[rank] == kNoFile)
            continue;
        const PickleGraph& graph = reading.content(files[rank])->pickle();
        const NodeId wrapper = wrapperOf(graph);
        out[rank] = {&graph, sequenceItems(graph, lookup(graph, wrapper, key)),
            sequenceItems(graph, lookup(graph, wrapper, "partition_count")),
            sequenceItems(graph, lookup(graph, wrapper, "group_paddings"))};
        if (count.value_or(out[rank].masters.size()) != out[rank].masters.size())
            return {};
        count = out[rank].masters.size();
    }
    return out;
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
    // Masters without padding may lack fewer zeros than two per rank (zero12.md, eras A to D).
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
    const bool sliced = partitionsParameters(reading.out.kind);
    const std::vector<FileId> files = usableFiles(reading);
    const std::vector<GroupLists> lists = listsOf(reading, files);
    const auto first = std::find_if(
        lists.begin(), lists.end(), [](const GroupLists& list) { return list.graph != nullptr; });
    std::vector<NamelessGroup> out(first == lists.end() ? 0 : first->masters.size());
    const bool consecutive = familiesAreConsecutive(reading.out);
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
            const auto shared = lists[rank].number(lists[rank].counts, g);
            if (!sliced && shared && *shared > 0 && files.size() % static_cast<size_t>(*shared) == 0)
                ranks = static_cast<size_t>(*shared);
            group.perRank.push_back(runOf(reading, files[rank], lists[rank].masters[g], group.type));
        }
        const size_t stride = // the distance of the first family's ranks
            consecutive ? 1 : files.size() / std::max<size_t>(ranks, 1);
        for (size_t i = 0; i < ranks; ++i)
            group.perRank[i] = group.perRank[i * stride];
        group.perRank.resize(ranks);
        for (size_t i = 0; i < ranks && padded; ++i) {
            const GroupLists& own = lists[i * stride];
            const auto recorded = own.number(own.paddings, g);
            padded = recorded && *recorded >= 0;
            padding += recorded.value_or(0);
        }
        const auto removed = ranks > 0 && padded ? lists[0].number(lists[0].paddings, g) : std::nullopt;
        if (!removed || !group.perRank[0].isPresent())
            continue;
        const bool lean = !hasBf16Optimizer(reading.out.kind);
        const uint64_t part = group.perRank[0].elements + (lean ? static_cast<uint64_t>(*removed) : 0);
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
        return false; // padding was removed there
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
    if (m_known.size() > kMaxKept)
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
