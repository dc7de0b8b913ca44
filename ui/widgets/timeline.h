// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QList>
#include <QWidget>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::ui {

/// Something that happened once, for example a save.
struct TimelinePoint {
    enum State : uint8_t { Unread, Whole, Broken };

    QString name;
    std::optional<double> place; ///< on the axis; none: between its neighbours
    double value = 0; ///< the height of its bar
    State state = Unread;
    bool isOpen = false;
    QString mark; ///< a word under its bar
    QString change; ///< what is not as in the point before
    QString gap; ///< why there is more room before it than before others; empty: no gap
    QString description; ///< all of it, for tool tips and screen readers
};

/// Points in their order as bars over an axis, with changes over them and gaps between them. One of them is
/// current: arrow keys, Home and End go to others, Enter activates it. GUI thread only.
class Timeline : public QWidget
{
    Q_OBJECT
public:
    explicit Timeline(Theme& theme, QWidget* parent = nullptr);

    void setPoints(QList<TimelinePoint> points);
    /// How places are written; `isNumber`: ticks are at round numbers.
    void setAxis(std::function<QString(double)> text, bool isNumber);
    /// What the height of bars means, from the largest value, for example "Size, up to 1.2 GiB".
    void setHeightText(std::function<QString(double)> text);
    /// -1: none.
    void setCurrent(int point);
    [[nodiscard]] QString heightText() const
    {
        return m_heightText && m_most > 0 ? m_heightText(m_most) : QString();
    }
    [[nodiscard]] int current() const { return m_current; }
    [[nodiscard]] const QList<TimelinePoint>& points() const { return m_points; }
    /// The room of a point, from top to bottom.
    [[nodiscard]] QRect column(int point) const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {200, sizeHint().height()}; }

Q_SIGNALS:
    void currentChanged(int point);
    void activated(int point);
    void menuRequested(const QPoint& globalPosition);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    void arrange();
    void choose(int point);
    void describe();
    [[nodiscard]] int pointAt(int x) const;
    [[nodiscard]] QRect plot() const;
    [[nodiscard]] QRect bar(int point) const;
    [[nodiscard]] std::vector<std::pair<int, QString>> ticks() const;
    void paintAxis(QPainter& painter) const;
    void paintHeight(QPainter& painter) const;
    void paintBar(QPainter& painter, int point) const;
    void paintChanges(QPainter& painter) const;
    void paintMarks(QPainter& painter) const;

    Theme& m_theme;
    QList<TimelinePoint> m_points;
    std::function<QString(double)> m_text;
    std::function<QString(double)> m_heightText; ///< may be empty
    bool m_isNumber = true;
    double m_first = 0; ///< the axis from left to right
    double m_last = 1;
    double m_most = 0; ///< the largest value
    std::vector<int> m_x; ///< of each point
    int m_barWidth = 1;
    int m_current = -1;
    int m_hovered = -1;
};

} // namespace shardscope::ui
