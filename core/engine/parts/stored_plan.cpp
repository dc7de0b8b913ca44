// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/stored_plan.h"

#include "core/base/sha256.h"
#include "core/engine/parts/stored_segments.h"
#include "core/plan/model/output_bytes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>

namespace shardscope {

namespace {

constexpr uint64_t kVersion = 1;
constexpr uint64_t kEndBytes = 4096; ///< of a source that are digested, at either end

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

/// Stores a text as its difference from another one: how much of the begin and of the end they share, and the
/// bytes between. Where both have the same size, only the bytes that differ.
void writeLike(WireWriter& out, std::string_view text, std::string_view before)
{
    const auto split = std::ranges::mismatch(text, before);
    const size_t begin = static_cast<size_t>(split.in1 - text.begin());
    size_t end = 0;
    const size_t most = std::min(text.size(), before.size()) - begin;
    while (end < most && text[text.size() - 1 - end] == before[before.size() - 1 - end])
        ++end;
    out.number(text.size());
    out.number(begin);
    out.number(end);
    const std::string_view middle = text.substr(begin, text.size() - begin - end);
    if (text.size() != before.size()) {
        out.text(middle);
        return;
    }
    const std::string_view other = before.substr(begin, middle.size());
    constexpr size_t kGap = 8; // shorter equal runs are stored
    for (size_t at = 0; at < middle.size();) {
        size_t equal = at;
        while (equal < middle.size() && middle[equal] == other[equal])
            ++equal;
        size_t stop = equal;
        for (size_t same = 0; stop < middle.size() && same < kGap; ++stop)
            same = middle[stop] == other[stop] ? same + 1 : 0;
        out.number(equal - at);
        out.text(middle.substr(equal, stop - equal));
        at = stop;
    }
}

std::string readLike(WireReader& in, std::string_view before)
{
    const uint64_t size = in.number();
    const uint64_t begin = in.number();
    const uint64_t end = in.number();
    if (!in.isGood() || begin > before.size() || end > before.size() - begin || begin > size
        || end > size - begin || size > before.size() + in.left())
        return in.fail();
    std::string out(before.substr(0, begin));
    const std::string_view other = before.substr(begin, before.size() - begin - end);
    if (size != before.size())
        out += in.text();
    while (size == before.size() && out.size() < size - end && in.isGood()) {
        const uint64_t equal = in.number();
        const size_t at = out.size() - begin;
        if (equal > other.size() - at)
            return in.fail();
        out += other.substr(at, equal);
        out += in.text();
    }
    out += before.substr(before.size() - end);
    return out.size() == size ? out : in.fail();
}

/// A record without its segments. 1: name, size and content are those of the record before.
void writeRecord(WireWriter& out, const OutputRecord& record, const OutputRecord& before)
{
    const bool isSame
        = record.name == before.name && record.bytes == before.bytes && record.content == before.content;
    out.number(isSame ? 1 : 0);
    if (!isSame) {
        out.text(record.name);
        out.number(record.bytes);
        out.number(static_cast<uint64_t>(record.content));
    }
    if (record.content == OutputRecord::Content::Literal)
        writeLike(out, record.literal, before.literal);
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
        std::vector<OutputRecord> stored(recipe.records.size());
        for (size_t i = 0; i < recipe.records.size(); ++i) {
            const OutputRecord& record = recipe.records[i];
            const bool isNeeded = overlaps(pieces, begins[i], begins[i] + record.bytes);
            stored[i] = {record.name, record.bytes, record.content, {}, {}};
            if (isNeeded)
                stored[i].literal = record.literal;
            writeRecord(out, stored[i], i < m_before.size() ? m_before[i] : OutputRecord());
            if (record.content == OutputRecord::Content::Segments)
                out.text(isNeeded ? segments(record, begins[i], pieces) : std::string());
        }
        m_before = std::move(stored);
        return {};
    }

    Status addSources(WireWriter& out, io::FileSystem& files) const
    {
        out.number(m_sources.numbers().size());
        for (const uint32_t number : m_sources.numbers()) {
            const PlanSource& source = m_plan.sources[number];
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
            const PlanTensor& tensor = m_plan.tensors[number];
            out.number(number);
            out.text(tensor.name);
            out.text(tensor.state);
            writeType(out, tensor.dtype);
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
        StoredSegments out;
        uint64_t skipped = 0;
        const auto cursor = record.cursor();
        Segment segment;
        const auto addSkipped = [&] {
            if (skipped == 0)
                return;
            Segment zeros;
            zeros.bytes = std::exchange(skipped, 0);
            out.add(zeros, 1);
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
                item = itemSize(m_plan.tensors[segment.tensor].dtype);
            }
            out.add(stored, item);
        }
        addSkipped();
        return out.take();
    }

    const WritePlan& m_plan;
    std::vector<OutputRecord> m_before; ///< of the last file, as they were stored
    Numbering m_sources;
    std::unordered_map<uint32_t, Numbering> m_records; ///< of each source
    Numbering m_tensors;
};

} // namespace

Result<StoredPlan::Stored> StoredPlan::store(io::FileSystem& files, const WritePlan& plan,
    std::span<const FilePiece> toWrite, std::span<const FilePiece> toRead)
{
    std::set<uint32_t> used;
    for (const auto pieces : {toWrite, toRead}) {
        for (const FilePiece& piece : pieces)
            used.insert(piece.file);
    }
    Storing storing(plan);
    WireWriter bodies;
    for (const uint32_t file : used) {
        const auto pieces = std::ranges::equal_range(toWrite, file, {}, &FilePiece::file);
        bodies.number(file);
        bodies.text(plan.files[file].path);
        bodies.number(plan.files[file].bytes);
        bodies.number(pieces.empty() ? 0 : 1);
        if (!pieces.empty())
            SHARDSCOPE_CHECK(storing.addFile(bodies, file, {pieces.begin(), pieces.end()}));
    }
    WireWriter out;
    out.number(kVersion);
    storing.addTensors(out);
    SHARDSCOPE_CHECK(storing.addSources(out, files));
    out.number(used.size());
    return Stored{out.take() + bodies.take(), {used.begin(), used.end()}};
}

namespace {

uint32_t placeOf(const std::vector<uint32_t>& ascending, uint32_t number)
{
    return static_cast<uint32_t>(std::ranges::lower_bound(ascending, number) - ascending.begin());
}

OutputRecord readRecord(WireReader& in, const OutputRecord& before)
{
    OutputRecord out;
    if (in.number() != 0) {
        out.name = before.name;
        out.bytes = before.bytes;
        out.content = before.content;
    } else {
        out.name = in.text();
        out.bytes = in.number();
        const uint64_t content = in.number();
        if (content > static_cast<uint64_t>(OutputRecord::Content::SerializationId))
            in.fail();
        else
            out.content = static_cast<OutputRecord::Content>(content);
    }
    if (out.content == OutputRecord::Content::Literal)
        out.literal = readLike(in, before.literal);
    return out;
}

OutputFile readRecipe(WireReader& in, std::string path, const std::vector<PlanTensor>& tensors,
    const std::vector<OutputRecord>& before)
{
    OutputFile out;
    out.path = std::move(path);
    out.mode = in.number32();
    out.torchArchive = in.number() != 0;
    out.prefix = in.text();
    const uint64_t count = in.count();
    for (uint64_t i = 0; i < count && in.isGood(); ++i) {
        OutputRecord record = readRecord(in, i < before.size() ? before[i] : OutputRecord());
        if (record.content == OutputRecord::Content::Segments) {
            record.cursor = [bytes = std::make_shared<const std::string>(in.text()), &tensors] {
                return storedCursor(bytes, tensors);
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
    const uint64_t tensors = isKnown ? in.count() : 0;
    for (uint64_t i = 0; i < tensors && in.isGood(); ++i) {
        out->m_planTensors.push_back(in.number32());
        PlanTensor tensor;
        tensor.name = in.text();
        tensor.state = in.text();
        tensor.dtype = readType(in);
        tensor.columnRows = in.number32();
        tensor.elements = in.number();
        out->m_plan.tensors.push_back(std::move(tensor));
    }
    const uint64_t sources = isKnown ? in.count() : 0;
    for (uint64_t i = 0; i < sources && in.isGood(); ++i) {
        out->m_planSources.push_back(in.number32());
        out->m_plan.sources.push_back(
            readSource(in, out->m_sourceEnds.emplace_back(), out->m_planRecords.emplace_back()));
    }
    const uint64_t files = isKnown ? in.count() : 0;
    static const std::vector<OutputRecord> kNone;
    std::vector<OutputFile> recipes;
    std::optional<size_t> before; // the last file with a recipe
    for (uint64_t i = 0; i < files && in.isGood(); ++i) {
        out->m_planFiles.push_back(in.number32());
        PlannedFile file;
        file.path = in.text();
        file.bytes = in.number();
        OutputFile recipe;
        if (in.number() != 0) {
            recipe
                = readRecipe(in, file.path, out->m_plan.tensors, before ? recipes[*before].records : kNone);
            before = i;
        }
        recipes.push_back(std::move(recipe));
        out->m_plan.files.push_back(std::move(file));
    }
    if (!isKnown || !in.isGood() || !in.atEnd())
        return fail(ErrorCode::Damaged, "another process sent a plan that this one cannot read", {},
            "all processes must run the same version of the program");
    out->m_plan.compose = [recipes = std::move(recipes)](
                              const WritePlan&, size_t i) -> Result<OutputFile> { return recipes[i]; };
    return out;
}

Status StoredPlan::checkSources(io::FileSystem& files) const
{
    for (size_t i = 0; i < m_plan.sources.size(); ++i) {
        const PlanSource& source = m_plan.sources[i];
        SHARDSCOPE_TRY(const auto opened, files.openRead(source.path));
        const bool sameSize = opened->size() == source.identity.bytes;
        SHARDSCOPE_TRY(const std::string ends, sameSize ? digestOfEnds(*opened) : Result<std::string>(""));
        if (ends != m_sourceEnds[i] || opened->identity().modifiedNs != source.identity.modifiedNs)
            return fail(ErrorCode::SourceChanged,
                "this machine sees another version of the source file than the one that planned",
                source.path.string(), "wait until no program writes to it, then make a new plan");
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
    return placeOf(m_planFiles, planFile);
}

uint32_t StoredPlan::Stored::fileFor(uint32_t planFile) const
{
    return placeOf(files, planFile);
}

} // namespace shardscope
