// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/param_knowledge.h"

#include "core/layout/map_query.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

bool hasOneOf(const ReadTensor& tensor, const QStringList& what)
{
    return (tensor.nans > 0 && what.contains(u"nan"_s)) || (tensor.infinities > 0 && what.contains(u"inf"_s))
        || (tensor.zeros > 0 && what.contains(u"zero"_s))
        || (tensor.elements > 0 && tensor.zeros == tensor.elements && what.contains(u"zeros"_s));
}

bool isAsked(const std::string& state, const QStringList& states)
{
    const QString name = QString::fromStdString(state).toLower();
    return states.isEmpty() || std::any_of(states.begin(), states.end(), [&](const QString& part) {
        return name.contains(part);
    });
}

/// Parameters with elements on a rank whose share of their unit is not stored.
void markMissing(const ParameterIndex& index, std::vector<uint8_t>& marks, const std::stop_token& token)
{
    const CheckpointPtr& checkpoint = index.checkpoint();
    const auto looks = std::make_shared<const MapLooks>(); // colours, which nobody sees here
    const PlacedFindings findings(*checkpoint);
    for (size_t i = 0; i < checkpoint->units.size() && !token.stop_requested(); ++i) {
        const FlatUnit& unit = checkpoint->units[i];
        if (unit.states.empty())
            continue;
        std::vector<uint32_t> before(size_t{unit.partition.ranks()} + 1, 0); // shares without data
        const MapQuery query(checkpoint, {.unit = UnitId{static_cast<uint32_t>(i)}}, looks, findings);
        for (uint32_t share = 0; share < unit.partition.ranks(); ++share)
            before[share + 1] = before[share] + (query.kindOf(share) == CellKind::Missing ? 1 : 0);
        if (before.back() == 0)
            continue;
        for (const ParamId param : unit.params) {
            const ParamFacts& facts = index.facts(param);
            if (facts.ranks() > 0 && before[facts.lastShare + 1] > before[facts.firstShare])
                marks[shardscope::index(param)] = 1;
        }
    }
}

void markFindings(const FindingPlaces& findings, std::vector<uint8_t>& marks, const std::stop_token& token)
{
    constexpr size_t kBetweenLooks = 1024;
    for (size_t i = 0; i < marks.size(); ++i) {
        if (i % kBetweenLooks == 0 && token.stop_requested())
            return;
        if (findings.hasMark(ParamId{static_cast<uint32_t>(i)}))
            marks[i] = 1;
    }
}

} // namespace

bool ParamKnowledge::knows(const QStringList& what) const
{
    return std::ranges::all_of(what, [this](const QString& each) {
        return each == "missing"_L1
            || (each == "finding"_L1 ? findings != nullptr : values && values->isWhole());
    });
}

std::vector<uint8_t> ParamKnowledge::having(const ParameterIndex& index, const QStringList& what,
    const QStringList& states, const std::stop_token& token) const
{
    const Checkpoint& checkpoint = *index.checkpoint();
    std::vector<uint8_t> marks(index.size(), 0);
    const bool missing = what.contains(u"missing"_s);
    if (missing)
        markMissing(index, marks, token);
    if (values) {
        for (const ReadTensor& tensor : values->tensors) {
            const bool has = (missing && tensor.missing > 0)
                || (isAsked(tensor.state, states) && hasOneOf(tensor, what));
            if (has && shardscope::index(tensor.param) < marks.size())
                marks[shardscope::index(tensor.param)] = 1;
        }
    }
    if (findings && what.contains(u"finding"_s))
        markFindings(*findings, marks, token);
    for (size_t i = 0; i < marks.size(); ++i) {
        if (const ParamId owner = checkpoint.params[i].sharedWith; owner != kNoParam)
            marks[i] = static_cast<uint8_t>(marks[i] | marks[shardscope::index(owner)]);
    }
    return marks;
}

} // namespace shardscope::ui
