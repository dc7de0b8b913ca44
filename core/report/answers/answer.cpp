// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/answer.h"

namespace shardscope {

std::string checkpointFolder(const Checkpoint& checkpoint)
{
    return checkpoint.tagFolder.empty() ? checkpoint.runFolder.string() : checkpoint.tagFolder.string();
}

std::string_view fileName(const Checkpoint& checkpoint, FileId file)
{
    return file == kNoFile ? std::string_view() : checkpoint.file(file).name;
}

std::string computeText(const ComputeReport& compute)
{
    std::string out = compute.device + (compute.by.empty() ? "" : " (" + compute.by + ")");
    for (const std::string& note : compute.notes)
        out += "; " + note;
    return out;
}

const AnswerContext& schemaContext()
{
    static const Checkpoint kCheckpoint = [] {
        Checkpoint out;
        out.params.resize(1);
        out.files.resize(1);
        out.units.resize(1);
        return out;
    }();
    static const AnswerContext kContext{kCheckpoint, {}, {}};
    return kContext;
}

DType stateDtype(const Checkpoint& checkpoint, ParamId param, std::string_view state)
{
    const Parameter& parameter = checkpoint.params[index(param)];
    const ParamId owner = parameter.sharedWith == kNoParam ? param : parameter.sharedWith;
    if (const FlatUnit* unit = checkpoint.unitOf(owner)) {
        for (const UnitState& unitState : unit->states) {
            if (unitState.name == state)
                return unitState.dtype;
        }
    }
    const WholeTensor* whole = checkpoint.wholeOf(owner);
    return whole == nullptr ? DType::Unknown : whole->dtype;
}

} // namespace shardscope
