// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/describe/option.h"
#include "core/report/summary/report_head.h"
#include "ui/session/check_run.h"

#include <QStringList>

#include <optional>
#include <string>
#include <vector>

namespace shardscope::ui {

/// One argument, quoted for a POSIX shell where necessary.
QString quotedWord(const QString& argument);
QString quotedWord(const std::string& argument);

/// The words of a line of quoted words, as the shell would take them.
std::vector<std::string> unquotedWords(const QString& line);

/// The command-line arguments that open a checkpoint.
struct SourceWords {
    QString path; ///< PATH or SRC
    QStringList options; ///< --tag, --root and --donor where they are needed
};
SourceWords sourceWords(const CheckPlace& place);
/// The same for an open checkpoint: its run folder and tag if it has them, else the opened path.
SourceWords sourceWords(const Checkpoint& checkpoint, const CheckPlace& place);

/// The command that opens a page of the window. `options`: quoted words that come before the path.
QString pageCommand(const QString& page, const QStringList& options, const SourceWords& source);
/// The head of a report of the rows of a page that this filter leaves, without the checkpoint.
ReportHead rowsHead(const QString& page, const QString& filter, const SourceWords& source);

/// A command line of `shardscope` that does what the window does. All views make theirs with it.
class ShellCommand
{
public:
    /// "shardscope VERB SRC"; what opens the source comes last.
    ShellCommand(const QString& verb, const SourceWords& source);
    ShellCommand& argument(const QString& value);
    ShellCommand& argument(const std::string& value);
    ShellCommand& option(const QString& name, const QString& value);
    ShellCommand& option(const QString& name, const std::string& value);
    ShellCommand& option(const QString& name, uint64_t value);
    /// All that are set, except contents of files.
    ShellCommand& options(const OptionFields& fields);
    /// The name alone, if `on`.
    ShellCommand& flag(const QString& name, bool on);
    /// Nothing if the value is empty.
    ShellCommand& optionIfAny(const QString& name, const std::string& value);
    [[nodiscard]] QString text() const;

private:
    QStringList m_words;
    QStringList m_last; ///< what opens the source
};

} // namespace shardscope::ui
