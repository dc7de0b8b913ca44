// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/engine/stream/claimed_elements.h"
#include "core/engine/stream/output_walk.h"
#include "core/engine/verify/verify_output.h"

#include <vector>

namespace shardscope {

/// The shared data for comparing written files with their plan.
struct VerifyContext {
    io::FileSystem& files;
    const WritePlan& plan;
    const OutputModel* model = nullptr; ///< may be null
    ClaimedElements& found; ///< elements of planned tensors that the output has
    JobContext& job;
};

/// Compares the structure of a written file with the plan: the archive's directory as the reader parses it,
/// with every record's name, size and CRC; and the place of every element that the model finds in it. Its
/// bytes were compared by ReadBack. VerifyFailed, with the file, if anything differs.
Status verifyStructure(
    size_t index, const io::Path& path, const WrittenFile& written, const VerifyContext& context);

/// VerifyFailed, with the tensor, if the output lacks elements that were written.
Status compareElements(
    const std::vector<PlanTensor>& tensors, const ClaimedElements& written, const ClaimedElements& found);

} // namespace shardscope
