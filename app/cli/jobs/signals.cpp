// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/signals.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace shardscope::cli {

namespace {

std::atomic<int> firstSignal = 0;

/// Signals that were ignored at the start, as `nohup` ignores SIGHUP, stay ignored. A blocked signal would
/// reach the descriptor even if it is ignored.
sigset_t watchedSignals()
{
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {
        };
        if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&set, number);
    }
    return set;
}

void watch(int signalFile, int endFile, std::stop_source stop, const std::function<void()>& onSignal)
{
    for (;;) {
        std::array<pollfd, 2> waited{{{signalFile, POLLIN, 0}, {endFile, POLLIN, 0}}};
        if (poll(waited.data(), waited.size(), -1) < 0)
            continue; // interrupted
        if (waited[1].revents != 0)
            return;
        signalfd_siginfo info{};
        if (read(signalFile, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info)))
            continue;
        if (stop.stop_requested())
            _exit(130); // second signal; the files on disk stay usable
        firstSignal = static_cast<int>(info.ssi_signo);
        stop.request_stop();
        onSignal();
    }
}

} // namespace

int stopSignal()
{
    return firstSignal;
}

void endWithParent()
{
    const char* const named = std::getenv("SHARDSCOPE_PARENT");
    if (named == nullptr)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGINT);
    // It may have ended before. Through a script it is alive, and not the parent.
    if (std::to_string(getppid()) != named && kill(std::atoi(named), 0) != 0 && errno == ESRCH)
        (void)std::raise(SIGINT);
}

SignalWatcher::SignalWatcher(std::stop_source stop, std::function<void()> onSignal)
{
    // A file beyond the size limit (ulimit -f) is then an error of write(), which can be reported.
    (void)std::signal(SIGXFSZ, SIG_IGN);
    const sigset_t set = watchedSignals();
    m_signalFile = signalfd(-1, &set, SFD_CLOEXEC);
    m_endFile = eventfd(0, EFD_CLOEXEC);
    if (m_signalFile < 0 || m_endFile < 0)
        return; // without descriptors, signals end the process as usual
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    m_thread = Thread::start([this, stop = std::move(stop), onSignal = std::move(onSignal)] {
        watch(m_signalFile, m_endFile, stop, onSignal);
    });
    if (!m_thread.isStarted())
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

SignalWatcher::~SignalWatcher()
{
    if (m_thread.isStarted()) {
        const uint64_t one = 1;
        (void)!write(m_endFile, &one, sizeof(one));
        m_thread.join(); // the signals stay blocked
    }
    if (m_signalFile >= 0)
        close(m_signalFile);
    if (m_endFile >= 0)
        close(m_endFile);
}

} // namespace shardscope::cli
