// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/layoutmap/geometry/map_stack.h"

#include <QObject>

namespace shardscope::ui {

/// Makes the sections of the map from a checkpoint and what is to be shown of it; on a worker if they have
/// many parts. GUI thread.
class MapStackMaker : public QObject
{
    Q_OBJECT
public:
    using QObject::QObject;

    /// As LayoutMapView::setCheckpoint(); also reads layers from names on a worker.
    void setCheckpoint(CheckpointPtr checkpoint, MapLooksPtr looks);
    /// Findings of the check, besides those from opening the checkpoint. False if there were and are none.
    bool setFindings(std::vector<Finding> findings);
    /// The map that has the same scale; null: none.
    void setBeside(MapStackPtr stack) { m_beside = std::move(stack); }
    /// What is shown; make() applies a change.
    [[nodiscard]] MapSubject& subject() { return m_subject; }
    [[nodiscard]] const MapSubject& subject() const { return m_subject; }
    void make(bool keepZoom);

    [[nodiscard]] const CheckpointPtr& checkpoint() const { return m_checkpoint; }
    [[nodiscard]] const MapLooks& looks() const { return *m_looks; }
    [[nodiscard]] bool hasState(std::string_view state) const;
    [[nodiscard]] bool hasLayers() const { return m_names && m_names->hasLayers(); }
    [[nodiscard]] std::vector<MapLayout::Size> sizesOf(const MapStackPtr& stack) const;
    [[nodiscard]] bool isBusy() const { return m_maker.isRunning() || m_nameReader.isRunning(); }

Q_SIGNALS:
    /// Null: there is nothing to show, or not yet.
    void made(const shardscope::ui::MapStackPtr& stack, bool keepZoom);
    void namesRead();

private:
    /// Whether the sections have so many parts that they are made on a worker, or files are read.
    [[nodiscard]] bool needsWorker() const;

    CheckpointPtr m_checkpoint;
    MapLooksPtr m_looks = std::make_shared<const MapLooks>(); ///< never null
    MapNamesPtr m_names;
    std::vector<Finding> m_findings;
    MapSubject m_subject;
    MapStackPtr m_beside;
    MapStackPtr m_fileStack; ///< made when it is wanted for the first time
    const Checkpoint* m_shown = nullptr; ///< that the last stack is of; only compared
    LatestOnly m_maker{WorkLength::Short}; ///< of sections
    LatestOnly m_nameReader{WorkLength::Short};
};

} // namespace shardscope::ui
