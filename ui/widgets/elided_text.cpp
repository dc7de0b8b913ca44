// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/elided_text.h"

#include <QRegularExpression>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QString elidedText(const QString& text, const QFontMetrics& metrics, int width)
{
    static const QRegularExpression ofRank(u"(rank_\\d+)_[^/]*?([a-z]+_states)\\.pt$"_s);
    const QString usual = metrics.elidedText(text, Qt::ElideMiddle, width);
    if (usual == text || text.contains(u'/'))
        return usual;
    const auto match = ofRank.match(text);
    if (!match.hasMatch() || (usual.contains(match.captured(1)) && usual.contains(match.captured(2))))
        return usual;
    const QString essence = u'…' + match.captured(1) + u'…' + match.captured(2);
    for (const QString& shorter : {QString(essence + u".pt"_s), essence})
        if (metrics.horizontalAdvance(shorter) <= width)
            return shorter;
    return usual;
}

} // namespace shardscope::ui
