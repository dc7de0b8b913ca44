// SPDX-License-Identifier: Apache-2.0
#include "core/compute/calibration.h"

#include "core/base/parallel.h"
#include "core/io/user_cache.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <sstream>

namespace shardscope {

namespace {

constexpr size_t kElements = size_t{1} << 20;
constexpr auto kLongEnough = std::chrono::milliseconds(60);
constexpr uint64_t kMemoryLimitBytes = 65536;
constexpr double kMostRate = 1e18; ///< bytes a second, from a file
constexpr unsigned kMaxThreads = 16;

/// One thread's work: values to read, and room for what a cast makes of them.
class Sample
{
public:
    explicit Sample(const ComputeBackend& backend)
        : m_backend(backend)
        , m_in(backend.hostMemory(kElements * sizeof(float)))
        , m_out(backend.hostMemory(kElements * 2))
    {
        uint32_t state = 12345;
        for (size_t i = 0; i < kElements; ++i) {
            state = state * 1664525u + 1013904223u;
            const float value = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-33F;
            std::memcpy(m_in.get() + i * sizeof value, &value, sizeof value);
        }
    }

    void run(ComputeTask task) const
    {
        const std::span<const uint8_t> in(m_in.get(), kElements * sizeof(float));
        if (task == ComputeTask::Statistics) {
            ValueHistogram histogram;
            (void)m_backend.statistics(DType::Float32, in, &histogram);
        } else if (task == ComputeTask::Comparison) {
            (void)m_backend.comparison({DType::Float32, in}, {DType::Float32, in}, 0, {});
        } else {
            const std::span<uint8_t> out(m_out.get(), kElements * 2);
            const ElementCast cast{DType::Float32, in, DType::BFloat16, out};
            ElementSum sum{{1, 2}, 2, std::nullopt, 0, out, {}};
            m_backend.transform({&cast, 1}, {&sum, 1});
        }
    }
    static constexpr size_t kBytes = kElements * sizeof(float);

private:
    const ComputeBackend& m_backend;
    HostMemory m_in;
    HostMemory m_out;
};

} // namespace

double measuredRate(const ComputeBackend& backend, ComputeTask task, unsigned jobs)
{
    const unsigned threads = std::clamp(jobs, 1u, kMaxThreads);
    std::vector<std::unique_ptr<Sample>> samples;
    for (unsigned i = 0; i < threads; ++i)
        samples.push_back(std::make_unique<Sample>(backend));
    samples.front()->run(task); // one-time work is not part of the rate
    std::atomic<uint64_t> bytes = 0;
    const auto start = std::chrono::steady_clock::now();
    onThreads(threads, [&](size_t i) {
        do {
            samples[i]->run(task);
            bytes += Sample::kBytes;
        } while (std::chrono::steady_clock::now() - start < kLongEnough);
    });
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    return static_cast<double>(bytes) / time.count();
}

RateMemory::RateMemory(io::FileSystem& files, io::Path file)
    : m_files(files)
    , m_file(std::move(file))
{
    if (m_file.empty())
        return;
    const auto text = files.readSmall(m_file, kMemoryLimitBytes);
    if (!text)
        return;
    std::istringstream lines(*text);
    std::string line;
    while (std::getline(lines, line)) {
        const size_t space = line.find(' ');
        double rate = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), rate);
        if (error == std::errc() && space != std::string::npos && end == line.data() + space && rate > 0
            && rate < kMostRate)
            m_rates[line.substr(space + 1)] = rate;
    }
}

std::optional<double> RateMemory::find(const std::string& key) const
{
    const auto found = m_rates.find(key);
    return found == m_rates.end() ? std::nullopt : std::optional(found->second);
}

void RateMemory::keep(const std::string& key, double rate)
{
    m_rates[key] = rate;
    if (m_file.empty())
        return;
    std::ostringstream text;
    for (const auto& [name, value] : m_rates)
        text << value << ' ' << name << '\n';
    constexpr size_t kFiles = 16;
    io::keepInUserCache(m_files, m_file, text.str(), kFiles);
}

} // namespace shardscope
