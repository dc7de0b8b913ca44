// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <string>

namespace shardscope {

/// Makes those files of a plan byte-for-byte copies of its source's files that would only lay out the same
/// elements again. The plan still knows which bytes belong to which tensor, so that they are digested and
/// verified like any others.
///
/// `mayBe`: by name, whether the file's content stays unchanged. Such a file is copied if all its planned
/// elements are read from the checkpoint's file of the same name. That source then has one more record, which
/// covers all its bytes.
Status copyVerbatim(WritePlan& plan, const Checkpoint& checkpoint,
    const std::function<bool(const std::string& name)>& mayBe, JobContext& job);

} // namespace shardscope
