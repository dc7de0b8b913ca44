// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/compare/fingerprint.h"
#include "core/compare/scaler_texts.h"
#include "core/compare/tensor_table.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// What one pass over a file found.
struct FileScan {
    FileId file = kNoFile;
    uint64_t bytes = 0;
    std::string sha256; ///< of the whole file
    std::vector<uint32_t> badRecords; ///< records whose CRC is not the directory's
    std::optional<Error> error; ///< reading stopped here
};

/// Every byte of a checkpoint read once: digests per tensor (index: TensorTable) and what each file is.
struct CheckpointScan {
    std::vector<Digest> tensors;
    std::vector<FileScan> files;
};

/// Reads every readable torch file of the checkpoint once, sequentially, several at a time. Memory: 1 MiB per
/// thread plus 40 bytes per parameter and state of the file at hand. Cancelled when stopped; damage is in the
/// FileScans. `dropCache` asks for the device, not the page cache.
Result<CheckpointScan> scanCheckpoint(
    io::FileSystem& files, const CheckpointPtr& checkpoint, unsigned jobs, bool dropCache, JobContext& job);

/// The digest of the whole training state (cli.md, "Fingerprint"): the sum of
///   the digests of fp32 masters, optimizer states, frozen parameters and buffers, per tensor as
///   fingerprint.h defines; for param group g: digestText("group/g", "step", S) with S the step as %.17g, and
///   for every option but `params` and `step`: digestText("group/g", "option/NAME", V) with V the value in
///   scalarText()'s spelling, except a `name` that says the degree of experts (ep_size_N): another degree is
///   the same state. Groups of experts that follow one another with the same step and options have one g and
///   count once, because how many there are depends on the degree, too. digestText("scaler", NAME, V) for
///   every attribute of the loss scaler, unless it is a static one (LossScaler) of 1;
///   digestText("lr_scheduler", "", V).
Digest fingerprintOf(const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors);
/// The same with another form of the loss scaler: what one kind of checkpoint keeps, another may not.
Digest fingerprintOf(
    const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors, const ScalerTexts& scaler);

} // namespace shardscope
