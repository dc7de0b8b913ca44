// SPDX-License-Identifier: Apache-2.0
#include "core/compute/compute_choice.h"

#include "core/base/text.h"
#include "core/compute/calibration.h"
#include "core/io/user_cache.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <map>

namespace shardscope {

namespace {

/// The time to load LibTorch or to start a GPU: it matters for short work.
constexpr double kTorchSeconds = 0.5;
constexpr double kCudaSeconds = 0.5; // 0.33 s on an H200
/// A loaded library must save more than the error of a measurement.
constexpr double kClearlyFaster = 1.1;

const char* taskName(ComputeTask task)
{
    switch (task) {
    case ComputeTask::Statistics:
        return "statistics";
    case ComputeTask::Comparison:
        return "comparison";
    default:
        return "transform";
    }
}

ComputeChoice chosen(std::shared_ptr<const ComputeBackend> backend, std::string reason)
{
    ComputeChoice out;
    out.backend = std::move(backend);
    out.reason = std::move(reason);
    return out;
}

struct Candidate {
    const char* name;
    double startSeconds = 0;
    std::function<Result<std::shared_ptr<const ComputeBackend>>()> load;
    std::string identity; ///< of what is loaded
};

class Chooser
{
public:
    Chooser(const ComputeNeed& need, io::FileSystem& files, const io::Path& memory)
        : m_need(need)
        , m_rates(files, memory)
    {
    }

    ComputeChoice choose(const std::vector<Candidate>& candidates)
    {
        const Candidate* best = nullptr;
        double bestSeconds = 0;
        for (const Candidate& candidate : candidates) {
            if (best != nullptr && candidate.startSeconds * kClearlyFaster >= bestSeconds) {
                say(fmt::format("{} would take longer to load", candidate.name));
                continue;
            }
            const auto rate = rateOf(candidate);
            if (!rate)
                continue;
            const double seconds = static_cast<double>(m_need.bytes) / *rate + candidate.startSeconds;
            const bool clearly = best != nullptr && seconds * kClearlyFaster < bestSeconds;
            if (best == nullptr || clearly) {
                best = &candidate;
                bestSeconds = seconds;
            }
        }
        const auto backend = loaded(*best); // at least plain code was measured
        if (!backend) // its figure was remembered
            return chosen(ComputeChoice().backend, "no longer available: " + backend.error().message);
        return chosen(*backend, m_words);
    }

private:
    std::optional<double> rateOf(const Candidate& candidate)
    {
        const std::string key = fmt::format(
            "{} {} {} {}", taskName(m_need.task), m_need.jobs, candidate.name, candidate.identity);
        std::optional<double> rate = m_rates.find(key);
        if (!rate) {
            const auto backend = loaded(candidate);
            if (!backend) {
                say(backend.error().message);
                return std::nullopt;
            }
            rate = measuredRate(**backend, m_need.task, m_need.jobs);
            m_rates.keep(key, *rate);
        }
        say(fmt::format("{} {}/s", candidate.name, formatBytes(static_cast<uint64_t>(*rate))));
        return rate;
    }
    Result<std::shared_ptr<const ComputeBackend>> loaded(const Candidate& candidate)
    {
        auto& known = m_loaded[candidate.name];
        if (!known) {
            SHARDSCOPE_TRY(known, candidate.load());
        }
        return known;
    }
    void say(const std::string& words) { m_words += (m_words.empty() ? "measured: " : ", ") + words; }

    const ComputeNeed& m_need;
    RateMemory m_rates;
    std::map<std::string, std::shared_ptr<const ComputeBackend>> m_loaded;
    std::string m_words;
};

/// Keeps the figures of different builds apart.
std::string identityOf(io::FileSystem& files, const char* module)
{
    for (const io::Path& folder : computeModuleFolders()) {
        if (const auto info = files.stat(folder / module))
            return fmt::format("{}-{}", info->identity.bytes, info->identity.modifiedNs);
    }
    return "none";
}

} // namespace

ComputeChoice::ComputeChoice()
    : backend(std::shared_ptr<void>(), &plainBackend())
{
}

ComputeReport reportOf(const ComputeChoice& choice)
{
    return {choice.backend->device(), choice.backend->name(), choice.reason, choice.backend->notes()};
}

io::Path userRateMemory()
{
    const io::Path cache = io::userCache();
    return cache.empty() ? cache : cache / "compute.txt";
}

Result<DeviceAsked> parseDevice(std::string_view text)
{
    DeviceAsked out;
    if (text == "auto")
        return out;
    if (text == "cpu" || text == "cpu:plain" || text == "cpu:torch") {
        out.kind = text == "cpu"  ? DeviceAsked::Kind::Cpu
            : text == "cpu:plain" ? DeviceAsked::Kind::Plain
                                  : DeviceAsked::Kind::Torch;
        return out;
    }
    constexpr std::string_view kCuda = "cuda";
    if (text.starts_with(kCuda)) {
        out.kind = DeviceAsked::Kind::Cuda;
        const std::string_view rest = text.substr(kCuda.size());
        if (rest.empty())
            return out;
        uint32_t number = 0;
        const char* const end = rest.data() + rest.size();
        const auto [stop, error] = std::from_chars(rest.data() + 1, end, number);
        if (rest.front() == ':' && error == std::errc() && stop == end) {
            out.cuda.gpu = number;
            return out;
        }
    }
    return fail(ErrorCode::Usage,
        "--device takes auto, cpu, cpu:plain, cpu:torch, cuda or cuda:I, not `" + std::string(text) + "`");
}

Result<ComputeChoice> chooseCompute(
    const DeviceAsked& asked, const ComputeNeed& need, io::FileSystem& files, const io::Path& memory)
{
    using Kind = DeviceAsked::Kind;
    const auto plain = ComputeChoice().backend;
    switch (asked.kind) {
    case Kind::Plain:
        return chosen(plain, "asked for");
    case Kind::Torch: {
        SHARDSCOPE_TRY(auto backend, loadTorchBackend());
        return chosen(std::move(backend), "asked for");
    }
    case Kind::Cuda: {
        SHARDSCOPE_TRY(auto backend, loadCudaBackend(asked.cuda));
        return chosen(std::move(backend), "asked for");
    }
    default:
        break;
    }
    if (need.bytes < kWorthMeasuring)
        return chosen(plain,
            "less than " + formatBytes(kWorthMeasuring)
                + " to compute: loading another backend would take longer");
    std::vector<Candidate> candidates{
        {"plain code", 0, [&] { return Result<std::shared_ptr<const ComputeBackend>>(plain); }, "1"},
        {"LibTorch", kTorchSeconds, loadTorchBackend, identityOf(files, kTorchModule)}};
    if (asked.kind == Kind::Auto)
        candidates.push_back({"CUDA", kCudaSeconds, [&] { return loadCudaBackend(asked.cuda); },
            identityOf(files, kCudaModule)});
    return Chooser(need, files, memory).choose(candidates);
}

} // namespace shardscope
