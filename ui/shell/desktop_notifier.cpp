// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/desktop_notifier.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusReply>
#include <QGuiApplication>
#include <QPointer>
#include <QVariantMap>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

const QString kBus = u"shardscope-notifications"_s;
const QString kService = u"org.freedesktop.Notifications"_s;
const QString kPath = u"/org/freedesktop/Notifications"_s;
constexpr int kTimeoutMs = 5000;
constexpr int kServersDefault = -1; ///< how long it is shown

QDBusMessage call(const QDBusConnection& bus, const QString& method, const QVariantList& arguments)
{
    QDBusMessage message = QDBusMessage::createMethodCall(kService, kPath, kService, method);
    message.setArguments(arguments);
    return bus.call(message, QDBus::Block, kTimeoutMs);
}

/// Returns the number of the notification; 0 if it was not shown. For a worker.
uint show(const QString& title, const QString& text, const QString& button)
{
    const QDBusConnection bus = QDBusConnection::connectToBus(QDBusConnection::SessionBus, kBus);
    if (!bus.isConnected())
        return 0;
    const QDBusReply<QStringList> can = call(bus, u"GetCapabilities"_s, {});
    if (!can.isValid())
        return 0;
    const QStringList actions
        = can.value().contains(u"actions"_s) ? QStringList{u"default"_s, button} : QStringList();
    const QVariantMap hints{{u"desktop-entry"_s, QGuiApplication::desktopFileName()}};
    const QDBusReply<uint> shown = call(bus, u"Notify"_s,
        {u"Shardscope"_s, 0U, QGuiApplication::desktopFileName(), title,
            can.value().contains(u"body-markup"_s) ? text.toHtmlEscaped() : text, actions, hints,
            kServersDefault});
    return shown.isValid() ? shown.value() : 0;
}

} // namespace

void DesktopNotifier::notify(const QString& title, const QString& text)
{
    // One worker each: the next notification must not drop the number of this one.
    const auto worker = std::make_shared<LatestOnly>(WorkLength::Long);
    worker->run<uint>([title, text, button = tr("Show")](const std::stop_token&,
                          const std::function<void(uint)>& deliver) { deliver(show(title, text, button)); },
        [worker, self = QPointer(this)](uint shown) {
            if (self && shown != 0)
                self->follow(shown);
        });
}

void DesktopNotifier::follow(uint notification)
{
    m_shown.insert(notification);
    if (!m_listening)
        m_listening = QDBusConnection(kBus).connect(
            {}, kPath, kService, u"ActionInvoked"_s, this, SLOT(onAction(uint, QString)));
}

void DesktopNotifier::onAction(uint notification, const QString& /*action*/)
{
    if (m_shown.remove(notification))
        Q_EMIT activated();
}

} // namespace shardscope::ui
