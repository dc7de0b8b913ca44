// SPDX-License-Identifier: Apache-2.0
#include "ui/session/findings/check_text.h"

#include "ui/session/check_run.h"
#include "ui/text/text.h"

#include <QStringList>

#include <array>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QString findingCountText(std::span<const Finding> findings, bool isSupported)
{
    std::array<size_t, 3> counts{};
    for (const Finding& finding : findings)
        ++counts[static_cast<size_t>(finding.severity)];
    return findingCountText(counts, isSupported);
}

QString findingCountText(const std::array<size_t, 3>& counts, bool isSupported)
{
    const auto [infos, warnings, errors] = counts;
    QStringList parts;
    if (errors > 0)
        parts.append(errors == 1 ? u"1 error"_s : u"%1 errors"_s.arg(countText(errors)));
    if (warnings > 0)
        parts.append(warnings == 1 ? u"1 warning"_s : u"%1 warnings"_s.arg(countText(warnings)));
    if (infos > 0)
        parts.append(u"%1 info"_s.arg(countText(infos)));
    if (errors + warnings == 0)
        parts.prepend(isSupported ? u"No problems found"_s : u"Not supported"_s);
    return parts.join(errors + warnings > 0 ? u", "_s : u" · "_s);
}

QString depthText(CheckDepth depth)
{
    switch (depth) {
    case CheckDepth::Names:
        return u"names and sizes of files"_s;
    case CheckDepth::Headers:
        return u"first and last bytes"_s;
    case CheckDepth::Metadata:
        return u"directories, pickles, samples"_s;
    case CheckDepth::Bytes:
        break;
    }
    return u"every byte"_s;
}

QString targetText(const CheckTarget& target)
{
    QStringList parts;
    if (target.worldSize)
        parts.append(*target.worldSize == 1 ? u"1 GPU"_s : u"%1 GPUs"_s.arg(countText(*target.worldSize)));
    if (target.stage)
        parts.append(*target.stage == 0 ? u"no ZeRO"_s : u"ZeRO-%1"_s.arg(*target.stage));
    if (target.memoryBytes)
        parts.append(u"%1 of memory"_s.arg(bytesText(*target.memoryBytes)));
    if (target.disk)
        parts.append(u"copies in %1"_s.arg(pathText(*target.disk)));
    return parts.join(u", "_s);
}

QString checkedText(const CheckRun& run, const Checkpoint& checkpoint)
{
    const auto& result = run.result();
    if (!result)
        return {};
    if (result->stopped)
        return u"Stopped before the check was complete"_s;
    QString use = targetText(run.target());
    if (!use.isEmpty())
        use = run.depth() < CheckDepth::Metadata ? u" · not for %1, which needs metadata"_s.arg(use)
                                                 : u" · for %1"_s.arg(use);
    if (const size_t skipped = run.skipped().size(); skipped > 0)
        return u"%1 of %2 checks at %3"_s.arg(
                   countText(diagnoses().size() - std::min(skipped, diagnoses().size())),
                   countText(diagnoses().size()), run.finishedAt().toString(u"HH:mm"_s))
            % use;
    const uint64_t unread = bytesNotRead(checkpoint, run.depth());
    return (unread == 0 ? u"Read every byte at %1"_s.arg(run.finishedAt().toString(u"HH:mm"_s))
                        : u"Values not read (%1)"_s.arg(bytesText(unread)))
        % use;
}

} // namespace shardscope::ui
