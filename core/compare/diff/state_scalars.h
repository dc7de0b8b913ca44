// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/tensor/update_rule.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The kind of a scalar of a checkpoint.
enum class ScalarKind {
    Step, ///< of a param group's optimizer
    Option, ///< of a param group
    Scaler,
    Scheduler,
    Counter, ///< of the engine: global_steps and the like
    ClientState, ///< a key that the training script saved
};

/// One value besides the tensors, as text.
struct StateScalar {
    ScalarKind kind = ScalarKind::Option;
    int32_t group = -1; ///< of steps and options; equal expert groups count as one
    std::string name;
    std::string value;
    std::string_view lacks = {}; ///< part of the value that is not in `value`; empty: none
};

/// All values of a training state besides tensors, in the order above, in the format of digested_scalars.h.
std::vector<StateScalar> stateScalars(const Checkpoint& checkpoint);

/// The learning-rate schedule that a framework keeps next to the tag (transformers: scheduler.pt, accelerate:
/// scheduler.bin). Where such a file is not torch's, a digest of its bytes. Fails where it cannot be read.
Result<std::vector<StateScalar>> frameworkScalars(
    io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job);

/// The rule of a param group's next step; Unknown if the optimizer's rule or its options are not known.
/// Groups of AdamW and Adam cannot be distinguished up to torch 2.6: they are treated as AdamW.
UpdateRule updateRule(const Checkpoint& checkpoint, const ParamGroup& group);

/// The rules of all parameters. Points to the checkpoint.
class UpdateRules
{
public:
    explicit UpdateRules(const Checkpoint& checkpoint);
    /// With the step of the parameter's unit. Unknown also for parameters that no optimizer has.
    [[nodiscard]] UpdateRule of(ParamId param) const;

private:
    const Checkpoint& m_checkpoint;
    std::vector<UpdateRule> m_rules; ///< by param group
};

/// The names of the states used as the first and second moment of a rule; empty for none.
struct MomentNames {
    std::string_view first;
    std::string_view second;
};
[[nodiscard]] MomentNames momentNames(UpdateKind kind);

} // namespace shardscope
