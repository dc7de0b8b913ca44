// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/arguments.h"
#include "core/base/finding.h"
#include "core/base/job_context.h"
#include "core/report/text/text_table.h"

#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

namespace shardscope::cli {

/// What takes the answer in place of the standard streams. Each returns whether it arrived.
struct OutputSinks {
    std::function<bool(std::string_view)> answer;
    std::function<bool(std::string_view)> file; ///< Output::writeFile()
    /// Lines for people. Set: the answer is for people, too, as on a terminal without colours.
    std::function<void(std::string_view)> message = {};
    JobContext::ProgressSink progress = {}; ///< of another process that is followed
    std::string host = {}; ///< where they read them: the name of this host for ssh; empty: here
};

/// The only access to the standard streams. Standard output gets the answer and nothing else.
///
/// message() and progressLine() may be called from any thread; the answer is the main thread's.
class Output
{
public:
    /// `host`: as OutputSinks::host.
    explicit Output(const Arguments& arguments, std::string host = {});
    /// Without progress and colours, and without messages unless the sinks take them. File and answer do not
    /// share a stream.
    Output(const Arguments& arguments, OutputSinks sinks);

    [[nodiscard]] bool json() const { return m_json; }
    /// Whether writeFile() and a JSON answer go together.
    [[nodiscard]] bool hasStreamForFile() const { return m_sinks.has_value(); }
    [[nodiscard]] const std::string& host() const { return m_host; } ///< as of the sinks
    [[nodiscard]] JobContext::ProgressSink progressTaken() const
    {
        return m_sinks ? m_sinks->progress : JobContext::ProgressSink();
    }
    [[nodiscard]] bool quiet() const { return m_quiet; }
    [[nodiscard]] bool verbose() const { return m_verbose; }
    /// True when standard error is a terminal where a line can be replaced.
    [[nodiscard]] bool showsProgressLine() const { return m_showsProgressLine; }
    [[nodiscard]] TextStyle answerStyle() const { return {m_fileWritten ? m_messageColour : m_answerColour}; }
    [[nodiscard]] TextStyle messageStyle() const { return {m_messageColour}; }

    /// Pieces of the answer, in order.
    [[nodiscard]] TextSink answer();
    /// Writes a report or plan to standard output in place of the answer. From then on the answer goes to
    /// standard error, or is dropped with --quiet.
    Status writeFile(std::string_view text);
    /// WriteFailed when not all of the answer could be written. A reader that closed the pipe is no failure.
    Status finishAnswer();
    /// Whether not all of it arrived, also where the reader closed the pipe. After finishAnswer().
    [[nodiscard]] bool isAnswerLost() const { return m_answerFailed; }

    /// Writes whole lines to standard error and removes the progress line before them.
    void message(std::string_view lines);
    /// Replaces the progress line; an empty one removes it.
    void progressLine(const std::string& line);
    /// Prints findings with at least warning severity. Not with --quiet, and not with --json: the answer has
    /// them.
    void warn(const std::vector<Finding>& findings);

private:
    std::optional<OutputSinks> m_sinks;
    std::string m_host;
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
