// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_oddities.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"

namespace shardscope::zip {
namespace {

constexpr size_t kNamesShown = 8;

struct Kind {
    std::string_view code;
    Severity severity;
    std::string_view one; ///< sentence about one record, after its name; or about the whole file
    std::string_view many; ///< the same about several, after their number
    bool ofFile = false;
};

Kind kindOf(Oddity oddity)
{
    switch (oddity) {
    case Oddity::HeaderDamaged:
        return {code::kRecordCorrupt, Severity::Error, "has no valid header and cannot be read",
            "have no valid header and cannot be read"};
    case Oddity::HeaderUnreadable:
        return {code::kFileUnreadable, Severity::Error, "could not be read from the disk",
            "could not be read from the disk"};
    case Oddity::DescriptorWrong:
        return {code::kRecordCorrupt, Severity::Warning,
            "is followed by a descriptor that contradicts the directory",
            "are followed by descriptors that contradict the directory"};
    case Oddity::Unchecked:
        return {code::kRecordUnchecked, Severity::Info,
            "was saved without a checksum, so damage cannot be detected",
            "were saved without a checksum, so damage cannot be detected"};
    case Oddity::Unaligned:
        return {code::kUnalignedPayload, Severity::Warning,
            "is not aligned as torch requires and cannot be mapped into memory",
            "are not aligned as torch requires and cannot be mapped into memory"};
    case Oddity::Compressed:
        return {code::kNotSupported, Severity::Warning,
            "is compressed, which torch never does; ranges of it cannot be read",
            "are compressed, which torch never does; ranges of them cannot be read"};
    case Oddity::ForeignPadding:
        return {code::kFileHostile, Severity::Warning, "has other data in its padding",
            "have other data in their padding"};
    case Oddity::SpecialAttributes:
        return {code::kFileHostile, Severity::Warning, "is marked as a link or device; the mark is ignored",
            "are marked as links or devices; the marks are ignored"};
    case Oddity::Folder:
        return {code::kRecordUnused, Severity::Info, "is a folder, which torch never writes",
            "are folders, which torch never writes"};
    case Oddity::Gap:
        return {code::kTrailingData, Severity::Warning, "of the archive belong to no record", "", true};
    case Oddity::Trailing:
        return {code::kTrailingData, Severity::Warning, "follow the end of the archive", "", true};
    case Oddity::Comment:
        return {code::kTrailingData, Severity::Warning,
            "of comment follow the archive, which torch never writes", "", true};
    case Oddity::Count_:
        break;
    }
    return {code::kFileHostile, Severity::Error, "", "", true};
}

} // namespace

void Oddities::add(Oddity kind, std::string_view record, uint64_t bytes)
{
    Seen& seen = m_seen[static_cast<size_t>(kind)];
    ++seen.count;
    seen.bytes += bytes;
    if (!record.empty() && seen.firstRecords.size() < kNamesShown)
        seen.firstRecords.emplace_back(record);
}

std::vector<Finding> Oddities::findings() const
{
    std::vector<Finding> findings;
    for (size_t i = 0; i < m_seen.size(); ++i) {
        const Seen& seen = m_seen[i];
        if (seen.count == 0)
            continue;
        const Kind kind = kindOf(static_cast<Oddity>(i));
        Finding finding{kind.code, kind.severity, {}, {}, {}};
        if (kind.ofFile)
            finding.message = std::to_string(seen.bytes) + " bytes " + std::string(kind.one);
        else if (seen.count == 1)
            finding.message = "record '" + seen.firstRecords.front() + "' " + std::string(kind.one);
        else
            finding.message = formatCount(seen.count) + " records " + std::string(kind.many);
        if (seen.count > 1)
            for (const std::string& name : seen.firstRecords)
                finding.evidence.push_back("record '" + name + "'");
        findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace shardscope::zip
