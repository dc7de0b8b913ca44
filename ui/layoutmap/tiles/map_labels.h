// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"
#include "ui/layoutmap/geometry/map_viewport.h"

#include <QFontMetrics>
#include <QHash>
#include <QRect>
#include <QString>

#include <optional>
#include <vector>

namespace shardscope::ui {

/// A piece of text on the map, in view pixels.
struct MapLabel {
    enum class Role { Name, Padding, MergedCount, Missing, NotYetRead };
    Role role = Role::Name;
    QRect box{}; ///< visible part of the named item
    QString text{}; ///< already short enough for the box
    MapCell cell{};
    uint32_t rank = 0;
    uint32_t section = 0;
};

/// Shortens a dotted name until it fits: "15 · mlp.gate_proj" and "15 · gate_proj" of
/// "model.layers.15.mlp.gate_proj.weight". In names without a layer, leading parts are removed first, because
/// the tail distinguishes tensors. Empty if even the shortest form does not fit.
QString shortenedName(const QString& name, int width, const QFontMetrics& metrics);

/// Finds places with space for a name on screen. The cost depends on the screen's width, not on the number of
/// fragments: a probe every few characters' width finds every fragment wide enough for a name.
class MapLabels
{
public:
    void setFont(const QFont& font);
    [[nodiscard]] const QFont& font() const { return m_font; }
    /// Clears shortened names; call it when the source changes.
    void clear() { m_names.clear(); }

    [[nodiscard]] std::vector<MapLabel> layout(const MapStack& stack, const MapViewport& viewport);

private:
    [[nodiscard]] int narrowest() const;
    void layoutSection(const MapSource& source, const MapViewport& viewport, std::vector<MapLabel>& labels);
    void layoutRow(
        const MapSource& source, const MapViewport& viewport, uint32_t row, std::vector<MapLabel>& labels);
    /// A range of fragments too narrow to distinguish.
    struct Merged {
        MapCell first;
        MapCell last;
    };
    static std::vector<Merged> findMerged(const MapSource& source, const MapViewport& viewport, uint32_t row);
    void addMerged(
        const MapSource& source, const MapViewport& viewport, uint32_t row, std::vector<MapLabel>& labels);
    /// Role and text; the text is empty if there is no space for it.
    MapLabel labelFor(const MapSource& source, const MapCell& cell, uint32_t rank, int room);
    QString nameFor(const MapSource& source, ParamId param, int width);

    QFont m_font;
    QFontMetrics m_metrics{QFont()};
    int m_padding = 4; ///< around a text, in device pixels
    std::optional<std::vector<Merged>> m_merged; ///< during layout()
    QHash<quint64, QString> m_names; ///< (parameter, width) → shortened name
};

} // namespace shardscope::ui
