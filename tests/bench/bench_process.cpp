// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bench_process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardscope::bench {

namespace {

constexpr size_t kKeptOutput = size_t{64} << 10U;

double secondsOf(const timeval& time)
{
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

[[noreturn]] void giveUp(const std::vector<std::string>& command, const std::string& why)
{
    fmt::print(stderr, "{}: {}\n", fmt::join(command, " "), why);
    std::exit(1);
}

} // namespace

ProcessRun runProgram(const std::vector<std::string>& command)
{
    std::vector<char*> arguments;
    for (const std::string& part : command)
        arguments.push_back(const_cast<char*>(part.c_str()));
    arguments.push_back(nullptr);
    int pipe[2] = {};
    if (::pipe2(pipe, O_CLOEXEC) != 0)
        giveUp(command, "no pipe");

    ProcessRun run;
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child < 0)
        giveUp(command, "cannot fork");
    if (child == 0) {
        ::dup2(pipe[1], STDOUT_FILENO);
        ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    ::close(pipe[1]);
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(pipe[0], buffer, sizeof buffer)) > 0;) {
        if (run.output.size() < kKeptOutput)
            run.output.append(buffer, static_cast<size_t>(got));
    }
    ::close(pipe[0]);
    int status = 0;
    rusage usage{};
    ::wait4(child, &status, 0, &usage);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    run.processorSeconds = secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime);
    run.peakBytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
    run.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (run.exitCode != 0)
        giveUp(command, fmt::format("ended with {}:\n{}", run.exitCode, run.output));
    return run;
}

} // namespace shardscope::bench
