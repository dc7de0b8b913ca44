// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/controls/file_saver.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/selection.h"
#include "ui/pages/page.h"
#include "ui/session/findings/finding_store.h"

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
    MapPage(const PageContext& context, QWidget* parent);

    [[nodiscard]] bool isBusy() const override;
    void setLit(const ParamMarks& matches) override;
    void setDifferences(const DifferenceMarksPtr& differences) override;
    /// Writes the map's picture to a PNG or SVG file; a message reports the result.
    void savePicture(const QString& path);
    [[nodiscard]] LayoutMapView* mapView() const { return m_map; }

protected:
    void showCheckpoint() override;
    void leaveCheckpoint() override;

private:
    void showFindings();
    void askForPicture();
    void copyPicture();
    /// Of the map as shown, with its title; a message says why if there is none.
    [[nodiscard]] std::optional<MapPicture> picture();

    FindingStore::Findings m_marked; ///< on the map
    LayoutMapView* m_map;
    QLabel* m_empty;
    LatestOnly m_pictureWriter{WorkLength::Long};
    FileSaver m_saver{[this](Severity severity, const QString& text) { Q_EMIT told(severity, text); }};
};

} // namespace shardscope::ui
