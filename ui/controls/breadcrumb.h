// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/models/selection.h"
#include "ui/style/theme.h"

#include <QWidget>

class QToolButton;

namespace shardscope::ui {

class ElidedLabel;
class TagStore;

/// Run folder › tag › selection. The folder copies its path, the tag lists the other tags of the run with
/// step, size and date, which are read when the list is opened.
class Breadcrumb : public QWidget
{
    Q_OBJECT
public:
    Breadcrumb(Theme& theme, Selection& selection, TagStore& tags, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    void setCheckpoint(const CheckpointPtr& checkpoint);

Q_SIGNALS:
    void tagRequested(const QByteArray& tag);

private:
    void follow(const SelectedThing& thing);
    void describeTags();

    Theme& m_theme;
    TagStore& m_tags;
    CheckpointPtr m_checkpoint;
    QToolButton* m_folder;
    QToolButton* m_tag;
    ElidedLabel* m_thing;
};

} // namespace shardscope::ui
