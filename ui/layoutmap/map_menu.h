// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"

#include <QList>
#include <QString>

#include <optional>

namespace shardscope::ui {

/// What can be copied of a place of the map: words for a menu, and the text.
struct MapCopy {
    QString title;
    QString text;
};

/// Of the cell at `point`: name, shape, addresses in the forms that the command line takes, file.
QList<MapCopy> mapCopies(const MapSource& source, MapSource::Point point);

} // namespace shardscope::ui
