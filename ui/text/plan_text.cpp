// SPDX-License-Identifier: Apache-2.0
#include "ui/text/plan_text.h"

#include "ui/text/text.h"

#include <QStringList>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QString planSummary(const WritePlan& plan, const std::optional<uint64_t>& freeBytes)
{
    QString summary = u"Reads %1, writes %2 in %3 files"_s.arg(
        bytesText(plan.readsBytes), bytesText(plan.writesBytes), countText(plan.files.size()));
    if (plan.files.size() == 1)
        summary
            = u"Reads %1, writes %2 in 1 file"_s.arg(bytesText(plan.readsBytes), bytesText(plan.writesBytes));
    if (freeBytes)
        summary += u" · "_s % u"%1 free"_s.arg(bytesText(*freeBytes));
    return summary;
}

QString planEstimate(const WritePlan& plan, uint64_t bytesPerSecond, uint64_t memoryBytes)
{
    constexpr uint64_t kAssumedRate = uint64_t{512} << 20;
    const bool isMeasured = bytesPerSecond > 0;
    const uint64_t rate = isMeasured ? bytesPerSecond : kAssumedRate;
    const double seconds = static_cast<double>(plan.writesBytes) / static_cast<double>(rate);
    const QString text = isMeasured ? u"About %1 at %2/s, as the last job"_s
                                    : u"About %1 if the disk writes %2/s (not measured yet)"_s;
    return text.arg(seconds < 1 ? u"1 s"_s : durationText(seconds), bytesText(rate)) % u" · "_s
        % u"at most %1 of buffers"_s.arg(bytesText(memoryBytes));
}

Error runningElsewhere(const io::Path& target)
{
    return {ErrorCode::Busy, "Another process is writing this target now.", target.native(),
        "Wait until it has ended, or choose another folder."};
}

QString resumeText()
{
    return u"An interrupted job of this plan is there. Resume continues it and keeps what it has finished."_s;
}

QString planWarnings(const WritePlan& plan)
{
    QStringList warnings;
    for (const Finding& finding : plan.warnings)
        warnings.append(severityText(finding.severity) % u": "_s % sentenceText(finding.message) % u"  ["_s
            % toText(finding.code) % u']');
    return warnings.join(u"\n\n"_s);
}

} // namespace shardscope::ui
