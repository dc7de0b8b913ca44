// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QWidget>

class QVBoxLayout;

namespace shardscope::ui {

/// Shares of a whole as one bar with a legend below: colour, name, size, share. Each line leads somewhere.
class StackedBar : public QWidget
{
    Q_OBJECT
public:
    struct Part {
        QString name;
        uint64_t bytes = 0;
        size_t hue = 0; ///< index into Theme::hue
    };

    explicit StackedBar(Theme& theme, QWidget* parent = nullptr);

    void setParts(QList<Part> parts);

Q_SIGNALS:
    /// The line of a part was clicked, or entered by key.
    void activated(int part);

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    class Line;

    static constexpr int kBarHeight = 14;
    static constexpr int kGap = 10;
    Theme& m_theme;
    QVBoxLayout* m_lines;
    QList<Part> m_parts;
    uint64_t m_total = 0;
};

} // namespace shardscope::ui
