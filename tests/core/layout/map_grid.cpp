// SPDX-License-Identifier: Apache-2.0
#include "tests/core/layout/map_grid.h"

#include "core/layout/address.h"
#include "tests/support/synthetic_checkpoint.h"

#include <algorithm>
#include <optional>
#include <string>

namespace shardscope::oracle {

uint64_t pick(Random& random, uint64_t low, uint64_t high)
{
    return std::uniform_int_distribution<uint64_t>(low, high)(random);
}

namespace {

/// The slots, directly from the recorded place of each element; the rest is padding.
Grid spellOut(const Checkpoint& checkpoint, const FlatUnit& unit, const UnitState& state, uint32_t missing,
    uint32_t pending)
{
    Grid grid;
    grid.itemBytes = itemSize(state.dtype);
    grid.rows.assign(unit.partition.ranks(), std::vector<Slot>(unit.partition.partitionElements()));
    for (uint32_t i = 0; i < unit.params.size(); ++i) {
        const bool shared = std::any_of(checkpoint.params.begin(), checkpoint.params.end(),
            [&](const Parameter& param) { return param.sharedWith == unit.params[i]; });
        for (uint64_t element = 0; element < unit.partition.paramElements(i); ++element) {
            const auto at = unit.partition.positionOf(i, element);
            grid.rows[at.rank][at.flatOffset] = {CellKind::Param, unit.params[i], element, shared, false, -1};
        }
    }
    for (uint32_t rank = 0; rank < grid.rows.size(); ++rank) {
        for (uint64_t x = 0; x < grid.rows[rank].size(); ++x) {
            Slot& slot = grid.rows[rank][x];
            const bool absent = rank == missing || rank == pending;
            slot.stored = !absent && x < state.perRank[rank].elements;
            if (absent)
                slot.kind = rank == pending ? CellKind::NotYetRead : CellKind::Missing;
            else if (!slot.stored)
                slot.kind = slot.param == kNoParam ? CellKind::PaddingImplied : CellKind::Missing;
        }
    }
    return grid;
}

std::string shardName(const FlatUnit& unit, uint32_t rank)
{
    return unit.kind == UnitKind::Frozen
        ? "zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_model_states.pt"
        : "bf16_zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_optim_states.pt";
}

/// Makes one finding and marks the slots that it means.
class FindingMaker
{
public:
    FindingMaker(Random& random, Trial& trial)
        : m_random(random)
        , m_trial(trial)
        , m_unit(trial.checkpoint.units[index(trial.unit)])
        , m_state(m_unit.states[trial.state])
    {
    }

    /// Nothing where the kind of finding is not possible.
    std::optional<Finding> make()
    {
        Finding out;
        out.severity = static_cast<Severity>(pick(m_random, 0, 2));
        m_level = static_cast<int8_t>(out.severity);
        if (!choose())
            return std::nullopt;
        out.where = m_where;
        return out;
    }

private:
    void mark(uint32_t rank, uint64_t x)
    {
        Slot& slot = m_trial.grid.rows[rank][x];
        slot.severity = std::max(slot.severity, m_level);
    }

    void markParam(ParamId param, uint64_t begin, uint64_t end)
    {
        for (uint32_t rank = 0; rank < m_trial.grid.rows.size(); ++rank) {
            for (uint64_t x = 0; x < m_trial.grid.rows[rank].size(); ++x) {
                const Slot& slot = m_trial.grid.rows[rank][x];
                if (slot.param == param && slot.element >= begin && slot.element < end)
                    mark(rank, x);
            }
        }
    }

    void markRank(uint32_t rank)
    {
        for (uint64_t x = 0; x < m_trial.grid.rows[rank].size(); ++x)
            mark(rank, x);
    }

    /// A state of this unit that is not the one shown, or none.
    [[nodiscard]] std::string otherState() const
    {
        for (const UnitState& candidate : m_unit.states) {
            if (candidate.name != m_state.name)
                return candidate.name;
        }
        return {};
    }

    bool choose()
    {
        const auto rank = static_cast<uint32_t>(pick(m_random, 0, m_trial.grid.rows.size() - 1));
        const std::string file = shardName(m_unit, rank);
        const ParamId param{static_cast<uint32_t>(pick(m_random, 0, m_trial.checkpoint.params.size() - 1))};
        const Parameter& described = m_trial.checkpoint.params[index(param)];
        const ParamId owner = described.sharedWith == kNoParam ? param : described.sharedWith;
        switch (pick(m_random, 0, 8)) {
        case 0: // a parameter's name: all of it, in any state
            m_where = ParamAddress{described.name};
            markParam(owner, 0, described.elements);
            break;
        case 1:
        case 2: { // some elements of one state
            if (described.elements == 0)
                return false;
            const uint64_t begin = pick(m_random, 0, described.elements - 1);
            const uint64_t end = pick(m_random, begin + 1, described.elements);
            const bool shown = pick(m_random, 0, 2) > 0 || otherState().empty();
            m_where
                = ParamAddress{described.name, shown ? m_state.name : otherState(), std::pair(begin, end)};
            markParam(owner, begin, end); // in whichever state it is
            break;
        }
        case 3: // a state that the unit does not keep
            m_where = ParamAddress{described.name, "elsewhere", std::nullopt};
            markParam(owner, 0, described.elements);
            break;
        case 4:
            m_where = file;
            markRank(rank);
            break;
        case 5: // a record of a file whose records are not known: the whole rank
            m_where = FileAddress{file, "data/0", 0};
            markRank(rank);
            break;
        case 6:
            return chooseFlat(rank);
        case 7:
            return chooseByte(rank, file);
        default: // nothing of this unit
            m_where = pick(m_random, 0, 1) == 0 ? "" : "mp_rank_00_model_states.pt";
        }
        return true;
    }

    bool chooseFlat(uint32_t rank)
    {
        const uint64_t length = m_trial.grid.rows[0].size();
        if (length == 0 || m_unit.kind == UnitKind::Frozen)
            return false;
        const uint64_t x = pick(m_random, 0, length - 1);
        const bool subgroup = m_unit.kind == UnitKind::SubGroup;
        const uint32_t number = subgroup ? *m_unit.subgroup : static_cast<uint32_t>(m_unit.group);
        const bool here = pick(m_random, 0, 2) > 0;
        FlatAddress where{{rank, 0, 0}, subgroup, here ? number : number + 1, x, m_state.name};
        if (pick(m_random, 0, 1) == 0)
            where.end = pick(m_random, x + 1, length);
        for (uint64_t marked = x; here && marked < where.last(); ++marked)
            mark(rank, marked);
        m_where = std::move(where);
        return true;
    }

    /// A byte of the shard.
    bool chooseByte(uint32_t rank, const std::string& file)
    {
        const uint64_t length = m_trial.grid.rows[0].size();
        const StoredRun& run = m_state.perRank[rank];
        if (length == 0 || !m_trial.grid.rows[rank][0].stored)
            return false;
        const uint64_t x = pick(m_random, 0, std::min(run.elements, length) - 1);
        m_where = FileAddress{file, "", run.byteOffset + x * m_trial.grid.itemBytes + 1};
        mark(rank, x);
        return true;
    }

    Random& m_random;
    Trial& m_trial;
    const FlatUnit& m_unit;
    const UnitState& m_state;
    int8_t m_level = 0;
    Place m_where;
};

/// Adds findings of every kind and marks the slots that each one means.
void addFindings(Random& random, Trial& trial)
{
    FindingMaker maker(random, trial);
    for (uint64_t count = pick(random, 0, 5); count > 0; --count) {
        if (const auto finding = maker.make())
            trial.checkpoint.findings.push_back(*finding);
    }
}

} // namespace

Trial randomTrial(Random& random)
{
    test::SyntheticOptions options;
    options.stage = static_cast<int>(pick(random, 2, 3));
    options.ranks = static_cast<uint32_t>(pick(random, 1, 9));
    options.groups = static_cast<uint32_t>(pick(random, 1, 2));
    options.hidden = pick(random, 1, 4);
    options.frozen = static_cast<uint32_t>(pick(random, 0, 1));
    options.aliases = static_cast<uint32_t>(pick(random, 0, 2));
    options.subGroupSize = pick(random, 1, 60);
    for (const char* name : {"a.weight", "a.bias", "b[0].weight", "c", "ln.weight", "e"})
        options.shapes.emplace_back(name, Shape{pick(random, 0, 8), pick(random, 1, 6)});
    constexpr uint32_t kNone = 99;
    uint32_t missing = kNone;
    uint32_t pending = kNone;
    if (options.ranks > 2) {
        missing = pick(random, 0, 1) == 0 ? 1 : kNone;
        pending = pick(random, 0, 2) == 0 ? 2 : kNone;
    }
    if (missing != kNone)
        options.missingRanks = {missing};
    if (pending != kNone)
        options.notYetReadRanks = {pending};

    Trial trial;
    trial.checkpoint = test::buildSyntheticCheckpoint(options);
    trial.checkpoint.findings.clear();
    trial.unit = UnitId{static_cast<uint32_t>(pick(random, 0, trial.checkpoint.units.size() - 1))};
    FlatUnit& unit = trial.checkpoint.units[index(trial.unit)];
    trial.state = static_cast<uint32_t>(pick(random, 0, unit.states.size() - 1));
    UnitState& state = unit.states[trial.state];
    if (unit.kind == UnitKind::Frozen)
        missing = pending = kNone;
    if (pick(random, 0, 2) == 0) { // one shard is shorter than it should be
        uint64_t& stored = state.perRank[0].elements;
        stored = pick(random, 0, stored);
    }
    trial.grid = spellOut(trial.checkpoint, unit, state, missing, pending);
    addFindings(random, trial);
    return trial;
}

} // namespace shardscope::oracle
