// SPDX-License-Identifier: Apache-2.0
#include "ui/models/finding_mark.h"

#include "ui/text/text.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QString FindingMark::text() const
{
    if (first == nullptr)
        return {};
    const QString message = sentenceText(first->message);
    return count == 1 ? message : QString(message % u"\nand %1 more"_s.arg(countText(count - 1)));
}

FindingMark markOf(const FindingPlaces& places, const FindingPlaces::Numbers& findings)
{
    FindingMark out;
    for (const uint32_t number : findings) {
        const Finding& finding = places.findings()[number];
        if (finding.severity == Severity::Info)
            continue;
        ++out.count;
        const int severity = static_cast<int>(finding.severity);
        if (severity > out.severity)
            out.first = &finding;
        out.severity = std::max(out.severity, severity);
    }
    return out;
}

} // namespace shardscope::ui
