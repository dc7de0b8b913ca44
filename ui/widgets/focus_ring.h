// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QObject>
#include <QPointer>
#include <QWidget>

namespace shardscope::ui {

/// Name of a property: true on a widget of another class that shows no focus by itself and needs the frame.
inline constexpr const char* kShowsFocusFrame = "showsFocusFrame";

/// Shows where the keyboard is: a frame around the list, table, tree or map of this window that was reached
/// by Tab or a shortcut. A click removes the frame. Small controls draw their focus themselves.
class FocusRing : public QObject
{
    Q_OBJECT
public:
    FocusRing(Theme& theme, QWidget* window);
    ~FocusRing() override;

    /// The widget inside the frame; null while there is none.
    [[nodiscard]] QWidget* target() const;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void moveTo(QWidget* target);

    Theme& m_theme;
    QWidget* m_window;
    QPointer<QWidget> m_frame; ///< a child of the framed widget
};

} // namespace shardscope::ui
