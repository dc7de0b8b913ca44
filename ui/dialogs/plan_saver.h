// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "ui/jobs/latest_only.h"

#include <QObject>
#include <QString>

#include <functional>

class QWidget;

namespace shardscope::ui {

class MessageBar;

/// Asks for the file that a plan is saved to, and saves it. Part of a dialog. GUI thread.
class PlanSaver : public QObject
{
    Q_OBJECT
public:
    /// Writes the file and returns the problem, empty for none. Runs on a worker.
    using Write = std::function<QString(const QString& path)>;

    PlanSaver(MessageBar* messages, QWidget* dialog);

    void ask(const io::Path& folder, const QString& fileName, const Write& write);

private:
    void save(const QString& path, const Write& write);

    QWidget* m_dialog;
    MessageBar* m_messages;
    LatestOnly m_writer{WorkLength::Long};
};

} // namespace shardscope::ui
