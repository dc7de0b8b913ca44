// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/selection.h"
#include "ui/pages/page.h"
#include "ui/session/findings/finding_store.h"

#include <QPointer>

class QLabel;

namespace shardscope::ui {

class LayoutMapView;
struct MapPicture;

/// The partition map, or why there is none.
class MapPage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    MapPage(Theme& theme, Selection& selection, QWidget* parent = nullptr);

    /// `looks` as LayoutMapView::setCheckpoint().
    void setCheckpoint(const CheckpointPtr& checkpoint, const MapLooksPtr& looks = nullptr);
    void showSession(const Session& session) override;
    [[nodiscard]] bool isBusy() const override;
    void setLit(const ParamMarks& matches) override;
    void setDifferences(const DifferenceMarksPtr& differences) override;
    /// Writes the map's picture to a PNG or SVG file; a message reports the result.
    void savePicture(const QString& path);
    /// Marks the findings of the checkpoint. `store` outlives the page.
    void followFindings(const FindingStore& store);
    [[nodiscard]] LayoutMapView* mapView() const { return m_map; }

private:
    void showFindings();
    void askForPicture();
    void copyPicture();
    /// Of the map of ranks, with its title; a message says why if there is none.
    [[nodiscard]] std::optional<MapPicture> picture();

    CheckpointPtr m_checkpoint;
    QPointer<const FindingStore> m_store;
    FindingStore::Findings m_marked; ///< on the map
    LayoutMapView* m_map;
    QLabel* m_empty;
    CheckPlace m_place; ///< where the checkpoint was opened
    LatestOnly m_pictureWriter{WorkLength::Long};
};

} // namespace shardscope::ui
