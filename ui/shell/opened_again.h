// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/session.h"
#include "ui/style/settings.h"

#include <QObject>

namespace shardscope::ui {

class MainWindow;

/// Opens several checkpoints in a window, one after the other, each in a tab of its own; the last one is
/// shown. Ends, and deletes itself, when all are open, or when the user opens or shows something else
/// meanwhile; those that are not open then are missed.
class OpenedAgain : public QObject
{
    Q_OBJECT
public:
    /// `entries` is not empty.
    OpenedAgain(MainWindow& window, QList<OpenedEntry> entries);
    /// All are missed if something else is being opened.
    void start() { next(); }

    /// Those that are not open yet, and the one that is being opened.
    [[nodiscard]] QList<OpenedEntry> waiting() const;

Q_SIGNALS:
    /// One of them could not be opened.
    void missed(const shardscope::ui::OpenedEntry& entry, const shardscope::Error& why);

private:
    void next();
    /// The user opens something else: what fails now is not one of these.
    void giveWay();
    void end();
    [[nodiscard]] bool isShown() const; ///< the current one

    MainWindow& m_window;
    QList<OpenedEntry> m_left;
    OpenedEntry m_current;
    bool m_hasFailed = false; ///< the current one
    bool m_isStarting = false; ///< it
    bool m_hasEnded = false;
};

} // namespace shardscope::ui
