// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/stored_segments.h"

namespace shardscope {

void writeType(WireWriter& out, DType type)
{
    out.number(static_cast<uint64_t>(type));
}

DType readType(WireReader& in)
{
    const uint64_t value = in.number();
    return value <= static_cast<uint64_t>(DType::Float8E8M0) ? static_cast<DType>(value) : DType::Unknown;
}

namespace {

/// How a segment is stored.
constexpr uint64_t kSource = 2;
constexpr uint64_t kTensor = 4;
constexpr uint64_t kTyped = 8;
constexpr uint64_t kGathered = 16;
constexpr uint64_t kSameRecord = 32; ///< as the segment before
constexpr uint64_t kSameTensor = 64;

using Before = StoredSegments::Before;

void writeSegment(WireWriter& out, const Segment& segment, const Before& before)
{
    const bool hasSource = segment.source != Segment::kZero;
    const bool hasTensor = segment.tensor != Segment::kNoTensor;
    const bool isTyped = segment.sourceType != DType::Unknown || segment.outputType != DType::Unknown;
    uint64_t flags = (hasSource ? kSource : 0) | (hasTensor ? kTensor : 0) | (isTyped ? kTyped : 0)
        | (segment.sourceStep != 1 ? kGathered : 0);
    const bool sameRecord = hasSource && segment.source == before.source && segment.record == before.record;
    const bool sameTensor = hasTensor && segment.tensor == before.tensor;
    flags |= (sameRecord ? kSameRecord : 0) | (sameTensor ? kSameTensor : 0);
    out.number(flags);
    out.number(segment.bytes);
    if (hasSource && !sameRecord) {
        out.number(segment.source);
        out.number(segment.record);
    }
    if (hasSource)
        out.difference(segment.sourceOffset, before.sourceEnd);
    if (hasTensor && !sameTensor)
        out.number(segment.tensor);
    if (hasTensor)
        out.difference(segment.firstElement, before.nextElement);
    if (isTyped) {
        writeType(out, segment.sourceType);
        writeType(out, segment.outputType);
    }
    if (segment.sourceStep != 1)
        out.number(segment.sourceStep);
}

Segment readSegment(WireReader& in, const Before& before)
{
    Segment out;
    const uint64_t flags = in.number();
    out.bytes = in.number();
    if ((flags & kSource) != 0) {
        const bool same = (flags & kSameRecord) != 0;
        out.source = same ? before.source : in.number32();
        out.record = same ? before.record : in.number32();
        out.sourceOffset = in.difference(before.sourceEnd);
    }
    if ((flags & kTensor) != 0) {
        out.tensor = (flags & kSameTensor) != 0 ? before.tensor : in.number32();
        out.firstElement = in.difference(before.nextElement);
    }
    if ((flags & kTyped) != 0) {
        out.sourceType = readType(in);
        out.outputType = readType(in);
    }
    if ((flags & kGathered) != 0)
        out.sourceStep = in.number32();
    return out;
}

/// The stored segments of one record.
class StoredCursor final : public SegmentCursor
{
public:
    StoredCursor(std::shared_ptr<const std::string> bytes, const std::vector<PlanTensor>& tensors)
        : m_bytes(std::move(bytes))
        , m_tensors(tensors)
        , m_in(*m_bytes)
    {
    }

    bool next(Segment& segment) override
    {
        if (m_in.atEnd() || !m_in.isGood())
            return false;
        segment = readSegment(m_in, m_before);
        if (!m_in.isGood() || (segment.tensor != Segment::kNoTensor && segment.tensor >= m_tensors.size()))
            return false;
        const bool hasTensor = segment.tensor != Segment::kNoTensor;
        m_before.pass(segment, hasTensor ? itemSize(m_tensors[segment.tensor].dtype) : 1);
        return true;
    }

private:
    std::shared_ptr<const std::string> m_bytes;
    const std::vector<PlanTensor>& m_tensors;
    WireReader m_in;
    Before m_before;
};

} // namespace

void StoredSegments::Before::pass(const Segment& segment, uint64_t itemBytes)
{
    if (segment.source != Segment::kZero) {
        source = segment.source;
        record = segment.record;
        sourceEnd = segment.sourceOffset + segment.sourceBytes();
    }
    if (segment.tensor != Segment::kNoTensor) {
        tensor = segment.tensor;
        nextElement = segment.firstElement + segment.bytes / itemBytes;
    }
}

void StoredSegments::add(const Segment& segment, uint64_t itemBytes)
{
    writeSegment(m_out, segment, m_before);
    m_before.pass(segment, itemBytes);
}

std::unique_ptr<SegmentCursor> storedCursor(
    std::shared_ptr<const std::string> bytes, const std::vector<PlanTensor>& tensors)
{
    return std::make_unique<StoredCursor>(std::move(bytes), tensors);
}

} // namespace shardscope
