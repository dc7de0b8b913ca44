// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/diff_places.h"
#include "core/layout/fragments.h"
#include "core/tensor/element_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

constexpr uint64_t kHeadElements = 64;

/// The state to use as a parameter's values: the first paired state that is not a copy.
const PairedState* mainState(const PairedParam& param)
{
    const auto found = std::find_if(param.states.begin(), param.states.end(), [](const PairedState& state) {
        return !state.isCopy && (state.left == "fp32" || state.left == "weight");
    });
    return found == param.states.end() ? nullptr : &*found;
}

/// One side of a parameter with different values.
struct Candidate {
    const PairedParam* param = nullptr;
    const PairedState* state = nullptr;
    std::vector<uint8_t> head;
};

class Search
{
public:
    explicit Search(const DiffInput& input)
        : m_files(input.files)
        , m_left(input.left)
        , m_right(input.right)
        , m_job(input.job)
    {
    }

    void add(const ParamDifference& difference)
    {
        const PairedParam& param = difference.param;
        const PairedState* state = param.isPaired() && param.sameShape ? mainState(param) : nullptr;
        const bool differs = state != nullptr
            && std::any_of(
                difference.states.begin(), difference.states.end(), [&](const StateDifference& one) {
                    return one.state.left == state->left && one.values.different * 2 > one.values.elements;
                });
        if (!differs || state->leftType != state->rightType)
            return;
        const uint64_t count = std::min(param.elements, kHeadElements);
        std::vector<uint8_t> left(count * itemSize(state->leftType));
        std::vector<uint8_t> right(left.size());
        if (!readElements(m_files, m_left, {param.left, state->left, 0, count}, left)
            || !readElements(m_files, m_right, {param.right, state->right, 0, count}, right))
            return;
        m_lefts.push_back({&param, state, std::move(left)});
        m_rights[{param.elements, std::move(right)}].push_back({&param, state, {}});
    }

    Status find(DiffCause& cause)
    {
        for (const Candidate& here : m_lefts) {
            const auto found = m_rights.find({here.param->elements, here.head});
            if (found == m_rights.end())
                continue;
            for (const Candidate& there : found->second) {
                SHARDSCOPE_CHECK(m_job.poll());
                if (there.param == here.param || !areEqual(here, there))
                    continue;
                cause.evidence.push_back(
                    fmt::format("{} on the left is {} on the right", here.param->name, there.param->name));
                break;
            }
        }
        return {};
    }

private:
    [[nodiscard]] bool areEqual(const Candidate& here, const Candidate& there) const
    {
        const uint64_t item = itemSize(here.state->leftType);
        std::vector<uint8_t> left;
        std::vector<uint8_t> right;
        for (uint64_t at = 0; at < here.param->elements; at += kPieceElements) {
            const uint64_t end = std::min(here.param->elements, at + kPieceElements);
            left.resize((end - at) * item);
            right.resize(left.size());
            if (m_job.cancelled()
                || !readElements(m_files, m_left, {here.param->left, here.state->left, at, end}, left)
                || !readElements(m_files, m_right, {there.param->right, there.state->right, at, end}, right)
                || left != right)
                return false;
        }
        return true;
    }

    io::FileSystem& m_files;
    const Checkpoint& m_left;
    const Checkpoint& m_right;
    JobContext& m_job;
    std::vector<Candidate> m_lefts;
    std::map<std::pair<uint64_t, std::vector<uint8_t>>, std::vector<Candidate>>
        m_rights; ///< by size and head
};

} // namespace

Status findSwappedTensors(const DiffInput& input, const StateDiff& diff, std::vector<DiffCause>& out)
{
    Search search(input);
    for (const ParamDifference& param : diff.params) {
        SHARDSCOPE_CHECK(input.job.poll());
        search.add(param);
    }
    DiffCause cause{"tensors-swapped", DiffSide::Both, "", {}};
    SHARDSCOPE_CHECK(search.find(cause));
    if (cause.evidence.empty())
        return {};
    cause.message
        = fmt::format("{} tensors have the name of another one: the order of parameters was read wrongly",
            cause.evidence.size());
    out.push_back(std::move(cause));
    return {};
}

} // namespace shardscope
