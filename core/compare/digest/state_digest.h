// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/compare: whether two training states are the same, and where they differ. Start with
// fingerprintOf(), then diffStates() (state_diff.h).
//
// Folder core/compare/digest: reads a checkpoint once for its digests, fingerprint, checksums and statistics.
// Start with scanCheckpoint() and fingerprintOf(), whose comment defines the fingerprint.

#include "core/base/job_context.h"
#include "core/compare/digest/scaler_texts.h"
#include "core/compare/digest/tensor_table.h"
#include "core/compute/workers.h"
#include "core/io/content_digest.h"
#include "core/tensor/element_digest.h"
#include "core/tensor/statistics.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The digest of one state, or of a part of it, and its number of elements.
struct StateShare {
    std::string state;
    Digest digest;
    uint64_t elements = 0;

    bool operator==(const StateShare&) const = default;
};
/// Adds it to the share of that state, or appends it if there is none.
void addShare(std::vector<StateShare>& shares, const StateShare& share);

/// Whether replicated data is taken from this file: it belongs to the first rank, or to no rank.
bool isOfFirstRank(const CheckpointFile& file);

/// The result of one pass over a file.
struct FileScan {
    FileId file = kNoFile;
    uint64_t bytes = 0;
    std::string digest; ///< of the whole file's content (content_digest.h), if requested
    /// Records with another CRC than in the directory; in a file of several archives "OFFSET:NAME".
    std::vector<std::string> badRecords;
    std::optional<Error> error; ///< reading stopped here
    /// The contribution of the file to the fingerprint. Of replicated tensors, only the first rank's count.
    std::vector<StateShare> states;
};

/// The result of reading every byte of a checkpoint once: digests per tensor (index: TensorTable) and facts
/// about each file.
struct CheckpointScan {
    std::vector<Digest> tensors;
    /// If requested, of the elements that were read; nothing for types without statistics. The last digits of
    /// the sums depend on the order in which files were read.
    std::vector<Statistics> statistics;
    /// If requested, of masters with 16-bit copies: the digest of their elements rounded to the copy's dtype,
    /// under the copy's name. Equal to that of the copy where all elements are. By tensor; zero for others.
    std::vector<Digest> rounded;
    std::vector<FileScan> files;
};

struct ScanOptions {
    io::DigestKind digest = io::DigestKind::Xxh3; ///< of each file's content
    DigestVersion version = kDigestVersion; ///< of the tensors' digests
    bool statistics = false; ///< also of every tensor's values
    bool roundedMasters = false; ///< also digests of masters as their 16-bit copies have them
};

/// Reads every readable torch file of the checkpoint once, sequentially, several at a time. Memory: 1 MiB per
/// thread plus 72 bytes per parameter and state of the current file, and 80 more with statistics. Cancelled
/// when stopped; damage is in the FileScans.
Result<CheckpointScan> scanCheckpoint(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const Workers& workers, const ScanOptions& options, JobContext& job);

/// The digest of the whole training state: a sum of digests, defined so that another program can compute it
/// (tests/interop/compare/fingerprint.py does, from live tensors). For tensors, the digests of
/// element_digest.h with the parameter's name in the model and
///   "fp32": every trainable parameter's master, or itself if it is trained in fp32 without a master;
///   the optimizer's own names ("exp_avg", …): every state with an element for each element of a parameter;
///   "weight": every frozen parameter and every buffer that is saved.
/// Values are digested in the type in which they are stored, without its name. Elements are numbered row by
/// row. Tied parameters count once, with the name under which they are trained; 16-bit copies of
/// masters, padding and tensors without elements are not included. For the rest, digestText() of
///   ("group/g", "step", S) with S the step of group g's first parameter as %.17g, if stored;
///   ("group/g", "state/NAME", V) for other values that the optimizer keeps for its first parameter and that
///     are no tensors with its elements (torch's NAdam: `mu_product`);
///   ("group/g", "option/NAME", V) for every option but `params` and `step` (a constant of FusedAdam's), and
///     except a `name` with the degree of experts (ep_size_N): another degree is the same state;
///   ("scaler", NAME, V) for every attribute of the loss scaler as in scaler_texts.h, except for a static
///     one (LossScaler) of 1;
///   ("lr_scheduler", "", V) for the scheduler's state, if there is one;
/// with V in the format of scalarText(). Groups count from 0 in the optimizer's order. Consecutive groups of
/// experts with the same step and options have one g and count once, because their number also depends on the
/// degree.
///
/// Some states are not included: states that were set aside (odd_states.h), values of larger tensors in
/// options, options of which every rank has its own, frozen parameters and buffers with strides.
/// fingerprintState() refuses checkpoints with them.
///
/// Tensor slices and pipeline stages are digested with their own names ("norm.weight:tp1"): the digest of the
/// checkpoint as stored. Digests of different numbers of slices are equal only if merged
/// (same_degrees.h, inOneSlice). Digests also differ if something is not stored or stored differently: fp16
/// without ZeRO has no hysteresis, minimum or dtype of its scaler; elastic checkpoints have no options;
/// ZeRO-1/2 store Muon's momentum in the type of the gradients until a load converts it to fp32.
///
/// `tensors` are of `version`, as is the result.
Digest fingerprintOf(const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors,
    DigestVersion version = kDigestVersion);
/// The same with another form of the loss scaler: kinds of checkpoints store different attributes.
Digest fingerprintOf(const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors,
    const ScalerTexts& scaler, DigestVersion version = kDigestVersion);

/// Findings from reading every byte: files that end early, and records that do not match their saved CRC, by
/// their addresses.
std::vector<Finding> findingsOf(const Checkpoint& checkpoint, const CheckpointScan& scan);

} // namespace shardscope
