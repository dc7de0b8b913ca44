// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/doctor/check_context.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// Whether ZeRO's flat buffers hold a state of this name.
bool hasStateNamed(const Checkpoint& checkpoint, std::string_view name);
/// Whether a ZenFlow run saved it. ZenFlow steps and schedules more often than the engine counts.
bool isOfZenflow(const Checkpoint& checkpoint);

/// Whether any file has elements of this parameter.
bool isStoredAnywhere(const Checkpoint& checkpoint, ParamId param);

/// By how many steps the optimizer is ahead of the engine, without skipped steps; negative if it is behind.
/// Empty if one of them is not recorded.
std::optional<double> stepsAhead(const Checkpoint& checkpoint);
/// Whether this program wrote it. It then reported what it could not copy from the source.
bool isWrittenByShardscope(const CheckContext& context);

/// "NAME#STATE", or "NAME#STATE[element]".
ParamAddress addressOf(const Checkpoint& checkpoint, ParamId param, std::string_view state);
ParamAddress addressOf(const Checkpoint& checkpoint, ParamId param, std::string_view state, uint64_t element);

/// Commands of this program for the requested target.
/// The beginning of a command that reads the same and writes DST: "VERB PATH DST", with the tag and the
/// further folders that were named for PATH.
std::string commandOn(const CheckContext& context, std::string_view verb);
std::string convertCommand(const CheckContext& context, const Finding& finding);
std::string reshardCommand(const CheckContext& context, const Finding& finding);

} // namespace shardscope
