// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/opened_again.h"

#include "ui/shell/main_window.h"
#include "ui/text/text.h"

#include <QScopedValueRollback>
#include <QTimer>

#include <utility>

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
        else if (!m_isStarting && m_window.session().path() != toPath(m_current.path))
            giveWay();
    });
}

QList<OpenedEntry> OpenedAgain::waiting() const
{
    if (m_hasEnded)
        return {};
    const bool isReading = !m_hasFailed && !m_current.path.isEmpty() && m_window.session().isOpening();
    return isReading ? QList<OpenedEntry>{m_current} + m_left : m_left;
}

bool OpenedAgain::isShown() const
{
    const ReadCheckpoint shown = m_window.session().shown();
    return shown.checkpoint && shown.place.path == toPath(m_current.path)
        && shown.place.tag == m_current.tag.toStdString();
}

void OpenedAgain::next()
{
    if (m_hasEnded)
        return;
    const bool isFirst = m_current.path.isEmpty();
    const bool isDone = isFirst || std::exchange(m_hasFailed, false) || isShown();
    if (!isDone && m_window.session().checkpoint()) // another one was chosen
        m_left.prepend(m_current);
    if (m_window.session().isOpening() || !isDone || m_left.isEmpty())
        return end();
    m_current = m_left.takeFirst();
    const QScopedValueRollback starting(m_isStarting, true);
    m_window.openAgain(m_current);
}

void OpenedAgain::giveWay()
{
    if (!m_hasFailed && !isShown())
        m_left.prepend(m_current);
    end();
}

void OpenedAgain::end()
{
    m_hasEnded = true;
    disconnect(&m_window.session(), nullptr, this, nullptr);
    for (const OpenedEntry& entry : std::as_const(m_left))
        Q_EMIT missed(entry, Error{ErrorCode::Cancelled, "not opened yet", {}, {}});
    if (m_left.isEmpty() && isShown()) {
        if (!m_current.against.isEmpty())
            m_window.setPartner(m_current.against);
        m_window.openPageWindows(m_current.pages);
    }
    deleteLater();
}

} // namespace shardscope::ui
