// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/slice_replicas.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/layout/fragments.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
constexpr size_t kMaxFindings = 64;

/// Continues until two slices differ.
class Comparison
{
public:
    Comparison(io::FileSystem& files, const Checkpoint& of, JobContext& job)
        : m_files(files)
        , m_of(of)
        , m_job(job)
    {
    }

    Status compare(const std::vector<ParamId>& slices, const std::string& state, SliceComparison& out)
    {
        SHARDSCOPE_TRY(const StateSource first, findState(m_of, slices.front(), state));
        const uint32_t width = itemSize(first.dtype);
        const uint64_t step = std::max<uint64_t>(1, kChunkBytes / width);
        for (uint64_t begin = 0; begin < first.elements; begin += step) {
            const uint64_t end = std::min(first.elements, begin + step);
            SHARDSCOPE_CHECK(read({slices.front(), state, begin, end}, width, m_first));
            out.allZero = out.allZero
                && std::all_of(m_first.begin(), m_first.end(), [](uint8_t byte) { return byte == 0; });
            for (size_t i = 1; i < slices.size(); ++i) {
                SHARDSCOPE_CHECK(read({slices[i], state, begin, end}, width, m_other));
                const auto [at, other]
                    = std::mismatch(m_first.begin(), m_first.end(), m_other.begin(), m_other.end());
                if (at == m_first.end() && other == m_other.end())
                    continue;
                out.state = state;
                out.slice = i;
                out.element = begin + static_cast<uint64_t>(at - m_first.begin()) / width;
                return {};
            }
        }
        return {};
    }

private:
    Status read(const StateRange& range, uint32_t width, std::vector<uint8_t>& into)
    {
        SHARDSCOPE_CHECK(m_job.poll());
        into.resize((range.end - range.begin) * width);
        return readElements(m_files, m_of, range, into);
    }

    io::FileSystem& m_files;
    const Checkpoint& m_of;
    JobContext& m_job;
    std::vector<uint8_t> m_first;
    std::vector<uint8_t> m_other;
};

} // namespace

Result<SliceComparison> compareSlices(
    io::FileSystem& files, const Checkpoint& of, const std::vector<ParamId>& slices, JobContext& job)
{
    SliceComparison out;
    Comparison comparison(files, of, job);
    for (const std::string& state : statesOf(of, slices.front())) {
        if (std::any_of(slices.begin(), slices.end(),
                [&](ParamId slice) { return !findState(of, slice, state).has_value(); }))
            continue; // a copy on one pipeline stage only
        SHARDSCOPE_CHECK(comparison.compare(slices, state, out));
        if (!out.areEqual())
            break;
    }
    return out;
}

Result<std::vector<Finding>> checkReplicas(io::FileSystem& files, const Checkpoint& merged, JobContext& job)
{
    const MergedSlices& slices = *merged.merged;
    std::vector<Finding> out;
    const auto check = [&](const std::vector<ParamId>& alike, const char* message) -> Status {
        if (alike.size() < 2 || out.size() >= kMaxFindings)
            return {};
        SHARDSCOPE_TRY(const SliceComparison found, compareSlices(files, *slices.of, alike, job));
        if (found.areEqual())
            return {};
        const std::string& first = slices.of->params[index(alike.front())].name;
        const std::string& name = slices.of->params[index(alike[found.slice])].name;
        out.push_back({code::kRankForeign, Severity::Error, message, ParamAddress{name, found.state},
            {"`" + toValidUtf8(name) + "` first differs from `" + toValidUtf8(first) + "` at element "
                + std::to_string(found.element)}});
        return {};
    };
    for (const std::vector<ParamId>& alike : slices.alike)
        SHARDSCOPE_CHECK(
            check(alike, "every tensor slice should have all of this parameter, but their values differ"));
    for (const std::vector<ParamId>& tied : slices.tied)
        SHARDSCOPE_CHECK(check(tied, "pipeline stages share this parameter, but their values differ"));
    return out;
}

} // namespace shardscope
