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

/// Elements of a planned tensor in one output file.
struct ElementRun {
    uint64_t offset = 0; ///< bytes from the start of the file; a multiple of the element's size
    uint64_t bytes = 0; ///< whole elements
    uint32_t tensor = 0; ///< index into WritePlan::tensors
    uint64_t firstElement = 0;
};

/// The runs of one file in ascending order of their offsets, without overlaps. Not thread-safe.
class ElementRunCursor
{
public:
    virtual ~ElementRunCursor() = default;
    virtual bool next(ElementRun& run) = 0;
};

/// The output as the reader opens it again, for comparison with the plan. It must be derived only from the
/// files, never from the plan's recipes. Thread-safe.
class OutputModel
{
public:
    virtual ~OutputModel() = default;
    /// The places of the planned tensors' elements in the file `path` (relative to the target). Null if there
    /// are none.
    [[nodiscard]] virtual Result<std::unique_ptr<ElementRunCursor>> runsOf(const std::string& path) const = 0;
};

/// Functions that higher layers provide to the engine. Tests provide their own; either may be empty.
struct ExecuteHooks {
    /// Opens the finished files below `folder` as a checkpoint. VerifyFailed if they are not one, or if a
    /// fact besides the payloads (steps, options, shapes, scaler) differs from the plan. Called once, after
    /// writing, if the job verifies. By then the engine has read every byte back. It compares the places of
    /// the model's runs with those that it wrote, and every element that was written must be found.
    std::function<Result<std::unique_ptr<OutputModel>>(
        io::FileSystem& files, const io::Path& folder, const WritePlan& plan, JobContext& job)>
        openOutput;
    /// The fingerprint of the whole training state from the digests of the plan's tensors, in their order,
    /// for the manifest and the report.
    std::function<Result<std::string>(
        io::FileSystem& files, const WritePlan& plan, std::span<const Digest> tensors, JobContext& job)>
        fingerprint;
};

/// The hooks that execute() uses.
ExecuteHooks checkpointHooks();

} // namespace shardscope
