// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/compare/digest/scaler_texts.h"
#include "core/compare/digest/tensor_table.h"
#include "core/tensor/element_digest.h"
#include "core/tensor/workers.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The digest of one state, or of the part of it that lies somewhere, and how many elements that is.
struct StateShare {
    std::string state;
    Digest digest;
    uint64_t elements = 0;

    bool operator==(const StateShare&) const = default;
};
/// Adds it to the share of that state; at the end where there is none.
void addShare(std::vector<StateShare>& shares, const StateShare& share);

/// Whether what ranks have copies of is taken from this file: it is no other rank's than the first one's.
bool isOfFirstRank(const CheckpointFile& file);

/// What one pass over a file found.
struct FileScan {
    FileId file = kNoFile;
    uint64_t bytes = 0;
    std::string sha256; ///< of the whole file, where it was asked for
    /// Records whose CRC is not the directory's; of a file of several archives "OFFSET:NAME".
    std::vector<std::string> badRecords;
    std::optional<Error> error; ///< reading stopped here
    /// What the file adds to the fingerprint. Of tensors that all ranks have whole, the first rank's count.
    std::vector<StateShare> states;
};

/// Every byte of a checkpoint read once: digests per tensor (index: TensorTable) and what each file is.
struct CheckpointScan {
    std::vector<Digest> tensors;
    std::vector<FileScan> files;
};

/// Reads every readable torch file of the checkpoint once, sequentially, several at a time. Memory: 1 MiB per
/// thread plus 40 bytes per parameter and state of the file at hand. Cancelled when stopped; damage is in the
/// FileScans. `dropCache` asks for the device, not the page cache. SHA-256 takes half of the time.
Result<CheckpointScan> scanCheckpoint(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const Workers& workers, bool dropCache, JobContext& job, bool withSha256 = true);

/// The digest of the whole training state: a sum modulo 2^128, defined so that another program can compute it
/// (tests/interop/fingerprint.py does, from live tensors). Of tensors, as element_digest.h defines their
/// digests, with the parameter's name in the model and
///   "fp32": every trainable parameter's master, or itself where it is trained in fp32 without one;
///   the optimizer's own names ("exp_avg", …): every state with an element for each element of a parameter;
///   "weight": every frozen parameter and every buffer that is saved.
/// Values are digested in the type in which they are stored, without its name. Elements are numbered row by
/// row. Tied parameters count once, under the name under which they are trained; 16-bit copies beside
/// masters, padding and tensors without elements count nothing. Of the rest, digestText() of
///   ("group/g", "step", S) with S the step of group g's first parameter as %.17g, where one is kept;
///   ("group/g", "option/NAME", V) for every option but `params` and `step` (a constant of FusedAdam's), and
///     but a `name` that says the degree of experts (ep_size_N): another degree is the same state;
///   ("scaler", NAME, V) for every attribute of the loss scaler as scaler_texts.h has them, unless it is a
///     static one (LossScaler) of 1;
///   ("lr_scheduler", "", V) for the scheduler's state, where there is one;
/// with V in scalarText()'s spelling. Groups count from 0 in the optimizer's order; groups of experts that
/// follow one another with the same step and options have one g and count once, because how many there are
/// depends on the degree, too.
///
/// A number cannot tell what has no place in it: states that were set aside (odd_states.h), values of tensors
/// among the options, frozen parameters and buffers with strides. fingerprintState() refuses those.
///
/// Tensor slices and pipeline stages are digested under their own names ("norm.weight:tp1"): the digest of a
/// checkpoint as it lies. Only joined (same_degrees.h, inOneSlice) any number of them has the same. Not the
/// same either, because something is not kept or kept otherwise: fp16 without ZeRO has no hysteresis, minimum
/// or dtype of its scaler; elastic checkpoints have no options; ZeRO-1/2 keep Muon's momentum in the type of
/// the gradients until a load makes it fp32.
Digest fingerprintOf(const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors);
/// The same with another form of the loss scaler: what one kind of checkpoint keeps, another may not.
Digest fingerprintOf(
    const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors, const ScalerTexts& scaler);

} // namespace shardscope
