// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/layout/map_query.h"
#include "ui/jobs/latest_only.h"
#include "ui/style/theme.h"
#include "ui/widgets/link_button.h"

#include <QImage>
#include <QTimer>

#include <memory>
#include <vector>

namespace shardscope::ui {

/// The partition map of a checkpoint as a small picture, which leads to the map. Drawn on a worker, while it
/// is visible.
class MapThumbnail : public LinkButton
{
    Q_OBJECT
public:
    explicit MapThumbnail(Theme& theme, QWidget* parent = nullptr);

    /// `findings`: of the check, besides those from opening the checkpoint; never null.
    void show(const CheckpointPtr& checkpoint, const MapLooksPtr& looks,
        const std::shared_ptr<const std::vector<Finding>>& findings);
    void clear();
    [[nodiscard]] const QImage& picture() const { return m_picture; }
    [[nodiscard]] bool isBusy() const { return isVisible() && (m_wait.isActive() || m_drawer.isRunning()); }
    [[nodiscard]] bool hasHeightForWidth() const override { return false; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {80, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void draw();

    Theme& m_theme;
    CheckpointPtr m_checkpoint;
    MapLooksPtr m_looks;
    std::shared_ptr<const std::vector<Finding>> m_findings;
    QImage m_picture;
    QTimer m_wait; ///< once for several changes
    LatestOnly m_drawer{WorkLength::Short};
};

} // namespace shardscope::ui
