// SPDX-License-Identifier: Apache-2.0
#include "ui/text/plan_text.h"

#include "ui/text/text.h"

#include <QCoreApplication>
#include <QStringList>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::Plan)
};

} // namespace

QString planSummary(const WritePlan& plan, const std::optional<uint64_t>& freeBytes)
{
    QString summary = Words::tr("Reads %1, writes %2 in %3 files")
                          .arg(bytesText(plan.readsBytes()), bytesText(plan.writesBytes()),
                              countText(plan.files().size()));
    if (plan.files().size() == 1)
        summary = Words::tr("Reads %1, writes %2 in 1 file")
                      .arg(bytesText(plan.readsBytes()), bytesText(plan.writesBytes()));
    if (freeBytes)
        summary += u" · "_s % Words::tr("%1 free").arg(bytesText(*freeBytes));
    return summary;
}

QString planWarnings(const WritePlan& plan)
{
    QStringList warnings;
    for (const Finding& finding : plan.warnings())
        warnings.append(severityText(finding.severity) % u": "_s % sentenceText(finding.message) % u"  ["_s
            % toText(finding.code) % u']');
    return warnings.join(u"\n\n"_s);
}

} // namespace shardscope::ui
