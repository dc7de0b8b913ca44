// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

namespace shardscope {

/// How far a job is. `bytesTotal` 0 means unknown.
struct Progress {
    std::string phase; ///< "reading", "writing", "verifying", …
    uint64_t bytesDone = 0;
    uint64_t bytesTotal = 0;
    double bytesPerSecond = 0; ///< over this phase so far
    double etaSeconds = -1; ///< negative while unknown
};

/// Passed to every operation that may take over 50 ms: the stop request, the progress sink and the log.
///
/// Thread-safe: worker threads of one job share it. Progress is throttled here, so callers may report every
/// chunk.
class JobContext
{
public:
    using ProgressSink = std::function<void(const Progress&)>;
    using LogSink = std::function<void(std::string_view line)>;

    JobContext() = default;
    explicit JobContext(std::stop_token token, ProgressSink progress = {}, LogSink log = {});

    [[nodiscard]] bool cancelled() const { return m_token.stop_requested(); }
    /// The Cancelled error once a stop was requested; success before.
    Status poll() const;
    [[nodiscard]] const std::stop_token& stopToken() const { return m_token; }

    void beginPhase(std::string name, uint64_t bytesTotal);
    void advance(uint64_t bytes);
    void log(std::string_view line);

private:
    void report(bool force);

    std::stop_token m_token;
    ProgressSink m_progressSink;
    LogSink m_logSink;
    std::mutex m_mutex;
    std::string m_phase;
    std::atomic<uint64_t> m_bytesDone = 0;
    uint64_t m_bytesTotal = 0;
    std::chrono::steady_clock::time_point m_phaseStart{};
    std::atomic<int64_t> m_lastReportNs = 0;
};

} // namespace shardscope
