// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/state_fingerprint.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/require.h"
#include "core/compare/digest/slice_replicas.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Further reasons are only counted, so that the message stays readable.
constexpr size_t kMaxNamed = 4;

tl::unexpected<Error> refuse(const Checkpoint& checkpoint, const std::vector<std::string>& reasons)
{
    std::string text;
    for (size_t i = 0; i < reasons.size() && i < kMaxNamed; ++i)
        text += (i == 0 ? "" : "; ") + reasons[i];
    if (reasons.size() > kMaxNamed)
        text += "; and " + std::to_string(reasons.size() - kMaxNamed) + " more";
    return fail(ErrorCode::Refused, "a digest would not be that of the saved state: " + text,
        checkpoint.tagFolder.string(), Hint::verb("verify") + " shows all problems");
}

std::vector<std::string> damageOf(const Checkpoint& checkpoint, const CheckpointScan& scan)
{
    std::vector<std::string> out;
    for (const FileScan& file : scan.files) {
        const CheckpointFile& entry = checkpoint.file(file.file);
        for (const std::string& record : file.badRecords)
            out.push_back(std::string(code::kRecordCorrupt) + ": " + percentEncode(entry.name) + "!"
                + percentEncode(record) + " – its bytes do not match its saved CRC");
    }
    return out;
}

tl::unexpected<Error> undigested(const Checkpoint& checkpoint, const std::string& what)
{
    return fail(ErrorCode::Unsupported, "not all of the state can be digested: " + what,
        checkpoint.tagFolder.string(), Hint::verb("verify") + " compares the files with their manifest");
}

/// A digest without factors and scales, which have no element for each element of a parameter (odd_states.h),
/// or with a value that is not completely in its text, would also be the digest of other states.
Status requireAllOfState(const Checkpoint& checkpoint)
{
    for (const DigestedScalar& scalar : digestedScalars(checkpoint)) {
        if (!scalar.lacks.empty())
            return undigested(checkpoint,
                "`" + scalar.name + (scalar.state.empty() ? "" : " ") + scalar.state + "` has "
                    + std::string(scalar.lacks) + ", which its text does not contain");
    }
    for (const WholeTensor& whole : checkpoint.whole) {
        const Parameter& param = checkpoint.params[index(whole.param)];
        if (!whole.contiguous && param.role != ParamRole::Trainable && param.elements > 0)
            return undigested(
                checkpoint, "`" + percentEncode(param.name) + "` is stored with strides, not row by row");
    }
    if (const auto unread = findUnreadStates(checkpoint); !unread.empty())
        return undigested(checkpoint, unread.front()->message);
    return {};
}

/// Slices that should be equal but differ: merging them would keep the first one's values.
Status requireEqualReplicas(io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job)
{
    if (!checkpoint.merged)
        return {};
    SHARDSCOPE_TRY(const std::vector<Finding> unlike, checkReplicas(files, checkpoint, job));
    std::vector<std::string> reasons;
    for (const Finding& finding : unlike) {
        if (finding.severity == Severity::Error)
            reasons.push_back(
                std::string(finding.code) + ": " + finding.where.text() + " – " + finding.message);
    }
    return reasons.empty() ? Status() : refuse(checkpoint, reasons);
}

} // namespace

Result<CheckpointScan> scanSound(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const Workers& workers, const SoundScanOptions& options, JobContext& job)
{
    const bool trains
        = std::ranges::any_of(checkpoint->units, [](const FlatUnit& unit) { return unit.group >= 0; });
    if (isWeights(checkpoint->kind) || (isDistributed(checkpoint->kind) && !trains))
        return fail(ErrorCode::Unsupported, "weights alone have no training state to digest",
            checkpoint->tagFolder.string());
    SHARDSCOPE_CHECK(requireComplete(*checkpoint, options.allow));
    SHARDSCOPE_CHECK(requireAllOfState(*checkpoint));
    uint64_t bytes = 0;
    for (const CheckpointFile& file : checkpoint->files)
        bytes += file.identity.bytes;
    job.beginPhase("digesting", workers.shareOf(bytes));
    SHARDSCOPE_TRY(
        CheckpointScan scan, scanCheckpoint(files, checkpoint, workers, {.digest = options.digest}, job));
    if (scan.files.empty())
        return undigested(*checkpoint, "none of its files was read"); // a digest of nothing proves nothing
    for (const FileScan& file : scan.files) {
        if (file.error)
            return forward(*file.error);
    }
    if (const auto damage = damageOf(*checkpoint, scan); !damage.empty())
        return refuse(*checkpoint, damage);
    return scan;
}

Result<StateFingerprint> fingerprintState(
    io::FileSystem& files, const CheckpointPtr& checkpoint, const Workers& workers, JobContext& job)
{
    SHARDSCOPE_TRY(
        CheckpointScan scan, scanSound(files, checkpoint, workers, {.digest = io::DigestKind::None}, job));
    SHARDSCOPE_CHECK(requireEqualReplicas(files, *checkpoint, job));
    StateFingerprint out;
    out.scalars = digestedScalars(*checkpoint);
    const TensorTable table(checkpoint);
    for (uint32_t i = 0; i < table.size(); ++i) {
        const TensorTable::Entry entry = table.entry(i);
        if (entry.inFingerprint)
            addShare(out.states,
                {std::string(entry.state), scan.tensors[i], checkpoint->params[index(entry.param)].elements});
    }
    for (const StateShare& share : out.states)
        out.whole += share.digest;
    for (const DigestedScalar& scalar : out.scalars)
        out.whole += scalar.digest;
    out.files = scan.files.size();
    for (const FileScan& file : scan.files)
        out.bytes += file.bytes;
    out.tensors = std::move(scan.tensors);
    return out;
}

std::vector<ParameterDigest> digestsByParameter(
    const CheckpointPtr& checkpoint, const StateFingerprint& fingerprint)
{
    const TensorTable table(checkpoint);
    std::vector<ParameterDigest> out;
    for (uint32_t i = 0; i < table.size(); ++i) {
        const TensorTable::Entry entry = table.entry(i);
        if (entry.inFingerprint)
            out.push_back({entry.param, entry.state, fingerprint.tensors[i]});
    }
    std::stable_sort(out.begin(), out.end(),
        [](const ParameterDigest& a, const ParameterDigest& b) { return a.param < b.param; });
    return out;
}

} // namespace shardscope
