// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/scan_findings.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"

namespace shardscope {

std::vector<Finding> findingsOf(const Checkpoint& checkpoint, const CheckpointScan& scan)
{
    std::vector<Finding> out;
    for (const FileScan& file : scan.files) {
        const CheckpointFile& entry = checkpoint.file(file.file);
        if (file.error)
            out.push_back({code::kFileUnreadable, Severity::Error, "the file cannot be read to its end",
                entry.name, {describe(*file.error)}});
        for (const std::string& record : file.badRecords)
            out.push_back({code::kRecordCorrupt, Severity::Error,
                "the record's bytes do not match its saved CRC", FileAddress{entry.name, record}, {}});
    }
    return out;
}

} // namespace shardscope
