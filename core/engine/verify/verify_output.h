// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/plan/model/write_plan.h"
#include "core/tensor/element_digest.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace shardscope {

/// Elements of a planned tensor as they lie in one output file.
struct ElementRun {
    uint64_t offset = 0; ///< bytes from the start of the file; a multiple of the element's size
    uint64_t bytes = 0; ///< whole elements
    uint32_t tensor = 0; ///< index into WritePlan::tensors()
    uint64_t firstElement = 0;
};

/// The runs of one file in ascending order of their offsets, none overlapping another. Not thread-safe.
class ElementRunCursor
{
public:
    virtual ~ElementRunCursor() = default;
    virtual bool next(ElementRun& run) = 0;
};

/// What the output says about itself when it is opened again by the reader: the second opinion that
/// verification compares with what was meant. It must come from the files alone, never from the plan's
/// recipes. Thread-safe.
class OutputModel
{
public:
    virtual ~OutputModel() = default;
    /// Where the planned tensors' elements lie in the file `path` (relative to the target). Null when there
    /// are none.
    [[nodiscard]] virtual Result<std::unique_ptr<ElementRunCursor>> runsOf(const std::string& path) const = 0;
};

/// What the engine asks of the layers above it. Tests give their own; either may be empty.
struct ExecuteHooks {
    /// Opens the finished files below `folder` as a checkpoint; VerifyFailed when they are none, or when a
    /// fact beside the payloads (steps, options, shapes, scaler) is not what the plan meant. Called once,
    /// after writing, when the job verifies. The engine then reads every file once, in order, and takes
    /// SHA-256, CRCs and the digests of the model's runs in that pass; afterwards every planned tensor must
    /// have the digest it had while it was copied.
    std::function<Result<std::unique_ptr<OutputModel>>(
        io::FileSystem& files, const io::Path& folder, const WritePlan& plan, JobContext& job)>
        openOutput;
    /// The fingerprint of the whole training state from the digests of the plan's tensors, in their order.
    /// Goes into the manifest and the report.
    std::function<Result<std::string>(
        io::FileSystem& files, const WritePlan& plan, std::span<const Digest> tensors, JobContext& job)>
        fingerprint;
};

/// The hooks that execute() uses.
ExecuteHooks checkpointHooks();

} // namespace shardscope
