// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/output.h"

#include "app/cli/frame/terminal.h"
#include "core/report/answers/finding_report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <unistd.h>

namespace shardscope::cli {

namespace {

bool wantsColour(int descriptor, const Arguments& arguments)
{
    const char* const noColour = std::getenv("NO_COLOR");
    return takesControlCodes(descriptor) && !arguments.has("--no-color")
        && (noColour == nullptr || *noColour == '\0');
}

void put(FILE* stream, std::string_view text)
{
    (void)std::fwrite(text.data(), 1, text.size(), stream);
}

} // namespace

Output::Output(const Arguments& arguments, std::string host)
    : m_host(std::move(host))
    , m_json(arguments.has("--json"))
    , m_quiet(arguments.has("--quiet"))
    , m_verbose(arguments.has("--verbose"))
    , m_answerColour(wantsColour(STDOUT_FILENO, arguments))
    , m_messageColour(wantsColour(STDERR_FILENO, arguments))
    , m_showsProgressLine(takesControlCodes(STDERR_FILENO))
{
}

Output::Output(const Arguments& arguments, OutputSinks sinks)
    : m_sinks(std::move(sinks))
    , m_host(m_sinks->host)
    , m_json(arguments.has("--json"))
    , m_quiet(!m_sinks->message || arguments.has("--quiet"))
    , m_verbose(m_sinks->message && arguments.has("--verbose"))
{
}

TextSink Output::answer()
{
    return [this](std::string_view text) {
        if (m_sinks) {
            m_answerFailed = m_answerFailed || !m_sinks->answer(text);
            m_answerErrno = EPIPE;
            return;
        }
        progressLine("");
        if (m_fileWritten) {
            if (!m_quiet)
                message(text);
            return;
        }
        if (text.empty() || m_answerFailed || std::fwrite(text.data(), 1, text.size(), stdout) == text.size())
            return;
        m_answerFailed = true;
        m_answerErrno = errno;
    };
}

Status Output::writeFile(std::string_view text)
{
    if (m_sinks)
        return m_sinks->file(text) ? Status()
                                   : fail(ErrorCode::WriteFailed, "the reader has closed the pipe");
    answer()(text);
    m_fileWritten = true;
    return finishAnswer();
}

Status Output::finishAnswer()
{
    if (!m_sinks && !m_answerFailed && std::fflush(stdout) != 0) {
        m_answerFailed = true;
        m_answerErrno = errno;
    }
    if (!m_answerFailed || m_answerErrno == EPIPE) // such as `| head`, which has what it wanted
        return {};
    return fail(m_answerErrno == ENOSPC ? ErrorCode::NoSpace : ErrorCode::WriteFailed,
        "the answer could not be written to standard output: " + std::string(std::strerror(m_answerErrno)));
}

void Output::message(std::string_view lines)
{
    const std::lock_guard lock(m_mutex);
    if (m_sinks) {
        if (m_sinks->message)
            m_sinks->message(lines);
        return;
    }
    if (m_lineShown)
        put(stderr, "\r\x1b[K");
    m_lineShown = false;
    put(stderr, lines);
    (void)std::fflush(stderr);
}

void Output::progressLine(const std::string& line)
{
    const std::lock_guard lock(m_mutex);
    if (!m_lineShown && line.empty())
        return;
    put(stderr, "\r\x1b[K");
    put(stderr, line);
    m_lineShown = !line.empty();
    (void)std::fflush(stderr);
}

void Output::warn(const std::vector<Finding>& findings)
{
    if (m_quiet || m_json)
        return;
    std::vector<Finding> shown;
    std::copy_if(findings.begin(), findings.end(), std::back_inserter(shown),
        [](const Finding& finding) { return finding.severity != Severity::Info; });
    writeFindingsText([this](std::string_view text) { message(text); }, messageStyle(), shown);
}

} // namespace shardscope::cli
