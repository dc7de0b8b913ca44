// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QWidget>

namespace shardscope::ui {

class FlowLayout;

/// The words of a filter as chips that can be removed one by one. Takes no space while there are none.
class FilterChips : public QWidget
{
    Q_OBJECT
public:
    explicit FilterChips(Theme& theme, QWidget* parent = nullptr);

    void setWords(const QStringList& words);
    [[nodiscard]] const QStringList& words() const { return m_words; }

Q_SIGNALS:
    /// The remaining filter after one chip, or all of them, were removed.
    void wordsWanted(const QStringList& words);

private:
    void addChip(const QString& text, const QString& spokenName, const QStringList& left);

    Theme& m_theme;
    FlowLayout* m_flow;
    QStringList m_words;
};

} // namespace shardscope::ui
