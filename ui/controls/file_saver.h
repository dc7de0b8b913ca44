// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/widgets/message_bar.h"

namespace shardscope::ui {

/// Writes a file on a worker, and tells how it went. GUI thread.
class FileSaver
{
public:
    using Tell = std::function<void(Severity, const QString&)>;

    explicit FileSaver(Tell tell)
        : m_tell(std::move(tell))
    {
    }
    explicit FileSaver(MessageBar* messages)
        : FileSaver(
            [messages](Severity severity, const QString& text) { messages->showMessage(severity, text); })
    {
    }

    /// `write`: returns why the file could not be written, or nothing. `done`: the message if it was;
    /// `failed`: what else comes before the reason.
    void save(std::function<QString()> write, const QString& done, const QString& failed = {})
    {
        m_writer.run<QString>([write = std::move(write)](const std::stop_token&,
                                  const std::function<void(QString)>& deliver) { deliver(write()); },
            [this, done, failed](const QString& problem) {
                const bool isDone = problem.isEmpty();
                m_tell(isDone ? Severity::Info : Severity::Error, isDone ? done : QString(failed % problem));
            });
    }

    [[nodiscard]] bool isRunning() const { return m_writer.isRunning(); }

private:
    Tell m_tell;
    LatestOnly m_writer{WorkLength::Long};
};

} // namespace shardscope::ui
