// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_plan.h"

#include "core/io/crc32.h"
#include "core/torchfile/zip/zip_layout.h"
#include "tests/support/temporary_folder.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace shardscope::test {

namespace {

/// Two flat buffers: fp32 and, in a record of its own, bf16. One more tensor is the buffer that every rank
/// holds.
constexpr uint32_t kKinds = 2;
constexpr uint32_t kItem[kKinds] = {4, 2};
constexpr const char* kState[kKinds] = {"fp32", "exp_avg"};

uint32_t crcOf(const std::string& text)
{
    return io::crc32(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string randomText(std::mt19937_64& random, uint64_t bytes)
{
    std::string out(bytes, '\0');
    for (char& c : out)
        c = static_cast<char>(random());
    return out;
}

/// An archive from whole records in memory: the definition, without streaming.
std::string archiveOf(
    const std::string& prefix, const std::vector<std::pair<std::string, std::string>>& records)
{
    std::vector<ZipRecordSpec> specs;
    for (const auto& [name, bytes] : records)
        specs.push_back({name, bytes.size()});
    const auto layout = ZipLayout::make(prefix, specs);
    if (!layout)
        throw std::runtime_error(layout.error().message);
    std::string out;
    std::vector<uint32_t> crcs;
    for (uint32_t i = 0; i < records.size(); ++i) {
        crcs.push_back(crcOf(records[i].second));
        out += layout->localHeader(i) + records[i].second + layout->dataDescriptor(i, crcs[i]);
    }
    return out + layout->directory(crcs);
}

class ListCursor final : public SegmentCursor
{
public:
    explicit ListCursor(const std::vector<Segment>& segments)
        : m_segments(segments)
    {
    }
    bool next(Segment& segment) override
    {
        if (m_next == m_segments.size())
            return false;
        segment = m_segments[m_next++];
        return true;
    }

private:
    const std::vector<Segment>& m_segments;
    size_t m_next = 0;
};

} // namespace

SyntheticPlan::SyntheticPlan(const std::filesystem::path& sourceRun, const Shape& shape)
    : m_run(sourceRun)
{
    verb = "reshard";
    id = "0123456789abcdef";
    targetName = "global_step7";
    pointerName = "latest";
    description = R"({"world_size": 4})";
    compose = [](const WritePlan& plan, size_t i) -> Result<OutputFile> {
        const auto& self = static_cast<const SyntheticPlan&>(plan);
        return self.recipeOf(self.m_targets[i]);
    };
    OutputFile script{.path = "zero_to_fp32.py", .mode = 0755, .torchArchive = false};
    script.records.push_back({.bytes = 15, .literal = "print('hello')\n"});
    runFolderFiles.push_back(std::move(script));
    makeTensors(shape);
    for (uint32_t rank = 0; rank < shape.sourceRanks; ++rank)
        makeSource(shape, rank);
    makeWeights(shape);
    readIdentitiesAgain();
    for (uint32_t rank = 0; rank < shape.targetRanks; ++rank)
        makeTarget(shape, rank);
    finishTarget({"notes.txt", false, {{"", "a plain file", {}, false, false}}});
    Segment whole;
    whole.source = shape.sourceRanks;
    whole.bytes = m_sourceBytes[whole.source].size();
    finishTarget({"../weights.bin", false, {{"", {}, {whole}, true, false}}});
    for (const PlannedFile& file : files)
        writesBytes += file.bytes;
    readsBytes = writesBytes;
    spill(m_run / "latest", targetName);
}

void SyntheticPlan::makeTensors(const Shape& shape)
{
    std::mt19937_64 random(shape.seed);
    for (uint32_t kind = 0; kind < kKinds; ++kind) {
        for (uint32_t i = 0; i < shape.tensors; ++i) {
            const uint64_t elements = i % 5 == 3 ? 1 : 1 + random() % (2 * shape.meanElements);
            tensors.push_back({"layers." + std::to_string(i) + ".weight", kState[kind],
                kind == 0 ? DType::Float32 : DType::BFloat16, 0, elements});
            m_tensorBytes.push_back(randomText(random, elements * kItem[kind]));
        }
    }
    tensors.push_back({"running_mean", "weight", DType::Int64, 0, shape.meanElements});
    m_tensorBytes.push_back(randomText(random, shape.meanElements * 8));
    m_random = random();
}

void SyntheticPlan::makeSource(const Shape& shape, uint32_t rank)
{
    std::mt19937_64 random(m_random + rank);
    std::vector<std::pair<std::string, std::string>> records{{"data.pkl", randomText(random, 300 + rank)}};
    for (uint32_t kind = 0; kind < kKinds; ++kind) {
        std::string flat;
        for (uint32_t i = 0; i < shape.tensors; ++i)
            flat += m_tensorBytes[kind * shape.tensors + i];
        const uint64_t partition
            = (flat.size() / kItem[kind] + shape.sourceRanks - 1) / shape.sourceRanks * kItem[kind];
        std::string part = flat.substr(std::min<uint64_t>(rank * partition, flat.size()), partition);
        // Padding with random content: bytes that no output uses but the CRC covers.
        part += randomText(random, partition - part.size() + 48 * kind);
        records.emplace_back("data/" + std::to_string(kind), part);
    }
    records.emplace_back("data/2", m_tensorBytes.back());
    records.emplace_back("data/3", "");
    const std::string name = "rank_" + std::to_string(rank) + ".pt";
    const std::string bytes = archiveOf("rank_" + std::to_string(rank), records);
    spill(m_run / targetName / name, bytes);
    m_sourceBytes.push_back(bytes);

    PlanSource source;
    source.path = m_run / targetName / name;
    source.name = name;
    std::vector<ZipRecordSpec> specs;
    for (const auto& [recordName, content] : records)
        specs.push_back({recordName, content.size()});
    const auto layout = ZipLayout::make("rank_" + std::to_string(rank), specs);
    for (uint32_t i = 0; i < records.size(); ++i) {
        ZipRecord record;
        record.name = records[i].first;
        record.headerOffset = layout->headerOffset(i);
        record.payloadOffset = layout->payloadOffset(i);
        record.bytes = record.inflatedBytes = records[i].second.size();
        record.crc32 = crcOf(records[i].second);
        source.records.push_back(record);
    }
    sources.push_back(source);
}

void SyntheticPlan::makeWeights(const Shape& shape)
{
    std::mt19937_64 random(m_random ^ 1);
    m_sourceBytes.push_back(randomText(random, 5 * shape.meanElements + 3));
    spill(m_run / "weights.bin", m_sourceBytes.back());
    PlanSource source;
    source.path = m_run / "weights.bin";
    source.name = "../weights.bin";
    ZipRecord whole;
    whole.name = "weights.bin";
    whole.bytes = whole.inflatedBytes = m_sourceBytes.back().size();
    whole.crcPresent = false;
    source.records.push_back(whole);
    sources.push_back(source);
}

void SyntheticPlan::readIdentitiesAgain()
{
    for (PlanSource& source : sources) {
        const auto info = io::realFileSystem().stat(source.path);
        if (!info)
            throw std::runtime_error(describe(info.error()));
        source.identity = info->identity;
    }
}

std::vector<Segment> SyntheticPlan::flatSlice(
    const Shape& shape, uint32_t kind, uint64_t begin, uint64_t end) const
{
    std::vector<Segment> out;
    uint64_t total = 0;
    for (uint32_t i = 0; i < shape.tensors; ++i)
        total += tensors[kind * shape.tensors + i].elements;
    const uint64_t partition = (total + shape.sourceRanks - 1) / shape.sourceRanks;
    uint64_t tensorBegin = 0;
    for (uint32_t i = 0; i < shape.tensors; ++i) {
        const uint32_t tensor = kind * shape.tensors + i;
        const uint64_t tensorEnd = tensorBegin + tensors[tensor].elements;
        uint64_t at = std::max(begin, tensorBegin);
        while (at < std::min(end, tensorEnd)) {
            const uint64_t rank = at / partition;
            const uint64_t stop = std::min({end, tensorEnd, (rank + 1) * partition});
            Segment segment;
            segment.source = static_cast<uint32_t>(rank);
            segment.record = 1 + kind;
            segment.sourceOffset
                = sources[rank].records[segment.record].payloadOffset + (at - rank * partition) * kItem[kind];
            segment.bytes = (stop - at) * kItem[kind];
            segment.tensor = tensor;
            segment.firstElement = at - tensorBegin;
            out.push_back(segment);
            at = stop;
        }
        tensorBegin = tensorEnd;
    }
    if (end > std::max(begin, total)) {
        Segment padding;
        padding.bytes = (end - std::max(begin, total)) * kItem[kind];
        out.push_back(padding);
    }
    return out;
}

void SyntheticPlan::makeTarget(const Shape& shape, uint32_t rank)
{
    Target target;
    target.path = (rank % 2 == 1 ? "sub/part_" : "part_") + std::to_string(rank) + ".pt";
    target.bodies.push_back({"data.pkl", "pickle of rank " + std::to_string(rank), {}, false, false});
    for (uint32_t kind = 0; kind < kKinds; ++kind) {
        uint64_t total = 0;
        for (uint32_t i = 0; i < shape.tensors; ++i)
            total += tensors[kind * shape.tensors + i].elements;
        const uint64_t partition = (total + shape.targetRanks - 1) / shape.targetRanks + 3;
        target.bodies.push_back({"data/" + std::to_string(kind), {},
            flatSlice(shape, kind, rank * partition, (rank + 1) * partition), true, false});
    }
    // Every target holds the buffer, from one source or another.
    Segment buffer;
    buffer.source = rank % shape.sourceRanks;
    buffer.record = 1 + kKinds;
    buffer.sourceOffset = sources[buffer.source].records[buffer.record].payloadOffset;
    buffer.bytes = m_tensorBytes.back().size();
    buffer.tensor = static_cast<uint32_t>(tensors.size() - 1);
    target.bodies.push_back({"data/2", {}, {buffer}, true, false});
    target.bodies.push_back({"data/3", "", {}, false, false});
    target.bodies.push_back({"version", "3\n", {}, false, false});
    target.bodies.push_back({".data/serialization_id", {}, {}, false, true});
    finishTarget(target);
}

std::string SyntheticPlan::bytesOfSegments(const std::vector<Segment>& segments) const
{
    std::string out;
    for (const Segment& segment : segments)
        out += segment.source == Segment::kZero
            ? std::string(segment.bytes, '\0')
            : m_sourceBytes[segment.source].substr(segment.sourceOffset, segment.bytes);
    return out;
}

void SyntheticPlan::finishTarget(const Target& target)
{
    std::vector<std::pair<std::string, std::string>> records;
    std::vector<ZipRecordSpec> specs;
    std::vector<uint32_t> crcs;
    for (const Body& body : target.bodies) {
        std::string bytes = body.isSegments ? bytesOfSegments(body.segments) : body.literal;
        if (body.isId)
            bytes = serializationId(specs, crcs);
        specs.push_back({body.name, bytes.size()});
        crcs.push_back(crcOf(bytes));
        records.emplace_back(body.name, bytes);
    }
    const std::string stem = std::filesystem::path(target.path).stem().string();
    const std::string bytes = target.archive ? archiveOf(stem, records) : records[0].second;
    m_expected[target.path] = bytes;
    files.push_back({target.path, bytes.size()});
    m_targets.push_back(target);
}

OutputFile SyntheticPlan::recipeOf(const Target& target) const
{
    OutputFile file;
    file.path = target.path;
    file.torchArchive = target.archive;
    file.prefix = std::filesystem::path(target.path).stem().string();
    for (const Body& body : target.bodies) {
        OutputRecord record;
        record.name = body.name;
        if (body.isId) {
            record.content = OutputRecord::Content::SerializationId;
            record.bytes = 40;
        } else if (body.isSegments) {
            record.content = OutputRecord::Content::Segments;
            for (const Segment& segment : body.segments)
                record.bytes += segment.bytes;
            record.cursor = [&body] { return std::make_unique<ListCursor>(body.segments); };
        } else {
            record.literal = body.literal;
            record.bytes = body.literal.size();
        }
        file.records.push_back(std::move(record));
    }
    return file;
}

std::vector<SyntheticPlan::Run> SyntheticPlan::runsOf(const std::string& path) const
{
    std::vector<Run> out;
    for (const Target& target : m_targets) {
        if (target.path != path || !target.archive)
            continue;
        std::vector<ZipRecordSpec> specs;
        for (const Body& body : target.bodies) {
            uint64_t bytes = body.isId ? 40 : body.literal.size();
            for (const Segment& segment : body.segments)
                bytes += segment.bytes;
            specs.push_back({body.name, bytes});
        }
        const auto layout = ZipLayout::make(std::filesystem::path(path).stem().string(), specs);
        for (uint32_t i = 0; i < target.bodies.size(); ++i) {
            uint64_t offset = layout->payloadOffset(i);
            for (const Segment& segment : target.bodies[i].segments) {
                if (segment.tensor != Segment::kNoTensor)
                    out.push_back({offset, segment.bytes, segment.tensor, segment.firstElement});
                offset += segment.bytes;
            }
        }
    }
    return out;
}

} // namespace shardscope::test
