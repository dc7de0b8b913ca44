// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/models/selection.h"
#include "ui/style/theme.h"

#include <QWidget>

class QToolButton;

namespace shardscope::ui {

class ElidedLabel;

/// Run folder › tag › selection. The folder copies its path, the tag lists the other tags of the run.
class Breadcrumb : public QWidget
{
    Q_OBJECT
public:
    Breadcrumb(Theme& theme, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    void setCheckpoint(const CheckpointPtr& checkpoint);

Q_SIGNALS:
    void tagRequested(const QByteArray& tag);

private:
    void follow(const SelectedThing& thing);

    Theme& m_theme;
    CheckpointPtr m_checkpoint;
    QToolButton* m_folder;
    QToolButton* m_tag;
    ElidedLabel* m_thing;
};

} // namespace shardscope::ui
