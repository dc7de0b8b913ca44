// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/open.h"

#include "core/base/current_stop.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/discover.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/folder/file_table.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/folder/sequence_names.h"
#include "core/checkpoint/folder/skeleton.h"
#include "core/checkpoint/folder/swap_table.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/open/describe.h"
#include "core/checkpoint/open/kind_choice.h"
#include "core/checkpoint/open/open_listed.h"
#include "core/checkpoint/open/parts.h"
#include "core/checkpoint/open/single_file.h"
#include "core/checkpoint/stage0/stage0_reader.h"
#include "core/checkpoint/stage0/stage0_stages.h"
#include "core/checkpoint/stage0/stage0_states.h"
#include "core/checkpoint/swap/swap.h"
#include "core/checkpoint/units/consistency.h"
#include "core/checkpoint/units/expert_families.h"
#include "core/checkpoint/units/layer_files.h"
#include "core/checkpoint/units/model_ranks.h"
#include "core/checkpoint/units/release_facts.h"
#include "core/checkpoint/units/unsupported.h"
#include "core/checkpoint/universal/universal_order.h"
#include "core/checkpoint/universal/universal_reader.h"
#include "core/checkpoint/zero/weights_agree.h"
#include "core/checkpoint/zero/zero12_reader.h"
#include "core/checkpoint/zero/zero3_reader.h"
#include "core/io/outage_watch.h"

#include <algorithm>
#include <utility>

namespace shardscope {

namespace {

/// Opens one checkpoint, from the discovered folder to the immutable model.
class Opening
{
public:
    Opening(io::FileSystem& files, const OpenOptions& options, JobContext& job, Checkpoint& out)
        : m_options(options)
        , m_reading{files, job, options.depth, out}
        , m_out(out)
    {
        m_reading.roots = options.roots;
        m_reading.salvage = options.salvage;
        m_reading.modelsFrom = options.modelsFrom;
        m_reading.exchanged = options.exchanged;
    }

    Status run(CheckpointKind foreignKind)
    {
        if (m_options.salvage
            && (m_options.roots.empty() || !isSwapFolder(m_reading, m_options.roots.front())))
            return fail(ErrorCode::Usage, "it is not a swap folder of a run with NVMe offload",
                m_options.roots.empty() ? std::string() : m_options.roots.front().string(),
                "a donor gives the shapes of a swap folder's files, and nothing else");
        SHARDSCOPE_CHECK(buildFileTable(m_reading));
        m_out.kind = foreignKind;
        if (isSwapKind(foreignKind)) {
            m_reading.refuse(
                "it is an NVMe swap folder, and only a checkpoint of the run records names and shapes; open "
                "that checkpoint, and name this folder with --root; if the run continued after its last "
                "save, open this folder and name that checkpoint with --donor");
            return {};
        }
        if (isUniversal(foreignKind))
            return readConverted();
        const size_t findings = m_out.findings.size();
        m_reading.sequenceRanks = sequenceRanksInNames(m_out.files);
        SHARDSCOPE_TRY(const bool zero3, meet());
        const uint32_t modelRanks = countModelRanks(m_reading);
        if (modelRanks > 1)
            m_reading.sequenceRanks = 1; // recorded slices or stages, with missing files
        if (modelRanks < 2) {
            markBeyondModelRanks(m_reading, modelRanks);
            const auto stages = findStage0Stages(m_reading, {});
            takeStage0Stage(m_reading, stages, 0);
            return readModelRank(zero3);
        }
        return readParts(modelRanks, findings);
    }

    void finish()
    {
        if (m_options.salvage && !m_out.modelError && !partitionsParameters(m_out.kind))
            m_reading.refuse(
                "only a ZeRO-3 checkpoint of the run's number of ranks can be the donor of a swap folder, "
                "and this checkpoint is not one; `reshard DONOR DST --stage 3 --world-size N` makes one");
        if (m_reading.modelRanks == 1) { // with several, the whole reads it for its parts
            readWrapper(m_reading, m_options.roots);
            readMarks(m_reading.files, m_out);
        }
        m_out.fullyRead = m_options.depth == OpenDepth::Full;
        m_out.supported = !isUnknown(m_out.kind)
            && !(m_out.modelError && m_out.modelError->code == ErrorCode::Unsupported);
        const bool wrong = std::any_of(m_out.findings.begin(), m_out.findings.end(),
            [](const Finding& finding) { return finding.severity == Severity::Error; });
        m_out.complete = m_out.supported && !m_out.modelError && m_out.fullyRead && !wrong;
        if (!m_out.supported && m_out.whyNot.empty() && m_out.modelError)
            m_out.whyNot = m_out.modelError->message;
        if (m_out.supported && m_out.modelError && (!wrong || m_out.modelError->path != m_out.tagFolder))
            addModelErrorAsFinding();
    }

private:
    /// Reads the first files of this model-parallel rank. Returns whether they are ZeRO-3's.
    Result<bool> meet()
    {
        choosePrefix();
        if (m_options.depth == OpenDepth::Full)
            SHARDSCOPE_CHECK(readAhead());
        return decideStage();
    }

    Status readModelRank(bool zero3)
    {
        if (hasTorchOptimizer(m_out.kind))
            return readWhole();
        if (m_out.templateModel == kNoFile && m_guideOptim == kNoFile)
            return failNothingReadable();
        m_reading.stop(readRanks(zero3));
        describeEvidence(m_reading, {m_optimCount, m_guideOptim, zero3});
        return {};
    }

    /// Opens each model-parallel rank as a checkpoint of its own, then all of them as one. The table of files
    /// is passed from one to the next, so that a FileId has the same meaning everywhere.
    Status readParts(uint32_t modelRanks, size_t findings)
    {
        const ParallelDegrees degrees = modelParallelDegrees(m_reading, modelRanks);
        const auto stages = findStage0Stages(m_reading, degrees);
        if (!stages && stages.error().code == ErrorCode::Cancelled)
            return forward(stages.error());
        m_out.findings.resize(findings); // the first part reports its files again
        markBeyondModelRanks(m_reading, modelRanks);
        m_out.parallel = degrees;
        if (!m_reading.swapFolders.empty()) {
            m_reading.refuse("tensor parallel ranks offloaded their states to NVMe");
            return {};
        }
        std::vector<Reading::Loaded> met(m_out.files.size());
        for (size_t i = 0; i < met.size(); ++i)
            met[i].content = std::exchange(m_out.files[i].content, nullptr);
        for (uint32_t rank = 0; rank < modelRanks; ++rank) {
            auto part = std::make_shared<Checkpoint>(partOf(m_out, rank));
            Opening opening(m_reading.files, m_options, m_reading.job, *part);
            opening.m_reading.prefetched = std::exchange(met, {});
            opening.m_reading.modelRanks = modelRanks;
            takeStage0Stage(opening.m_reading, stages, rank);
            SHARDSCOPE_CHECK(opening.readPart());
            opening.finish();
            m_out.files = part->files;
            m_out.parts.push_back(std::move(part));
        }
        mergeParts(m_reading);
        m_out.evidence.push_back(std::to_string(modelRanks) + " model-parallel ranks: tp "
            + std::to_string(degrees.tp) + ", pp " + std::to_string(degrees.pp));
        return {};
    }

    Status readPart()
    {
        for (CheckpointFile& file : m_out.files) {
            const auto parsed = m_reading.nameOf(file);
            if (parsed && parsed->mp == m_out.modelRank && file.rank)
                file.rank = RankCoordinate{file.rank->dp, m_out.place.tp, m_out.place.pp};
        }
        const auto zero3 = meet();
        if (zero3) {
            if (hasTorchOptimizer(m_out.kind) && refuseWithoutShards(m_reading))
                return {};
            return readModelRank(*zero3);
        }
        if (zero3.error().code != ErrorCode::NotACheckpoint)
            return forward(zero3.error());
        const std::string rank = std::to_string(m_out.modelRank);
        m_reading.add(code::kRankMissing, Severity::Error,
            "the files of model-parallel rank " + rank + " are missing", modelFileName(m_out.modelRank));
        m_reading.stop(fail(ErrorCode::Damaged, "the files of model-parallel rank " + rank + " are missing",
            m_out.tagFolder.string()));
        return {};
    }

    /// Reports modelError as a finding if no finding reports it yet. Missing files already have findings.
    void addModelErrorAsFinding()
    {
        const io::Path at = io::Path(m_out.modelError->path).lexically_relative(m_out.tagFolder);
        m_reading.add(code::kTensorInvalid, Severity::Error, m_out.modelError->message,
            at == "." ? std::string() : at.string());
    }

    /// The precision prefix of most optimizer files. On a tie, that of the newest file.
    void choosePrefix()
    {
        int64_t newest[2] = {-1, -1};
        size_t count[2] = {0, 0};
        for (const CheckpointFile& file : m_out.files) {
            const auto parsed = m_reading.nameOf(file);
            if (!parsed || parsed->role != FileRole::OptimStates || parsed->mp != m_out.modelRank)
                continue;
            ++count[parsed->bf16Prefix];
            newest[parsed->bf16Prefix] = std::max(newest[parsed->bf16Prefix], file.identity.modifiedNs);
        }
        m_reading.bf16Prefix = count[1] > count[0] || (count[1] == count[0] && newest[1] > newest[0]);
        m_optimCount = std::max(count[0], count[1]);
    }

    /// Rank 0's model file takes longest by far. It comes first, so that the optimizer files are read at the
    /// same time.
    Status readAhead()
    {
        std::vector<FileId> wanted;
        for (uint32_t i = 0; i < m_out.files.size(); ++i) {
            const auto parsed = m_reading.nameOf(m_out.files[i]);
            if (!parsed || parsed->mp != m_out.modelRank || parsed->fastWriterPart)
                continue;
            if (parsed->role == FileRole::ModelStates && parsed->dp == 0)
                wanted.insert(wanted.begin(), FileId{i});
            else if (parsed->role == FileRole::OptimStates && parsed->bf16Prefix == m_reading.bf16Prefix)
                wanted.push_back(FileId{i});
        }
        return prefetchFiles(m_reading, wanted);
    }

    /// The readable file of the lowest rank with this role, or kNoFile.
    FileId firstReadable(const auto& wanted)
    {
        std::vector<std::pair<uint32_t, FileId>> found;
        for (uint32_t i = 0; i < m_out.files.size(); ++i) {
            const auto parsed = m_reading.nameOf(m_out.files[i]);
            if (parsed && parsed->mp == m_out.modelRank && !parsed->fastWriterPart && wanted(*parsed))
                found.emplace_back(parsed->dp, FileId{i});
        }
        std::sort(found.begin(), found.end());
        for (const auto& [rank, id] : found) {
            if (loadFile(m_reading, id))
                return id;
        }
        return kNoFile;
    }

    Result<bool> decideStage()
    {
        const FileId optim = firstReadable([&](const CheckpointFileName& name) {
            return name.role == FileRole::OptimStates && name.bf16Prefix == m_reading.bf16Prefix;
        });
        if (optim != kNoFile)
            takeKindOf(m_reading, optim);
        const bool anyZero3
            = std::any_of(m_out.files.begin(), m_out.files.end(), [&](const CheckpointFile& file) {
                  const auto parsed = m_reading.nameOf(file);
                  return parsed && parsed->zero3Model;
              });
        const bool zero3 = partitionsParameters(m_out.kind) || (isUnknown(m_out.kind) && anyZero3);
        m_out.templateModel = firstReadable([&](const CheckpointFileName& name) {
            return name.role == FileRole::ModelStates && name.zero3Model == zero3;
        });
        if (optim == kNoFile && m_out.templateModel == kNoFile)
            return failNothingReadable();
        if (m_out.templateModel != kNoFile)
            m_reading.modelRoot = m_reading.content(m_out.templateModel)->pickle().root();
        if (m_optimCount == 0 && !zero3)
            m_out.kind = CheckpointKind::Torch;
        if (isUnknown(m_out.kind) && zero3)
            m_out.kind = CheckpointKind::Zero3;
        m_out.zeroStage = partitionsParameters(m_out.kind) ? 3 : m_out.zeroStage;
        applyConfiguredStage(m_reading, optim);
        takeAskedKind(m_reading, m_options.kind);
        m_guideOptim = optim;
        return zero3;
    }

    /// No state file could be opened. Returns the error of the first one (the only file may be malicious,
    /// truncated …).
    tl::unexpected<Error> failNothingReadable()
    {
        for (const CheckpointFile& file : m_out.files) {
            if (!m_reading.nameOf(file))
                continue;
            const auto opened
                = TorchFile::open(m_reading.files, file.path, ReadMode::Tolerant, m_reading.job);
            if (!opened)
                return forward(opened.error());
        }
        return fail(ErrorCode::NotACheckpoint, "the tag folder holds no state files of DeepSpeed",
            m_out.tagFolder.string());
    }

    /// Reads a checkpoint that is complete in its model file, for any number of ranks.
    Status readWhole()
    {
        readModelHeader(m_reading);
        const PickleGraph& graph = m_reading.content(m_out.templateModel)->pickle();
        const NodeId optimizer = lookup(graph, m_reading.modelRoot, "optimizer");
        m_out.kind = formOfOptimizer(graph, optimizer);
        m_out.modelFiles = {m_out.templateModel};
        const auto world = asInteger(graph, lookup(graph, m_reading.modelRoot, "dp_world_size"));
        if (world && *world > 0 && *world <= 1'000'000)
            m_out.parallel.dp = static_cast<uint32_t>(*world);
        m_reading.worldSize = 1;
        markRenamed(m_reading, m_out.templateModel);
        m_reading.stop(refuseUnsupported(m_reading));
        if (!m_out.modelError)
            m_reading.stop(readStage0(m_reading));
        m_out.evidence.emplace_back(isStage0(m_out.kind)
                ? "no optimizer files, so it was saved without ZeRO (stage 0)"
                : "no optimizer files; the configuration says how the run was partitioned");
        describeOptimizer(m_reading);
        return {};
    }

    /// Chooses the optimizer file of the requested rank. Else: that of the lowest rank with a file of its
    /// own.
    void chooseOptim()
    {
        const auto& all = m_out.optimFiles;
        const auto isUsable = [&](FileId file) {
            return file != kNoFile && loadFile(m_reading, file) && m_out.isReadable(file);
        };
        auto own = all.end();
        if (m_options.formOf && *m_options.formOf < all.size() && isUsable(all[*m_options.formOf]))
            own = all.begin() + *m_options.formOf;
        else
            own = std::find_if(all.begin(), all.end(), isUsable);
        m_out.templateOptim = all.empty() ? kNoFile : own == all.end() ? all.front() : *own;
        if (const TorchFile* optim = m_reading.content(m_out.templateOptim))
            m_out.optimWrapper = wrapperOf(optim->pickle());
    }

    Status readRanks(bool zero3)
    {
        m_reading.worldSize = findWorldSize(m_reading, m_guideOptim, m_optimCount);
        m_out.parallel.dp = m_reading.worldSize;
        readModelHeader(m_reading);
        markExpectedFiles(m_reading, zero3);
        if (m_options.depth == OpenDepth::Full)
            SHARDSCOPE_CHECK(loadFiles(m_reading, m_out.optimFiles));
        chooseOptim();
        markUnread();
        takeVersionOf(m_reading, m_out.templateOptim);
        if (isUnknown(m_out.kind))
            return fail(ErrorCode::Damaged, "no optimizer file shows which kind of checkpoint this is",
                m_out.tagFolder.string());
        markForeignRanks(m_reading);
        chooseOptim();
        if (m_out.templateModel != kNoFile)
            markRenamed(m_reading, m_out.templateModel);
        SHARDSCOPE_CHECK(refuseUnsupported(m_reading));
        if (m_out.modelError) // why a file is not supported
            return {};
        if (m_out.templateModel == kNoFile)
            return fail(ErrorCode::Damaged,
                "the model file is missing or unreadable, and only it records names and shapes",
                m_out.tagFolder.string(), "copy the *_model_states.pt file next to the optimizer files");
        m_reading.stop(zero3 ? readZero3(m_reading) : readZero12(m_reading));
        if (m_options.depth == OpenDepth::Full && !m_out.modelError) {
            SHARDSCOPE_CHECK(readLayerFiles(m_reading));
            SHARDSCOPE_CHECK(readExpertFiles(m_reading));
        }
        if (m_options.depth == OpenDepth::Full && !m_out.modelError) {
            checkRanksAgree(m_reading);
            if (!zero3)
                checkWeightsAgree(m_reading);
        }
        describeOptimizer(m_reading);
        return {};
    }

    Status readConverted()
    {
        SHARDSCOPE_CHECK(readUniversal(m_reading));
        if (m_options.depth == OpenDepth::Full && !m_out.modelError) {
            SHARDSCOPE_CHECK(readLayerFiles(m_reading)); // ours are used, the converter ignores them
            checkUniversalAgrees(m_reading);
        }
        describeOptimizer(m_reading);
        m_out.evidence.push_back("a folder `zero` with one folder per parameter");
        if (m_reading.content(m_out.templateOptim) != nullptr)
            m_out.evidence.push_back(m_out.zeroStage == 0
                    ? "`optimizer_state.pt` names no ZeRO stage"
                    : "`optimizer_state.pt` records that it was converted from ZeRO-"
                        + std::to_string(m_out.zeroStage));
        return {};
    }

    void markUnread()
    {
        for (const std::vector<FileId>* list : {&m_out.optimFiles, &m_out.modelFiles}) {
            for (const FileId id : *list) {
                CheckpointFile& file = m_out.files[index(id)];
                if (m_options.depth == OpenDepth::Structure && file.status == FileStatus::Ok && !file.content)
                    file.status = FileStatus::NotYetRead;
            }
        }
    }

    const OpenOptions& m_options;
    Reading m_reading;
    Checkpoint& m_out;
    size_t m_optimCount = 0;
    FileId m_guideOptim = kNoFile;
};

Result<OpenedCheckpoint> openFound(io::FileSystem& files, const Result<Discovery>& discovery,
    const RunListing* listing, const OpenOptions& options, JobContext& job)
{
    if (!discovery)
        return forward(discovery.error());
    const Discovery& found = *discovery;
    auto out = std::make_shared<Checkpoint>();
    out->runFolder = found.runFolder;
    out->tagFolder = found.tagFolder;
    out->tag = found.tag;
    out->tags = found.tags;
    out->latest = found.latest;
    out->wrapper = found.wrapper;
    out->findings = found.findings;
    if (found.runFolder.empty()) {
        SHARDSCOPE_CHECK(openSingleFile(files, found, job, *out));
        SHARDSCOPE_CHECK(requireAskedKind(*out, options.kind));
        if (!isUnknown(out->kind))
            readMarks(files, *out);
        return OpenedCheckpoint{out, found.selectedFile};
    }
    if (found.tagFolder.empty()) {
        const Finding& why = out->findings.front();
        const bool isThere = why.code == code::kFileUnreadable; // it cannot be read, so it is not absent
        out->modelError = Error{isThere ? ErrorCode::Unreadable : ErrorCode::NotFound, why.message,
            found.runFolder.string(), why.evidence.empty() ? std::string() : why.evidence.front()};
        out->whyNot = why.message;
        out->fullyRead = true;
        addUnfinishedWork(files, listing, *out);
        return OpenedCheckpoint{out, {}};
    }
    Opening opening(files, options, job, *out);
    SHARDSCOPE_CHECK(opening.run(found.foreignKind));
    SHARDSCOPE_CHECK(job.poll()); // after a stop, files may look unreadable
    opening.finish();
    SHARDSCOPE_CHECK(requireAskedKind(*out, options.kind));
    noteNewerRelease(*out);
    addUnfinishedWork(files, listing, *out);
    return OpenedCheckpoint{out, found.selectedFile};
}

} // namespace

Result<OpenedCheckpoint> openCheckpoint(
    io::FileSystem& files, const io::Path& path, const OpenOptions& options, JobContext& job)
{
    std::vector<io::Path> places = options.roots;
    places.push_back(path);
    const StopScope scope(job.stopToken());
    const io::OutageWatch watch(std::move(places));
    return watch.judged(openFound(files, discoverAsked(files, path, options, job), nullptr, options, job));
}

Result<OpenedCheckpoint> openListed(
    io::FileSystem& files, const RunListing& listing, const OpenOptions& options, JobContext& job)
{
    const io::OutageWatch watch;
    const auto found = discoverIn(files, listing, options.tag, job);
    return watch.judged(openFound(files, found, &listing, options, job));
}

Result<OpenedCheckpoint> openDiscovered(io::FileSystem& files, const Discovery& found,
    const RunListing* listing, const OpenOptions& options, JobContext& job)
{
    const io::OutageWatch watch;
    return watch.judged(openFound(files, found, listing, options, job));
}

} // namespace shardscope
