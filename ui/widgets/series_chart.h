// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QWidget>

#include <vector>

namespace shardscope::ui {

/// A row of values as points: over layers, or over tags. Lines join points of one series. Values over more
/// than a power of ten and a half have a logarithmic axis, which the title says. A point is current: by
/// click, or arrows, Home and End; Enter or a double click activates it.
class SeriesChart : public QWidget
{
    Q_OBJECT
public:
    struct Point {
        QString label;
        double value = 0; ///< NaN: a gap
        bool marked = false; ///< has an alarm
        QString series; ///< a point that nothing else is like has one of its own
        bool operator==(const Point& other) const
        {
            return label == other.label && marked == other.marked && series == other.series
                && (value == other.value || value != value);
        }
    };

    explicit SeriesChart(Theme& theme, QWidget* parent = nullptr);

    /// The current point stays the one with its label.
    void setPoints(const QString& title, std::vector<Point> points, const QString& emptyText);
    void setCurrent(int point); ///< -1: none; emits nothing
    [[nodiscard]] int current() const { return m_current; }
    [[nodiscard]] const std::vector<Point>& points() const { return m_points; }
    [[nodiscard]] bool isLogarithmic() const { return m_logarithmic; }
    /// With what kind of axis it is.
    [[nodiscard]] QString title() const;
    /// The values that the axis names, from below.
    [[nodiscard]] std::vector<double> ticks() const;
    [[nodiscard]] QSize sizeHint() const override { return {320, 170}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {130, 70}; }

Q_SIGNALS:
    void selected(int point);
    void activated(int point);

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] QPointF placeOf(size_t point) const;
    [[nodiscard]] int pointAt(double x) const;
    [[nodiscard]] double heightOf(double value) const; ///< 0 to 1
    [[nodiscard]] QString textOf(size_t point) const;
    void choose(int point);
    void describe();
    void paintAxis(QPainter& painter);
    void paintLines(QPainter& painter);
    void paintPoints(QPainter& painter);
    void paintLabels(QPainter& painter);

    Theme& m_theme;
    QString m_title;
    QString m_emptyText;
    std::vector<Point> m_points;
    double m_low = 0; ///< of the axis; logarithms if it is logarithmic
    double m_high = 1;
    double m_step = 1; ///< between lines
    bool m_logarithmic = false;
    int m_current = -1;
};

} // namespace shardscope::ui
