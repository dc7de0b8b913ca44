// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/parallel.h"

#include <functional>
#include <stop_token>

namespace shardscope::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into a stop request during its lifetime. A second signal ends the
/// process at once. After its lifetime they have no effect: the answer is complete, and a signal that comes
/// then must not turn its exit status into an interruption.
///
/// Without a thread for it, signals end the process as usual. Threads that start later inherit the blocked
/// signals, so construct it before them. At most one per process.
class SignalWatcher
{
public:
    /// `onSignal` is called once, from the watcher's thread, when the first signal arrives.
    SignalWatcher(std::stop_source stop, std::function<void()> onSignal);
    ~SignalWatcher();
    SignalWatcher(const SignalWatcher&) = delete;
    SignalWatcher& operator=(const SignalWatcher&) = delete;

private:
    int m_signalFile = -1;
    int m_endFile = -1;
    Thread m_thread;
};

/// The first signal that asked to stop; 0: none so far.
int stopSignal();

/// Ends as by SIGINT when its parent ends, if SHARDSCOPE_PARENT names a caller: one that was killed cannot
/// say so. Where a script is between them, that is when the script ends. Call it first.
void endWithParent();

} // namespace shardscope::cli
