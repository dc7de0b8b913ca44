// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/elided_text.h"

#include <QRegularExpression>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// The last part of a dotted name, with what follows it in an address; empty for other texts.
QString leafOf(const QString& text)
{
    static const QRegularExpression name(u"^[^\\s/]+\\.([^\\s/.]*[A-Za-z_][^\\s/.]*)$"_s);
    static const QRegularExpression file(u"\\.(pt|bin|json|npy|py|safetensors|zip)$"_s);
    return text.contains(file) ? QString() : name.match(text).captured(1);
}

} // namespace

QString elidedText(const QString& text, const QFontMetrics& metrics, int width)
{
    static const QRegularExpression ofRank(u"(rank_\\d+)_[^/]*?([a-z]+_states)\\.pt$"_s);
    const QString usual = metrics.elidedText(text, Qt::ElideMiddle, width);
    if (usual == text || text.contains(u'/'))
        return usual;
    const QString leaf = leafOf(text);
    if (!leaf.isEmpty() && !usual.endsWith(leaf) && metrics.horizontalAdvance(u'…' + leaf) <= width) {
        const QString tail = metrics.elidedText(text, Qt::ElideLeft, width);
        return tail.endsWith(leaf) ? tail : u'…' + leaf; // kerning may make it a pixel wider
    }
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
