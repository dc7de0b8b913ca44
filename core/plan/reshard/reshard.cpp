// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard/reshard.h"

#include "core/base/build_info.h"
#include "core/base/parallel.h"
#include "core/base/sha256.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/require.h"
#include "core/compare/digest/state_digest.h"
#include "core/layout/slices/merged_slices.h"
#include "core/plan/compose/named_ties.h"
#include "core/plan/compose/wrapper_carry.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/reshard_context.h"
#include "core/plan/emit/target_files.h"
#include "core/plan/emit/zenflow_form.h"
#include "core/plan/model/marks.h"
#include "core/plan/model/output_bytes.h"
#include "core/plan/model/saved_text.h"
#include "core/plan/model/source_list.h"
#include "core/plan/reshard/reshard_advice.h"
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
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope {

namespace {

/// The contexts of all parts of a checkpoint as one list of sources and tensors. Every part is planned by
/// itself: a model-parallel rank's files depend on nothing of the others'. A file that several parts read, as
/// slices that are split from one do, is one source. Once they are taken, nothing
/// changes any more.
class ReshardParts
{
public:
    /// `contexts` in the order of whole->parts, or the only one of a checkpoint without parts.
    ReshardParts(CheckpointPtr whole, std::vector<std::shared_ptr<const ReshardContext>> contexts);

    [[nodiscard]] const std::vector<std::shared_ptr<const ReshardContext>>& contexts() const
    {
        return m_contexts;
    }
    /// The lists of a plan.
    [[nodiscard]] std::vector<PlanSource> takeSources() { return std::move(m_sources); }
    [[nodiscard]] std::vector<PlanTensor> takeTensors() { return std::move(m_tensors); }
    /// A recipe of one part, with its sources and tensors numbered as in these lists.
    [[nodiscard]] OutputFile numbered(size_t part, OutputFile recipe) const;
    /// Units of the target with parameters of the whole checkpoint, in the order of the parts.
    [[nodiscard]] std::vector<FlatUnit> targetUnits() const;
    /// The digests of the tensors in the order of the whole checkpoint's table.
    [[nodiscard]] std::vector<Digest> inOrderOfSource(std::span<const Digest> digests) const;

private:
    void add(const ReshardContext& context, uint32_t firstParam);

    CheckpointPtr m_whole;
    std::vector<std::shared_ptr<const ReshardContext>> m_contexts;
    /// Per part: its sources in the list of all.
    std::vector<std::shared_ptr<const std::vector<uint32_t>>> m_sourceNumbers;
    std::vector<uint32_t> m_firstTensor; ///< per part
    std::vector<PlanSource> m_sources;
    std::unordered_map<std::string, uint32_t> m_sourceOf; ///< path → source
    std::vector<PlanTensor> m_tensors;
};

/// The segments of a part's record, numbered as in the lists of all parts.
class NumberedCursor final : public SegmentCursor
{
public:
    NumberedCursor(std::unique_ptr<SegmentCursor> cursor,
        std::shared_ptr<const std::vector<uint32_t>> sources, uint32_t firstTensor)
        : m_cursor(std::move(cursor))
        , m_sources(std::move(sources))
        , m_firstTensor(firstTensor)
    {
    }

    bool next(Segment& segment) override
    {
        if (!m_cursor->next(segment))
            return false;
        if (segment.source != Segment::kZero)
            segment.source = (*m_sources)[segment.source];
        if (segment.tensor != Segment::kNoTensor)
            segment.tensor += m_firstTensor;
        return true;
    }

private:
    std::unique_ptr<SegmentCursor> m_cursor;
    std::shared_ptr<const std::vector<uint32_t>> m_sources;
    uint32_t m_firstTensor;
};

ReshardParts::ReshardParts(CheckpointPtr whole, std::vector<std::shared_ptr<const ReshardContext>> contexts)
    : m_whole(std::move(whole))
    , m_contexts(std::move(contexts))
{
    uint32_t firstParam = 0;
    for (const auto& context : m_contexts) {
        add(*context, firstParam);
        firstParam += static_cast<uint32_t>(context->source->params.size());
    }
}

void ReshardParts::add(const ReshardContext& context, uint32_t firstParam)
{
    m_firstTensor.push_back(static_cast<uint32_t>(m_tensors.size()));
    const bool first = m_sourceNumbers.empty(); // keeps its own numbers
    std::vector<uint32_t> numbers;
    for (const PlanSource& source : context.sources) {
        const auto [known, isNew]
            = m_sourceOf.try_emplace(source.path.native(), static_cast<uint32_t>(m_sources.size()));
        numbers.push_back(isNew || first ? static_cast<uint32_t>(m_sources.size()) : known->second);
        if (isNew || first)
            m_sources.push_back(source);
    }
    m_sourceNumbers.push_back(std::make_shared<const std::vector<uint32_t>>(std::move(numbers)));
    std::vector<PlanTensor> tensors = context.tensors;
    // Parts may have parameters of one name; the whole distinguishes them.
    const auto nameIn = [&](uint32_t param) { return m_whole->params[firstParam + param].name; };
    for (uint32_t i = 0; i < context.planOfTable.size(); ++i) {
        if (context.planOfTable[i] != Segment::kNoTensor)
            tensors[context.planOfTable[i]].name = nameIn(index(context.table->entry(i).param));
    }
    for (uint32_t i = 0; i < context.newWeights.size(); ++i) {
        if (context.newWeights[i] != Segment::kNoTensor)
            tensors[context.newWeights[i]].name = nameIn(i);
    }
    m_tensors.insert(
        m_tensors.end(), std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
}

OutputFile ReshardParts::numbered(size_t part, OutputFile recipe) const
{
    if (part == 0)
        return recipe; // its numbers are those of the lists
    const uint32_t firstTensor = m_firstTensor[part];
    const auto& sources = m_sourceNumbers[part];
    if (recipe.copyOf)
        recipe.copyOf = (*sources)[*recipe.copyOf];
    for (OutputRecord& record : recipe.records) {
        if (record.cursor)
            record.cursor = [inner = std::move(record.cursor), sources, firstTensor] {
                return std::make_unique<NumberedCursor>(inner(), sources, firstTensor);
            };
    }
    return recipe;
}

std::vector<FlatUnit> ReshardParts::targetUnits() const
{
    std::vector<FlatUnit> out;
    uint32_t firstParam = 0;
    for (uint32_t part = 0; part < m_contexts.size(); ++part) {
        for (const auto& unit : m_contexts[part]->target.units) {
            out.push_back(*unit);
            out.back().part = part;
            for (ParamId& param : out.back().params)
                param = ParamId{index(param) + firstParam};
        }
        firstParam += static_cast<uint32_t>(m_contexts[part]->source->params.size());
    }
    return out;
}

std::vector<Digest> ReshardParts::inOrderOfSource(std::span<const Digest> digests) const
{
    // The whole's table has what is in units, part by part, then what is stored whole, part by part.
    std::vector<Digest> inUnits;
    std::vector<Digest> whole;
    for (size_t part = 0; part < m_contexts.size(); ++part) {
        const ReshardContext& context = *m_contexts[part];
        for (uint32_t i = 0; i < context.planOfTable.size(); ++i) {
            const uint32_t at = context.planOfTable[i];
            std::vector<Digest>& out = i < context.table->indexOfWhole(0) ? inUnits : whole;
            out.push_back(at == Segment::kNoTensor ? Digest{} : digests[m_firstTensor[part] + at]);
        }
    }
    inUnits.insert(inUnits.end(), whole.begin(), whole.end());
    return inUnits;
}

/// One output file: which of the parts it belongs to.
struct PartFile {
    size_t part = 0;
    TargetFile file;
};

/// What the recipes of a plan are composed from.
struct Composition {
    ReshardParts parts;
    std::vector<PartFile> files = {};

    [[nodiscard]] const std::shared_ptr<const ReshardContext>& contextOf(const PartFile& file) const
    {
        return parts.contexts()[file.part];
    }
};

/// Lists and measures the files. Names of one length lead to archives of one size when their pickles are the
/// same: ZeRO-3 ranks from 1 on, and all optimizer files. The size of one of them is that of all.
Status addFiles(Composition& from, WritePlan& plan, JobContext& job)
{
    for (size_t part = 0; part < from.parts.contexts().size(); ++part) {
        for (const TargetFile& spec : targetFiles(*from.parts.contexts()[part]))
            from.files.push_back({part, spec});
    }
    std::map<std::tuple<size_t, TargetFile::Kind, bool, size_t>, size_t> known;
    std::vector<size_t> measured; // files
    std::vector<size_t> sizeOf; // of each file: which of the measured ones has its size
    plan.files.reserve(from.files.size());
    for (const PartFile& spec : from.files) {
        const auto& context = from.contextOf(spec);
        plan.files.push_back({nameOf(*context, spec.file), 0});
        const std::tuple key{spec.part, spec.file.kind, spec.file.rank == 0, plan.files.back().path.size()};
        const size_t next = measured.size();
        sizeOf.push_back(
            areAlike(*context, spec.file.kind) ? known.try_emplace(key, next).first->second : next);
        if (sizeOf.back() == next)
            measured.push_back(plan.files.size() - 1);
    }
    std::vector<uint64_t> sizes(measured.size());
    SHARDSCOPE_CHECK(parallelFor(measured.size(), composersAtOnce(), job, [&](size_t i) -> Status {
        const PartFile& spec = from.files[measured[i]];
        SHARDSCOPE_TRY(const OutputFile file, compose(from.contextOf(spec), spec.file));
        SHARDSCOPE_TRY(sizes[i], outputBytes(file));
        return {};
    }));
    for (size_t i = 0; i < plan.files.size(); ++i) {
        plan.files[i].bytes = sizes[sizeOf[i]];
        plan.writesBytes += plan.files[i].bytes;
    }
    return {};
}

/// The inputs that determine the output, besides the source's files: the text that the id is made from.
/// `expertRanks`: 0 where they are the source's.
std::string idInput(const WritePlan& plan, const ReshardFacts& facts, uint32_t expertRanks)
{
    ReshardOptions options = facts.options;
    std::string out = plan.verb + "|" + std::string(buildInfo().version) + "|"
        + std::string(kindName(facts.kind)) + "|" + std::to_string(options.worldSize) + "|" + plan.targetName
        + "|" + plan.pointerName + "|" + std::to_string(facts.subGroupSize.value_or(0)) + "|"
        + std::to_string(facts.laidOut->parallel.tp) + "|" + std::to_string(facts.laidOut->parallel.pp)
        + (expertRanks == 0 ? std::string() : "|ep" + std::to_string(expertRanks))
        + (facts.laidOut->replacedKind ? "|as" + std::string(kindName(facts.laidOut->kind)) : std::string())
        + "|";
    return out + idText(fieldsOf(options)) + "\n" + identityText(plan.sources);
}

std::string describe(const WritePlan& plan, const ReshardFacts& facts, uint32_t expertRanks)
{
    nlohmann::json out;
    out["verb"] = plan.verb;
    out["id"] = plan.id;
    if (!isUniversal(facts.kind))
        out["world_size"] = facts.options.worldSize;
    putText(out, "tag", plan.targetName);
    out["kind"] = kindName(facts.kind);
    const Checkpoint& source = *facts.laidOut;
    out["source"] = {{"kind", kindName(source.kind)}, {"world_size", source.parallel.ranks()}};
    putText(out["source"], "tag", source.tag);
    if (facts.subGroupSize)
        out["sub_group_size"] = *facts.subGroupSize;
    if (expertRanks != 0)
        out["expert_parallel"] = expertRanks;
    return out.dump();
}

template <class T>
void append(std::vector<T>& to, std::vector<T> from)
{
    std::move(from.begin(), from.end(), std::back_inserter(to));
}

/// `warnings`: what making the plan's source has shown.
Result<WritePlan> makePlan(io::FileSystem& files, ReshardFacts facts, ReshardParts parts,
    std::vector<Finding> warnings, std::vector<Finding> marks, JobContext& job)
{
    const ReshardOptions& options = facts.options;
    const CheckpointPtr source = facts.laidOut;
    const CheckpointKind kind = facts.kind;
    const bool conversion = isUniversal(kind);
    const ReshardContext& first = *parts.contexts().front();
    const uint32_t ranks = first.target.ranks;
    const uint32_t expertRanks = first.target.expertRanks; // 0 where they are the source's
    const uint64_t subGroupSize = facts.subGroupSize.value_or(0);

    WritePlan plan{.verb = conversion ? "convert" : "reshard",
        .targetName = targetTag(*source, options),
        .pointerName = !options.writePointer ? ""
            : conversion                     ? "latest_universal"
                                             : "latest"};
    plan.sources = parts.takeSources();
    plan.tensors = parts.takeTensors();
    auto from = std::make_shared<Composition>(Composition{std::move(parts)});
    SHARDSCOPE_CHECK(addFiles(*from, plan, job));
    if (!conversion && !isStage0(kind)) { // they merge shards
        SHARDSCOPE_TRY(plan.runFolderFiles, runFolderScripts(files, *source));
    }
    for (const auto& context : from->parts.contexts())
        plan.readsBytes += tensorBytesRead(*context);
    for (const CarriedFile& carried : first.carried)
        plan.readsBytes += carried.bytes;

    facts.worldSize = conversion ? ranks : options.worldSize;
    if (!conversion)
        facts.batch = batchPairs(*source, ranks);
    facts.mustStayEqual = mustStayEqual(*source, kind, subGroupSize, expertRanks);
    const bool columns = keepsColumns(*source, kind, options);
    addZenFlowEquals(*source, kind, columns, facts.mustStayEqual);
    plan.warnings = marks;
    plan.marks = std::move(marks);
    append(plan.warnings, std::move(warnings));
    append(plan.warnings, reshardWarnings(*source, kind, options, subGroupSize, ranks));
    addZenFlowWarnings(*source, kind, columns, plan.warnings);
    append(plan.warnings,
        wrapperWarnings(files, *source, conversion ? std::nullopt : std::optional(options.worldSize)));
    plan.id = sha256Of(idInput(plan, facts, expertRanks)).substr(0, 16);
    plan.description = describe(plan, facts, expertRanks);
    plan.compose = [from](const WritePlan&, size_t i) -> Result<OutputFile> {
        const PartFile& spec = from->files[i];
        SHARDSCOPE_TRY(OutputFile recipe, compose(from->contextOf(spec), spec.file));
        return from->parts.numbered(spec.part, std::move(recipe));
    };
    plan.fingerprint = [from, source, kind](std::span<const Digest> digests) {
        const bool readable = source->isReadable(source->templateOptim);
        return fingerprintOf(source, from->parts.inOrderOfSource(digests),
            readable ? targetScalerTexts(*source, kind) : ScalerTexts())
            .text();
    };
    facts.targetUnits = [from] { return from->parts.targetUnits(); };
    plan.reshard = std::make_shared<const ReshardFacts>(std::move(facts));
    return plan;
}

} // namespace

Result<WritePlanPtr> planReshard(
    io::FileSystem& files, CheckpointPtr source, const ReshardOptions& options, JobContext& job)
{
    SHARDSCOPE_CHECK(requireKnownKind(*source));
    auto plan = planReshard(files, std::move(source), options, std::vector<std::shared_ptr<Refills>>(), job);
    if (!plan)
        return forward(refusal(plan.error()));
    return std::make_shared<const WritePlan>(std::move(*plan));
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
            source.tagFolder.string(), Hint::omit("--patterns"));
    if (!changes.splitsStages && !options.tiedLayers.empty())
        return fail(ErrorCode::Usage,
            "layers of tied modules are named, but no layers are distributed to stages",
            source.tagFolder.string(),
            Hint::omit("--pp-tied") + ", or give the layers of the stages with --pp-layers");
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
        if (layout.rebuilds || !recordsOptions(*part) || (refill && refill->model().rebuilt)) {
            SHARDSCOPE_CHECK(requireStage0Facts(*part, layout.kind));
            SHARDSCOPE_CHECK(requireModelFacts(*part, layout.kind));
        }
        const Checkpoint* carriesFrom = contexts.empty() ? layout.carriesFrom : nullptr;
        SHARDSCOPE_TRY(auto context,
            makeReshardContext(files, part, std::move(target), layout.rebuilds, carriesFrom, job, refill));
        contexts.push_back(std::move(context));
    }
    return contexts;
}

} // namespace

Result<WritePlan> planReshard(io::FileSystem& files, CheckpointPtr source, const ReshardOptions& options,
    const std::vector<std::shared_ptr<Refills>>& refills, JobContext& job)
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
    const bool rebuilds = kind != source->kind || source->replacedKind.has_value()
        || (hasBf16Optimizer(kind) && hasOptimizerInModel(*source)) || isUniversal(kind) || source->merged
        || slices || stages || !options.ties.empty() || source->zenflow != columns
        || (!parallel && hasOldForm(source->parts.empty() ? *source : *source->parts.front()));
    const TargetLayout layout{
        kind, ranks, changesExperts ? *options.ep : 0, subGroupSize, columns, rebuilds, whole.get()};
    SHARDSCOPE_TRY(auto contexts, makeContexts(files, source, layout, refills, job));
    append(warnings, std::move(optioned.notes));
    ReshardFacts facts{.options = options, .kind = kind, .laidOut = source};
    if (subGroupSize != 0)
        facts.subGroupSize = subGroupSize;
    return makePlan(files, std::move(facts), ReshardParts(source, std::move(contexts)), std::move(warnings),
        marksOf(*whole, options.allow), job);
}

} // namespace shardscope
