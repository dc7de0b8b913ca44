// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/part_ranges.h"

#include "core/plan/model/output_bytes.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace shardscope {

namespace {

/// Where a part begins: a range of a list, and an offset of its file in that range.
struct Position {
    size_t range = 0;
    uint64_t offset = 0;
};

/// Whether a cut at `offset` of a record's payload splits an element.
class CutChecker
{
public:
    CutChecker(const OutputFile& recipe, const std::vector<PlanTensor>& tensors)
        : m_recipe(recipe)
        , m_tensors(tensors)
    {
    }

    /// Takes the multiples of `step` in the payload [begin, begin + bytes) of a record that split no element.
    void addCuts(uint32_t record, uint64_t begin, uint64_t step, std::vector<uint64_t>& out) const
    {
        const uint64_t end = begin + m_recipe.records[record].bytes;
        uint64_t cut = (begin / step + 1) * step;
        if (cut >= end)
            return;
        if (m_recipe.records[record].content != OutputRecord::Content::Segments) {
            for (; cut < end; cut += step)
                out.push_back(cut);
            return;
        }
        const auto cursor = m_recipe.records[record].cursor();
        Segment segment;
        for (uint64_t at = begin; cut < end && cursor->next(segment); at += segment.bytes) {
            const uint64_t item
                = segment.tensor == Segment::kNoTensor ? 1 : itemSize(m_tensors[segment.tensor].dtype);
            for (; cut < std::min(at + segment.bytes, end); cut += step) {
                if ((cut - at) % OutputWalk::elementBytes(segment, item) == 0)
                    out.push_back(cut);
            }
        }
    }

private:
    const OutputFile& m_recipe;
    const std::vector<PlanTensor>& m_tensors;
};

/// Offsets below the file's size, ascending, at which it may be cut.
Result<std::vector<uint64_t>> cutsOf(const WritePlan& plan, uint32_t file, uint64_t step)
{
    std::vector<uint64_t> out;
    const uint64_t bytes = plan.files[file].bytes;
    if (bytes <= step)
        return out;
    SHARDSCOPE_TRY(const OutputFile recipe, plan.recipe(file));
    const CutChecker checker(recipe, plan.tensors);
    if (!recipe.torchArchive) {
        uint64_t at = 0;
        for (uint32_t i = 0; i < recipe.records.size(); at += recipe.records[i++].bytes) {
            if (at > 0 && at % step == 0)
                out.push_back(at);
            checker.addCuts(i, at, step, out);
        }
        return out;
    }
    SHARDSCOPE_TRY(const ZipLayout layout, archiveLayout(recipe));
    uint64_t next = step; ///< outside of payloads all multiples are possible
    const auto addUpTo = [&](uint64_t end) {
        for (; next <= end && next < bytes; next += step)
            out.push_back(next);
    };
    for (uint32_t i = 0; i < recipe.records.size(); ++i) {
        const uint64_t begin = layout.payloadOffset(i);
        addUpTo(begin);
        checker.addCuts(i, begin, step, out);
        const uint64_t end = begin + recipe.records[i].bytes;
        next = std::max(next, (end + step - 1) / step * step);
    }
    addUpTo(bytes);
    return out;
}

/// Cuts a list of ranges into parts.
class Divider
{
public:
    Divider(const WritePlan& plan, std::span<const FilePiece> ranges, uint32_t count, uint64_t step)
        : m_plan(plan)
        , m_ranges(ranges)
        , m_count(count)
        , m_step(step)
        , m_total(bytesOf(ranges))
    {
    }

    Result<std::vector<FilePiece>> part(uint32_t index)
    {
        SHARDSCOPE_TRY(const Position begin, beginOf(index));
        SHARDSCOPE_TRY(const Position end, beginOf(index + 1));
        std::vector<FilePiece> out;
        for (size_t i = begin.range; i < m_ranges.size() && i <= end.range; ++i) {
            const auto& [file, range] = m_ranges[i];
            const uint64_t from = i == begin.range ? begin.offset : range.begin;
            const uint64_t to = i == end.range ? end.offset : range.end;
            if (from < to || (i < end.range && range.begin == range.end))
                out.push_back({file, {from, to}});
        }
        return out;
    }

private:
    Result<Position> beginOf(uint32_t index)
    {
        if (index == 0)
            return startOf(0);
        if (index == m_count)
            return startOf(m_ranges.size());
        uint64_t offset = m_total / m_count * index + m_total % m_count * index / m_count;
        size_t at = 0;
        for (; at < m_ranges.size() && offset >= sizeOf(at); ++at)
            offset -= sizeOf(at);
        if (at == m_ranges.size() || offset == 0)
            return startOf(at);
        const auto& [file, range] = m_ranges[at];
        if (sizeOf(at) <= m_step)
            return startOf(offset * 2 < sizeOf(at) ? at : at + 1);
        const uint64_t wanted = (range.begin + offset + m_step / 2) / m_step * m_step;
        if (wanted <= range.begin)
            return startOf(at);
        if (!m_cuts || m_cutFile != file) {
            SHARDSCOPE_TRY(m_cuts, cutsOf(m_plan, file, m_step));
            m_cutFile = file;
        }
        const auto cut = std::ranges::lower_bound(*m_cuts, wanted);
        return cut == m_cuts->end() || *cut >= range.end ? startOf(at + 1) : Position{at, *cut};
    }
    [[nodiscard]] uint64_t sizeOf(size_t i) const { return m_ranges[i].range.end - m_ranges[i].range.begin; }
    [[nodiscard]] Position startOf(size_t i) const
    {
        return {i, i < m_ranges.size() ? m_ranges[i].range.begin : 0};
    }

    const WritePlan& m_plan;
    std::span<const FilePiece> m_ranges;
    uint32_t m_count;
    uint64_t m_step;
    uint64_t m_total;
    std::optional<std::vector<uint64_t>> m_cuts; ///< of m_cutFile
    uint32_t m_cutFile = 0;
};

std::vector<FilePiece> wholeFiles(const WritePlan& plan)
{
    std::vector<FilePiece> out;
    out.reserve(plan.files.size());
    for (uint32_t i = 0; i < plan.files.size(); ++i)
        out.push_back({i, {0, plan.files[i].bytes}});
    return out;
}

} // namespace

Result<std::vector<FilePiece>> rangesOf(const WritePlan& plan, Part part, const PieceSizes& sizes)
{
    const auto all = wholeFiles(plan);
    return Divider(plan, all, part.count, sizes.cutBytes).part(part.index);
}

Result<std::vector<std::vector<FilePiece>>> divideRanges(
    const WritePlan& plan, std::span<const FilePiece> ranges, uint32_t count, const PieceSizes& sizes)
{
    Divider divider(plan, ranges, count, sizes.cutBytes);
    std::vector<std::vector<FilePiece>> out(count);
    for (uint32_t i = 0; i < count; ++i) {
        SHARDSCOPE_TRY(out[i], divider.part(i));
    }
    return out;
}

std::vector<FilePiece> without(std::span<const FilePiece> ranges, std::span<const FilePiece> done)
{
    std::vector<FilePiece> out;
    size_t next = 0;
    for (const FilePiece& range : ranges) {
        while (next < done.size()
            && (done[next].file < range.file
                || (done[next].file == range.file && done[next].range.end < range.range.begin)))
            ++next;
        uint64_t at = range.range.begin;
        bool isEmptyDone = false;
        for (size_t i = next; i < done.size() && done[i].file == range.file; ++i) {
            if (range.range.begin == range.range.end)
                isEmptyDone = true;
            if (done[i].range.begin >= range.range.end)
                break;
            if (done[i].range.begin > at)
                out.push_back({range.file, {at, done[i].range.begin}});
            at = std::max(at, done[i].range.end);
        }
        const bool isEmpty = range.range.begin == range.range.end;
        if (isEmpty ? !isEmptyDone : at < range.range.end)
            out.push_back({range.file, {at, range.range.end}});
    }
    return out;
}

Result<std::vector<FilePiece>> splitRanges(
    const WritePlan& plan, std::span<const FilePiece> ranges, const PieceSizes& sizes)
{
    std::vector<FilePiece> out;
    for (const auto& [file, range] : ranges) {
        std::vector<uint64_t> cuts;
        if (range.end - range.begin > sizes.pieceBytes) {
            SHARDSCOPE_TRY(cuts, cutsOf(plan, file, sizes.cutBytes));
        }
        uint64_t at = range.begin;
        while (range.end - at > sizes.pieceBytes) {
            const auto cut = std::ranges::lower_bound(cuts, at + sizes.pieceBytes);
            if (cut == cuts.end() || *cut >= range.end)
                break;
            out.push_back({file, {at, *cut}});
            at = *cut;
        }
        out.push_back({file, {at, range.end}});
    }
    return out;
}

uint64_t bytesOf(std::span<const FilePiece> pieces)
{
    return std::accumulate(pieces.begin(), pieces.end(), uint64_t{0},
        [](uint64_t sum, const FilePiece& piece) { return sum + (piece.range.end - piece.range.begin); });
}

} // namespace shardscope
