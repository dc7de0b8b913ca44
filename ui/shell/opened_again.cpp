// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/opened_again.h"

#include "ui/shell/main_window.h"
#include "ui/text/text.h"

#include <QTimer>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

OpenedAgain::OpenedAgain(MainWindow& window, QList<OpenedEntry> entries)
    : QObject(&window)
    , m_window(window)
    , m_left(std::move(entries))
{
    connect(&window.session(), &Session::openFailed, this, [this](const Error& error) {
        m_hasFailed = true;
        Q_EMIT missed(m_current, error);
    });
    connect(&window.session(), &Session::runsFound, this, [this] {
        m_hasFailed = true;
        Q_EMIT missed(m_current, Error{ErrorCode::NotACheckpoint, "it is a folder of runs now", {}, {}});
    });
    connect(&window.session(), &Session::openingChanged, this, [this](bool isOpening) {
        if (!isOpening) // after the window has shown what was read
            QTimer::singleShot(0, this, &OpenedAgain::next);
    });
    next();
}

QList<OpenedEntry> OpenedAgain::waiting() const
{
    const bool isReading = !m_hasFailed && !m_current.path.isEmpty() && m_window.session().isOpening();
    return isReading ? QList<OpenedEntry>{m_current} + m_left : m_left;
}

void OpenedAgain::next()
{
    const bool isFirst = m_current.path.isEmpty();
    const bool isOurs
        = std::exchange(m_hasFailed, false) || m_window.session().path() == toPath(m_current.path);
    if (m_window.session().isOpening() || (!isFirst && !isOurs) || m_left.isEmpty())
        return end();
    m_current = m_left.takeFirst();
    m_window.openAgain(m_current);
}

void OpenedAgain::end()
{
    for (const OpenedEntry& entry : m_left)
        Q_EMIT missed(entry, Error{ErrorCode::Cancelled, "not opened yet", {}, {}});
    const bool isShown = m_window.session().path() == toPath(m_current.path);
    if (m_left.isEmpty() && isShown && !m_current.against.isEmpty())
        m_window.setPartner(m_current.against);
    if (m_left.isEmpty() && isShown)
        m_window.openPageWindows(m_current.pages);
    deleteLater();
}

} // namespace shardscope::ui
