// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/part_writer.h"
#include "core/engine/stream/memory_plan.h"
#include "core/engine/stream/output_file.h"
#include "core/engine/verify/verify_output.h"
#include "core/engine/write/work_folder.h"

#include <vector>

namespace shardscope {

/// What a build uses, and the times that it records.
struct BuildResources {
    const MemoryPlan& memory;
    const ComputeBackend& backend;
    StageTimes& times;
    bool sha256 = false; ///< record SHA-256 of every file
    bool readsBack = true; ///< read everything back while it is written
};

/// Creates all files of a plan in the work folder, and goes on where an interrupted run stopped.
///
/// Steps in this order: replay, write, checkSources, verify. Not thread-safe; the steps use many threads.
class OutputBuild
{
public:
    virtual ~OutputBuild() = default;

    /// Finds what earlier runs finished, and prepares the folder for writing.
    virtual Status replay() = 0;
    [[nodiscard]] virtual uint64_t bytesMissing() const = 0;
    /// Of these, the bytes that take space.
    [[nodiscard]] virtual uint64_t spaceMissing() const = 0;
    [[nodiscard]] virtual uint64_t filesMissing() const = 0;
    /// Writes what is missing, and the files next to the target; what is written is read back, too.
    virtual Status write() = 0;
    /// Reads the rest of used records, so that their CRCs can be compared; then checks that no source changed
    /// meanwhile.
    virtual Status checkSources() = 0;
    /// Reads back what earlier runs wrote, unless they did, and compares the structure of all files with the
    /// plan and the model, which may be null.
    virtual Status verify(const OutputModel* model) = 0;

    /// Reads files back that others may have changed since they were written or read. WriteFailed if one is
    /// gone: the next run writes it again. VerifyFailed.
    virtual Status readChanged() = 0;

    /// Whether everything that was read back came by direct I/O.
    [[nodiscard]] virtual bool readDirectly() const = 0;
    /// All files in the plan's order. Call last.
    [[nodiscard]] virtual std::vector<WrittenFile> takeFiles() = 0;
    /// One per tensor of the plan.
    [[nodiscard]] virtual const std::vector<Digest>& digests() const = 0;
};

/// Writes the plan's files that are next to the target.
Status writeRunFolderFiles(io::FileSystem& files, const WalkContext& context, const WorkFolder& work,
    ChunkBuffers& buffers, const OutputFileSettings& settings);

/// OutputBuild::readChanged() for files with their names in the work folder, in the order of the plan.
Status readBackChanged(io::FileSystem& files, const WritePlan& plan, const WorkFolder& work,
    const std::vector<const WrittenFile*>& written, ReadBack& readBack);

/// NoSpace of a job that needs `needed` more bytes in `folder`.
Error withMissingBytes(io::FileSystem& files, const io::Path& folder, uint64_t needed, Error error);

} // namespace shardscope
