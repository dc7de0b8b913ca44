// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/arguments.h"
#include "core/base/finding.h"
#include "core/report/text/text_table.h"

#include <mutex>
#include <string_view>

namespace shardscope::cli {

/// Standard output carries the answer and nothing else; standard error everything else. Both are reached
/// through here.
///
/// message() and progressLine() may be called from any thread; the answer is the main thread's.
class Output
{
public:
    explicit Output(const Arguments& arguments);

    [[nodiscard]] bool json() const { return m_json; }
    [[nodiscard]] bool quiet() const { return m_quiet; }
    [[nodiscard]] bool verbose() const { return m_verbose; }
    /// Whether standard error is a terminal on which a line can be replaced.
    [[nodiscard]] bool showsProgressLine() const { return m_showsProgressLine; }
    [[nodiscard]] TextStyle answerStyle() const { return {m_fileWritten ? m_messageColour : m_answerColour}; }
    [[nodiscard]] TextStyle messageStyle() const { return {m_messageColour}; }

    /// Pieces of the answer, in order.
    [[nodiscard]] TextSink answer();
    /// A report or plan that standard output gets in place of the answer, which goes to standard error from
    /// then on, or nowhere when quiet.
    Status writeFile(std::string_view text);
    /// WriteFailed when not all of the answer could be written.
    Status finishAnswer();

    /// Whole lines for standard error; a progress line that stands there makes room.
    void message(std::string_view lines);
    /// Replaces the progress line; an empty one removes it.
    void progressLine(const std::string& line);
    /// Findings of at least warning severity, unless quiet or with --json, whose answer has them.
    void warn(const std::vector<Finding>& findings);

private:
    bool m_json = false;
    bool m_quiet = false;
    bool m_verbose = false;
    bool m_answerColour = false;
    bool m_messageColour = false;
    bool m_showsProgressLine = false;
    bool m_fileWritten = false;
    bool m_answerFailed = false;
    int m_answerErrno = 0;
    std::mutex m_mutex;
    bool m_lineShown = false;
};

} // namespace shardscope::cli
