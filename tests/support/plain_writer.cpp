// SPDX-License-Identifier: Apache-2.0
#include "tests/support/plain_writer.h"

#include "core/io/crc32.h"
#include "core/tensor/convert.h"
#include "core/torchfile/zip/zip_layout.h"

#include <fstream>
#include <stdexcept>

namespace shardscope::test {

namespace {

std::string segmentBytes(const WritePlan& plan, const Segment& segment)
{
    std::string out(segment.sourceBytes(), '\0');
    if (segment.source == Segment::kZero)
        return out;
    std::ifstream stream(plan.sources[segment.source].path, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(segment.sourceOffset));
    stream.read(out.data(), static_cast<std::streamsize>(out.size()));
    if (!stream)
        throw std::runtime_error("short source: " + plan.sources[segment.source].name);
    if (segment.isGathered()) { // one element in so many
        const size_t item = itemSize(segment.sourceType);
        std::string gathered;
        for (size_t at = 0; at < out.size(); at += segment.sourceStep * item)
            gathered += out.substr(at, item);
        out = std::move(gathered);
    }
    if (!segment.isConverted())
        return out;
    std::string converted(segment.bytes, '\0');
    convertElements(segment.sourceType, {reinterpret_cast<const uint8_t*>(out.data()), out.size()},
        segment.outputType, {reinterpret_cast<uint8_t*>(converted.data()), converted.size()});
    return converted;
}

std::string payloadOf(const WritePlan& plan, const OutputRecord& record)
{
    if (record.content != OutputRecord::Content::Segments)
        return record.literal;
    std::string out;
    const auto cursor = record.cursor();
    for (Segment segment; cursor->next(segment);)
        out += segmentBytes(plan, segment);
    if (out.size() != record.bytes)
        throw std::runtime_error("record " + record.name + " has other bytes than planned");
    return out;
}

} // namespace

std::string plainBytes(const WritePlan& plan, size_t number)
{
    const auto file = plan.recipe(number);
    if (!file)
        throw std::runtime_error(describe(file.error()));
    if (!file->torchArchive) {
        std::string out;
        for (const OutputRecord& record : file->records)
            out += payloadOf(plan, record);
        return out;
    }
    std::vector<ZipRecordSpec> specs;
    for (const OutputRecord& record : file->records)
        specs.push_back({record.name, record.bytes});
    const auto layout = ZipLayout::make(file->prefix, specs);
    if (!layout)
        throw std::runtime_error(describe(layout.error()));
    std::string out;
    std::vector<uint32_t> crcs(specs.size());
    for (uint32_t i = 0; i < specs.size(); ++i) {
        // The id is the last record: it covers all others.
        std::string payload = file->records[i].content == OutputRecord::Content::SerializationId
            ? serializationId({specs.begin(), specs.end() - 1}, {crcs.begin(), crcs.end() - 1})
            : payloadOf(plan, file->records[i]);
        crcs[i] = io::crc32(0, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
        out += layout->localHeader(i) + payload + layout->dataDescriptor(i, crcs[i]);
    }
    return out + layout->directory(crcs);
}

void plainWrite(const WritePlan& plan, const io::Path& folder)
{
    const io::Path target = folder / plan.targetName;
    std::filesystem::create_directories(target);
    for (size_t i = 0; i < plan.files.size(); ++i) {
        std::filesystem::create_directories((target / plan.files[i].path).parent_path());
        std::ofstream(target / plan.files[i].path, std::ios::binary) << plainBytes(plan, i);
    }
    if (!plan.pointerName.empty())
        std::ofstream(folder / plan.pointerName) << plan.targetName;
}

} // namespace shardscope::test
