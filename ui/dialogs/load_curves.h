// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/rank_load.h"

#include <QWidget>

#include <optional>
#include <vector>

class QSlider;

namespace shardscope::ui {

/// Two curves over the GPU counts of a slider, under it: bytes per GPU, and padding. A click moves the
/// slider.
class LoadCurves : public QWidget
{
    Q_OBJECT
public:
    struct Point {
        int ranks = 0;
        std::optional<RankLoad> load; ///< nothing: the result cannot have so many
    };

    /// `slider`: its values are the positions of points; it is directly above.
    explicit LoadCurves(QSlider* slider, QWidget* parent = nullptr);

    /// By the slider's value; empty while they are computed, or where nothing is distributed.
    void setPoints(std::vector<Point> points);
    [[nodiscard]] const std::vector<Point>& points() const { return m_points; }
    /// Whether points will come; without them and this they have no height.
    void setExpected(bool expected);
    /// A point in words: "8 GPUs: 35.6 KiB per GPU, padding 19 elements (< 0.1 %)".
    [[nodiscard]] static QString describe(const Point& point);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    [[nodiscard]] double xOf(int step) const;
    [[nodiscard]] int stepAt(double x) const;
    [[nodiscard]] int lineHeight() const;
    void paintBytes(QPainter& painter, const QRectF& lane) const;
    void paintPadding(QPainter& painter, const QRectF& lane) const;
    void showCurrent();
    [[nodiscard]] bool hasNothing() const { return m_points.empty() && !m_expected; }

    QSlider* m_slider;
    std::vector<Point> m_points;
    bool m_expected = true;
};

} // namespace shardscope::ui
