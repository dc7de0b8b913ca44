// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"

#include <QObject>
#include <QSet>
#include <QString>

namespace shardscope::ui {

/// Notifications of the desktop, by the D-Bus interface org.freedesktop.Notifications (version 1.2 of its
/// specification), which GNOME, KDE and Xfce implement. Without a session bus or a server nothing happens.
/// The GUI thread never waits for the bus. Lives on the GUI thread.
class DesktopNotifier : public QObject
{
    Q_OBJECT
public:
    using QObject::QObject;

    /// `text` is plain. A later notification does not replace an earlier one.
    void notify(const QString& title, const QString& text);

Q_SIGNALS:
    /// The user clicked one of these notifications.
    void activated();

private Q_SLOTS:
    void onAction(uint notification, const QString& action);

private:
    void follow(uint notification);

    bool m_listening = false;
    QSet<uint> m_shown;
};

} // namespace shardscope::ui
