// SPDX-License-Identifier: Apache-2.0
#include "ui/text/progress_text.h"

#include "ui/text/text.h"

#include <QCoreApplication>

namespace shardscope::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::Progress)
};

} // namespace

QStringList progressFacts(const Progress& progress)
{
    QStringList facts;
    if (progress.bytesTotal > 0)
        facts.append(
            Words::tr("%1 of %2").arg(bytesText(progress.bytesDone), bytesText(progress.bytesTotal)));
    else if (progress.bytesDone > 0)
        facts.append(bytesText(progress.bytesDone));
    if (progress.bytesPerSecond > 0)
        facts.append(Words::tr("%1/s").arg(bytesText(static_cast<uint64_t>(progress.bytesPerSecond))));
    if (progress.etaSeconds >= 0)
        facts.append(Words::tr("%1 left").arg(durationText(progress.etaSeconds)));
    return facts;
}

} // namespace shardscope::ui
