// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/param_order.h"
#include "core/compare/diff/diff_places.h"
#include "core/layout/fragments.h"
#include "core/partition/round_robin.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

constexpr uint32_t kMaxRanks = 256; ///< maximum number of ranks to try if neither side records it
constexpr uint64_t kSampleElements = 32;

const PairedState* mainState(const PairedParam& param)
{
    const auto found = std::find_if(param.states.begin(), param.states.end(), [](const PairedState& state) {
        return !state.isCopy && (state.left == "fp32" || state.left == "weight")
            && state.leftType == state.rightType;
    });
    return found == param.states.end() ? nullptr : &*found;
}

/// One param group of both sides, with its parameters in the optimizer's order.
struct Group {
    uint32_t number = 0;
    std::vector<ParamId> left;
    std::vector<ParamId> right;
    std::vector<uint64_t> elements; ///< of both sides, by position
    std::string leftState;
    std::string rightState;
    uint64_t itemBytes = 0;
};

/// A group's values as one vector, with its parameters in a given order.
struct Sequence {
    const Checkpoint* of = nullptr;
    const std::string* state = nullptr;
    std::vector<ParamId> params;
    std::vector<uint64_t> ends; ///< prefix sums of elements, one for each parameter
};

Sequence sequenceOf(const Checkpoint& of, const std::string& state, const std::vector<ParamId>& params,
    const std::vector<uint64_t>& elements, const std::vector<uint32_t>& order)
{
    Sequence out{&of, &state, {}, {}};
    uint64_t end = 0;
    for (const uint32_t position : order) {
        end += elements[position];
        out.params.push_back(params[position]);
        out.ends.push_back(end);
    }
    return out;
}

class OrderSearch
{
public:
    explicit OrderSearch(const DiffInput& input)
        : m_files(input.files)
        , m_left(input.left)
        , m_right(input.right)
        , m_job(input.job)
    {
    }

    /// The groups with different values and the same parameters on both sides.
    std::vector<Group> groupsOf(const StateDiff& diff) const
    {
        std::set<int32_t> differing;
        Group names;
        for (const ParamDifference& param : diff.params) {
            const PairedState* state
                = param.param.isPaired() && param.param.sameShape ? mainState(param.param) : nullptr;
            if (state == nullptr || param.states.empty())
                continue;
            names.leftState = state->left;
            names.rightState = state->right;
            names.itemBytes = itemSize(state->leftType);
            differing.insert(m_left.params[index(param.param.left)].group);
        }
        std::vector<Group> out;
        for (const ParamGroup& group : m_left.groups) {
            if (!differing.contains(static_cast<int32_t>(group.index))
                || group.index >= m_right.groups.size())
                continue;
            Group pair = names;
            pair.number = group.index;
            if (fill(pair))
                out.push_back(std::move(pair));
        }
        return out;
    }

    /// The number of ranks of the round-robin distribution that `wrong` ignored; 0 for none.
    Result<uint32_t> distributedTo(const Group& group, DiffSide wrong)
    {
        for (const uint32_t ranks : candidates(group)) {
            SHARDSCOPE_CHECK(m_job.poll());
            if (isRoundRobin(group, wrong, ranks, kSampleElements)
                && isRoundRobin(group, wrong, ranks, kPieceElements))
                return ranks;
        }
        return 0u;
    }

private:
    /// Universal folders list parameters in round-robin order (as DeepSpeed's `param_shapes`), so the side
    /// with flat groups determines the optimizer's order.
    [[nodiscard]] bool leftTells() const
    {
        const auto isFlat = [](const FlatUnit& unit) { return unit.kind == UnitKind::Group; };
        return m_left.roundRobin
            || (!m_right.roundRobin && std::any_of(m_left.units.begin(), m_left.units.end(), isFlat))
            || std::none_of(m_right.units.begin(), m_right.units.end(), isFlat);
    }

    bool fill(Group& pair) const
    {
        const Checkpoint& guide = leftTells() ? m_left : m_right;
        const Checkpoint& other = &guide == &m_left ? m_right : m_left;
        std::vector<ParamId>& first = &guide == &m_left ? pair.left : pair.right;
        std::vector<ParamId>& second = &guide == &m_left ? pair.right : pair.left;
        first = optimizerOrder(guide, guide.groups[pair.number]);
        for (const ParamId id : first) {
            const Parameter& param = guide.params[index(id)];
            const auto same = other.findParam(param.name);
            if (!same || other.params[index(*same)].elements != param.elements
                || other.params[index(*same)].group != param.group)
                return false;
            second.push_back(*same);
            pair.elements.push_back(param.elements);
        }
        return first.size() > 1;
    }

    /// Numbers of ranks with which some rank gets two parameters; recorded numbers come first.
    [[nodiscard]] std::vector<uint32_t> candidates(const Group& group) const
    {
        std::vector<uint32_t> out;
        for (const Checkpoint* side : {&m_left, &m_right})
            out.push_back(side->parallel.dp);
        for (uint32_t ranks = 2; ranks <= kMaxRanks; ++ranks)
            out.push_back(ranks);
        std::erase_if(out, [&](uint32_t ranks) { return ranks < 2 || ranks >= group.left.size(); });
        return out;
    }

    /// Whether one side in round-robin order equals the other in the optimizer's order. Compares the first
    /// `perPiece` elements of every run, or all of them if that is kPieceElements.
    bool isRoundRobin(const Group& group, DiffSide wrong, uint32_t ranks, uint64_t perPiece)
    {
        const auto count = static_cast<uint32_t>(group.left.size());
        const std::vector<uint32_t> hands = roundRobinOrder(count, ranks);
        const std::vector<uint32_t> plain = roundRobinOrder(count, 1);
        const Sequence left = sequenceOf(
            m_left, group.leftState, group.left, group.elements, wrong == DiffSide::Left ? plain : hands);
        const Sequence right = sequenceOf(
            m_right, group.rightState, group.right, group.elements, wrong == DiffSide::Left ? hands : plain);
        // Without a recorded round-robin distribution, exchanged tensors of one size look the same.
        if (left.ends == right.ends && !m_left.roundRobin && !m_right.roundRobin)
            return false;
        size_t l = 0;
        size_t r = 0;
        for (uint64_t at = 0; at < left.ends.back() && !m_job.cancelled();) {
            while (left.ends[l] <= at)
                ++l;
            while (right.ends[r] <= at)
                ++r;
            const uint64_t run = std::min(left.ends[l], right.ends[r]) - at;
            const uint64_t looked = std::min(run, perPiece);
            if (!areEqual({left, l}, {right, r}, at, looked, group.itemBytes))
                return false;
            at += perPiece < kPieceElements ? run : looked;
        }
        return !m_job.cancelled();
    }

    /// One parameter of a sequence.
    struct Part {
        const Sequence& of;
        size_t which = 0;
    };

    /// Compares elements of two parts. `at`: the first of them, in both sequences.
    bool areEqual(const Part& left, const Part& right, uint64_t at, uint64_t elements, uint64_t itemBytes)
    {
        m_leftBytes.resize(elements * itemBytes);
        m_rightBytes.resize(elements * itemBytes);
        return read(left, at, elements, m_leftBytes) && read(right, at, elements, m_rightBytes)
            && m_leftBytes == m_rightBytes;
    }

    bool read(const Part& part, uint64_t at, uint64_t elements, std::vector<uint8_t>& out)
    {
        const auto& [from, which] = part;
        const uint64_t begin = at - (which == 0 ? 0 : from.ends[which - 1]);
        return readElements(
            m_files, *from.of, {from.params[which], *from.state, begin, begin + elements}, out)
            .has_value();
    }

    io::FileSystem& m_files;
    const Checkpoint& m_left;
    const Checkpoint& m_right;
    JobContext& m_job;
    std::vector<uint8_t> m_leftBytes;
    std::vector<uint8_t> m_rightBytes;
};

} // namespace

Result<bool> findFlatOrder(const DiffInput& input, const StateDiff& diff, std::vector<DiffCause>& out)
{
    OrderSearch search(input);
    const std::vector<Group> groups = search.groupsOf(diff);
    for (const DiffSide wrong : {DiffSide::Right, DiffSide::Left}) {
        DiffCause cause{"flat-group-order", wrong, "", {}};
        for (const Group& group : groups) {
            SHARDSCOPE_TRY(const uint32_t ranks, search.distributedTo(group, wrong));
            if (ranks > 0)
                cause.evidence.push_back(fmt::format("group {}: {} parameters, distributed to {} ranks",
                    group.number, group.left.size(), ranks));
        }
        if (cause.evidence.empty())
            continue;
        cause.message = fmt::format(
            "the flat groups are the same, but {} checkpoint reads them in the optimizer's order, although "
            "round_robin_gradients distributed their parameters to ranks in turn (an error of DeepSpeed's "
            "universal converter): values are assigned to wrong parameters",
            wrong == DiffSide::Left ? "the left" : "the right");
        out.push_back(std::move(cause));
        return true;
    }
    return false;
}

} // namespace shardscope
