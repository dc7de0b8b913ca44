// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_row_sampler.h"
#include "ui/layoutmap/geometry/map_stack.h"
#include "ui/models/map_palette.h"

#include <QWidget>

#include <memory>
#include <vector>

namespace shardscope::ui {

/// What colours and patterns mean. Kinds can be clicked to dim them on the map; patterns are drawn by the
/// map's own renderer's rules, so that both look the same.
class MapLegend : public QWidget
{
    Q_OBJECT
public:
    explicit MapLegend(QWidget* parent = nullptr);

    /// `beside`: another map that it explains, too.
    void setStack(MapStackPtr stack, MapStackPtr beside = nullptr);
    void setMapPalette(std::shared_ptr<const MapPalette> palette);
    void setMapStyle(MapStyle style);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }
    [[nodiscard]] int heightForWidth(int width) const override;

Q_SIGNALS:
    /// A class was clicked: dim it, or show it again.
    void classToggled(shardscope::ParamClass paramClass);

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    enum class Pattern {
        Plain,
        Break, ///< another scale
        Hatch,
        Dotted,
        Cross,
        Bar,
        DoubleEdge,
        NotYetRead,
        Ramp,
        Outline,
        Dots,
        SparseDots,
        Stripes,
        Lines
    };
    struct Item {
        Pattern pattern = Pattern::Plain;
        QRgb colour = 0;
        QString text;
        std::optional<ParamClass> paramClass;
    };

    void rebuild();
    void addFiles();
    void addClasses();
    void addDifferences();
    void addStates();
    void addPadding();
    template <class Test>
    bool anyUnit(Test test) const;
    template <class Test>
    bool anySection(Test test) const;
    [[nodiscard]] std::vector<QRect> layoutItems(int width) const;
    void paintDotted(QPainter& painter, const QRect& box, const Item& item) const;
    void paintSwatch(QPainter& painter, const QRect& box, const Item& item) const;
    void paintRamp(QPainter& painter, const QRect& box) const;
    void toggle(const Item& item);

    MapStackPtr m_stack;
    MapStackPtr m_beside;
    std::shared_ptr<const MapPalette> m_palette;
    MapStyle m_style;
    std::vector<Item> m_items;
    int m_current = 0; ///< item with the keyboard focus
};

} // namespace shardscope::ui
