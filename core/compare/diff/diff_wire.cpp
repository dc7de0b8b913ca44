// SPDX-License-Identifier: Apache-2.0
// A comparison, sent by the process that computed it to one of the same version that has opened the same two
// checkpoints.
#include "core/compare/diff/diff_piece.h"
#include "core/compare/diff/judged_diff.h"
#include "core/compare/diff/same_degrees.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <unordered_map>

namespace shardscope {

template <class Io>
void wire(Io& io, Wired<NotComparedWhy> auto& why)
{
    std::string where = why.where.text();
    io.word(why.side, DiffSide::Right);
    io(why.code, why.message, where);
    if constexpr (Io::kReads)
        why.where = Place::parsed(where);
}

void wire(auto& io, Wired<StateScalar> auto& scalar)
{
    io.word(scalar.kind, ScalarKind::ClientState);
    io(scalar.group, scalar.name, scalar.value);
    io.require(scalar.group >= -1 && scalar.group < std::numeric_limits<int32_t>::max());
}

void wire(auto& io, Wired<ScalarDifference> auto& difference)
{
    io(difference.left, difference.right);
}

namespace {

// An entry of a list takes less in a text than in memory, and anybody can have written the text. What belongs
// to parameters is limited by those of the two checkpoints.
constexpr uint64_t kMostReasons = 1 << 14; ///< a few for each code
constexpr uint64_t kMostScalars = 1 << 20;
constexpr uint64_t kMostCauses = 1 << 10;
constexpr uint64_t kMostEvidence = 1 << 16; ///< of all causes, besides one line for each tensor of both

/// Writes a comparison of these two, or reads one and fails where it cannot be one.
template <class Io>
class Fields
{
public:
    Fields(Io& io, const Checkpoint& left, const Checkpoint& right)
        : m_io(io)
    {
        if constexpr (Io::kReads) {
            for (PairedParam& param : pairedParams(left, right)) {
                m_evidenceLeft += 2 * param.states.size();
                std::string name = param.name;
                m_params.emplace(std::move(name), Known{std::move(param)});
            }
        }
    }

    void all(Wired<JudgedDiff> auto& judged)
    {
        auto& diff = judged.diff;
        auto& lacking = diff.notCompared;
        m_io(diff.parameters, diff.buffers, diff.tensors, diff.elements, diff.scalars);
        m_io.require(diff.buffers <= diff.parameters);
        m_io(lacking.parameters, lacking.ofOneSide, lacking.tensors, lacking.elements);
        m_io.list(lacking.why, kMostReasons);
        m_io.list(diff.params, m_params.size(), [this](auto& difference) { param(difference); });
        regions(judged);
        m_io.list(diff.scalarDifferences, kMostScalars);
        m_io.list(diff.staleCopiesLeft, m_params.size());
        m_io.list(diff.staleCopiesRight, m_params.size());
        m_io(judged.paddingDiffers);
        m_io.word(judged.verdict, DiffVerdict::NotComparable);
        m_io.list(judged.causes, kMostCauses, [this](auto& cause) {
            m_io.word(cause.side, DiffSide::Right);
            m_io(cause.code, cause.message);
            m_io.list(cause.evidence, m_evidenceLeft);
            m_evidenceLeft -= Io::kReads ? cause.evidence.size() : 0;
        });
    }

private:
    struct Known {
        PairedParam param;
        bool isRead = false;
        std::set<size_t> withRegions = {}; ///< states
    };

    /// One of both checkpoints; null when writing and where there is none.
    Known* known(const std::string& name)
    {
        const auto found = m_params.find(name);
        m_io.require(found != m_params.end());
        return found == m_params.end() || !m_io.isGood() ? nullptr : &found->second;
    }
    /// One of those that both sides have, and its number when reading; 0 where it is none.
    size_t oneOf(Wired<PairedState> auto& state, const std::vector<PairedState>& of)
    {
        m_io(state.left, state.right);
        size_t found = 0;
        if constexpr (Io::kReads) {
            while (found < of.size() && (of[found].left != state.left || of[found].right != state.right))
                ++found;
            m_io.require(found < of.size());
            found = m_io.isGood() ? found : 0;
            state = m_io.isGood() ? of[found] : PairedState();
        }
        return found;
    }
    /// Some of these, each once, with what `rest` describes of each.
    void someOf(auto& values, std::vector<PairedState> of, const auto& stateOf, const auto& rest)
    {
        m_io.list(values, of.size(), [&](auto& value) {
            const size_t at = oneOf(std::invoke(stateOf, value), of);
            rest(value);
            if (Io::kReads && m_io.isGood())
                of.erase(of.begin() + static_cast<std::ptrdiff_t>(at));
        });
    }
    /// Some of these, each once.
    void namesOf(auto& values, std::vector<std::string> names)
    {
        m_io.list(values, names.size());
        for (size_t i = 0; Io::kReads && i < values.size(); ++i) {
            const auto found = std::ranges::find(names, values[i]);
            m_io.require(found != names.end());
            if (found != names.end())
                names.erase(found);
        }
    }

    /// One of both checkpoints, once, with what was found to be only on one side.
    void paired(Wired<PairedParam> auto& param)
    {
        m_io(param.name);
        PairedParam of;
        std::vector<std::string> left;
        std::vector<std::string> right;
        if constexpr (Io::kReads) {
            Known* const found = known(param.name);
            m_io.require(found != nullptr && !found->isRead);
            if (!m_io.isGood())
                return;
            found->isRead = true;
            of = param = found->param;
            left = of.onlyLeft;
            right = of.onlyRight;
            for (const PairedState& state : of.states) {
                left.push_back(state.left);
                right.push_back(state.right);
            }
        }
        someOf(param.states, std::move(of.states), std::identity(), [](const auto&) {});
        namesOf(param.onlyLeft, std::move(left));
        namesOf(param.onlyRight, std::move(right));
    }

    void values(Wired<Comparison> auto& found, uint64_t elements)
    {
        m_io(found);
        m_io.require(found.elements <= elements && found.different <= found.elements
            && found.beyond <= found.different && found.lastBit <= found.different
            && found.notFinite <= found.different && found.notFiniteLeft <= found.notFinite
            && found.notFiniteRight <= found.notFinite
            && found.notFiniteRight >= found.notFinite - found.notFiniteLeft
            && (found.firstDifferent < elements || found.firstDifferent == Comparison::kNone));
    }

    void param(Wired<ParamDifference> auto& difference)
    {
        paired(difference.param);
        const uint64_t elements = difference.param.elements;
        const std::vector<PairedState>& of = difference.param.states;
        someOf(difference.states, of, &StateDifference::state,
            [&](auto& state) { values(state.values, elements); });
        someOf(difference.partial, of, &PartialState::state, [&](auto& state) {
            m_io.word(state.side, DiffSide::Right);
            m_io(state.notCompared);
            m_io.require(state.notCompared <= elements);
        });
        m_io(difference.update, difference.staleLeft, difference.staleRight);
        m_io.require(difference.staleLeft <= elements && difference.staleRight <= elements);
        m_io(difference.roundedLeft, difference.roundedRight);
    }

    /// Ascending, within the tensor.
    void runs(Wired<ElementRuns> auto& found, uint64_t elements)
    {
        m_io(found);
        uint64_t end = 0;
        for (const DiffRun& run : found.runs()) {
            m_io.require(run.begin >= end && run.begin < run.end && run.end <= elements
                && run.count <= run.end - run.begin);
            end = run.end;
        }
    }

    /// Those of each state once.
    void regions(Wired<JudgedDiff> auto& judged)
    {
        auto& regions = judged.diff.regions;
        uint64_t count = regions.states().size();
        m_io(count);
        for (uint64_t i = 0; i < count && m_io.isGood(); ++i) {
            StateRegions found;
            std::string name;
            PairedState names;
            if constexpr (!Io::kReads) {
                found = regions.states()[i];
                name = judged.left->params[index(found.left)].name;
                names.left = regions.stateName(found, 0);
                names.right = regions.stateName(found, 1);
            }
            m_io(name);
            Known* const of = known(name);
            static const PairedParam none;
            const PairedParam& param = of != nullptr ? of->param : none;
            const size_t at = oneOf(names, param.states);
            runs(found.different, param.elements);
            for (ElementRuns& lacking : found.lacking)
                runs(lacking, param.elements);
            if constexpr (Io::kReads) {
                m_io.require(param.isPaired() && of->withRegions.insert(at).second);
                found.left = param.left;
                found.right = param.right;
                if (m_io.isGood())
                    regions.add(std::move(found), {names.left, names.right});
            }
        }
    }

    Io& m_io;
    std::unordered_map<std::string, Known> m_params; ///< to read
    uint64_t m_evidenceLeft = kMostEvidence;
};

} // namespace

std::string wireText(const JudgedDiff& judged)
{
    WireWriter out;
    Fields(out, *judged.left, *judged.right).all(judged);
    return out.take();
}

Result<JudgedDiff> judgedFromWire(const DiffPair& pair, std::string_view text)
{
    SHARDSCOPE_TRY(auto sides, inSameDegrees(pair.left, pair.right, pair.rules));
    JudgedDiff out;
    out.left = std::move(sides.first);
    out.right = std::move(sides.second);
    WireReader in(text);
    Fields(in, *out.left, *out.right).all(out);
    if (!in.isGood() || in.rest() != 0)
        return fail(ErrorCode::Hostile, "what another process has compared are not these checkpoints");
    return out;
}

} // namespace shardscope
