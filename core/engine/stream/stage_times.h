// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace shardscope {

/// The activities of a job's threads.
enum class Stage : uint8_t { Reading, Arithmetic, Checksums, Writing, Verification };
inline constexpr size_t kStages = 5;
inline constexpr std::array<const char*, kStages> kStageNames{
    "reading", "arithmetic", "checksums", "writing", "verification"};
/// Those that move bytes.
inline constexpr std::array kInputOutputStages{Stage::Reading, Stage::Writing, Stage::Verification};

/// Time by stage, summed over all threads. Thread-safe.
class StageTimes
{
public:
    void add(Stage stage, std::chrono::nanoseconds time)
    {
        m_times[static_cast<size_t>(stage)].fetch_add(
            static_cast<uint64_t>(time.count()), std::memory_order_relaxed);
    }
    /// In seconds.
    [[nodiscard]] std::array<double, kStages> seconds() const
    {
        std::array<double, kStages> out{};
        for (size_t i = 0; i < kStages; ++i)
            out[i] = static_cast<double>(m_times[i].load()) / 1e9;
        return out;
    }

private:
    std::array<std::atomic<uint64_t>, kStages> m_times{};
};

/// Adds the time of its scope to a stage.
class StageTimer
{
public:
    StageTimer(StageTimes& times, Stage stage)
        : m_times(times)
        , m_stage(stage)
        , m_start(std::chrono::steady_clock::now())
    {
    }
    ~StageTimer() { m_times.add(m_stage, std::chrono::steady_clock::now() - m_start); }
    StageTimer(const StageTimer&) = delete;
    StageTimer& operator=(const StageTimer&) = delete;

private:
    StageTimes& m_times;
    Stage m_stage;
    std::chrono::steady_clock::time_point m_start;
};

} // namespace shardscope
