// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"
#include "ui/layoutmap/geometry/map_viewport.h"
#include "ui/models/map_palette.h"

#include <QWidget>

#include <memory>

namespace shardscope::ui {

/// A part of the map beside its cells: shows what the viewport shows, in the colours of the theme.
class MapPart : public QWidget
{
    Q_OBJECT
public:
    /// Null: an empty map.
    virtual void setStack(MapStackPtr stack)
    {
        m_stack = std::move(stack);
        update();
    }
    virtual void setMapPalette(std::shared_ptr<const MapPalette> palette)
    {
        m_palette = std::move(palette);
        update();
    }

protected:
    MapPart(MapViewport* viewport, QWidget* parent)
        : QWidget(parent)
        , m_viewport(viewport)
    {
        setAttribute(Qt::WA_OpaquePaintEvent); // each fills itself first
        connect(viewport, &MapViewport::changed, this, &MapPart::followViewport);
    }

    /// The viewport shows another part of the map.
    virtual void followViewport() { update(); }

    MapViewport* m_viewport;
    MapStackPtr m_stack;
    std::shared_ptr<const MapPalette> m_palette = std::make_shared<MapPalette>(); ///< never null
};

} // namespace shardscope::ui
