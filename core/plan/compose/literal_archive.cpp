// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/literal_archive.h"

#include "core/io/crc32.h"
#include "core/torchfile/zip/zip_layout.h"

#include <algorithm>

namespace shardscope {

bool isLiteralArchive(const OutputFile& archive)
{
    return std::ranges::all_of(archive.records, [](const OutputRecord& record) {
        return record.content != OutputRecord::Content::Segments || record.bytes == 0;
    });
}

Result<std::string> literalArchiveBytes(const OutputFile& archive)
{
    if (!archive.torchArchive || !isLiteralArchive(archive))
        return fail(ErrorCode::Internal, "an archive of literals has non-literal records", archive.path);
    std::vector<ZipRecordSpec> specs;
    for (const OutputRecord& record : archive.records)
        specs.push_back({record.name, record.bytes});
    SHARDSCOPE_TRY(const ZipLayout layout, ZipLayout::make(archive.prefix, specs));
    std::string out;
    std::vector<uint32_t> crcs;
    for (uint32_t i = 0; i < specs.size(); ++i) {
        // The id is the last record: it covers all others.
        const bool isId = archive.records[i].content == OutputRecord::Content::SerializationId;
        const std::string payload = isId
            ? serializationId({specs.begin(), specs.begin() + static_cast<std::ptrdiff_t>(i)}, crcs)
            : archive.records[i].literal;
        crcs.push_back(io::crc32(0, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()}));
        out += layout.localHeader(i) + payload + layout.dataDescriptor(i, crcs.back());
    }
    return out + layout.directory(crcs);
}

} // namespace shardscope
