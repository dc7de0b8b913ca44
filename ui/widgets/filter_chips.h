// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QWidget>

class QPushButton;

namespace shardscope::ui {

class FlowLayout;

/// The words of a filter as chips that can be removed one by one. Takes no space while there are none.
class FilterChips : public QWidget
{
    Q_OBJECT
public:
    explicit FilterChips(Theme& theme, QWidget* parent = nullptr);

    /// `wrong`: the index of one that is not understood, with the reason.
    void setWords(const QStringList& words, qsizetype wrong = -1, const QString& reason = {});
    [[nodiscard]] const QStringList& words() const { return m_words; }

Q_SIGNALS:
    /// The remaining filter after one chip, or all of them, were removed.
    void wordsWanted(const QStringList& words);

private:
    QPushButton* addChip(const QString& text, const QString& spokenName, const QStringList& left);

    Theme& m_theme;
    FlowLayout* m_flow;
    QStringList m_words;
    qsizetype m_wrong = -1;
};

} // namespace shardscope::ui
