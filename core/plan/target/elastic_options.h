// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// ZeRO-1/2 with elastic_checkpoint save the optimizer's states without the options of its param groups
/// (runtime/zero/stage_1_and_2.py, _get_base_optimizer_state), and stock cannot load them with most
/// optimizers. Everything that is written from them has torch's own form, with options. Elastic ZeRO-3, which
/// no release writes (core/checkpoint/units/elastic_zero3.h), may have them or not.

/// Whether a checkpoint has the options of every param group.
bool recordsOptions(const Checkpoint& source);
/// Whether they are missing because of its elastic form.
bool lacksElasticOptions(const Checkpoint& source);

struct WithOptions {
    CheckpointPtr checkpoint;
    std::vector<Finding> notes; ///< where the values came from
};

/// The same checkpoint as if it had been saved in torch's form: rank 0's optimizer file lists every group's
/// options. `named` (as parseNamedOption() takes them) has priority over what the source records: the
/// learning rate in the scheduler's state, and the optimizer's parameters in ds_config where there is one
/// group, which alone cannot have been given others. Refused with the names of what is missing and how to
/// give it; Usage for options that cannot be read, of groups that do not exist, or of a source that needs
/// none.
Result<WithOptions> withOptions(CheckpointPtr source, const std::vector<std::string>& named);

/// "a", "a and b", "a, b and c".
std::string listText(const std::vector<std::string>& items);

} // namespace shardscope
