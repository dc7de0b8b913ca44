// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/session/stored_jobs.h"

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
    /// Makes the saved form; called on a worker.
    using Make = std::function<SavedPlan()>;

    PlanSaver(MessageBar* messages, QWidget* dialog);

    /// Suggests a file next to `target`, named after it.
    void ask(const io::Path& target, const Make& make);

private:
    void save(const QString& path, const Make& make);

    QWidget* m_dialog;
    MessageBar* m_messages;
    LatestOnly m_writer{WorkLength::Long};
};

} // namespace shardscope::ui
