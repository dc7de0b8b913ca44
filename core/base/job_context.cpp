// SPDX-License-Identifier: Apache-2.0
#include "core/base/job_context.h"

#include <algorithm>
#include <atomic>

namespace shardscope {

namespace {

constexpr std::chrono::milliseconds kReportInterval{100};

} // namespace

JobContext::JobContext(std::stop_token token, ProgressSink progress, LogSink log)
    : m_token(std::move(token))
    , m_progressSink(std::move(progress))
    , m_logSink(std::move(log))
{
}

Status JobContext::poll() const
{
    if (cancelled())
        return fail(ErrorCode::Cancelled, "stopped on request");
    return {};
}

void JobContext::beginPhase(std::string name, uint64_t bytesTotal)
{
    {
        const std::lock_guard lock(m_mutex);
        m_phase = std::move(name);
        std::atomic_ref(m_bytesTotal).store(bytesTotal, std::memory_order_relaxed); // advance() reads it
        m_bytesDone = 0;
        m_phaseStart = std::chrono::steady_clock::now();
    }
    report(true);
}

void JobContext::advance(uint64_t bytes)
{
    const uint64_t before = m_bytesDone.fetch_add(bytes);
    // The end is reported once: a phase may go beyond its total, or have none.
    const uint64_t total = std::atomic_ref(m_bytesTotal).load(std::memory_order_relaxed);
    report(before < total && total - before <= bytes);
}

void JobContext::log(std::string_view line)
{
    const std::lock_guard lock(m_mutex);
    if (m_logSink)
        m_logSink(line);
}

void JobContext::report(bool force)
{
    if (!m_progressSink)
        return;
    const auto now = std::chrono::steady_clock::now();
    const int64_t nowNs = now.time_since_epoch().count();
    int64_t last = m_lastReportNs.load();
    if (!force && std::chrono::nanoseconds(nowNs - last) < kReportInterval)
        return;
    if (!m_lastReportNs.compare_exchange_strong(last, nowNs) && !force)
        return;
    const std::lock_guard lock(m_mutex);
    Progress progress;
    progress.phase = m_phase;
    progress.bytesTotal = m_bytesTotal;
    progress.bytesDone = m_bytesDone;
    if (progress.bytesTotal > 0)
        progress.bytesDone = std::min(progress.bytesDone, progress.bytesTotal);
    const double seconds = std::chrono::duration<double>(now - m_phaseStart).count();
    if (seconds > 0)
        progress.bytesPerSecond = static_cast<double>(progress.bytesDone) / seconds;
    if (progress.bytesPerSecond > 0 && progress.bytesTotal > 0)
        progress.etaSeconds
            = static_cast<double>(progress.bytesTotal - progress.bytesDone) / progress.bytesPerSecond;
    m_progressSink(progress);
}

} // namespace shardscope
