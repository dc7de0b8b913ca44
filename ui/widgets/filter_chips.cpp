// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/filter_chips.h"

#include "ui/style/icons.h"
#include "ui/style/text_size.h"
#include "ui/widgets/flow_layout.h"

#include <QPushButton>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kWidestChip = 260;

} // namespace

FilterChips::FilterChips(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_flow(new FlowLayout(this))
{
    setObjectName(u"filterChips"_s);
    setAccessibleName(tr("Active filters"));
    m_flow->setContentsMargins(10, 6, 10, 6);
    hide();
}

void FilterChips::setWords(const QStringList& words, qsizetype wrong, const QString& reason)
{
    if (words == m_words && wrong == m_wrong)
        return;
    m_words = words;
    m_wrong = wrong;
    while (QLayoutItem* item = m_flow->takeAt(0)) {
        item->widget()->deleteLater(); // a chip may be the sender
        item->widget()->hide();
        delete item;
    }
    for (qsizetype i = 0; i < words.size(); ++i) {
        QStringList left = words;
        left.removeAt(i);
        QPushButton* chip = addChip(words[i], tr("Remove the filter %1").arg(words[i]), left);
        if (i != wrong)
            continue;
        chip->setIcon(themedIcon(m_theme, u"error"_s, ThemeRole::Error));
        chip->setToolTip(reason);
        chip->setAccessibleDescription(reason);
    }
    if (words.size() > 1)
        addChip(tr("Clear all"), tr("Remove all filters"), {});
    setVisible(!words.isEmpty());
    updateGeometry();
}

QPushButton* FilterChips::addChip(const QString& text, const QString& spokenName, const QStringList& left)
{
    auto* chip = new QPushButton(this);
    chip->setObjectName(u"filterChip"_s);
    chip->setText(chip->fontMetrics().elidedText(text, Qt::ElideMiddle, kWidestChip).replace(u'&', u"&&"_s));
    chip->setIcon(themedIcon(m_theme, u"close"_s, ThemeRole::MutedText));
    chip->setIconSize(iconSize(14));
    chip->setLayoutDirection(Qt::RightToLeft); // the cross is after the word
    chip->setAutoDefault(false);
    chip->setToolTip(spokenName);
    chip->setAccessibleName(spokenName);
    connect(chip, &QPushButton::clicked, this, [this, left] { Q_EMIT wordsWanted(left); });
    m_flow->addWidget(chip);
    chip->show();
    return chip;
}

} // namespace shardscope::ui
