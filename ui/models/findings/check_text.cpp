// SPDX-License-Identifier: Apache-2.0
#include "ui/models/findings/check_text.h"

#include "ui/jobs/check_run.h"
#include "ui/text/text.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::CheckText)
};

} // namespace

QString findingCountText(std::span<const Finding> findings)
{
    std::array<size_t, 3> counts{};
    for (const Finding& finding : findings)
        ++counts[static_cast<size_t>(finding.severity)];
    return findingCountText(counts);
}

QString findingCountText(const std::array<size_t, 3>& counts)
{
    const auto [infos, warnings, errors] = counts;
    QStringList parts;
    if (errors > 0)
        parts.append(errors == 1 ? Words::tr("1 error") : Words::tr("%1 errors").arg(countText(errors)));
    if (warnings > 0)
        parts.append(
            warnings == 1 ? Words::tr("1 warning") : Words::tr("%1 warnings").arg(countText(warnings)));
    if (infos > 0)
        parts.append(Words::tr("%1 info").arg(countText(infos)));
    return errors + warnings > 0 ? parts.join(u", "_s)
        : infos > 0              ? QString(Words::tr("No problems found") % u" · "_s % parts.join(u", "_s))
                                 : Words::tr("No problems found");
}

QString depthText(CheckDepth depth)
{
    switch (depth) {
    case CheckDepth::Names:
        return Words::tr("names and sizes of files");
    case CheckDepth::Headers:
        return Words::tr("first and last bytes");
    case CheckDepth::Metadata:
        return Words::tr("directories, pickles, samples");
    case CheckDepth::Bytes:
        break;
    }
    return Words::tr("every byte");
}

QString checkedText(const CheckRun& run, const Checkpoint& checkpoint)
{
    const auto& result = run.result();
    if (!result)
        return {};
    if (result->stopped)
        return Words::tr("Stopped before the check was complete");
    if (const size_t skipped = run.skipped().size(); skipped > 0)
        return Words::tr("%1 of %2 checks at %3")
            .arg(countText(diagnoses().size() - std::min(skipped, diagnoses().size())),
                countText(diagnoses().size()), run.finishedAt().toString(u"HH:mm"_s));
    const uint64_t unread = bytesNotRead(checkpoint, run.depth());
    return unread == 0 ? Words::tr("Read every byte at %1").arg(run.finishedAt().toString(u"HH:mm"_s))
                       : Words::tr("Values not read (%1)").arg(bytesText(unread));
}

} // namespace shardscope::ui
