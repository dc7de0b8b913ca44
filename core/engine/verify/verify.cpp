// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/verify.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/require.h"
#include "core/compare/diff/same_degrees.h"
#include "core/compare/digest/slice_replicas.h"
#include "core/compare/digest/state_digest.h"
#include "core/engine/stream/manifest_reader.h"
#include "core/engine/verify/verify_others.h"
#include "core/io/outage_watch.h"
#include "core/layout/counts.h"
#include "core/layout/slices/merged_slices.h"

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

constexpr uint64_t kManifestLimitBytes = uint64_t{256} << 20;

uint64_t bytesToRead(const Checkpoint& checkpoint)
{
    uint64_t bytes = 0;
    for (const CheckpointFile& file : checkpoint.files)
        bytes += file.identity.bytes;
    return bytes;
}

void addProblem(VerifyReport& report, std::string_view code, std::string message, Place where,
    std::vector<std::string> evidence = {})
{
    report.problems.push_back(
        {code, Severity::Error, std::move(message), std::move(where), std::move(evidence)});
}

void reportScan(const Checkpoint& checkpoint, const CheckpointScan& scan, VerifyReport& report)
{
    for (const FileScan& file : scan.files) {
        ++report.files;
        report.bytes += file.bytes;
    }
    for (Finding& finding : findingsOf(checkpoint, scan))
        report.problems.push_back(std::move(finding));
}

/// The files of the manifest that the scan did not read: missing files, and others than state files.
std::vector<std::string> compareManifest(
    const Checkpoint& checkpoint, const CheckpointScan& scan, const Manifest& manifest, VerifyReport& report)
{
    std::vector<std::string> others;
    std::map<std::string, const FileScan*> scanned;
    for (const FileScan& file : scan.files)
        scanned[checkpoint.file(file.file).name] = &file;
    for (const auto& [path, promised] : manifest.files) {
        const auto found = scanned.find(path);
        if (found == scanned.end()) {
            others.push_back(path);
        } else if (found->second->bytes != promised.bytes || found->second->digest != promised.digest) {
            addProblem(report, code::kRecordCorrupt, "the file differs from the manifest", path,
                {"here " + found->second->digest, "manifest " + promised.digest});
        }
    }
    for (const auto& [path, file] : scanned) {
        if (!manifest.files.contains(path))
            addProblem(report, code::kForeignFile, "the manifest does not list this file", path);
    }
    return others;
}

/// A distributed checkpoint's files are scanned; other files (a model's configuration) are read here.
Status compareDistributedManifest(
    const VerifyRun& run, const Checkpoint& checkpoint, const CheckpointScan& scan, const Manifest& manifest)
{
    Manifest scanned = manifest;
    Manifest others = manifest;
    std::erase_if(scanned.files, [&](const auto& entry) {
        return std::none_of(scan.files.begin(), scan.files.end(),
            [&](const FileScan& file) { return checkpoint.file(file.file).name == entry.first; });
    });
    std::erase_if(others.files, [&](const auto& entry) { return scanned.files.contains(entry.first); });
    compareManifest(checkpoint, scan, scanned, run.report);
    return verifyExported(run, checkpoint.tagFolder, others);
}

/// Whether it has a training state. Weights in files of other tools do not.
bool holdsState(const Checkpoint& checkpoint)
{
    return !isDistributed(checkpoint.kind)
        || std::any_of(checkpoint.units.begin(), checkpoint.units.end(),
            [](const FlatUnit& unit) { return unit.group >= 0; });
}

struct NamedDigest {
    Digest digest;
    uint64_t elements = 0;
    DType dtype = DType::Unknown;
    /// Whether only some kinds store it: a 16-bit copy of a master, or a tensor without elements.
    bool optional = false;
};
using DigestsByName = std::map<std::pair<std::string, std::string>, NamedDigest>;

DigestsByName byName(const CheckpointPtr& checkpoint, const CheckpointScan& scan)
{
    const TensorTable table(checkpoint);
    DigestsByName out;
    for (uint32_t i = 0; i < table.size(); ++i) {
        const TensorTable::Entry entry = table.entry(i);
        const Parameter& param = checkpoint->params[index(entry.param)];
        out[{param.name, std::string(entry.state)}]
            = {scan.tensors[i], param.elements, entry.dtype, !entry.inFingerprint || param.elements == 0};
    }
    return out;
}

void compareStates(const DigestsByName& here, const DigestsByName& there, VerifyReport& report)
{
    const auto where = [](const auto& key) { return ParamAddress{key.first, key.second}; };
    for (const auto& [key, value] : there) {
        const auto found = here.find(key);
        if (found == here.end()) {
            if (!value.optional)
                addProblem(
                    report, code::kStateMissing, "the checkpoint lacks this state of the source", where(key));
        } else if (found->second.digest != value.digest || found->second.elements != value.elements
            || found->second.dtype != value.dtype) {
            addProblem(report, code::kRankForeign, "the values differ from the source's", where(key),
                {"digest " + found->second.digest.text(), "source " + value.digest.text()});
        }
    }
    for (const auto& [key, value] : here) {
        if (!there.contains(key) && !value.optional)
            addProblem(
                report, code::kStateMissing, "the source lacks this state of the checkpoint", where(key));
    }
}

bool recordsOptions(const Checkpoint& checkpoint)
{
    return std::none_of(checkpoint.groups.begin(), checkpoint.groups.end(),
        [](const ParamGroup& group) { return group.options == kNoNode; });
}

CheckpointPtr withoutOptions(const CheckpointPtr& checkpoint)
{
    auto out = std::make_shared<Checkpoint>(*checkpoint);
    for (ParamGroup& group : out->groups)
        group.options = kNoNode;
    return out;
}

/// Fingerprints of both, restricted to data that both store: kinds differ in the loss scaler, and elastic
/// checkpoints have no options of param groups.
std::pair<std::string, std::string> comparable(CheckpointPtr checkpoint, const CheckpointScan& scan,
    CheckpointPtr against, const CheckpointScan& other, DigestVersion version)
{
    // Only once: a damaged checkpoint without any group cannot lack options.
    if (recordsOptions(*checkpoint) != recordsOptions(*against)) {
        checkpoint = withoutOptions(checkpoint);
        against = withoutOptions(against);
    }
    const bool across = keepsScalerKeys(*checkpoint) != keepsScalerKeys(*against);
    const auto print = [&](const CheckpointPtr& of, const CheckpointScan& tensors) {
        const bool restricted = across && of->isReadable(of->templateOptim);
        return restricted
            ? fingerprintOf(of, tensors.tensors, scalerTextsWithoutZero(scalerTexts(*of)), version).text()
            : fingerprintOf(of, tensors.tensors, version).text();
    };
    return {print(checkpoint, scan), print(against, other)};
}

/// Errors of reading are problems of the checkpoint.
void addErrors(const Checkpoint& checkpoint, VerifyReport& report)
{
    for (const Finding& finding : checkpoint.findings) {
        if (finding.severity == Severity::Error)
            report.problems.push_back(finding);
    }
}

/// The manifest of the checkpoint, if there is one; an unreadable one is a problem.
std::optional<Manifest> manifestOf(const VerifyRun& run, const Checkpoint& checkpoint)
{
    VerifyReport& report = run.report;
    const auto text = run.files.readSmall(checkpoint.tagFolder / kManifestName, kManifestLimitBytes);
    if (!text && text.error().code == ErrorCode::NotFound)
        return std::nullopt;
    if (!text) {
        report.manifest = ManifestUse::Unreadable;
        addProblem(report, code::kFileUnreadable, text.error().message, kManifestName);
        return std::nullopt;
    }
    auto manifest = parseManifest(*text);
    if (!manifest) {
        report.manifest = ManifestUse::Damaged;
        addProblem(report, code::kForeignFile, manifest.error().message, kManifestName);
        return std::nullopt;
    }
    report.manifest = ManifestUse::Compared;
    report.digest = manifest->digestKind();
    report.fingerprintVersion = manifest->fingerprintVersion;
    return std::move(*manifest);
}

bool hasFinding(const Checkpoint& checkpoint, std::string_view code)
{
    return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(),
        [&](const Finding& finding) { return finding.code == code; });
}

bool isHalfPublished(const Checkpoint& checkpoint)
{
    return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(), [](const Finding& finding) {
        return finding.code == code::kWorkFolder && finding.severity == Severity::Error;
    });
}

tl::unexpected<Error> nothingToCompare(const Checkpoint& checkpoint)
{
    return fail(ErrorCode::Unsupported, "weights alone have no checksums and no state to compare",
        checkpoint.tagFolder.string());
}

/// Exported weights have a manifest; other weights have nothing to compare.
Result<VerifyReport> verifyWeights(
    io::FileSystem& files, const Checkpoint& checkpoint, bool against, JobContext& job)
{
    VerifyReport report;
    const VerifyRun run{files, report, job};
    addErrors(checkpoint, report);
    const std::optional<Manifest> manifest = manifestOf(run, checkpoint);
    if (against || (report.manifest == ManifestUse::Absent && !isHalfPublished(checkpoint)))
        return nothingToCompare(checkpoint);
    if (manifest) {
        SHARDSCOPE_CHECK(verifyExported(run, checkpoint.tagFolder, *manifest));
    }
    report.ok = report.problems.empty();
    return report;
}

Status compareWithManifest(
    const VerifyRun& run, const Checkpoint& checkpoint, const CheckpointScan& scan, const Manifest& manifest)
{
    VerifyReport& report = run.report;
    if (hasNoRunFolder(checkpoint.kind))
        return compareDistributedManifest(run, checkpoint, scan, manifest);
    const std::vector<std::string> others = compareManifest(checkpoint, scan, manifest, report);
    SHARDSCOPE_CHECK(verifyOthers(run, checkpoint, manifest, others));
    if (manifest.fingerprintIsNewer)
        addProblem(report, code::kNotSupported,
            "the manifest's fingerprint follows a newer definition than this release knows: it was not "
            "compared",
            kManifestName);
    else if (!manifest.fingerprint.empty() && manifest.fingerprint != report.fingerprint)
        addProblem(report, code::kRecordCorrupt, "the training state differs from the manifest",
            kManifestName, {"here " + report.fingerprint, "manifest " + manifest.fingerprint});
    return {};
}

/// Without merge rules, it is not known which slices should be equal.
Status compareReplicas(const VerifyRun& run, const CheckpointPtr& checkpoint)
{
    const bool parallel = checkpoint->parallel.tp > 1 || checkpoint->parallel.pp > 1;
    const auto merged = parallel && !checkpoint->modelError ? mergeSlicesAndStages(checkpoint)
                                                            : Result<CheckpointPtr>(nullptr);
    if (!merged || !*merged)
        return {};
    SHARDSCOPE_TRY(const auto unlike, checkReplicas(run.files, **merged, run.job));
    run.report.problems.insert(run.report.problems.end(), unlike.begin(), unlike.end());
    return {};
}

/// States that are not understood would not be compared.
Status requireComparable(const Checkpoint& checkpoint)
{
    const auto unread = findUnreadStates(checkpoint);
    if (unread.empty())
        return {};
    return fail(ErrorCode::Unsupported, "not all of the state can be compared: " + unread.front()->message,
        checkpoint.tagFolder.string(), "without --against the files are compared with their manifest");
}

struct Scanned {
    CheckpointPtr checkpoint;
    const CheckpointScan& scan;
};

void compareWithSource(const Scanned& own, const Scanned& source, VerifyReport& report)
{
    compareStates(byName(own.checkpoint, own.scan), byName(source.checkpoint, source.scan), report);
    const auto [here, theirs]
        = comparable(own.checkpoint, own.scan, source.checkpoint, source.scan, report.fingerprintVersion);
    if (here != theirs)
        addProblem(report, code::kRankForeign,
            "the training states differ (steps, options and scaler included)", {},
            {"here " + here, "source " + theirs});
}

Result<VerifyReport> verified(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const VerifyAgainst& against, const Workers& workers, JobContext& job)
{
    const CheckpointPtr& source = against.checkpoint;
    if (isWeights(checkpoint->kind) || (source && isWeights(source->kind)))
        return verifyWeights(files, *checkpoint, source != nullptr, job);
    std::pair<CheckpointPtr, CheckpointPtr> compared;
    if (source) {
        SHARDSCOPE_CHECK(requireModel(*source));
        SHARDSCOPE_CHECK(requireComparable(*checkpoint));
        SHARDSCOPE_CHECK(requireComparable(*source));
        SHARDSCOPE_TRY(compared, inSameDegrees(checkpoint, source, against.rules));
    }
    VerifyReport report;
    const VerifyRun run{files, report, job};
    addErrors(*checkpoint, report);
    const bool again = source && compared.first != checkpoint; // it is read again for the comparison
    job.beginPhase(
        "verifying", bytesToRead(*checkpoint) * (again ? 2 : 1) + (source ? bytesToRead(*source) : 0));
    const std::optional<Manifest> manifest = manifestOf(run, *checkpoint);
    const DigestVersion version = report.fingerprintVersion;
    const ScanOptions options{.digest = report.digest, .version = version};
    SHARDSCOPE_TRY(const CheckpointScan scan, scanCheckpoint(files, checkpoint, workers, options, job));
    report.crc = true;
    report.lacksCrc = hasFinding(*checkpoint, code::kRecordUnchecked);
    reportScan(*checkpoint, scan, report);
    const Digest fingerprint = fingerprintOf(checkpoint, scan.tensors, version);
    report.fingerprint
        = checkpoint->modelError || !holdsState(*checkpoint) ? std::string() : fingerprint.text();
    if (manifest)
        SHARDSCOPE_CHECK(compareWithManifest(run, *checkpoint, scan, *manifest));
    if (!findUnreadStates(*checkpoint).empty())
        report.fingerprint.clear(); // it would also be that of other states
    SHARDSCOPE_CHECK(compareReplicas(run, checkpoint));
    if (source) {
        const ScanOptions plain{.digest = io::DigestKind::None, .version = version};
        CheckpointScan own;
        if (again) {
            SHARDSCOPE_TRY(own, scanCheckpoint(files, compared.first, workers, plain, job));
        }
        SHARDSCOPE_TRY(
            const CheckpointScan other, scanCheckpoint(files, compared.second, workers, plain, job));
        compareWithSource({compared.first, again ? own : scan}, {compared.second, other}, report);
    }
    report.ok = report.problems.empty();
    return report;
}

} // namespace

Status requireVerifiable(io::FileSystem& files, const Checkpoint& checkpoint)
{
    const auto manifest = files.stat(checkpoint.tagFolder / kManifestName);
    if (hasNoRunFolder(checkpoint.kind) && manifest)
        return {}; // of an export the manifest is enough
    const bool isAbsent = !manifest && manifest.error().code == ErrorCode::NotFound;
    if (isWeights(checkpoint.kind) && isAbsent && !isHalfPublished(checkpoint))
        return nothingToCompare(checkpoint);
    return requireKnownKind(checkpoint);
}

void refuseMarked(const Checkpoint& checkpoint, VerifyReport& report)
{
    for (const Finding& finding : checkpoint.findings) {
        if (finding.code != code::kMarked)
            continue;
        report.ok = false;
        report.problems.push_back(finding);
    }
}

Result<VerifyReport> verifyCheckpoint(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const VerifyAgainst& against, const Workers& workers, JobContext& job)
{
    const io::OutageWatch watch(pathsOf(*checkpoint));
    return watch.judged(verified(files, checkpoint, against, workers, job));
}

} // namespace shardscope
