// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/swap/swap.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kAlignedBytes = 1024; ///< AIO_ALIGNED_BYTES, runtime/swap_tensor/utils.py
constexpr uint64_t kMaxThreads = 128; ///< of one request; more than any system uses

struct Candidate {
    std::string_view id;
    std::vector<uint64_t> numbers;
    uint64_t bytes = 0; ///< size of its masters' file
};

/// Whether names list every parameter, as in 0.13.0 to 0.13.2.
bool listsAllParams(const Checkpoint& checkpoint)
{
    const std::string& version = checkpoint.deepspeedVersion;
    return version.starts_with("0.13.0") || version.starts_with("0.13.1") || version.starts_with("0.13.2");
}

/// Threads of one request of asynchronous I/O. The maximum if the configuration is not known.
uint64_t threads(const Reading& reading)
{
    const ModelStates model = modelStates(reading);
    if (model.config == kNoNode || !isMapping(*model.graph, model.config))
        return kMaxThreads;
    for (const std::string_view key : {"intra_op_parallelism", "thread_count"}) {
        const auto count = model.configInteger({"aio", key});
        if (count && *count > 0)
            return std::min(static_cast<uint64_t>(*count), kMaxThreads);
    }
    return 1;
}

class SwapMatcher
{
public:
    SwapMatcher(
        const Reading& reading, std::vector<SwapSubject*> subjects, const SwapIndex& index, DType dtype)
        : m_reading(reading)
        , m_subjects(std::move(subjects))
        , m_dtype(dtype)
        , m_unitBytes(kAlignedBytes * threads(reading))
        , m_all(listsAllParams(reading.out))
    {
        for (const auto& [key, file] : index) {
            if (key.first == "fp32")
                m_candidates.push_back(
                    {key.second, swapIdNumbers(key.second), reading.out.file(file).identity.bytes});
        }
        std::erase_if(m_candidates, [](const Candidate& candidate) { return candidate.numbers.empty(); });
        std::sort(m_candidates.begin(), m_candidates.end(),
            [](const auto& a, const auto& b) { return a.numbers < b.numbers; });
    }

    void run()
    {
        for (const bool exact : {true, false}) {
            m_exact = exact;
            if (assign())
                return;
        }
        for (const SwapSubject* subject : m_subjects)
            m_reading.add(code::kSwapUnmapped, Severity::Error,
                "it cannot be determined which swap files hold sub-group " + std::to_string(subject->subgroup)
                    + " of rank " + std::to_string(subject->rank)
                    + ": the optimizer file does not say, and sizes and numbers fit no files, or too many",
                placeOf(*subject, {}));
    }

private:
    [[nodiscard]] bool fits(const SwapSubject& subject, const Candidate& candidate) const
    {
        const uint64_t bytes = subject.unit->partition.partitionElements() * itemSize(m_dtype);
        if (candidate.bytes < bytes || (m_exact && candidate.bytes - bytes >= m_unitBytes))
            return false;
        const size_t params = subject.unit->params.size();
        if (m_all)
            return candidate.numbers.size() == params;
        return candidate.numbers.size() == 2
            && (params == 1) == (candidate.numbers[0] == candidate.numbers[1]);
    }

    /// Assigns in the order of the ids. They follow the order of the parameters in almost all models.
    bool assign()
    {
        std::vector<const Candidate*> usable;
        for (const Candidate& candidate : m_candidates) {
            if (std::any_of(m_subjects.begin(), m_subjects.end(),
                    [&](const SwapSubject* subject) { return fits(*subject, candidate); }))
                usable.push_back(&candidate);
        }
        if (usable.size() != m_subjects.size())
            return false;
        if (const auto sole = soleAssignment(usable); !sole.empty())
            usable = sole;
        for (size_t i = 0; i < usable.size(); ++i) {
            if (!fits(*m_subjects[i], *usable[i]))
                return false;
        }
        noteDoubt(usable);
        for (size_t i = 0; i < usable.size(); ++i)
            m_subjects[i]->id = usable[i]->id;
        return true;
    }

    /// The only candidate that fits each subject, if all are different. Else empty.
    [[nodiscard]] std::vector<const Candidate*> soleAssignment(
        const std::vector<const Candidate*>& usable) const
    {
        std::vector<const Candidate*> out;
        for (const SwapSubject* subject : m_subjects) {
            const Candidate* only = nullptr;
            for (const Candidate* candidate : usable) {
                if (!fits(*subject, *candidate))
                    continue;
                if (only != nullptr)
                    return {};
                only = candidate;
            }
            if (only == nullptr || std::find(out.begin(), out.end(), only) != out.end())
                return {};
            out.push_back(only);
        }
        return out;
    }

    void noteDoubt(const std::vector<const Candidate*>& chosen) const
    {
        bool doubt = false;
        for (size_t i = 0; i < chosen.size() && !doubt; ++i) {
            for (size_t j = i + 1; j < chosen.size() && !doubt; ++j)
                doubt = fits(*m_subjects[i], *chosen[j]) && fits(*m_subjects[j], *chosen[i]);
        }
        const bool isReported = std::any_of(m_reading.out.findings.begin(), m_reading.out.findings.end(),
            [](const Finding& finding) { return finding.code == code::kSwapUnmapped; });
        if (!doubt || isReported)
            return;
        // With one param group, the optimizer's order is the model's own, and so is the order of the ids.
        m_reading.add(code::kSwapUnmapped,
            m_reading.out.groups.size() == 1 ? Severity::Warning : Severity::Error,
            "which sub-group a swap file belongs to follows from the order of their ids alone: sub-groups of "
            "equal size could be exchanged",
            RankCoordinate{m_subjects.front()->rank, 0, 0},
            {m_reading.salvage
                    ? "neither ids nor values distinguish them"
                    : "the optimizer files carry no `ds_id`: they were saved with torch before 2.0"});
    }

    const Reading& m_reading;
    std::vector<SwapSubject*> m_subjects;
    DType m_dtype;
    uint64_t m_unitBytes; ///< file sizes are a multiple of this
    bool m_all;
    bool m_exact = true;
    std::vector<Candidate> m_candidates;
};

} // namespace

void matchSwapIds(
    const Reading& reading, std::vector<SwapSubject*>& subjects, const SwapIndex& index, DType dtype)
{
    std::vector<SwapSubject*> unnamed;
    SwapIndex free = index;
    for (SwapSubject* subject : subjects) {
        if (subject->id.empty())
            unnamed.push_back(subject);
        else
            free.erase({"fp32", subject->id});
    }
    if (!unnamed.empty())
        SwapMatcher(reading, std::move(unnamed), free, dtype).run();
}

SwapConfig readSwapConfig(const Reading& reading)
{
    SwapConfig out;
    const ModelStates model = modelStates(reading);
    if (!model)
        return out;
    const NodeId zero = model.configValue({"zero_optimization"});
    out.known = zero != kNoNode && isMapping(*model.graph, zero);
    const NodeId device = model.configValue({"zero_optimization", "offload_optimizer", "device"});
    if (const auto text = asString(*model.graph, device))
        out.nvme = *text == "nvme";
    else if (device != kNoNode) // OffloadDeviceEnum, from configurations built in Python
        out.nvme = nodeText(*model.graph, device).find("nvme") != std::string::npos;
    out.pipelined = model.configFlag({"zero_optimization", "offload_optimizer", "pipeline_read"})
        || model.configFlag({"zero_optimization", "offload_optimizer", "pipeline_write"})
        || model.configFlag({"zero_optimization", "offload_optimizer", "pipeline"});
    if (const auto block = model.configInteger({"aio", "block_size"}); block && *block > 0)
        out.minBytes = std::max(out.minBytes, static_cast<uint64_t>(*block));
    if (model.configFlag({"bf16", "bf16_master_weights_and_grads"}))
        out.masterType = DType::BFloat16;
    if (model.configFlag({"fp16", "fp16_master_weights_and_grads"}))
        out.masterType = DType::Float16;
    return out;
}

} // namespace shardscope
