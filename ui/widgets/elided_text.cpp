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
    // All numbers of a file's ranks, layer and expert are in the first group.
    static const QRegularExpression ofRank(u"([a-z]+_\\d+(?:[^/]*_\\d+)?)[_-]([a-z]+)_states\\.pt$"_s);
    const QString usual = metrics.elidedText(text, Qt::ElideMiddle, width);
    if (usual == text || text.contains(u'/'))
        return usual;
    const QString leaf = leafOf(text);
    if (!leaf.isEmpty() && !usual.endsWith(leaf) && metrics.horizontalAdvance(u'…' + leaf) <= width) {
        const QString tail = metrics.elidedText(text, Qt::ElideLeft, width);
        return tail.endsWith(leaf) ? tail : u'…' + leaf; // kerning may make it a pixel wider
    }
    const auto match = ofRank.match(text);
    const QString numbers = match.captured(1);
    const QString kind = match.captured(2);
    if (!match.hasMatch() || (usual.contains(numbers) && usual.contains(kind)))
        return usual;
    for (const Qt::TextElideMode mode : {Qt::ElideLeft, Qt::ElideRight})
        if (const QString shorter = metrics.elidedText(text, mode, width); shorter.contains(numbers))
            return shorter;
    const QString fewer = numbers.mid(numbers.indexOf(u'_') + 1);
    for (const QString& shorter : {QString(u'…' % numbers % u'_' % kind % u'…'),
             QString(u'…' % numbers % u'…'), QString(u'…' % fewer % u'…')})
        if (metrics.horizontalAdvance(shorter) <= width)
            return shorter;
    return usual;
}

} // namespace shardscope::ui
