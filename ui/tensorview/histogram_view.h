// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/tensor_statistics.h"
#include "ui/style/theme.h"
#include "ui/tensorview/cells_access.h"

#include <QWidget>

#include <optional>
#include <utility>
#include <vector>

namespace shardscope::ui {

/// How a tensor's values are spread: by value or by power of two, counts evenly or by their logarithm. A
/// range can be brushed, by mouse or keys (arrows: its lower end, with Shift the upper one; Esc: none).
class HistogramView : public QWidget, public CellSource
{
    Q_OBJECT
public:
    explicit HistogramView(Theme& theme, QWidget* parent = nullptr);

    /// Empty: no statistics to show.
    void setStatistics(const std::optional<TensorStatistics>& statistics);
    void setByExponent(bool byExponent);
    void setLogarithmic(bool logarithmic);
    [[nodiscard]] std::optional<std::pair<double, double>> brushed() const;
    void setBrushed(std::optional<std::pair<double, double>> range);
    [[nodiscard]] size_t bars() const { return m_bars.size(); }
    [[nodiscard]] uint64_t countOf(size_t bar) const { return m_bars[bar].count; }
    [[nodiscard]] QSize sizeHint() const override { return {320, 130}; }

    [[nodiscard]] CellTable cellTable() const override;
    [[nodiscard]] QString cellValue(int row, int column) const override;
    [[nodiscard]] QString rowName(int row) const override;
    [[nodiscard]] QString columnName(int column) const override;
    [[nodiscard]] QRect cellRect(int row, int column) const override;
    [[nodiscard]] std::optional<CellTable::Cell> cellUnder(const QPoint& point) const override;
    [[nodiscard]] bool isCellSelected(int row, int column) const override;

Q_SIGNALS:
    void brushChanged();

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Bar {
        double low = 0;
        double high = 0; ///< values, or exponents
        uint64_t count = 0;
    };
    void rebuild();
    [[nodiscard]] QRect plot() const;
    [[nodiscard]] int barAt(int x) const;
    [[nodiscard]] QString rangeText(const Bar& bar) const;
    [[nodiscard]] QString barCount(const Bar& bar) const;
    void report();
    void brush(int first, int last);
    [[nodiscard]] double heightOf(const Bar& bar) const;

    Theme& m_theme;
    std::optional<TensorStatistics> m_statistics;
    std::vector<Bar> m_bars;
    uint64_t m_most = 0;
    bool m_byExponent = false;
    bool m_logarithmic = false;
    std::optional<std::pair<int, int>> m_brush; ///< first and last bar
    int m_brushBegin = 0;
};

} // namespace shardscope::ui
