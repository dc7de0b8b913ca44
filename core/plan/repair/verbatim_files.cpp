// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/verbatim_files.h"

#include "core/base/parallel.h"
#include "core/plan/compose/segment_cursors.h"
#include "core/plan/model/output_bytes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace shardscope {

namespace {

/// The segments of elements in a recipe, in the order of the source's bytes. Nothing if some are not a plain
/// copy of that source, or occur twice.
std::optional<std::vector<Segment>> elementsIn(const OutputFile& recipe, uint32_t source)
{
    std::vector<Segment> out;
    for (const OutputRecord& record : recipe.records) {
        if (record.content != OutputRecord::Content::Segments)
            continue;
        const auto cursor = record.cursor();
        for (Segment segment; cursor->next(segment);) {
            if (segment.tensor == Segment::kNoTensor)
                continue; // padding, or content in the form of another rank's file
            if (segment.source != source || segment.isConverted() || segment.isGathered())
                return std::nullopt;
            out.push_back(segment);
        }
    }
    std::sort(out.begin(), out.end(),
        [](const Segment& a, const Segment& b) { return a.sourceOffset < b.sourceOffset; });
    for (size_t i = 0; i + 1 < out.size(); ++i) {
        if (out[i].sourceOffset + out[i].bytes > out[i + 1].sourceOffset)
            return std::nullopt;
    }
    return out;
}

/// Bytes of a file between planned elements, up to the next border of a record.
class Between
{
public:
    Between(const PlanSource& file, uint32_t source)
        : m_source(source)
        , m_whole(static_cast<uint32_t>(file.records.size()) - 1)
    {
        for (uint32_t i = 0; i < m_whole; ++i) {
            const ZipRecord& record = file.records[i];
            if (!record.damaged && record.bytes > 0)
                m_records.push_back({record.payloadOffset, record.payloadOffset + record.bytes, i});
        }
        std::sort(m_records.begin(), m_records.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    }

    void add(std::vector<Segment>& out, uint64_t begin, uint64_t end) const
    {
        auto next = std::partition_point(
            m_records.begin(), m_records.end(), [&](const Extent& extent) { return extent.end <= begin; });
        for (; begin < end; ++next) {
            if (next == m_records.end() || next->begin >= end) {
                push(out, m_whole, begin, end);
                return;
            }
            if (begin < next->begin)
                push(out, m_whole, begin, next->begin);
            begin = std::max(begin, next->begin);
            push(out, next->record, begin, std::min(end, next->end));
            begin = std::min(end, next->end);
        }
    }

private:
    struct Extent {
        uint64_t begin = 0;
        uint64_t end = 0;
        uint32_t record = 0;
    };
    void push(std::vector<Segment>& out, uint32_t record, uint64_t begin, uint64_t end) const
    {
        Segment segment;
        segment.source = m_source;
        segment.record = record;
        segment.sourceOffset = begin;
        segment.bytes = end - begin;
        out.push_back(segment);
    }

    uint32_t m_source;
    uint32_t m_whole; ///< the record of all bytes, without a checksum
    std::vector<Extent> m_records;
};

/// The file of a source, marked with the elements that `recipe` moves.
Result<OutputFile> verbatim(const OutputFile& recipe, const PlanSource& from, uint32_t source)
{
    const auto elements = elementsIn(recipe, source);
    if (!elements)
        return fail(ErrorCode::Internal, "a file to copy unchanged has other bytes now", recipe.path);
    const Between between(from, source);
    std::vector<Segment> segments;
    uint64_t at = 0;
    for (const Segment& segment : *elements) {
        between.add(segments, at, segment.sourceOffset);
        segments.push_back(segment);
        at = segment.sourceOffset + segment.bytes;
    }
    between.add(segments, at, from.identity.bytes);
    OutputFile out;
    out.path = recipe.path;
    out.mode = recipe.mode;
    out.torchArchive = false;
    out.copyOf = source;
    out.records.push_back({recipe.path, from.identity.bytes, OutputRecord::Content::Segments, {},
        listCursor(std::move(segments))});
    return out;
}

} // namespace

Status copyVerbatim(WritePlan& plan, const Checkpoint& checkpoint,
    const std::function<bool(const std::string& name)>& mayBe, JobContext& job)
{
    std::unordered_map<std::string, uint32_t> sourceByPath;
    for (uint32_t i = 0; i < plan.sources.size(); ++i)
        sourceByPath.emplace(plan.sources[i].path.native(), i);
    std::unordered_map<std::string_view, const io::Path*> pathByName;
    for (const CheckpointFile& file : checkpoint.files)
        pathByName.emplace(file.name, &file.path);
    struct Candidate {
        size_t file = 0; ///< of the plan
        uint32_t source = 0; ///< the checkpoint's file of this name
        bool isCopy = false;
    };
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < plan.files.size(); ++i) {
        const auto own = pathByName.find(plan.files[i].path);
        const auto source
            = own == pathByName.end() ? sourceByPath.end() : sourceByPath.find(own->second->native());
        if (source != sourceByPath.end() && mayBe(plan.files[i].path))
            candidates.push_back({i, source->second});
    }
    SHARDSCOPE_CHECK(parallelFor(candidates.size(), composersAtOnce(), job, [&](size_t i) -> Status {
        SHARDSCOPE_TRY(const OutputFile recipe, plan.recipe(candidates[i].file));
        candidates[i].isCopy = recipe.torchArchive && elementsIn(recipe, candidates[i].source);
        return {};
    }));
    for (const Candidate& candidate : candidates) {
        if (!candidate.isCopy)
            continue;
        PlannedFile& planned = plan.files[candidate.file];
        PlanSource& file = plan.sources[candidate.source];
        ZipRecord whole;
        whole.name = planned.path;
        whole.bytes = file.identity.bytes;
        whole.inflatedBytes = whole.bytes;
        whole.crcPresent = false;
        file.records.push_back(std::move(whole));
        planned.bytes = file.identity.bytes;
        planned.copyOf = candidate.source;
    }
    plan.compose = [inner = std::move(plan.compose)](const WritePlan& of, size_t i) -> Result<OutputFile> {
        SHARDSCOPE_TRY(OutputFile recipe, inner(of, i));
        const auto source = of.files[i].copyOf;
        return source ? verbatim(recipe, of.sources[*source], *source) : recipe;
    };
    return {};
}

} // namespace shardscope
