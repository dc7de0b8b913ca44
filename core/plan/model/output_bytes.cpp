// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/output_bytes.h"

#include "core/torchfile/zip/zip_layout.h"

namespace shardscope {

Result<uint64_t> outputBytes(const OutputFile& file)
{
    if (!file.torchArchive) {
        uint64_t bytes = 0;
        for (const OutputRecord& record : file.records)
            bytes += record.bytes;
        return bytes;
    }
    std::vector<ZipRecordSpec> records;
    records.reserve(file.records.size());
    for (const OutputRecord& record : file.records)
        records.push_back({record.name, record.bytes});
    SHARDSCOPE_TRY(const ZipLayout layout, ZipLayout::make(file.prefix, std::move(records)));
    return layout.totalBytes();
}

} // namespace shardscope
