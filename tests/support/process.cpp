// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace shardscope::test {

namespace {

struct Channel {
    int ours = -1;
    int theirs = -1;
};

[[noreturn]] void giveUp(const std::string& what)
{
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

Channel makePipe()
{
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        giveUp("pipe");
    return {ends[0], ends[1]};
}

Channel makeTerminal()
{
    const int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours < 0 || grantpt(ours) != 0 || unlockpt(ours) != 0)
        giveUp("pseudo-terminal");
    const int theirs = open(ptsname(ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs < 0)
        giveUp("pseudo-terminal");
    return {ours, theirs};
}

Channel openOutput(const ProcessOptions& options)
{
    if (options.onTerminal)
        return makeTerminal();
    if (options.outputFile.empty())
        return makePipe();
    const int file = open(options.outputFile.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        giveUp(options.outputFile.string());
    return {-1, file};
}

/// Fills a pipe; the number of bytes that took.
size_t fillUp(int descriptor)
{
    const int flags = fcntl(descriptor, F_GETFL);
    fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
    const std::array<char, 1> filler{'#'};
    size_t count = 0;
    while (write(descriptor, filler.data(), filler.size()) == 1)
        ++count;
    fcntl(descriptor, F_SETFL, flags);
    return count;
}

std::vector<std::string> environmentWith(const std::vector<std::pair<std::string, std::string>>& changes)
{
    std::map<std::string, std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        all[text.substr(0, text.find('='))] = text.substr(std::min(text.find('=') + 1, text.size()));
    }
    for (const auto& [name, value] : changes)
        all[name] = value;
    std::vector<std::string> out;
    for (const auto& [name, value] : all)
        out.push_back(name + "=" + value);
    return out;
}

std::vector<char*> pointersTo(std::vector<std::string>& words)
{
    std::vector<char*> out;
    for (std::string& word : words)
        out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

void closeIfOpen(int& descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
    descriptor = -1;
}

/// Appends what is there; closes at the end.
void drain(int& descriptor, std::string& into)
{
    std::array<char, 65536> buffer{};
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count > 0)
        into.append(buffer.data(), static_cast<size_t>(count));
    else if (count == 0 || errno != EINTR) // EIO ends a pseudo-terminal
        closeIfOpen(descriptor);
}

} // namespace

Process::Process(const std::vector<std::string>& words, const ProcessOptions& options)
{
    const Channel out = openOutput(options);
    const Channel err = options.onTerminal ? Channel{-1, out.theirs} : makePipe();
    if (options.blockedOutput)
        m_filler = fillUp(out.theirs);
    std::vector<std::string> arguments = words;
    std::vector<std::string> environment = environmentWith(options.environment);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.theirs, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.theirs, STDERR_FILENO);
    const int failed = posix_spawn(&m_child, words.at(0).c_str(), &actions, nullptr,
        pointersTo(arguments).data(), pointersTo(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    close(out.theirs);
    if (err.theirs != out.theirs)
        close(err.theirs);
    m_out = out.ours;
    m_err = err.ours;
    if (failed != 0)
        throw std::runtime_error("cannot start " + words[0] + ": " + std::strerror(failed));
}

Process::~Process()
{
    if (m_child > 0) {
        kill(m_child, SIGKILL);
        waitpid(m_child, nullptr, 0);
    }
    closeIfOpen(m_out);
    closeIfOpen(m_err);
}

void Process::signal(int number) const
{
    kill(m_child, number);
}

bool Process::readSome(bool errorOnly)
{
    const int out = errorOnly ? -1 : m_out;
    if (out < 0 && m_err < 0)
        return false;
    std::array<pollfd, 2> waited{{{out, POLLIN, 0}, {m_err, POLLIN, 0}}}; // poll skips negative descriptors
    if (poll(waited.data(), waited.size(), -1) <= 0)
        return true;
    if (waited[0].revents != 0)
        drain(m_out, m_result.out);
    if (waited[1].revents != 0)
        drain(m_err, m_result.err);
    return true;
}

bool Process::waitForError(const std::string& text)
{
    while (m_result.err.find(text) == std::string::npos) {
        if (!readSome(true))
            return false;
    }
    return true;
}

bool Process::waitForOutput(const std::vector<std::string>& texts)
{
    const auto arrived
        = [&](const std::string& text) { return m_result.out.find(text, m_filler) != std::string::npos; };
    while (std::ranges::none_of(texts, arrived)) {
        if (!readSome(false))
            return false;
    }
    return true;
}

ProcessResult Process::wait()
{
    while (readSome(false)) { }
    int status = 0;
    while (waitpid(m_child, &status, 0) < 0 && errno == EINTR) { }
    m_child = -1;
    m_result.out.erase(0, m_filler);
    m_result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return m_result;
}

ProcessResult runProcess(const std::vector<std::string>& words, const ProcessOptions& options)
{
    return Process(words, options).wait();
}

bool isInstalled(const std::string& path)
{
    if (::access(path.c_str(), X_OK) == 0)
        return true;
    if (const char* const every = std::getenv("SHARDSCOPE_EVERY_TEST"); every && *every != '\0')
        throw std::runtime_error(path + " is not installed, and every test must run");
    std::fprintf(stderr, "not tested: %s is not installed\n", path.c_str());
    return false;
}

} // namespace shardscope::test
