// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/output_bytes.h"

#include "core/base/parallel.h"

#include <algorithm>

namespace shardscope {

Result<ZipLayout> archiveLayout(const OutputFile& file)
{
    std::vector<ZipRecordSpec> records;
    records.reserve(file.records.size());
    for (const OutputRecord& record : file.records)
        records.push_back({record.name, record.bytes});
    return ZipLayout::make(file.prefix, std::move(records));
}

unsigned composersAtOnce()
{
    constexpr unsigned kMost = 4;
    return std::min(defaultJobs(), kMost);
}

Result<uint64_t> outputBytes(const OutputFile& file)
{
    if (!file.torchArchive) {
        uint64_t bytes = 0;
        for (const OutputRecord& record : file.records)
            bytes += record.bytes;
        return bytes;
    }
    SHARDSCOPE_TRY(const ZipLayout layout, archiveLayout(file));
    return layout.totalBytes();
}

} // namespace shardscope
