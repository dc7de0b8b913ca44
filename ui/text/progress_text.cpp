// SPDX-License-Identifier: Apache-2.0
#include "ui/text/progress_text.h"

#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QStringList progressFacts(const Progress& progress)
{
    QStringList facts;
    if (progress.bytesTotal > 0)
        facts.append(u"%1 of %2"_s.arg(bytesText(progress.bytesDone), bytesText(progress.bytesTotal)));
    else if (progress.bytesDone > 0)
        facts.append(bytesText(progress.bytesDone));
    constexpr double kFastest = 1e18; // what another host says can be any number
    if (progress.bytesPerSecond > 0)
        facts.append(
            u"%1/s"_s.arg(bytesText(static_cast<uint64_t>(std::min(progress.bytesPerSecond, kFastest)))));
    if (progress.etaSeconds >= 0)
        facts.append(u"%1 left"_s.arg(durationText(progress.etaSeconds)));
    return facts;
}

} // namespace shardscope::ui
