// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/jobs: work on other threads, with results on the GUI thread. Start with LatestOnly, for views that
// recompute; Job is for work that the Jobs dock lists.

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace shardscope::ui {

/// Which threads run it. Short work never waits for long work.
enum class WorkLength {
    Short, ///< computes what a view shows: filters, sorting, trees; reads at most a few small files
    Long, ///< opens, plans, checks, compares, reads values or writes; a file system may block it
};

/// Runs work on a pool thread and hands results back to the GUI thread; only the latest request counts.
///
/// A new run() stops the previous work and drops its later results, so nothing is locked and
/// no outdated result arrives. Destroying it does the same. Lives on the GUI thread.
class LatestOnly
{
public:
    explicit LatestOnly(WorkLength length)
        : m_length(length)
    {
    }
    ~LatestOnly() { cancel(); }
    LatestOnly(const LatestOnly&) = delete;
    LatestOnly& operator=(const LatestOnly&) = delete;

    /// Calls `work(stopToken, deliver)` on a worker; each `deliver(value)` calls `receive(value)` on the GUI
    /// thread. `work` must own what it uses.
    template <class Value, class Work, class Receive>
    void run(Work work, Receive receive)
    {
        cancel();
        const uint64_t mine = ++m_state->wanted;
        auto keptReceive = std::make_shared<Receive>(std::move(receive));
        std::function<void(Value)> deliver = [state = m_state, mine, keptReceive](Value value) {
            auto keptValue = std::make_shared<Value>(std::move(value));
            postToGui([state, mine, keptReceive, keptValue] {
                if (state->wanted == mine)
                    (*keptReceive)(std::move(*keptValue));
            });
        };
        m_stop = std::stop_source();
        m_state->running = true;
        startOnPool(m_length,
            [work = std::move(work), deliver = std::move(deliver), token = m_stop.get_token(),
                state = m_state, mine] {
                work(token, deliver);
                postToGui([state, mine] {
                    if (state->wanted == mine)
                        state->running = false;
                });
            });
    }

    /// Stops the current work; its results are no longer delivered.
    void cancel()
    {
        m_stop.request_stop();
        ++m_state->wanted;
        m_state->running = false;
    }

    [[nodiscard]] bool isRunning() const { return m_state->running; }

    /// Waits for all work of the program, also for what was cancelled, at most for half a minute. For owners
    /// of what work uses, such as files of a test.
    static void waitForAll();

private:
    struct State {
        uint64_t wanted = 0; ///< GUI thread only
        bool running = false;
    };

    static void startOnPool(WorkLength length, std::function<void()> work);
    static void postToGui(std::function<void()> call);

    WorkLength m_length;
    std::shared_ptr<State> m_state = std::make_shared<State>();
    std::stop_source m_stop;
};

} // namespace shardscope::ui
