// SPDX-License-Identifier: Apache-2.0
#include "core/layout/severity_index.h"

#include "core/base/finding_codes.h"
#include "core/layout/address.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace shardscope {

/// Converts findings to marks.
class SeverityIndexBuilder
{
public:
    SeverityIndexBuilder(const Checkpoint& checkpoint, const FlatUnit& unit, UnitId id, uint32_t stateIndex,
        SeverityIndex& out)
        : m_checkpoint(checkpoint)
        , m_unitId(id)
        , m_unit(unit)
        , m_state(m_unit.states[stateIndex])
        , m_out(out)
    {
    }

    void add(const PlacedFindings::Item& item)
    {
        m_level = &m_out.m_levels[static_cast<size_t>(item.finding->severity)];
        m_isOfAbsence = isOfAbsence(item.finding->code);
        const Place& where = *item.where;
        if (const ParamAddress* param = where.param()) {
            if (isHere(item.param) && (param->state.empty() || concernsState(param->state)))
                markParam(item.param, param->range);
        } else if (const FlatAddress* flat = where.flat()) {
            markFlat(*flat);
        } else if (item.file != kNoFile) {
            if (const FileAddress* bytes = where.bytes())
                markFileAddress(*bytes, item.file);
            else
                markFile(item.file);
        }
    }

    void finish()
    {
        for (auto& level : m_out.m_levels) {
            merge(level.runs, [](const auto&, const auto&) { return true; });
            merge(level.marks, [](const auto& a, const auto& b) { return a.param == b.param; });
            m_out.m_empty = m_out.m_empty && level.runs.empty() && level.marks.empty();
        }
    }

private:
    template <class Item, class SameLine>
    static void merge(std::vector<Item>& items, SameLine sameLine)
    {
        std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
            if constexpr (requires { a.param; }) {
                if (a.param != b.param)
                    return a.param < b.param;
            }
            return a.begin < b.begin;
        });
        size_t kept = 0;
        for (const Item& item : items) {
            if (kept > 0 && sameLine(items[kept - 1], item) && item.begin <= items[kept - 1].end)
                items[kept - 1].end = std::max(items[kept - 1].end, item.end);
            else
                items[kept++] = item;
        }
        items.resize(kept);
    }

    /// Findings that something is not there mark what is absent, and nothing that is stored.
    static bool isOfAbsence(std::string_view of)
    {
        return of == code::kOptimizerMissing || of == code::kStateMissing || of == code::kSwapMissing;
    }

    [[nodiscard]] bool isStored(uint32_t rank) const
    {
        return rank < m_state.perRank.size() && m_state.perRank[rank].isPresent();
    }

    [[nodiscard]] bool concernsState(std::string_view name) const
    {
        if (name == m_state.name || m_isOfAbsence)
            return name == m_state.name;
        return std::none_of(m_unit.states.begin(), m_unit.states.end(),
            [name](const UnitState& state) { return state.name == name; });
    }

    void markRun(uint32_t rank, uint64_t begin, uint64_t end)
    {
        const uint64_t length = m_unit.partition.partitionElements();
        if (rank < m_unit.partition.ranks() && begin < std::min(end, length))
            m_level->runs.push_back({rank * length + begin, rank * length + std::min(end, length)});
    }

    void markRank(uint32_t rank) { markRun(rank, 0, m_unit.partition.partitionElements()); }

    [[nodiscard]] bool isHere(ParamId id) const
    {
        return id != kNoParam && m_checkpoint.params[index(id)].unit == m_unitId
            && (m_unitId != kNoUnit || m_unit.params.front() == id);
    }

    void markParam(ParamId id, std::optional<std::pair<uint64_t, uint64_t>> range)
    {
        const Parameter* param = &m_checkpoint.params[index(id)];
        const uint64_t begin = range ? std::min(range->first, param->elements) : 0;
        const uint64_t end = range ? std::min(range->second, param->elements) : param->elements;
        if (begin >= end)
            return;
        if (m_unit.partition.rule() == PartitionRule::Sliced) {
            m_level->marks.push_back({param->indexInUnit, begin, end});
        } else {
            const uint64_t start = m_unit.partition.paramStart(param->indexInUnit);
            m_level->runs.push_back({start + begin, start + end});
        }
    }

    void markFlat(const FlatAddress& address)
    {
        const bool here = address.subgroup
            ? m_unit.kind == UnitKind::SubGroup && m_unit.subgroup == address.group
            : m_unit.kind == UnitKind::Group && static_cast<uint32_t>(m_unit.group) == address.group;
        const auto share = m_checkpoint.shareOf(m_unit, address.rank);
        if (here && share
            && concernsState(
                address.state.empty() ? std::string_view("fp32") : std::string_view(address.state)))
            markBuffer(*share, address);
    }

    /// A missing state is named by its first element.
    void markBuffer(uint32_t share, const FlatAddress& address)
    {
        if (!m_isOfAbsence)
            markRun(share, address.element, address.last());
        else if (!isStored(share))
            markRank(share);
    }

    /// The rank of this unit with its shard, present or missing, in that file.
    [[nodiscard]] std::optional<uint32_t> rankIn(FileId id) const
    {
        if (m_unitId == kNoUnit)
            return m_state.perRank.front().file == id ? std::optional(0U) : std::nullopt;
        const CheckpointFile& file = m_checkpoint.file(id);
        const bool frozen = m_unit.kind == UnitKind::Frozen;
        if (!file.rank || file.role != (frozen ? FileRole::ModelStates : FileRole::OptimStates))
            return std::nullopt;
        const Checkpoint& part = m_checkpoint.partOf(m_unit);
        const auto& holders = frozen ? part.modelFiles : part.optimFiles;
        const uint32_t rank = file.rank->dp;
        const bool another = rank < holders.size() && holders[rank] != kNoFile && holders[rank] != id;
        return another ? std::nullopt : m_checkpoint.shareOf(m_unit, *file.rank);
    }

    void markFile(FileId id)
    {
        if (const auto rank = rankIn(id); rank && !(m_isOfAbsence && isStored(*rank)))
            markRank(*rank);
    }

    void markFileAddress(const FileAddress& address, FileId file)
    {
        const auto rank = rankIn(file);
        if (!rank)
            return;
        const auto& content = m_checkpoint.file(file).content;
        const auto record
            = content && !address.record.empty() ? content->zip().find(address.record) : std::nullopt;
        if (record && address.record.starts_with("data/"))
            return markRecord(*rank, *record);
        const bool marked = address.record.empty() && markByte(*rank, file, address.byte);
        if (marked || (address.record.empty() && isInOtherState(*rank, file, address.byte)))
            return;
        markRank(*rank); // a record that is unknown or has no tensor concerns everything
    }

    [[nodiscard]] bool isInOtherState(uint32_t rank, FileId file, uint64_t byte) const
    {
        return std::any_of(m_unit.states.begin(), m_unit.states.end(), [&](const UnitState& state) {
            return &state != &m_state && !state.visitRuns([&](const MappedRun& mapped) {
                return mapped.share != rank || !mapped.run.contains(file, byte, itemSize(state.dtype));
            });
        });
    }

    /// Everything that the rank stores in the record, and what it does not store.
    void markRecord(uint32_t rank, uint32_t record)
    {
        m_state.visitRuns([&](const MappedRun& mapped) {
            if (mapped.share != rank || (mapped.run.isPresent() && mapped.run.record != record))
                return true;
            if (!mapped.param)
                markRank(rank);
            else if (const uint64_t start = m_unit.partition.paramStart(*mapped.param);
                     mapped.run.isPresent())
                markRun(rank, start, start + mapped.run.elements);
            return true;
        });
    }

    bool markByte(uint32_t rank, FileId file, uint64_t byte)
    {
        const uint64_t itemBytes = itemSize(m_state.dtype);
        bool marked = false;
        m_state.visitRuns([&](const MappedRun& mapped) {
            if (mapped.share != rank || !mapped.run.contains(file, byte, itemBytes))
                return true;
            const uint64_t number = (byte - mapped.run.byteOffset) / itemBytes;
            const auto element = mapped.shareElement(m_unit.partition, number);
            if (element)
                markRun(rank, *element, *element + 1);
            marked = element.has_value();
            return false;
        });
        return marked;
    }

    const Checkpoint& m_checkpoint;
    UnitId m_unitId;
    const FlatUnit& m_unit;
    const UnitState& m_state;
    SeverityIndex& m_out;
    SeverityIndex::Level* m_level = nullptr;
    bool m_isOfAbsence = false;
};

namespace {

/// Rows × elements in each of them, half open.
struct Block {
    uint64_t rowBegin = 0;
    uint64_t rowEnd = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
};

/// Whether a run intersects a block of rows of `width`. Advances runs and rows alternately.
template <class Run>
bool touchesBlock(const std::vector<Run>& runs, uint64_t width, const Block& block)
{
    const auto& [rowBegin, rowEnd, begin, end] = block;
    uint64_t at = rowBegin * width + begin;
    for (;;) {
        const auto run = std::partition_point(
            runs.begin(), runs.end(), [at](const Run& candidate) { return candidate.end <= at; });
        if (run == runs.end())
            return false;
        const uint64_t touched = std::max(at, run->begin);
        uint64_t row = touched / width;
        if (touched % width >= end)
            ++row;
        if (row >= rowEnd)
            return false;
        at = std::max(touched, row * width + begin);
        if (run->begin <= at && at < run->end)
            return true;
    }
}

} // namespace

PlacedFindings::PlacedFindings(const Checkpoint& checkpoint, std::span<const Finding> more)
{
    if (checkpoint.findings.empty() && more.empty())
        return;
    std::unordered_map<std::string_view, FileId> fileByName;
    for (uint32_t i = 0; i < checkpoint.files.size(); ++i)
        fileByName.emplace(checkpoint.files[i].name, FileId{i});
    const auto place = [&](const Finding& finding, const Place& where) {
        Item item{.finding = &finding, .where = &where};
        if (const ParamAddress* param = where.param()) {
            item.param = checkpoint.findParam(param->name).value_or(kNoParam);
            if (item.param != kNoParam
                && index(checkpoint.params[index(item.param)].sharedWith) < checkpoint.params.size())
                item.param = checkpoint.params[index(item.param)].sharedWith;
        } else if (const auto file = fileByName.find(where.file()); file != fileByName.end()) {
            item.file = file->second;
        }
        m_items.push_back(item);
    };
    const auto add = [&](const Finding& finding) {
        for (const Place& part : finding.parts)
            place(finding, part);
        if (finding.parts.empty())
            place(finding, finding.where);
    };
    for (const Finding& finding : checkpoint.findings)
        add(finding);
    for (const Finding& finding : more)
        add(finding);
}

SeverityIndex::SeverityIndex(const Checkpoint& checkpoint, const FlatUnit& unit, UnitId id,
    uint32_t stateIndex, const PlacedFindings& findings)
{
    SeverityIndexBuilder builder(checkpoint, unit, id, stateIndex, *this);
    for (const PlacedFindings::Item& item : findings.items())
        builder.add(item);
    builder.finish();
}

int8_t SeverityIndex::worst(
    const FlatPartition& partition, uint32_t rankBegin, uint32_t rankEnd, uint64_t begin, uint64_t end) const
{
    const uint64_t width = partition.partitionElements();
    end = std::min(end, width);
    rankEnd = std::min(rankEnd, partition.ranks());
    if (m_empty || begin >= end || rankBegin >= rankEnd)
        return -1;
    for (size_t severity = m_levels.size(); severity-- > 0;) {
        const Level& level = m_levels[severity];
        if (!level.runs.empty() && touchesBlock(level.runs, width, {rankBegin, rankEnd, begin, end}))
            return static_cast<int8_t>(severity);
        // Marks are few: search their places, not the parameters.
        const auto startOf = [&](const Mark& mark) { return partition.paramStart(mark.param); };
        auto mark = std::partition_point(level.marks.begin(), level.marks.end(), [&](const Mark& candidate) {
            return startOf(candidate) + partition.sliceElements(candidate.param) <= begin;
        });
        for (; mark != level.marks.end() && startOf(*mark) < end; ++mark) {
            // The first rank with a part of the window beyond the mark's begin decides.
            const uint64_t start = startOf(*mark);
            const uint64_t slice = partition.sliceElements(mark->param);
            const uint64_t windowBegin = std::max(begin, start) - start;
            const uint64_t windowEnd = std::min(end - start, slice);
            const uint64_t reached = mark->begin < windowEnd ? 0 : (mark->begin - windowEnd) / slice + 1;
            const uint64_t rank = std::max<uint64_t>(rankBegin, reached);
            if (rank < rankEnd && rank * slice + windowBegin < mark->end)
                return static_cast<int8_t>(severity);
        }
    }
    return -1;
}

} // namespace shardscope
