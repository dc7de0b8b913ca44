// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/target_files.h"

#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/plan/target/stage0_form.h"
#include "core/plan/target/universal_names.h"

namespace shardscope {

namespace {

using Kind = TargetFile::Kind;

void addParameterFolders(const ReshardContext& context, std::vector<TargetFile>& out)
{
    for (uint32_t u = 0; u < context.target.units.size(); ++u) {
        const FlatUnit& unit = *context.target.units[u];
        for (uint32_t param = 0; param < unit.params.size(); ++param) {
            for (uint32_t state = 0; state < unit.states.size(); ++state)
                out.push_back({Kind::State, 0, u, param, state});
            if (unit.stepForm != StepForm::Absent)
                out.push_back({Kind::Step, 0, u, param, 0});
        }
    }
}

void addCopied(const ReshardContext& context, std::vector<TargetFile>& out)
{
    for (uint32_t i = 0; i < context.copied.size(); ++i)
        out.push_back({Kind::Copied, 0, i});
}

void addCarried(const ReshardContext& context, std::vector<TargetFile>& out)
{
    for (uint32_t i = 0; i < context.carried.size(); ++i)
        out.push_back({.kind = Kind::Carried, .carried = i});
}

} // namespace

std::vector<TargetFile> targetFiles(const ReshardContext& context)
{
    std::vector<TargetFile> out;
    if (isUniversal(context.target.kind)) {
        out = {{Kind::Model}, {Kind::SlimModel}, {Kind::Optim}};
        addParameterFolders(context, out);
        addCopied(context, out);
        addCarried(context, out);
        return out;
    }
    if (isStage0(context.target.kind)) {
        out = {{Kind::Model}};
        addCopied(context, out);
        addCarried(context, out);
        return out;
    }
    const uint32_t models = partitionsParameters(context.target.kind) ? context.target.ranks : 1;
    for (uint32_t rank = 0; rank < models; ++rank)
        out.push_back({Kind::Model, rank});
    for (uint32_t rank = 0; rank < context.target.ranks; ++rank)
        out.push_back({Kind::Optim, rank});
    addCopied(context, out);
    addCarried(context, out);
    return out;
}

std::string nameOf(const ReshardContext& context, const TargetFile& file)
{
    const Checkpoint& source = *context.source;
    const bool universal = isUniversal(context.target.kind);
    switch (file.kind) {
    case Kind::Model:
        return partitionsParameters(context.target.kind) ? zero3ModelFileName(file.rank, source.modelRank)
                                                         : modelFileName(source.modelRank);
    case Kind::SlimModel:
        return zero3ModelFileName(0, 0);
    case Kind::Optim:
        return universal ? universalOptimName()
                         : optimFileName(file.rank, source.modelRank, ranInBf16(source));
    case Kind::Copied:
        return context.copied[file.unit].made != nullptr ? context.copied[file.unit].made->name
                                                         : source.file(context.copied[file.unit].file).name;
    case Kind::Carried:
        return context.carried[file.carried].path;
    case Kind::State:
    case Kind::Step:
        break;
    }
    const FlatUnit& unit = *context.target.units[file.unit];
    return universalStateName(source.params[index(unit.params[file.param])].name,
        file.kind == Kind::Step ? "step" : unit.states[file.state].name);
}

Result<OutputFile> compose(const std::shared_ptr<const ReshardContext>& context, const TargetFile& file)
{
    const std::string name = nameOf(*context, file);
    const bool universal = isUniversal(context->target.kind);
    switch (file.kind) {
    case Kind::Model:
    case Kind::SlimModel:
        return composeModelFile(context, file.rank, file.kind == Kind::SlimModel, name);
    case Kind::Optim:
        return universal ? composeUniversalOptim(context, name) : composeOptimFile(context, file.rank, name);
    case Kind::State:
        return composeUniversalState(context, file.unit, file.param, file.state, name);
    case Kind::Step:
        return composeUniversalStep(context, file.unit, name);
    case Kind::Copied:
        return composeCopied(context, file.unit, name);
    case Kind::Carried:
        return verbatimCopy(context->carried[file.carried]);
    }
    return fail(ErrorCode::Internal, "unknown file kind");
}

bool areAlike(const ReshardContext& context, TargetFile::Kind kind)
{
    return partitionsParameters(context.target.kind) && (kind == Kind::Model || kind == Kind::Optim)
        && FusedExperts::of(*context.source).isEmpty(); // whose files say which rank has which
}

} // namespace shardscope
