// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/extra_pickles.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_machine.h"

#include <algorithm>
#include <array>

namespace shardscope {
namespace {

constexpr uint64_t kScanBytes = uint64_t{16} << 20; ///< of all such records of a file together
constexpr uint64_t kSmallestPickle = 2; ///< one opcode and STOP

bool hasPickleName(std::string_view name)
{
    static constexpr std::array<std::string_view, 3> kEndings{".pkl", ".pickle", ".p"};
    return std::any_of(kEndings.begin(), kEndings.end(), [&](auto ending) { return name.ends_with(ending); });
}

/// The first bytes of every pickle of protocol 2 or newer. Other data may have them by chance.
bool beginsLikePickle(const io::ReadFile& file, const ZipRecord& record)
{
    std::array<uint8_t, 2> head{};
    return !record.deflated && file.readAt(record.payloadOffset, head) && head[0] == 0x80 && head[1] >= 2
        && head[1] <= 5;
}

void reportPickle(const std::string& name, Result<PickleParse> parsed, std::vector<Finding>& findings)
{
    const std::string record = "record '" + toValidUtf8(name) + "'";
    if (!parsed) {
        if (namesDangerousCode(parsed.error()))
            findings.push_back({code::kPickleDangerous, Severity::Error,
                "an unused extra pickle names code that would run in Python", toValidUtf8(name),
                {parsed.error().message}});
        else if (hasPickleName(name))
            findings.push_back({code::kPickleOpaque, Severity::Warning,
                "an unused extra pickle cannot be read; it is not changed", toValidUtf8(name),
                {parsed.error().message}});
        return;
    }
    for (Finding& finding : parsed->findings) {
        if (finding.code != code::kPickleDangerous)
            continue;
        finding.evidence.push_back("an unused extra pickle: " + record);
        finding.where = toValidUtf8(name);
        findings.push_back(std::move(finding));
    }
}

} // namespace

Status scanExtraPickles(const io::ReadFile& file, const ZipDirectory& zip, std::span<const uint32_t> unused,
    std::vector<Finding>& findings, JobContext& job)
{
    PickleLimits limits;
    limits.streamBytes = kScanBytes;
    uint64_t left = kScanBytes;
    for (const uint32_t index : unused) {
        const ZipRecord& record = zip.record(index);
        if (record.damaged || record.inflatedBytes < kSmallestPickle
            || !(hasPickleName(record.name) || beginsLikePickle(file, record)))
            continue;
        SHARDSCOPE_CHECK(job.poll());
        if (record.inflatedBytes > left) {
            findings.push_back({code::kPickleOpaque, Severity::Warning,
                "an unused extra pickle is too large to be inspected", toValidUtf8(record.name),
                {formatBytes(record.inflatedBytes)}});
            continue;
        }
        left -= record.inflatedBytes;
        auto text = readRecord(file, record, kScanBytes);
        if (!text)
            continue; // verifying the file reports it
        reportPickle(record.name,
            parsePickle(std::make_shared<const std::string>(std::move(*text)), limits, job), findings);
        SHARDSCOPE_CHECK(job.poll()); // a stop shows as a pickle that cannot be read
    }
    return {};
}

} // namespace shardscope
