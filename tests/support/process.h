// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace shardscope::test {

struct ProcessOptions {
    std::vector<std::pair<std::string, std::string>> environment = {}; ///< on top of this process's own
    std::filesystem::path outputFile = {}; ///< standard output goes there instead
    bool blockedOutput = false; ///< the pipe of standard output is full until wait(): the first flush blocks
    bool onTerminal = false; ///< output and error are one pseudo-terminal; both arrive in `out`
};

struct ProcessResult {
    int exitCode = -1; ///< 128 + signal when one ended it
    std::string out;
    std::string err;
};

/// A child process with nothing on its standard input.
class Process
{
public:
    /// Throws std::runtime_error when it cannot be started.
    Process(const std::vector<std::string>& words, const ProcessOptions& options = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void signal(int number) const;
    /// Reads standard error until it holds `text` or ends; whether it does.
    bool waitForError(const std::string& text);
    /// The same of standard output.
    bool waitForOutput(const std::string& text) { return waitForOutput(std::vector{text}); }
    /// The same for any of these texts.
    bool waitForOutput(const std::vector<std::string>& texts);
    /// Reads both streams to their ends and waits.
    ProcessResult wait();

private:
    bool readSome(bool errorOnly);

    pid_t m_child = -1;
    int m_out = -1;
    int m_err = -1;
    size_t m_filler = 0; ///< bytes of ours at the front of the output
    ProcessResult m_result;
};

ProcessResult runProcess(const std::vector<std::string>& words, const ProcessOptions& options = {});

/// Whether a tool can be run; `path` is absolute. Where every test must run, as packaging/test.sh says by
/// SHARDSCOPE_EVERY_TEST in the environment, an absent one is an exception, which fails the test.
bool isInstalled(const std::string& path);

} // namespace shardscope::test
