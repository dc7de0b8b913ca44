// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/model/write_plan.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// A file that is copied unchanged.
struct CarriedFile {
    std::string path; ///< as in WritePlan::files: "../NAME"
    FileId file = kNoFile; ///< of the source
    uint32_t source = 0; ///< index into WritePlan::sources
    uint64_t bytes = 0;
    uint32_t mode = 0644; ///< the source's: private weights stay private
};

/// The framework's files next to the tag that are copied for a run of `ranks` processes (no value for a
/// universal folder). Random states are copied only for processes that the target has, under the names that
/// it expects.
std::vector<CarriedFile> carriedFiles(const Checkpoint& source, std::optional<uint32_t> ranks);

/// Warns about what the framework will not find, or will read differently: processes without random states,
/// schedulers that advance by the number of processes, folders that are not copied.
std::vector<Finding> wrapperWarnings(
    io::FileSystem& files, const Checkpoint& source, std::optional<uint32_t> ranks);

/// What is next to the tag and stays true of a result for any number of ranks: DeepSpeed's scripts that merge
/// shards, and Megatron's pointer if it names this tag.
Result<std::vector<OutputFile>> runFolderScripts(io::FileSystem& files, const Checkpoint& source);

/// The whole file at `path` as a source of a plan, without a checksum. Records its mode. SourceChanged if it
/// no longer matches `identity`.
Result<PlanSource> wholeFileSource(io::FileSystem& files, const io::Path& path, const std::string& name,
    const io::FileIdentity& identity, CarriedFile& carried);
Result<PlanSource> wholeFileSource(io::FileSystem& files, const CheckpointFile& file, CarriedFile& carried);
/// The recipe of a byte-for-byte copy.
OutputFile verbatimCopy(const CarriedFile& carried);

} // namespace shardscope
