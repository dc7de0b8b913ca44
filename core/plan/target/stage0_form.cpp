// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/stage0_form.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/fused_adam.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/muon.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/require.h"
#include "core/checkpoint/units/group_search.h"
#include "core/compare/digest/digested_scalars.h"
#include "core/plan/compose/segment_cursors.h"
#include "core/plan/target/scaler_forms.h"

#include <algorithm>

namespace shardscope {

namespace {

bool isEnabled(const Checkpoint& source, std::string_view precision)
{
    return readableModel(source).configFlag({precision, "enabled"});
}

/// Whether the engine keeps masters in addition to a model in 16 bits.
bool isMixed(const Checkpoint& source)
{
    if (isStage0(source.kind))
        return !hasTorchOptimizer(source.kind);
    if (ranInBf16(source) || isEnabled(source, "fp16") || isEnabled(source, "bf16"))
        return true;
    return readableModel(source).configValue({"zero_optimization"}) == kNoNode && source.precision != "fp32";
}

enum class Fused { Yes, No, Unknown };

Fused fusedAdam(const Checkpoint& source)
{
    if (!source.isReadable(source.templateOptim))
        return Fused::Unknown;
    const PickleGraph& graph = source.file(source.templateOptim).content->pickle();
    bool all = true;
    for (const ParamGroup& group : source.groups) {
        if (group.options == kNoNode)
            return Fused::Unknown;
        all = all && isFusedAdam(graph, group.options);
    }
    return source.groups.empty() ? Fused::Unknown : all ? Fused::Yes : Fused::No;
}

void add(std::vector<Finding>& out, std::string_view code, Severity severity, std::string message)
{
    out.push_back({code, severity, std::move(message), {}, {}});
}

/// A parameter that the wrappers leave out and a bare torch optimizer lists.
const Parameter* emptyParameter(const Checkpoint& source)
{
    const auto found = std::find_if(source.params.begin(), source.params.end(),
        [](const Parameter& param) { return param.elements == 0 && param.role == ParamRole::Frozen; });
    return found == source.params.end() ? nullptr : &*found;
}

} // namespace

bool ranInBf16(const Checkpoint& source)
{
    if (!isConverted(source.kind) && !isStage0(source.kind))
        return source.file(source.templateOptim).name.starts_with("bf16_");
    if (readableModel(source).configValue({"bf16", "enabled"}) == kNoNode)
        return source.precision == "bf16" && !hasTorchOptimizer(source.kind);
    return isEnabled(source, "bf16");
}

bool hasOptimizerInModel(const Checkpoint& source)
{
    if (!source.isReadable(source.templateModel))
        return false;
    const ModelStates model = modelStates(source);
    return isMapping(*model.graph, model.optimizer);
}

Result<CheckpointKind> stage0KindOf(const Checkpoint& source, const ReshardOptions& options)
{
    const bool mixed = isMixed(source);
    if (options.stage0Form) {
        if (!hasTorchOptimizer(*options.stage0Form) != mixed)
            return fail(ErrorCode::Usage,
                "the form `" + std::string(kindName(*options.stage0Form)) + "` is that of runs "
                    + (mixed ? "in fp32, and the source's precision is " : "in 16 bits, and the source's is ")
                    + source.precision,
                source.tagFolder.string(), mixed ? "fp16 or fp16-unfused" : "torch");
        return *options.stage0Form;
    }
    if (isStage0(source.kind))
        return source.kind;
    if (!mixed)
        return CheckpointKind::Torch;
    const Fused fused = fusedAdam(source);
    if (fused == Fused::Unknown)
        return fail(ErrorCode::Usage,
            "the source does not record its optimizer, and without ZeRO the form of the state depends on it",
            source.tagFolder.string(), "name --stage0-form: fp16 for FusedAdam, fp16-unfused for all others");
    return fused == Fused::Yes ? CheckpointKind::Fp16 : CheckpointKind::Fp16Unfused;
}

Status requireKnownGroups(const Checkpoint& source)
{
    std::vector<const Parameter*> candidates;
    const ModelStates model = modelStates(source);
    const PickleGraph& graph = *model.graph;
    const auto items = mappingItems(graph, model.module);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        const auto id = name ? source.findParam(*name) : std::nullopt;
        const Parameter* param = id ? &source.params[index(*id)] : nullptr;
        if (param != nullptr && param->role != ParamRole::Buffer && param->sharedWith == kNoParam)
            candidates.push_back(param);
    }
    std::vector<std::vector<const Parameter*>> slots;
    GroupSearch search;
    search.weights.assign(candidates.size(), 1);
    bool shapes = true;
    for (const ParamGroup& group : source.groups) {
        auto& list = slots.emplace_back();
        for (const UnitId unit : group.units) {
            shapes = shapes && source.units[index(unit)].states.size() > 1;
            for (const ParamId param : source.units[index(unit)].params)
                list.push_back(&source.params[index(param)]);
        }
        search.sizes.push_back(list.size());
    }
    search.fits = [&](uint32_t candidate, uint32_t group, uint64_t position) {
        return !shapes || slots[group][position]->shape == candidates[candidate]->shape;
    };
    const GroupSplit split = splitIntoGroups(search);
    bool same = split.outcome == GroupSplit::Outcome::One;
    for (size_t i = 0; same && i < candidates.size(); ++i)
        same = split.groupOf[i] == candidates[i]->group;
    if (same)
        return {};
    return fail(ErrorCode::Refused,
        "in fp32 a run without ZeRO keeps no names of the optimizer's parameters, and the shapes in the "
        "order of the module do not determine its param groups: the result could not be read again",
        source.tagFolder.string(), "write stage 1, which every number of ranks loads");
}

Status requireNoFurtherValues(const Checkpoint& source)
{
    for (const DigestedScalar& scalar : groupScalars(source)) {
        if (scalar.state.starts_with("state/"))
            return fail(ErrorCode::Unsupported,
                "the optimizer keeps a value `" + toValidUtf8(scalar.state.substr(6)) + "` of " + scalar.name
                    + ", which this form has no place for",
                source.tagFolder.string(), "keep the form of the source");
    }
    return {};
}

Status requireStage0Facts(const Checkpoint& source, CheckpointKind target)
{
    const auto refuse = [&](std::string what, std::string hint = {}) {
        return fail(ErrorCode::Refused, std::move(what), source.tagFolder.string(), std::move(hint));
    };
    const auto steps = std::find_if(source.findings.begin(), source.findings.end(),
        [](const Finding& finding) { return finding.code == code::kStepMismatch; });
    const auto odd = findUnreadStates(source);
    if (isStage0(source.kind) && !odd.empty())
        return refuse(odd.front()->message, "keep stage 0 and its form");
    if (isStage0(source.kind) && steps != source.findings.end())
        return refuse(steps->message + ", and the target keeps one step for all", "keep stage 0");
    if (isUniversal(target) && !isConverted(source.kind))
        SHARDSCOPE_CHECK(requireNoFurtherValues(source));
    if (!isStage0(target))
        return {};
    for (const FlatUnit& unit : source.units) {
        if (unit.kind == UnitKind::Frozen || unit.states.empty())
            continue;
        if (unit.states.front().dtype != DType::Float32)
            return refuse("its masters are kept in " + std::string(dtypeName(unit.states.front().dtype))
                + ", and a run without ZeRO keeps them in float32");
    }
    if (!hasTorchOptimizer(target))
        return {};
    if (source.precision != "fp32")
        return refuse("its engine ran in fp32 with a model in " + source.precision
            + ", and without ZeRO such a run keeps no masters");
    if (const Parameter* empty = emptyParameter(source); empty != nullptr && !isStage0(source.kind))
        return refuse("parameter `" + toValidUtf8(empty->name)
            + "` has no elements: a bare torch optimizer lists it, but the source does not record where");
    return requireKnownGroups(source);
}

void addStage0Warnings(const Checkpoint& source, CheckpointKind target, std::vector<Finding>& out)
{
    if (hasFlatMasters(target))
        add(out, code::kStockLoaderTrap, Severity::Info,
            "the result has the form `fp16` (FP16_Optimizer), which stock DeepSpeed loads with FusedAdam "
            "alone");
    if (hasUnfusedOptimizer(target))
        add(out, code::kStockLoaderTrap, Severity::Info,
            "the result has the form `fp16-unfused` (FP16_UnfusedOptimizer), which stock DeepSpeed loads "
            "with every optimizer but FusedAdam");
    if (hasTorchOptimizer(target))
        add(out, code::kStockLoaderTrap, Severity::Info,
            "the result has the form `torch`: the optimizer's own state, for a run in fp32");
    const bool pipeline = std::any_of(source.files.begin(), source.files.end(),
        [](const CheckpointFile& file) { return file.role == FileRole::LayerStates; });
    if (isUniversal(target) && isStage0(source.kind) && pipeline)
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "without ZeRO no file records whether layers of one pipeline stage share a module: if some do, "
            "stock DeepSpeed looks for its parameters under a name that the result does not have");
    const auto dynamic = [&] {
        const ScalerTexts texts = scalerTexts(source);
        return std::find(texts.begin(), texts.end(), std::pair<std::string, std::string>("dynamic", "true"))
            != texts.end();
    };
    if (isStage0(target) && !isStage0(source.kind) && dynamic())
        add(out, code::kStockLoaderTrap, Severity::Info,
            "without ZeRO the loss scaler has no hysteresis: scale, iteration and last overflow are copied, "
            "and the minimum scale is that of the new run's configuration");
    if (isStage0(target) != isStage0(source.kind) && source.precision == "fp16" && !isUniversal(target))
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "stock DeepSpeed 0.19.8 in fp16 without ZeRO divides gradients by the loss scale and does not "
            "multiply the loss by it, so that its moments are smaller by that scale than with ZeRO; they are "
            "carried as they are");
    // runtime/zero/muon/muon_optimizer.py: without ZeRO it runs in step(), after clipping; ZeRO runs it where
    // it averages gradients. tests/interop/cases/stage0.py: the loss goes on the same without clipping alone.
    if (isStage0(target) != isStage0(source.kind) && !isUniversal(target)
        && muonMomentumOf(source) != nullptr)
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "stock DeepSpeed clips gradients before Muon without ZeRO, and after it with ZeRO: with "
            "gradient_clipping, Muon's momentum has another scale there, and the first steps are smaller; it "
            "is carried as it is");
    if (!isStage0(target) && keepsScalerKeys(source) && !recordsScaling(source))
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "the source does not record its fp16 configuration: the loss scaler gets DeepSpeed's defaults "
            "for minimum scale and hysteresis");
    const bool needsClip
        = hasFlatMasters(target) && source.kind != target && optimStates(source).clipGrad == kNoNode;
    if (needsClip && readableModel(source).configValue({"zero_optimization"}) == kNoNode)
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "the source does not record gradient clipping, and stock DeepSpeed reads it from the result: it "
            "is written as off");
}

} // namespace shardscope
