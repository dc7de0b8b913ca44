// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QWidget>

namespace shardscope::ui {

/// Shares of a whole as one bar with a legend below: colour, name, size, share.
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
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] int lineHeight() const;

    static constexpr int kBarHeight = 14;
    static constexpr int kGap = 10;
    Theme& m_theme;
    QList<Part> m_parts;
    uint64_t m_total = 0;
};

} // namespace shardscope::ui
