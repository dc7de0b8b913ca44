// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/optim_states.h"
#include "core/layout/slices/merged_slices.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/optimizer_entries.h"
#include "core/plan/target/scaler_forms.h"
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope {

namespace {

void set(ArchiveComposer& composer, NodeId mapping, std::string_view key, NodeId value)
{
    composer.builder().setItem(mapping, composer.builder().string(key), value);
}

/// As ZeRO keeps them: every loader looks for the object.
void addScaler(ArchiveComposer& composer, const Checkpoint& source, NodeId root)
{
    const OptimStates old = optimStates(composer.graph(), source.optimWrapper);
    set(composer, root, "loss_scaler", scalerObject(composer, source));
    set(composer, root, "dynamic_loss_scale",
        old.dynamicLossScale == kNoNode ? composer.builder().boolean(false)
                                        : composer.import(old.dynamicLossScale));
    set(composer, root, "overflow", composer.builder().boolean(false));
    if (old.clipGrad != kNoNode)
        set(composer, root, "clip_grad", composer.import(old.clipGrad));
}

/// Stage 3 takes one step for all sub-groups from the entry of number 0.
TorchState optimizerState(ArchiveComposer& composer, const ReshardContext& context)
{
    std::vector<TorchGroup> groups;
    for (const ParamGroup& group : context.source->groups)
        groups.push_back({group.options, {{static_cast<int64_t>(groups.size()), kNoNode}}});
    if (!groups.empty() && !context.target.units.empty()) {
        NodeId& entry = groups.front().entries.front().second;
        entry = composer.builder().dict();
        const NodeId step = stepValue(composer, *context.target.units.front());
        if (step != kNoNode)
            set(composer, entry, "step", step);
    }
    OptimParts parts(composer, context);
    return torchState(parts, groups);
}

ArchiveComposer formOnly(const ReshardContext& context)
{
    return {context.optimTemplate(), context.sourceIndex(context.source->templateOptim),
        ArchiveComposer::Take::FormOnly};
}

/// Keys by which a run with tensor slices splits a parameter that consists of several.
void addMarks(PickleBuilder& builder, NodeId root, const UniversalMarks& marks)
{
    if (marks.subParams > 1)
        builder.setItem(
            root, builder.string("param_n_sub_params"), builder.integer(int64_t{marks.subParams}));
    if (marks.isVocabulary)
        builder.setItem(root, builder.string("vocab_tensor"), builder.boolean(true));
    if (!marks.subShape)
        return;
    const UniversalMarks::SubShape& of = *marks.subShape;
    std::vector<NodeId> patterns;
    for (const std::string& pattern : of.patterns)
        patterns.push_back(builder.string(pattern));
    std::vector<NodeId> sizes;
    for (const uint64_t size : of.sizes)
        sizes.push_back(builder.integer(static_cast<int64_t>(size)));
    std::vector<NodeId> shape;
    for (size_t i = 0; i < of.shape.size(); ++i)
        shape.push_back(i == of.dimension ? builder.tuple(sizes) : builder.integer(of.shape[i]));
    const NodeId attributes = builder.dict();
    builder.setItem(attributes, builder.string("patterns"), builder.list(patterns));
    builder.setItem(attributes, builder.string("shape"), builder.tuple(shape));
    builder.setItem(attributes, builder.string("partition_dim"), builder.integer(int64_t{of.dimension}));
    const NodeId object = builder.newObj(
        builder.global("deepspeed.checkpoint.universal_checkpoint", "SubparamShape"), builder.tuple({}));
    builder.setState(object, attributes);
    builder.setItem(root, builder.string("sub_param_shape"), object);
}

} // namespace

Result<OutputFile> composeUniversalState(const std::shared_ptr<const ReshardContext>& context, uint32_t unit,
    uint32_t param, uint32_t state, const std::string& name)
{
    const FlatUnit& of = *context->target.units[unit];
    const ParamId id = of.params[param];
    ArchiveComposer composer = formOnly(*context);
    PickleBuilder& builder = composer.builder();
    const NodeId root = builder.dict();
    // Stock gives the master the gradient flag of the flat tensor it was cut from.
    builder.setItem(root, builder.string("param"),
        wholeTensor(composer, context, id, of.states[state].name, of.states[state].dtype,
            context->tensorOf(id, state), state == 0));
    const MergedSlices* merged = context->source->merged.get();
    const UniversalMarks* marks
        = merged != nullptr && index(id) < merged->marks.size() ? &merged->marks[index(id)] : nullptr;
    builder.setItem(root, builder.string("cat_dim"),
        builder.integer(marks == nullptr ? 0 : int64_t{marks->catDimension}));
    if (marks != nullptr)
        addMarks(builder, root, *marks);
    return composer.finish(root, name, context->optimRecords);
}

Result<OutputFile> composeUniversalStep(
    const std::shared_ptr<const ReshardContext>& context, uint32_t unit, const std::string& name)
{
    ArchiveComposer composer = formOnly(*context);
    const NodeId root = stepValue(composer, *context->target.units[unit]);
    return composer.finish(root, name, context->optimRecords);
}

Result<OutputFile> composeUniversalOptim(
    const std::shared_ptr<const ReshardContext>& context, const std::string& name)
{
    // Stages 1 and 2 take scaler and `param_groups` from its top level (runtime/base_optimizer.py), stage 3
    // the nested `optimizer_state_dict` (runtime/zero/stage3.py).
    const Checkpoint& source = *context->source;
    ArchiveComposer composer(context->optimTemplate(), context->sourceIndex(source.templateOptim));
    const NodeId root = composer.builder().dict();
    if (keepsScalerKeys(source))
        addScaler(composer, source, root);
    else
        composer.addEntries(root, source.optimWrapper, [&](std::string_view key, NodeId value) {
            const bool known = key == "ds_version" || describesShards(key)
                || (source.merged && key == "universal_checkpoint_info");
            return known ? kNoNode : composer.import(value);
        });
    set(composer, root, "ds_version", composer.builder().string(writtenVersion(source)));
    const TorchState optimizer = optimizerState(composer, *context);
    set(composer, root, "param_groups", optimizer.paramGroups);
    set(composer, root, "optimizer_state_dict", optimizer.in(composer.builder()));
    return composer.finish(root, name, context->optimRecords);
}

} // namespace shardscope
