// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QWidget>

namespace shardscope::ui {

/// Says over the window's content what a drop of the files under the pointer would do. Takes no input.
class DropOverlay : public QWidget
{
    Q_OBJECT
public:
    DropOverlay(const Theme& theme, QWidget* parent);

    /// Covers the parent and shows the sentence; empty: hides.
    void say(const QString& text);
    [[nodiscard]] const QString& text() const { return m_text; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    QString m_text;
};

} // namespace shardscope::ui
