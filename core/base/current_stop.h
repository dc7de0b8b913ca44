// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

namespace shardscope {

/// The stop of the job that a thread works for, as long as the scope lives: for what waits below an interface
/// that knows no JobContext, such as a read of a FileSystem. Threads of parallel.h work for the job of the
/// thread that started them. Scopes of one thread end in reverse order.
class StopScope
{
public:
    /// `outer` also stops it, and must live longer.
    explicit StopScope(std::stop_token stop, const StopScope* outer = current());
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

    /// The innermost one of this thread; null: none.
    static const StopScope* current();
    [[nodiscard]] bool isStopped() const;

private:
    std::stop_token m_stop;
    const StopScope* m_outer;
    const StopScope* m_before; ///< current() again afterwards
};

/// Whether the job of this thread, or one that it is a part of, is to stop. False without a job.
bool isThreadStopped();

} // namespace shardscope
