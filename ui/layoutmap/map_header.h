// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_stack.h"

#include <QWidget>

class QComboBox;

namespace shardscope::ui {

/// The line above the map: which sections and state, which projection, which colours, fit.
class MapHeader : public QWidget
{
    Q_OBJECT
public:
    explicit MapHeader(QWidget* parent = nullptr);

    /// Fills the choices: sections and states of a checkpoint; null empties them.
    void setChoices(const CheckpointPtr& checkpoint, const std::vector<MapSectionContent>& sections,
        const std::vector<std::string>& states);
    /// Whether a comparison exists, so that its colours can be chosen.
    void setComparable(bool comparable);
    /// Shows the map's current choices without emitting signals.
    void show(const MapSubject& subject, MapColourMode mode);

Q_SIGNALS:
    /// One of MapLooks::sections; unset: all of them.
    void sectionChosen(std::optional<uint32_t> section);
    void stateChosen(const QString& state);
    void projectionChosen(shardscope::MapQuery::Projection projection);
    /// Files as rows, in place of ranks.
    void filesChosen();
    void modeChosen(shardscope::ui::MapColourMode mode);
    void fitRequested();

private:
    QComboBox* m_unit;
    QComboBox* m_state;
    QComboBox* m_projection;
    QComboBox* m_mode;
};

} // namespace shardscope::ui
