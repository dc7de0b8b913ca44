// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "core/plan/model/model_types.h"
#include "core/plan/repair/amended.h"
#include "core/plan/target/expert_degree.h"

#include <optional>

namespace shardscope {

namespace {

std::optional<std::string> nameIn(const Finding& finding)
{
    const ParamAddress* named = finding.where.param();
    return named == nullptr ? std::nullopt : std::optional(named->name);
}

Status requireZero(const Amended& amended, const Finding& finding)
{
    const Checkpoint& source = *amended.source;
    const bool inRanks = hasRankFiles(source.kind);
    if (!inRanks || amended.isSplit() || hasExperts(source))
        return cannotRepair(amended, finding,
            "untrained parts are changed only in ZeRO checkpoints without tensor slices, pipeline stages and "
            "experts");
    return {};
}

Result<CheckpointPtr> requireDonor(Amended& amended, const std::string& what)
{
    SHARDSCOPE_TRY(const CheckpointPtr donor, donorOf(amended));
    if (!donor)
        return fail(ErrorCode::Refused, "no file here holds " + what, amended.source->tagFolder.string(),
            "name the base model's weights, or another tag, with --from");
    return donor;
}

/// A place for a weight that no file of the checkpoint holds: a unit with all shares lost.
Status makePlace(Checkpoint& out, ParamId id, DType dtype)
{
    Parameter& param = out.params[index(id)];
    if (param.unit == kNoUnit) {
        FlatUnit unit;
        unit.kind = UnitKind::Frozen;
        unit.params = {id};
        SHARDSCOPE_TRY(unit.partition, FlatPartition::sliced({param.elements}, out.parallel.dp));
        unit.states.emplace_back();
        unit.states.back().name = "weight";
        unit.states.back().perRank.resize(out.parallel.dp);
        param.unit = UnitId{static_cast<uint32_t>(out.units.size())};
        param.indexInUnit = 0;
        out.units.push_back(std::move(unit));
    }
    out.units[index(param.unit)].states.front().dtype = dtype;
    return {};
}

/// The refill records its origin.
void graft(Amended& amended, const Finding& finding, ParamId id)
{
    const std::string& name = amended.checkpoint->params[index(id)].name;
    LostPart part;
    part.code = finding.code;
    part.state = "weight";
    part.params = {id};
    part.where = ParamAddress{name, "weight", std::nullopt};
    part.of = toValidUtf8(name);
    amended.lost.push_back(std::move(part));
    amended.model.rebuilt = true;
    amended.settle(finding);
}

/// The donor's weight. Nothing if it has none.
std::optional<StateSource> weightIn(const Checkpoint& donor, const std::string& name)
{
    const auto other = Refills::paramOf(donor, name);
    const auto found = other ? findState(donor, *other, "weight") : Result<StateSource>(StateSource{});
    return other && found ? std::optional(*found) : std::nullopt;
}

} // namespace

Status graftFrozen(Amended& amended, const std::vector<const Finding*>& findings)
{
    SHARDSCOPE_CHECK(requireZero(amended, *findings.front()));
    SHARDSCOPE_TRY(const CheckpointPtr donor, requireDonor(amended, "the frozen parameters that are lost"));
    const auto listed = moduleTypes(*amended.source);
    for (const Finding* finding : findings) {
        const auto name = nameIn(*finding);
        const auto id = name ? amended.source->findParam(*name) : std::nullopt;
        if (!id)
            return cannotRepair(amended, *finding, "it is not recorded which parameters are lost");
        const auto found = weightIn(*donor, *name);
        const auto type = listed.find(*name);
        SHARDSCOPE_CHECK(makePlace(*amended.checkpoint, *id,
            type != listed.end() ? type->second
                : found          ? found->dtype
                                 : DType::Float32)); // the refill then refuses
        graft(amended, *finding, *id);
    }
    return {};
}

Status graftBuffers(Amended& amended, const std::vector<const Finding*>& findings)
{
    SHARDSCOPE_CHECK(requireZero(amended, *findings.front()));
    SHARDSCOPE_TRY(const CheckpointPtr donor, requireDonor(amended, "the buffers that are lost"));
    Checkpoint& out = *amended.checkpoint;
    for (const Finding* finding : findings) {
        const auto name = nameIn(*finding);
        const auto found = name ? weightIn(*donor, *name) : std::nullopt;
        if (!found)
            return fail(ErrorCode::Refused,
                "`" + toValidUtf8(name.value_or(finding->where.text()))
                    + "` cannot be copied: the other checkpoint does not have it",
                donor->tagFolder.string(), "name another checkpoint with --from");
        const ParamId id{static_cast<uint32_t>(out.params.size())};
        Parameter param;
        param.name = *name;
        param.shape = donor->params[index(found->param)].shape;
        param.elements = found->elements;
        param.role = ParamRole::Buffer;
        out.params.push_back(std::move(param));
        out.paramByName.emplace(*name, id);
        SHARDSCOPE_CHECK(makePlace(out, id, found->dtype));
        graft(amended, *finding, id);
    }
    return {};
}

Status stripFrozen(Amended& amended, const std::vector<const Finding*>& findings)
{
    SHARDSCOPE_CHECK(requireZero(amended, *findings.front()));
    const Checkpoint& source = *amended.source;
    Checkpoint& out = *amended.checkpoint;
    uint64_t bytes = 0;
    size_t count = 0;
    while (!out.units.empty() && out.units.back().kind == UnitKind::Frozen) { // readers add them last
        const FlatUnit& unit = out.units.back();
        out.params[index(unit.params.front())].unit = kNoUnit;
        bytes += unit.partition.payloadElements() * itemSize(unit.states.front().dtype);
        ++count;
        out.units.pop_back();
    }
    std::erase_if(out.whole, [&](const WholeTensor& whole) {
        const bool frozen = source.params[index(whole.param)].role == ParamRole::Frozen;
        bytes += frozen ? whole.run.elements * itemSize(whole.dtype) : 0;
        count += frozen ? 1 : 0;
        return frozen;
    });
    amended.model.rebuilt = true;
    amended.model.withoutFrozen = true;
    for (const Finding* finding : findings)
        amended.repair(*finding,
            formatCount(count) + " frozen parameters (" + formatBytes(bytes)
                + ") are omitted, as exclude_frozen_parameters does; load the copy over the base model, with "
                  "load_module_strict=False");
    return {};
}

} // namespace shardscope
