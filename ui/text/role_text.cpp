// SPDX-License-Identifier: Apache-2.0
#include "ui/text/role_text.h"

#include "core/layout/counts.h"
#include "ui/text/text.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

bool hasWeightsAlone(const Checkpoint& checkpoint)
{
    return isWeights(checkpoint.kind) || (isDistributed(checkpoint.kind) && checkpoint.groups.empty());
}

QString fileRoleText(const Checkpoint& checkpoint, FileRole role)
{
    // A file has whatever a rank held: weights, and optimizer states if they were saved.
    if (isDistributed(checkpoint.kind) && role == FileRole::OptimStates)
        return u"Tensors"_s;
    if (isDistributed(checkpoint.kind) && role == FileRole::ModelStates)
        return u"Metadata"_s;
    return roleText(role);
}

QString paramRoleText(const Checkpoint& checkpoint, const Parameter& param)
{
    return isRoleUnrecorded(checkpoint, param) ? u"weight"_s : roleText(param.role);
}

} // namespace shardscope::ui
