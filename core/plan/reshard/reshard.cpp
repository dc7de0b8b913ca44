// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard/reshard.h"

#include "core/base/build_info.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/require.h"
#include "core/checkpoint/slices/merged_slices.h"
#include "core/compare/digest/state_digest.h"
#include "core/io/sha256.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/reshard_context.h"
#include "core/plan/emit/target_files.h"
#include "core/plan/emit/zenflow_form.h"
#include "core/plan/model/marks.h"
#include "core/plan/model/named_ties.h"
#include "core/plan/model/output_bytes.h"
#include "core/plan/model/saved_text.h"
#include "core/plan/model/source_list.h"
#include "core/plan/model/wrapper_carry.h"
#include "core/plan/reshard/reshard_advice.h"
#include "core/plan/reshard/reshard_parts.h"
#include "core/plan/reshard/slice_merge.h"
#include "core/plan/reshard/slice_split.h"
#include "core/plan/reshard/stage_split.h"
#include "core/plan/target/distributed_source.h"
#include "core/plan/target/elastic_options.h"
#include "core/plan/target/reshard_options.h"
#include "core/plan/target/scaler_forms.h"
#include "core/plan/target/stage0_form.h"

#include <nlohmann/json.hpp>

#include <map>

namespace shardscope {

namespace {

class ReshardPlanImpl final : public ReshardPlan
{
public:
    ReshardPlanImpl(CheckpointPtr source, ReshardOptions options, CheckpointKind kind, uint64_t subGroupSize,
        ReshardParts parts)
        : m_source(std::move(source))
        , m_options(std::move(options))
        , m_kind(kind)
        , m_subGroupSize(subGroupSize)
        , m_parts(std::move(parts))
    {
    }

    /// `warnings`: what making the plan's source has shown.
    Status build(
        io::FileSystem& files, std::vector<Finding> warnings, std::vector<Finding> marks, JobContext& job)
    {
        m_marks = std::move(marks);
        for (size_t part = 0; part < m_parts.contexts().size(); ++part) {
            for (const TargetFile& spec : targetFiles(*m_parts.contexts()[part]))
                m_specs.push_back({part, spec});
        }
        SHARDSCOPE_CHECK(measureFiles(job));
        if (!isConversion() && !isStage0(targetKind())) { // they merge shards
            SHARDSCOPE_TRY(m_beside, runFolderScripts(files, *m_source));
        }
        for (const PlanTensor& tensor : tensors())
            m_readsBytes += tensor.elements * itemSize(tensor.dtype);
        for (const CarriedFile& carried : m_parts.contexts().front()->carried)
            m_readsBytes += carried.bytes;
        m_id = makeId();
        const uint32_t ranks = m_parts.contexts().front()->target.ranks;
        if (!isConversion())
            m_batch = batchPairs(*m_source, ranks);
        m_mustStayEqual = shardscope::mustStayEqual(*m_source, targetKind(), m_subGroupSize, expertRanks());
        const bool columns = keepsColumns(*m_source, targetKind(), m_options);
        addZenFlowEquals(*m_source, targetKind(), columns, m_mustStayEqual);
        m_warnings = m_marks;
        std::move(warnings.begin(), warnings.end(), std::back_inserter(m_warnings));
        auto advice = reshardWarnings(*m_source, targetKind(), m_options, m_subGroupSize, ranks);
        std::move(advice.begin(), advice.end(), std::back_inserter(m_warnings));
        addZenFlowWarnings(*m_source, targetKind(), columns, m_warnings);
        auto more = wrapperWarnings(
            files, *m_source, isConversion() ? std::nullopt : std::optional(m_options.worldSize));
        std::move(more.begin(), more.end(), std::back_inserter(m_warnings));
        return {};
    }

    [[nodiscard]] std::string verb() const override { return isConversion() ? "convert" : "reshard"; }
    [[nodiscard]] std::string id() const override { return m_id; }
    [[nodiscard]] std::string targetName() const override { return targetTag(*m_source, m_options); }
    [[nodiscard]] std::string pointerName() const override
    {
        if (!m_options.writePointer)
            return {};
        return isConversion() ? "latest_universal" : "latest";
    }
    [[nodiscard]] const std::vector<PlanSource>& sources() const override { return m_parts.sources(); }
    [[nodiscard]] const std::vector<PlanTensor>& tensors() const override { return m_parts.tensors(); }
    [[nodiscard]] const std::vector<PlannedFile>& files() const override { return m_files; }
    [[nodiscard]] Result<OutputFile> recipe(size_t i) const override
    {
        SHARDSCOPE_TRY(OutputFile recipe, compose(contextOf(m_specs[i]), m_specs[i].file));
        return m_parts.numbered(m_specs[i].part, std::move(recipe));
    }
    [[nodiscard]] std::vector<OutputFile> runFolderFiles() const override { return m_beside; }
    [[nodiscard]] uint64_t readsBytes() const override { return m_readsBytes; }
    [[nodiscard]] uint64_t writesBytes() const override { return m_writesBytes; }
    [[nodiscard]] const std::vector<Finding>& warnings() const override { return m_warnings; }
    [[nodiscard]] const std::vector<Finding>& marks() const override { return m_marks; }
    [[nodiscard]] uint32_t worldSize() const override
    {
        return isConversion() ? m_parts.contexts().front()->target.ranks : m_options.worldSize;
    }
    [[nodiscard]] CheckpointKind targetKind() const override { return m_kind; }
    [[nodiscard]] std::optional<uint64_t> subGroupSize() const override
    {
        return m_subGroupSize == 0 ? std::nullopt : std::optional(m_subGroupSize);
    }
    [[nodiscard]] const std::vector<BatchPair>& batch() const override { return m_batch; }
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& mustStayEqual() const override
    {
        return m_mustStayEqual;
    }
    [[nodiscard]] const ReshardOptions& options() const override { return m_options; }
    [[nodiscard]] CheckpointPtr laidOut() const override { return m_source; }
    [[nodiscard]] std::vector<FlatUnit> targetUnits() const override { return m_parts.targetUnits(); }

    [[nodiscard]] std::string fingerprint(std::span<const Digest> digests) const override
    {
        const bool readable = m_source->isReadable(m_source->templateOptim);
        return fingerprintOf(m_source, m_parts.inOrderOfSource(digests),
            readable ? targetScalerTexts(*m_source, targetKind()) : ScalerTexts())
            .text();
    }

    [[nodiscard]] std::string describeJson() const override
    {
        nlohmann::json out;
        out["verb"] = verb();
        out["id"] = m_id;
        if (!isConversion())
            out["world_size"] = m_options.worldSize;
        putText(out, "tag", targetName());
        out["kind"] = kindName(targetKind());
        out["source"] = {{"kind", kindName(m_source->kind)}, {"world_size", m_source->parallel.ranks()}};
        putText(out["source"], "tag", m_source->tag);
        if (m_subGroupSize != 0)
            out["sub_group_size"] = m_subGroupSize;
        if (expertRanks() != 0)
            out["expert_parallel"] = expertRanks();
        return out.dump();
    }

private:
    struct Spec {
        size_t part = 0;
        TargetFile file;
    };
    [[nodiscard]] const std::shared_ptr<const ReshardContext>& contextOf(const Spec& spec) const
    {
        return m_parts.contexts()[spec.part];
    }

    /// 0 where they are the source's.
    [[nodiscard]] uint32_t expertRanks() const { return m_parts.contexts().front()->target.expertRanks; }

    [[nodiscard]] bool isConversion() const { return isUniversal(targetKind()); }

    /// Names of one length lead to archives of one size when their pickles are the same: ZeRO-3 ranks from 1
    /// on, and all optimizer files. The size of one of them is that of all.
    Status measureFiles(JobContext& job)
    {
        std::map<std::tuple<size_t, TargetFile::Kind, bool, size_t>, uint64_t> known;
        m_files.reserve(m_specs.size());
        for (const Spec& spec : m_specs) {
            SHARDSCOPE_CHECK(job.poll());
            const std::string name = nameOf(*contextOf(spec), spec.file);
            const std::tuple key{spec.part, spec.file.kind, spec.file.rank == 0, name.size()};
            uint64_t bytes = 0;
            if (const auto found = known.find(key);
                areAlike(*contextOf(spec), spec.file.kind) && found != known.end()) {
                bytes = found->second;
            } else {
                SHARDSCOPE_TRY(const OutputFile file, compose(contextOf(spec), spec.file));
                SHARDSCOPE_TRY(bytes, outputBytes(file));
                known.emplace(key, bytes);
            }
            m_files.push_back({name, bytes});
            m_writesBytes += bytes;
        }
        return {};
    }

    [[nodiscard]] std::string makeId() const
    {
        const std::string text = describeWithoutId() + identityText(sources());
        io::Sha256 sha;
        sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
        return sha.finishHex().substr(0, 16);
    }

    [[nodiscard]] std::string optionsText() const
    {
        std::string out;
        for (const std::string& option : m_options.optimizerOptions)
            out += std::to_string(option.size()) + ":" + option;
        return out;
    }

    [[nodiscard]] std::string stagesText() const
    {
        std::string out;
        for (const uint32_t layer : m_options.stageLayers)
            out += "|l" + std::to_string(layer);
        for (const std::string& tied : m_options.tiedLayers)
            out += "|t" + std::to_string(tied.size()) + ":" + tied;
        for (const std::string& tie : m_options.ties)
            out += "|s" + std::to_string(tie.size()) + ":" + tie;
        return out;
    }

    [[nodiscard]] std::string describeWithoutId() const
    {
        return verb() + "|" + std::string(buildInfo().version) + "|" + std::string(kindName(targetKind()))
            + "|" + std::to_string(m_options.worldSize) + "|" + targetName() + "|" + pointerName() + "|"
            + std::to_string(m_subGroupSize) + "|" + std::to_string(m_source->parallel.tp) + "|"
            + std::to_string(m_source->parallel.pp)
            + (expertRanks() == 0 ? std::string() : "|ep" + std::to_string(expertRanks())) + "|"
            + optionsText() + (m_options.rowMajor ? "|row-major" : "")
            + (m_options.patterns ? "|" + *m_options.patterns : std::string())
            + (m_options.paddedVocabulary ? "|v" + std::to_string(*m_options.paddedVocabulary)
                                          : std::string())
            + stagesText() + "\n";
    }

    CheckpointPtr m_source;
    ReshardOptions m_options;
    CheckpointKind m_kind;
    uint64_t m_subGroupSize;
    ReshardParts m_parts;
    std::vector<Spec> m_specs;
    std::vector<PlannedFile> m_files;
    std::vector<OutputFile> m_beside;
    uint64_t m_readsBytes = 0;
    uint64_t m_writesBytes = 0;
    std::string m_id;
    std::vector<BatchPair> m_batch;
    std::vector<std::pair<std::string, std::string>> m_mustStayEqual;
    std::vector<Finding> m_warnings;
    std::vector<Finding> m_marks;
};

} // namespace

Result<std::shared_ptr<const ReshardPlan>> planReshard(
    io::FileSystem& files, CheckpointPtr source, const ReshardOptions& options, JobContext& job)
{
    return planReshard(files, std::move(source), options, std::vector<std::shared_ptr<Refills>>(), job);
}

namespace {

/// Which splits and merges a plan has.
struct PartChanges {
    bool mergesSlices = false;
    bool splitsSlices = false;
    bool splitsStages = false;
};

Status requireUsedOptions(const Checkpoint& source, const ReshardOptions& options, const PartChanges& changes)
{
    if (!changes.mergesSlices && !changes.splitsSlices && options.patterns)
        return fail(ErrorCode::Usage,
            "patterns say how tensor slices are merged and split, but no slices are merged or split here",
            source.tagFolder.string(), "omit --patterns");
    if (!changes.splitsStages && !options.tiedLayers.empty())
        return fail(ErrorCode::Usage,
            "layers of tied modules are named, but no layers are distributed to stages",
            source.tagFolder.string(), "omit --pp-tied, or give the layers of the stages with --pp-layers");
    if (options.paddedVocabulary && (options.form == TargetForm::Universal || options.tp.value_or(0) == 0))
        return fail(ErrorCode::Usage,
            "rows of a padded vocabulary are those of the target's tensor slices, but the number of slices "
            "is not given",
            source.tagFolder.string(), "give --tp, too");
    return {};
}

/// How the parts of a target are laid out.
struct TargetLayout {
    CheckpointKind kind = CheckpointKind::Unknown;
    uint32_t ranks = 1;
    uint32_t expertRanks = 0; ///< 0: as in the source
    uint64_t subGroupSize = 0;
    bool columns = false; ///< ZenFlow's order
    bool rebuilds = false; ///< as ReshardContext::rebuilds
    const Checkpoint* carriesFrom
        = nullptr; ///< the whole source, whose framework's files go with the first part
};

/// A context for each part of the source.
Result<std::vector<std::shared_ptr<const ReshardContext>>> makeContexts(io::FileSystem& files,
    const CheckpointPtr& source, const TargetLayout& layout,
    const std::vector<std::shared_ptr<Refills>>& refills, JobContext& job)
{
    std::vector<std::shared_ptr<const ReshardContext>> contexts;
    for (const CheckpointPtr& part : source->parts.empty() ? std::vector{source} : source->parts) {
        SHARDSCOPE_TRY(ReshardTarget target,
            layout.expertRanks != 0 ? layOutExperts(*part, layout.kind, layout.ranks, layout.expertRanks)
                                    : layOutTarget(*part, layout.kind, layout.ranks, layout.subGroupSize));
        target.zenflow = layout.columns;
        const auto refill = contexts.size() < refills.size() ? refills[contexts.size()] : nullptr;
        const bool recordsOptions = std::none_of(part->groups.begin(), part->groups.end(),
            [](const ParamGroup& group) { return group.options == kNoNode; });
        if (layout.rebuilds || !recordsOptions || (refill && refill->model().rebuilt)) {
            SHARDSCOPE_CHECK(requireStage0Facts(*part, layout.kind));
            SHARDSCOPE_CHECK(requireModelFacts(*part, layout.kind));
        }
        const Checkpoint* carriesFrom = contexts.empty() ? layout.carriesFrom : nullptr;
        SHARDSCOPE_TRY(auto context,
            makeReshardContext(files, part, std::move(target), layout.subGroupSize, layout.rebuilds,
                carriesFrom, job, refill));
        contexts.push_back(std::move(context));
    }
    return contexts;
}

} // namespace

Result<std::shared_ptr<const ReshardPlan>> planReshard(io::FileSystem& files, CheckpointPtr source,
    const ReshardOptions& options, const std::vector<std::shared_ptr<Refills>>& refills, JobContext& job)
{
    if (source->modelError) // names the findings behind it
        SHARDSCOPE_CHECK(requireComplete(*source, options.allow));
    SHARDSCOPE_CHECK(requireNativeFacts(*source));
    if (isWeights(source->kind))
        return fail(ErrorCode::Unsupported,
            "weights alone have no masters and no optimizer state, and a run cannot resume without them",
            source->tagFolder.string(), "give the checkpoint of the run that they were exported from");
    if (lacksOptimizer(*source)) {
        SHARDSCOPE_CHECK(requireComplete(*source)); // names what is missing
        return fail(ErrorCode::Refused,
            "the checkpoint has no masters and no optimizer states, and a run cannot resume without them",
            source->tagFolder.string(), "`export` writes its weights");
    }
    if (!isStage0(source->kind)) // stays as it is in the one file: requireStage0Facts()
        SHARDSCOPE_CHECK(requireAllStates(*source, options.allow));
    SHARDSCOPE_TRY(source, withTies(std::move(source), options.ties));
    const CheckpointPtr whole = source;
    std::vector<Finding> warnings;
    const bool slices = splitsSlices(*source, options);
    const bool stages = splitsStages(*source, options);
    const PartChanges changes{mergesParts(*source, options) && source->parallel.tp > 1, slices, stages};
    SHARDSCOPE_CHECK(requireUsedOptions(*source, options, changes));
    if (mergesParts(*source, options) || slices || stages) {
        SHARDSCOPE_CHECK(checkOptions(*source, options));
        SHARDSCOPE_CHECK(requireComplete(*source, options.allow));
        SHARDSCOPE_TRY(SliceMerge merge, mergeForPlan(files, source, options, job));
        source = std::move(merge.source);
        warnings = std::move(merge.warnings);
    }
    SHARDSCOPE_CHECK(checkOptions(*source, options));
    SHARDSCOPE_CHECK(requireComplete(*source, options.allow));
    SHARDSCOPE_TRY(WithOptions optioned, withOptions(std::move(source), options.optimizerOptions));
    source = std::move(optioned.checkpoint);
    SHARDSCOPE_TRY(const CheckpointKind kind, targetKindOf(*source, options));
    SHARDSCOPE_TRY(const uint64_t subGroupSize, chooseSubGroupSize(*source, kind, options));
    SHARDSCOPE_CHECK(checkParallel(*source, kind, options));
    SHARDSCOPE_CHECK(checkZenFlow(*source, kind, options));
    const bool columns = keepsColumns(*source, kind, options);
    const uint32_t ranks
        = isUniversal(kind) ? 1 : options.worldSize / (source->parallel.tp * source->parallel.pp);
    const bool changesExperts = options.ep && *options.ep != source->parallel.ep;
    const bool parallel = source->parallel.pp > 1 || source->parallel.ep > 1 || changesExperts;
    const bool rebuilds = kind != source->kind || (hasBf16Optimizer(kind) && hasOptimizerInModel(*source))
        || isUniversal(kind) || source->merged || slices || stages || !options.ties.empty()
        || source->zenflow != columns
        || (!parallel && hasOldForm(source->parts.empty() ? *source : *source->parts.front()));
    const TargetLayout layout{
        kind, ranks, changesExperts ? *options.ep : 0, subGroupSize, columns, rebuilds, whole.get()};
    SHARDSCOPE_TRY(auto contexts, makeContexts(files, source, layout, refills, job));
    ReshardParts parts(source, std::move(contexts));
    auto plan = std::make_shared<ReshardPlanImpl>(source, options, kind, subGroupSize, std::move(parts));
    std::move(optioned.notes.begin(), optioned.notes.end(), std::back_inserter(warnings));
    SHARDSCOPE_CHECK(plan->build(files, std::move(warnings), marksOf(*whole, options.allow), job));
    return std::shared_ptr<const ReshardPlan>(std::move(plan));
}

} // namespace shardscope
