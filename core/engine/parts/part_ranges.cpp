// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/part_ranges.h"

#include "core/plan/model/output_bytes.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

/// Where a part begins: a file, and an offset in it below its size, or 0.
struct Position {
    uint32_t file = 0;
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
    const uint64_t bytes = plan.files()[file].bytes;
    if (bytes <= step)
        return out;
    SHARDSCOPE_TRY(const OutputFile recipe, plan.recipe(file));
    const CutChecker checker(recipe, plan.tensors());
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

/// The position that `offset` of all bytes is rounded to.
Result<Position> cutNear(const WritePlan& plan, uint64_t offset, uint64_t step)
{
    const auto& files = plan.files();
    uint32_t file = 0;
    for (; file < files.size() && offset >= files[file].bytes; ++file)
        offset -= files[file].bytes;
    if (file == files.size() || offset == 0)
        return Position{file, 0};
    const uint64_t bytes = files[file].bytes;
    const uint64_t unit = std::min(step, bytes);
    const uint64_t wanted = (offset + unit / 2) / unit * unit;
    if (wanted == 0)
        return Position{file, 0};
    if (wanted >= bytes)
        return Position{file + 1, 0};
    SHARDSCOPE_TRY(const auto cuts, cutsOf(plan, file, step));
    const auto cut = std::ranges::lower_bound(cuts, wanted);
    return cut == cuts.end() ? Position{file + 1, 0} : Position{file, *cut};
}

Result<Position> beginOf(const WritePlan& plan, uint32_t index, uint32_t count, uint64_t step)
{
    if (index == 0)
        return Position{};
    if (index == count)
        return Position{static_cast<uint32_t>(plan.files().size()), 0};
    const uint64_t total = std::accumulate(plan.files().begin(), plan.files().end(), uint64_t{0},
        [](uint64_t sum, const PlannedFile& file) { return sum + file.bytes; });
    return cutNear(plan, total / count * index + total % count * index / count, step);
}

} // namespace

Result<std::vector<FilePiece>> rangesOf(const WritePlan& plan, Part part, const PieceSizes& sizes)
{
    SHARDSCOPE_TRY(const Position begin, beginOf(plan, part.index, part.count, sizes.cutBytes));
    SHARDSCOPE_TRY(const Position end, beginOf(plan, part.index + 1, part.count, sizes.cutBytes));
    std::vector<FilePiece> out;
    for (uint32_t file = begin.file; file < plan.files().size() && file <= end.file; ++file) {
        const uint64_t from = file == begin.file ? begin.offset : 0;
        const uint64_t to = file == end.file ? end.offset : plan.files()[file].bytes;
        if (from < to || (file < end.file && plan.files()[file].bytes == 0))
            out.push_back({file, {from, to}});
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
