// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/stored_plan.h"

#include "core/engine/parts/wire.h"
#include "core/io/sha256.h"
#include "core/plan/model/output_bytes.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace shardscope {

namespace {

constexpr uint64_t kVersion = 1;
constexpr uint64_t kEndBytes = 4096; ///< of a source that are digested, at either end

/// How a segment is stored.
constexpr uint64_t kSource = 2;
constexpr uint64_t kTensor = 4;
constexpr uint64_t kTyped = 8;
constexpr uint64_t kGathered = 16;
constexpr uint64_t kSameRecord = 32; ///< as the segment before
constexpr uint64_t kSameTensor = 64;

/// What most segments continue.
struct Before {
    uint32_t source = 0;
    uint32_t record = 0;
    uint64_t sourceEnd = 0;
    uint32_t tensor = 0;
    uint64_t nextElement = 0;
};

void pass(Before& before, const Segment& segment, uint64_t itemBytes)
{
    if (segment.source != Segment::kZero) {
        before.source = segment.source;
        before.record = segment.record;
        before.sourceEnd = segment.sourceOffset + segment.sourceBytes();
    }
    if (segment.tensor != Segment::kNoTensor) {
        before.tensor = segment.tensor;
        before.nextElement = segment.firstElement + segment.bytes / itemBytes;
    }
}

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
        out.number(static_cast<uint64_t>(segment.sourceType));
        out.number(static_cast<uint64_t>(segment.outputType));
    }
    if (segment.sourceStep != 1)
        out.number(segment.sourceStep);
}

/// Unknown for a number that is no dtype.
DType readType(WireReader& in)
{
    const uint64_t value = in.number();
    return value <= static_cast<uint64_t>(DType::Float8E8M0) ? static_cast<DType>(value) : DType::Unknown;
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
        pass(m_before, segment, hasTensor ? itemSize(m_tensors[segment.tensor].dtype) : 1);
        return true;
    }

private:
    std::shared_ptr<const std::string> m_bytes;
    const std::vector<PlanTensor>& m_tensors;
    WireReader m_in;
    Before m_before;
};

/// Gives numbers from 0 in the order of first use.
class Numbering
{
public:
    uint32_t of(uint32_t number)
    {
        const auto [entry, isNew] = m_of.try_emplace(number, static_cast<uint32_t>(m_numbers.size()));
        if (isNew)
            m_numbers.push_back(number);
        return entry->second;
    }
    [[nodiscard]] const std::vector<uint32_t>& numbers() const { return m_numbers; }

private:
    std::unordered_map<uint32_t, uint32_t> m_of;
    std::vector<uint32_t> m_numbers;
};

/// A digest of both ends of a file: the header of its archive and its directory.
Result<std::string> digestOfEnds(const io::ReadFile& file)
{
    io::Xxh3 sum;
    std::array<uint8_t, kEndBytes> bytes{};
    const uint64_t count = std::min(kEndBytes, file.size());
    for (const uint64_t offset : {uint64_t{0}, file.size() - count}) {
        const std::span<uint8_t> part(bytes.data(), count);
        SHARDSCOPE_CHECK(file.readAt(offset, part));
        sum.update(part);
    }
    const io::Xxh3Digest digest = sum.digest();
    return std::to_string(digest.high) + ' ' + std::to_string(digest.low);
}

/// Stores the files of pieces, and notes what they use.
class Storing
{
public:
    explicit Storing(const WritePlan& plan)
        : m_plan(plan)
    {
    }

    Status addFile(WireWriter& out, uint32_t file, std::span<const FilePiece> pieces)
    {
        SHARDSCOPE_TRY(const OutputFile recipe, m_plan.recipe(file));
        out.number(recipe.mode);
        out.number(recipe.torchArchive ? 1 : 0);
        out.text(recipe.prefix);
        out.number(recipe.records.size());
        std::vector<uint64_t> begins;
        if (recipe.torchArchive) {
            SHARDSCOPE_TRY(const ZipLayout layout, archiveLayout(recipe));
            for (uint32_t i = 0; i < recipe.records.size(); ++i)
                begins.push_back(layout.payloadOffset(i));
        } else {
            uint64_t at = 0;
            for (const OutputRecord& record : recipe.records)
                begins.push_back(std::exchange(at, at + record.bytes));
        }
        for (size_t i = 0; i < recipe.records.size(); ++i) {
            const OutputRecord& record = recipe.records[i];
            out.text(record.name);
            out.number(record.bytes);
            out.number(static_cast<uint64_t>(record.content));
            const bool isNeeded = overlaps(pieces, begins[i], begins[i] + record.bytes);
            if (record.content == OutputRecord::Content::Literal)
                out.text(isNeeded ? std::string_view(record.literal) : std::string_view());
            else if (record.content == OutputRecord::Content::Segments)
                out.text(isNeeded ? segments(record, begins[i], pieces) : std::string());
        }
        return {};
    }

    Status addSources(WireWriter& out, io::FileSystem& files) const
    {
        out.number(m_sources.numbers().size());
        for (const uint32_t number : m_sources.numbers()) {
            const PlanSource& source = m_plan.sources()[number];
            SHARDSCOPE_TRY(const auto opened, files.openRead(source.path));
            SHARDSCOPE_TRY(const std::string ends, digestOfEnds(*opened));
            out.number(number);
            out.text(source.path.native());
            out.text(source.name);
            out.number(source.identity.bytes);
            out.number(static_cast<uint64_t>(source.identity.modifiedNs));
            out.text(ends);
            const auto& records = m_records.at(number).numbers();
            out.number(records.size());
            for (const uint32_t index : records) {
                const ZipRecord& record = source.records[index];
                out.number(index);
                out.text(record.name);
                out.number(record.payloadOffset);
                out.number(record.bytes);
                out.number(record.crc32);
                out.number(
                    (record.crcPresent ? 1 : 0) | (record.deflated ? 2 : 0) | (record.damaged ? 4 : 0));
            }
        }
        return {};
    }

    void addTensors(WireWriter& out) const
    {
        out.number(m_tensors.numbers().size());
        for (const uint32_t number : m_tensors.numbers()) {
            const PlanTensor& tensor = m_plan.tensors()[number];
            out.number(number);
            out.text(tensor.name);
            out.text(tensor.state);
            out.number(static_cast<uint64_t>(tensor.dtype));
            out.number(tensor.columnRows);
            out.number(tensor.elements);
        }
    }

private:
    static bool overlaps(std::span<const FilePiece> pieces, uint64_t begin, uint64_t end)
    {
        return std::ranges::any_of(pieces,
            [&](const FilePiece& piece) { return piece.range.begin < end && begin < piece.range.end; });
    }

    std::string segments(const OutputRecord& record, uint64_t begin, std::span<const FilePiece> pieces)
    {
        WireWriter out;
        Before before;
        uint64_t skipped = 0;
        const auto cursor = record.cursor();
        Segment segment;
        const auto add = [&](const Segment& added, uint64_t itemBytes) {
            writeSegment(out, added, before);
            pass(before, added, itemBytes);
        };
        const auto addSkipped = [&] {
            if (skipped == 0)
                return;
            Segment zeros;
            zeros.bytes = std::exchange(skipped, 0);
            add(zeros, 1);
        };
        for (uint64_t at = begin; cursor->next(segment); at += segment.bytes) {
            if (!overlaps(pieces, at, at + segment.bytes)) {
                skipped += segment.bytes;
                continue;
            }
            addSkipped();
            Segment stored = segment;
            uint64_t item = 1;
            if (segment.source != Segment::kZero) {
                stored.source = m_sources.of(segment.source);
                stored.record = m_records[segment.source].of(segment.record);
            }
            if (segment.tensor != Segment::kNoTensor) {
                stored.tensor = m_tensors.of(segment.tensor);
                item = itemSize(m_plan.tensors()[segment.tensor].dtype);
            }
            add(stored, item);
        }
        addSkipped();
        return out.take();
    }

    const WritePlan& m_plan;
    Numbering m_sources;
    std::unordered_map<uint32_t, Numbering> m_records; ///< of each source
    Numbering m_tensors;
};

} // namespace

Result<std::string> StoredPlan::store(
    io::FileSystem& files, const WritePlan& plan, std::span<const FilePiece> pieces, bool withRecipes)
{
    Storing storing(plan);
    WireWriter bodies;
    uint64_t count = 0;
    for (size_t first = 0; first < pieces.size(); ++count) {
        const uint32_t file = pieces[first].file;
        size_t end = first;
        while (end < pieces.size() && pieces[end].file == file)
            ++end;
        bodies.number(file);
        bodies.text(plan.files()[file].path);
        bodies.number(plan.files()[file].bytes);
        if (withRecipes)
            SHARDSCOPE_CHECK(storing.addFile(bodies, file, pieces.subspan(first, end - first)));
        first = end;
    }
    WireWriter out;
    out.number(kVersion);
    out.number(withRecipes ? 1 : 0);
    storing.addTensors(out);
    SHARDSCOPE_CHECK(storing.addSources(out, files));
    out.number(count);
    return out.take() + bodies.take();
}

namespace {

OutputFile readRecipe(WireReader& in, std::string path, const std::vector<PlanTensor>& tensors)
{
    OutputFile out;
    out.path = std::move(path);
    out.mode = in.number32();
    out.torchArchive = in.number() != 0;
    out.prefix = in.text();
    const uint64_t count = in.count();
    for (uint64_t i = 0; i < count && in.isGood(); ++i) {
        OutputRecord record;
        record.name = in.text();
        record.bytes = in.number();
        record.content = static_cast<OutputRecord::Content>(in.number32());
        if (record.content == OutputRecord::Content::Literal) {
            record.literal = in.text();
        } else if (record.content == OutputRecord::Content::Segments) {
            record.cursor = [bytes = std::make_shared<const std::string>(in.text()), &tensors] {
                return std::make_unique<StoredCursor>(bytes, tensors);
            };
        }
        out.records.push_back(std::move(record));
    }
    return out;
}

PlanSource readSource(WireReader& in, std::string& ends, std::vector<uint32_t>& records)
{
    PlanSource out;
    out.path = in.text();
    out.name = in.text();
    out.identity.bytes = in.number();
    out.identity.modifiedNs = static_cast<int64_t>(in.number());
    ends = in.text();
    const uint64_t count = in.count();
    for (uint64_t i = 0; i < count && in.isGood(); ++i) {
        records.push_back(in.number32());
        ZipRecord record;
        record.name = in.text();
        record.payloadOffset = in.number();
        record.bytes = in.number();
        record.crc32 = in.number32();
        const uint64_t flags = in.number();
        record.crcPresent = (flags & 1) != 0;
        record.deflated = (flags & 2) != 0;
        record.damaged = (flags & 4) != 0;
        out.records.push_back(std::move(record));
    }
    return out;
}

} // namespace

Result<std::unique_ptr<StoredPlan>> StoredPlan::parse(std::string_view bytes)
{
    std::unique_ptr<StoredPlan> out(new StoredPlan);
    WireReader in(bytes);
    const bool isKnown = in.number() == kVersion;
    const bool hasRecipes = in.number() != 0;
    const uint64_t tensors = isKnown ? in.count() : 0;
    for (uint64_t i = 0; i < tensors && in.isGood(); ++i) {
        out->m_planTensors.push_back(in.number32());
        PlanTensor tensor;
        tensor.name = in.text();
        tensor.state = in.text();
        tensor.dtype = readType(in);
        tensor.columnRows = in.number32();
        tensor.elements = in.number();
        out->m_tensors.push_back(std::move(tensor));
    }
    const uint64_t sources = isKnown ? in.count() : 0;
    for (uint64_t i = 0; i < sources && in.isGood(); ++i) {
        out->m_planSources.push_back(in.number32());
        out->m_sources.push_back(
            readSource(in, out->m_sourceEnds.emplace_back(), out->m_planRecords.emplace_back()));
    }
    const uint64_t files = isKnown ? in.count() : 0;
    for (uint64_t i = 0; i < files && in.isGood(); ++i) {
        out->m_planFiles.push_back(in.number32());
        PlannedFile file;
        file.path = in.text();
        file.bytes = in.number();
        out->m_recipes.push_back(hasRecipes ? readRecipe(in, file.path, out->m_tensors) : OutputFile{});
        out->m_files.push_back(std::move(file));
    }
    if (!isKnown || !in.isGood() || !in.atEnd())
        return fail(ErrorCode::Damaged, "another process sent a plan that this one cannot read", {},
            "all processes must run the same version of the program");
    return out;
}

Status StoredPlan::checkSources(io::FileSystem& files) const
{
    for (size_t i = 0; i < m_sources.size(); ++i) {
        SHARDSCOPE_TRY(const auto opened, files.openRead(m_sources[i].path));
        const bool sameSize = opened->size() == m_sources[i].identity.bytes;
        SHARDSCOPE_TRY(const std::string ends, sameSize ? digestOfEnds(*opened) : Result<std::string>(""));
        if (ends != m_sourceEnds[i] || opened->identity().modifiedNs != m_sources[i].identity.modifiedNs)
            return fail(ErrorCode::SourceChanged,
                "this machine sees another version of the source file than the one that planned",
                m_sources[i].path.string(), "wait until no program writes to it, then make a new plan");
    }
    return {};
}

PieceRecord StoredPlan::toPlan(PieceRecord record) const
{
    record.piece = toPlan(record.piece);
    for (ElementsSum& sum : record.elements)
        sum.tensor = m_planTensors[sum.tensor];
    for (SourcePart& part : record.sources) {
        part.record = m_planRecords[part.source][part.record];
        part.source = m_planSources[part.source];
    }
    for (auto& [source, touched] : record.touched) {
        touched = m_planRecords[source][touched];
        source = m_planSources[source];
    }
    return record;
}

FilePiece StoredPlan::toPlan(FilePiece piece) const
{
    piece.file = m_planFiles[piece.file];
    return piece;
}

uint32_t StoredPlan::fileFor(uint32_t planFile) const
{
    const auto found = std::ranges::lower_bound(m_planFiles, planFile);
    return static_cast<uint32_t>(found - m_planFiles.begin());
}

} // namespace shardscope
