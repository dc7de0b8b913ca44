// SPDX-License-Identifier: Apache-2.0
// A comparison, sent by the process that computed it to one of the same version that has opened the same two
// checkpoints.
#include "core/compare/diff/judged_diff.h"
#include "core/compare/diff/same_degrees.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

namespace shardscope {

namespace {

// An entry of a list takes less in a text than in memory, and anybody can have written the text. What belongs
// to parameters is limited by those of the two checkpoints.
constexpr uint64_t kMostReasons = 1 << 14; ///< a few for each code
constexpr uint64_t kMostScalars = 1 << 20;
constexpr uint64_t kMostCauses = 1 << 10;
constexpr uint64_t kMostEvidence = 1 << 16; ///< of all causes, besides one line for each tensor of both

template <class Value, class Write>
void writeList(WireWriter& out, const std::vector<Value>& values, const Write& write)
{
    out.number(values.size());
    for (const Value& value : values)
        write(value);
}

void writeTexts(WireWriter& out, const std::vector<std::string>& texts)
{
    writeList(out, texts, [&](const std::string& text) { out.text(text); });
}

void writeState(WireWriter& out, const PairedState& state)
{
    out.text(state.left);
    out.text(state.right);
}

void writeParam(WireWriter& out, const ParamDifference& difference)
{
    const PairedParam& param = difference.param;
    out.text(param.name);
    writeList(out, param.states, [&](const PairedState& state) { writeState(out, state); });
    writeTexts(out, param.onlyLeft);
    writeTexts(out, param.onlyRight);
    writeList(out, difference.states, [&](const StateDifference& state) {
        writeState(out, state.state);
        out.plain(state.values);
    });
    writeList(out, difference.partial, [&](const PartialState& state) {
        writeState(out, state.state);
        out.number(static_cast<uint64_t>(state.side));
        out.number(state.notCompared);
    });
    out.number(difference.update ? 1 : 0);
    if (difference.update)
        out.plain(*difference.update);
    out.number(difference.staleLeft);
    out.number(difference.staleRight);
    out.number(difference.roundedLeft ? 1 : 0);
    out.number(difference.roundedRight ? 1 : 0);
}

void writeRegions(WireWriter& out, const JudgedDiff& judged)
{
    const DiffRegions& regions = judged.diff.regions;
    writeList(out, regions.states(), [&](const StateRegions& state) {
        out.text(judged.left->params[index(state.left)].name);
        for (const size_t side : {0U, 1U})
            out.text(regions.stateName(state, side));
        write(out, state.different);
        write(out, state.lacking[0]);
        write(out, state.lacking[1]);
    });
}

void writeScalar(WireWriter& out, const StateScalar& scalar)
{
    out.number(static_cast<uint64_t>(scalar.kind));
    out.number(static_cast<uint64_t>(scalar.group + 1));
    out.text(scalar.name);
    out.text(scalar.value);
}

void writeNotCompared(WireWriter& out, const NotCompared& notCompared)
{
    for (const uint64_t count :
        {notCompared.parameters, notCompared.ofOneSide, notCompared.tensors, notCompared.elements})
        out.number(count);
    writeList(out, notCompared.why, [&](const NotComparedWhy& why) {
        out.text(why.code);
        out.number(static_cast<uint64_t>(why.side));
        out.text(why.message);
        out.text(why.where.text());
    });
}

/// Reads a comparison of these two, and fails where it cannot be one.
class Reader
{
public:
    Reader(WireReader& in, const Checkpoint& left, const Checkpoint& right)
        : m_in(in)
    {
        for (PairedParam& param : pairedParams(left, right)) {
            m_evidenceLeft += 2 * param.states.size();
            std::string name = param.name;
            m_params.emplace(std::move(name), Known{std::move(param), false, {}});
        }
    }

    void read(JudgedDiff& out)
    {
        StateDiff& diff = out.diff;
        for (uint64_t* count :
            {&diff.parameters, &diff.buffers, &diff.tensors, &diff.elements, &diff.scalars})
            *count = m_in.number();
        if (diff.buffers > diff.parameters)
            (void)m_in.fail();
        diff.notCompared = notCompared();
        diff.params = list<ParamDifference>(m_params.size(), [this] { return param(); });
        const uint64_t states = m_in.count(); // each once
        for (uint64_t i = 0; i < states && m_in.isGood(); ++i)
            addRegions(diff.regions);
        diff.scalarDifferences = list<ScalarDifference>(kMostScalars, [this] {
            return ScalarDifference{scalar(), scalar()};
        });
        diff.staleCopiesLeft = texts(m_params.size());
        diff.staleCopiesRight = texts(m_params.size());
        out.paddingDiffers = flag();
        out.verdict = word(DiffVerdict::NotComparable);
        out.causes = list<DiffCause>(kMostCauses, [this] {
            DiffCause cause;
            cause.code = m_in.text();
            cause.side = word(DiffSide::Right);
            cause.message = m_in.text();
            cause.evidence = texts(m_evidenceLeft);
            m_evidenceLeft -= cause.evidence.size();
            return cause;
        });
    }

private:
    struct Known {
        PairedParam param;
        bool isRead = false;
        std::vector<bool> hasRegions; ///< by state; empty: none has
    };

    template <class Value, class Read>
    std::vector<Value> list(uint64_t most, const Read& read)
    {
        std::vector<Value> out;
        const uint64_t count = m_in.count();
        require(count <= most);
        for (uint64_t i = 0; i < count && m_in.isGood(); ++i)
            out.push_back(read());
        return out;
    }
    std::vector<std::string> texts(uint64_t most)
    {
        return list<std::string>(most, [this] { return m_in.text(); });
    }
    bool flag() { return m_in.number() != 0; }
    template <class Enum>
    Enum word(Enum last)
    {
        const uint64_t number = m_in.number();
        if (number <= static_cast<uint64_t>(last))
            return static_cast<Enum>(number);
        (void)m_in.fail();
        return {};
    }
    void require(bool isGood)
    {
        if (!isGood)
            (void)m_in.fail();
    }

    /// The number of one of those that both sides have; 0 where it is none.
    size_t stateIn(const std::vector<PairedState>& known)
    {
        const std::string left = m_in.text();
        const std::string right = m_in.text();
        const auto found = std::ranges::find_if(
            known, [&](const PairedState& state) { return state.left == left && state.right == right; });
        require(found != known.end());
        return m_in.isGood() ? static_cast<size_t>(found - known.begin()) : 0;
    }
    /// Some of these, each once, with what `read` reads about each.
    template <class Value, class Read>
    std::vector<Value> someOf(std::vector<PairedState> states, const Read& read)
    {
        return list<Value>(states.size(), [&]() -> Value {
            const size_t at = stateIn(states);
            if (!m_in.isGood())
                return {};
            Value out = read(states[at]);
            states.erase(states.begin() + static_cast<std::ptrdiff_t>(at));
            return out;
        });
    }
    /// Some of these, each once.
    std::vector<std::string> namesOf(std::vector<std::string> names)
    {
        return list<std::string>(names.size(), [&] {
            std::string out = m_in.text();
            const auto found = std::ranges::find(names, out);
            require(found != names.end());
            if (m_in.isGood())
                names.erase(found);
            return out;
        });
    }
    Comparison values(uint64_t elements)
    {
        const auto out = m_in.plain<Comparison>();
        require(out.elements <= elements && out.different <= out.elements && out.beyond <= out.different
            && out.lastBit <= out.different && out.notFinite <= out.different
            && out.notFiniteLeft <= out.notFinite && out.notFiniteRight <= out.notFinite
            && out.notFiniteRight >= out.notFinite - out.notFiniteLeft
            && (out.firstDifferent < elements || out.firstDifferent == Comparison::kNone));
        return out;
    }

    /// One of both checkpoints, once, with what was found to be only on one side.
    PairedParam paired()
    {
        const auto known = m_params.find(m_in.text());
        require(known != m_params.end() && !known->second.isRead);
        if (!m_in.isGood())
            return {};
        known->second.isRead = true;
        PairedParam out = known->second.param;
        std::vector<std::string> left = out.onlyLeft;
        std::vector<std::string> right = out.onlyRight;
        for (const PairedState& state : out.states) {
            left.push_back(state.left);
            right.push_back(state.right);
        }
        out.states = someOf<PairedState>(out.states, [](const PairedState& state) { return state; });
        out.onlyLeft = namesOf(std::move(left));
        out.onlyRight = namesOf(std::move(right));
        return out;
    }

    ParamDifference param()
    {
        ParamDifference out;
        out.param = paired();
        const uint64_t elements = out.param.elements;
        out.states = someOf<StateDifference>(out.param.states, [&](const PairedState& state) {
            return StateDifference{state, values(elements)};
        });
        out.partial = someOf<PartialState>(out.param.states, [&](const PairedState& state) {
            PartialState each;
            each.state = state;
            each.side = word(DiffSide::Right);
            each.notCompared = m_in.number();
            require(each.notCompared <= elements);
            return each;
        });
        if (flag())
            out.update = m_in.plain<UpdateDifference>();
        out.staleLeft = m_in.number();
        out.staleRight = m_in.number();
        require(out.staleLeft <= elements && out.staleRight <= elements);
        out.roundedLeft = flag();
        out.roundedRight = flag();
        return out;
    }

    /// Ascending, within the tensor.
    ElementRuns runs(uint64_t elements)
    {
        ElementRuns out;
        shardscope::read(m_in, out);
        uint64_t end = 0;
        for (const DiffRun& run : out.runs()) {
            require(run.begin >= end && run.begin < run.end && run.end <= elements
                && run.count <= run.end - run.begin);
            end = run.end;
        }
        return out;
    }

    void addRegions(DiffRegions& out)
    {
        const auto known = m_params.find(m_in.text());
        require(known != m_params.end() && known->second.param.isPaired());
        if (!m_in.isGood())
            return;
        const PairedParam& param = known->second.param;
        const size_t at = stateIn(param.states);
        std::vector<bool>& has = known->second.hasRegions;
        has.resize(param.states.size());
        require(m_in.isGood() && !has[at]);
        if (!m_in.isGood())
            return;
        has[at] = true;
        const PairedState& state = param.states[at];
        StateRegions regions{param.left, param.right, 0, runs(param.elements), {}};
        for (ElementRuns& lacking : regions.lacking)
            lacking = runs(param.elements);
        if (m_in.isGood())
            out.add(std::move(regions), {state.left, state.right});
    }

    StateScalar scalar()
    {
        StateScalar out;
        out.kind = word(ScalarKind::ClientState);
        const uint64_t group = m_in.number(); // one more than its number
        require(group <= uint64_t{std::numeric_limits<int32_t>::max()});
        out.group = m_in.isGood() ? static_cast<int32_t>(group) - 1 : -1;
        out.name = m_in.text();
        out.value = m_in.text();
        return out;
    }

    NotCompared notCompared()
    {
        NotCompared out;
        for (uint64_t* count : {&out.parameters, &out.ofOneSide, &out.tensors, &out.elements})
            *count = m_in.number();
        out.why = list<NotComparedWhy>(kMostReasons, [this] {
            NotComparedWhy why;
            why.code = m_in.text();
            why.side = word(DiffSide::Right);
            why.message = m_in.text();
            why.where = Place::parsed(m_in.text());
            return why;
        });
        return out;
    }

    WireReader& m_in;
    std::unordered_map<std::string, Known> m_params;
    uint64_t m_evidenceLeft = kMostEvidence;
};

} // namespace

std::string wireText(const JudgedDiff& judged)
{
    WireWriter out;
    const StateDiff& diff = judged.diff;
    for (const uint64_t count : {diff.parameters, diff.buffers, diff.tensors, diff.elements, diff.scalars})
        out.number(count);
    writeNotCompared(out, diff.notCompared);
    writeList(out, diff.params, [&](const ParamDifference& param) { writeParam(out, param); });
    writeRegions(out, judged);
    writeList(out, diff.scalarDifferences, [&](const ScalarDifference& scalar) {
        writeScalar(out, scalar.left);
        writeScalar(out, scalar.right);
    });
    writeTexts(out, diff.staleCopiesLeft);
    writeTexts(out, diff.staleCopiesRight);
    out.number(judged.paddingDiffers ? 1 : 0);
    out.number(static_cast<uint64_t>(judged.verdict));
    writeList(out, judged.causes, [&](const DiffCause& cause) {
        out.text(cause.code);
        out.number(static_cast<uint64_t>(cause.side));
        out.text(cause.message);
        writeTexts(out, cause.evidence);
    });
    return out.take();
}

Result<JudgedDiff> judgedFromWire(const DiffPair& pair, std::string_view text)
{
    SHARDSCOPE_TRY(auto sides, inSameDegrees(pair.left, pair.right, pair.rules));
    JudgedDiff out;
    out.left = std::move(sides.first);
    out.right = std::move(sides.second);
    WireReader in(text);
    Reader(in, *out.left, *out.right).read(out);
    if (!in.isGood() || !in.atEnd())
        return fail(ErrorCode::Hostile, "what another process has compared are not these checkpoints");
    return out;
}

} // namespace shardscope
