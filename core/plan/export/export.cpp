// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export.h"

#include "core/base/build_info.h"
#include "core/base/finding_codes.h"
#include "core/base/glob.h"
#include "core/base/sha256.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/require.h"
#include "core/checkpoint/zero/zenflow.h"
#include "core/layout/slices/merged_slices.h"
#include "core/plan/compose/named_ties.h"
#include "core/plan/compose/segment_cursors.h"
#include "core/plan/compose/wrapper_carry.h"
#include "core/plan/export/adapter_parts.h"
#include "core/plan/export/export_adapter.h"
#include "core/plan/export/export_dcp.h"
#include "core/plan/export/export_files.h"
#include "core/plan/export/export_npy.h"
#include "core/plan/export/export_tensors.h"
#include "core/plan/model/marks.h"
#include "core/plan/model/model_types.h"
#include "core/plan/model/output_bytes.h"
#include "core/plan/model/saved_text.h"
#include "core/plan/model/source_list.h"
#include "core/plan/reshard/slice_merge.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace shardscope {

namespace {

/// transformers, utils/__init__.py (…_NAME) and the vocab_files_names of its tokenizers.
constexpr std::array<std::string_view, 28> kNames{"added_tokens.json", "audio_tokenizer_config.json",
    "bpe.codes", "chat_template.jinja", "chat_template.json", "config.json", "dict.txt",
    "generation_config.json", "image_processor_config.json", "merges.txt", "prefix.txt",
    "preprocessor_config.json", "processor_config.json", "sentencepiece.bpe.model", "sentencepiece.model",
    "source.spm", "special_tokens_map.json", "spiece.model", "spm.model", "target.spm", "tekken.json",
    "tiktoken.model", "tokenizer.json", "tokenizer.model", "tokenizer_config.json",
    "video_preprocessor_config.json", "vocab.json", "vocab.txt"};

/// Files of models and tokenizers with their own code (custom_object_save).
constexpr std::array<std::string_view, 5> kCode{
    "configuration_", "image_processing_", "modeling_", "processing_", "tokenization_"};

bool isOfModelAlone(std::string_view name)
{
    return name == "config.json" || name == "generation_config.json" || name.ends_with(".py");
}

/// Whether transformers reads a file of this name next to a model's weights: configuration, generation
/// defaults, tokenizer and processors, chat templates, and custom model code.
bool isModelFile(std::string_view name)
{
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end())
        return true;
    return name.ends_with(".py") && std::any_of(kCode.begin(), kCode.end(), [&](std::string_view begin) {
        return name.starts_with(begin);
    });
}

/// The files of that kind next to the checkpoint: in the run folder, which is also a Trainer's
/// `checkpoint-N`, or next to weights; with `ofText` only those for tokenization. Sorted by name, with their
/// sources appended to `sources`.
Result<std::vector<CarriedFile>> modelFilesNextTo(
    io::FileSystem& files, const Checkpoint& source, std::vector<PlanSource>& sources, bool ofText = false)
{
    const io::Path folder
        = hasNoRunFolder(source.kind) || source.runFolder.empty() ? source.tagFolder : source.runFolder;
    SHARDSCOPE_TRY(const auto entries, files.list(folder));
    std::vector<CarriedFile> out;
    for (const io::DirectoryEntry& entry : entries) {
        if (!isModelFile(entry.name) || (ofText && isOfModelAlone(entry.name)))
            continue;
        CheckpointFile file;
        file.path = folder / entry.name;
        file.name = std::string(kNextToTag) + entry.name;
        const auto info = files.stat(file.path);
        if (!info && info.error().code != ErrorCode::NotFound)
            return forward(info.error());
        if (!info || info->type != io::FileType::Regular)
            continue; // a broken link, or a folder with that name
        file.identity = info->identity;
        CarriedFile carried;
        carried.path = entry.name;
        carried.source = static_cast<uint32_t>(sources.size());
        carried.bytes = info->identity.bytes;
        SHARDSCOPE_TRY(PlanSource from, wholeFileSource(files, file, carried));
        sources.push_back(std::move(from));
        out.push_back(std::move(carried));
    }
    return out;
}

/// The inputs that determine the output, besides the source.
nlohmann::json choicesOf(const ExportOptions& options)
{
    nlohmann::json out;
    out["format"] = exportFormatName(options.format);
    out["dtype"] = castName(options.dtype);
    out["shard_bytes"] = options.shardBytes;
    out["only"] = options.only;
    out["strip_prefix"] = options.stripPrefix;
    out["rename"] = nlohmann::json::array();
    for (const auto& [from, to] : options.renames)
        out["rename"].push_back({from, to});
    out["states"] = options.states;
    if (!options.adapterOptions.empty())
        out["adapter_options"] = options.adapterOptions;
    if (!options.ties.empty())
        out["ties"] = options.ties;
    return out;
}

/// Sets the id and the description.
void describe(WritePlan& plan, const Checkpoint& source, ExportOptions options)
{
    using nlohmann::json;
    json out = choicesOf(options);
    plan.id = sha256Of(plan.verb + "|" + std::string(buildInfo().version) + "|" + source.tag + "|"
        + out.dump(-1, ' ', true, json::error_handler_t::replace) + "|"
        + options.patterns.value_or(std::string()) + idText(fieldsOf(options)) + "\n"
        + identityText(plan.sources))
                  .substr(0, 16);
    out["verb"] = plan.verb;
    out["id"] = plan.id;
    out["source"] = {{"kind", kindName(source.kind)}, {"world_size", source.parallel.ranks()}};
    putText(out["source"], "tag", source.tag);
    plan.description = out.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Adds the output files with their sizes, and how they are composed.
Status addFiles(WritePlan& plan, const std::shared_ptr<const ExportContext>& context,
    std::vector<ExportTarget> targets, JobContext& job)
{
    for (const ExportTarget& target : targets) {
        SHARDSCOPE_CHECK(job.poll());
        SHARDSCOPE_TRY(const OutputFile file, composeExport(context, target));
        SHARDSCOPE_TRY(const uint64_t bytes, outputBytes(file));
        plan.files.push_back({target.path, bytes});
        plan.writesBytes += bytes;
        plan.readsBytes += target.carried.bytes;
    }
    for (const ExportTensor& tensor : context->tensors) {
        plan.tensors.push_back({tensor.name, tensor.state, tensor.dtype, 0, tensor.elements});
        plan.readsBytes += tensor.elements
            * itemSize(sourceType(*context->source, tensor.param, tensor.from).value_or(tensor.dtype));
    }
    plan.compose = [context, targets = std::move(targets)](
                       const WritePlan&, size_t i) { return composeExport(context, targets[i]); };
    return {};
}

/// Adds only the files that hold exported values. Merged tensors are read from their slices.
Status addSources(const Checkpoint& source, const std::vector<ExportTensor>& tensors, SourceList& list)
{
    std::set<std::string_view> states;
    for (const ExportTensor& tensor : tensors)
        states.insert(tensor.from);
    const auto isNeeded
        = [&](const FlatUnit&, const UnitState& state) { return states.contains(state.name); };
    SHARDSCOPE_CHECK(requireRuns(source, isNeeded));
    const Checkpoint& stored = storedUnder(source);
    for (const FlatUnit& unit : stored.units) {
        for (const UnitState& state : unit.states) {
            if (!isNeeded(unit, state))
                continue;
            SHARDSCOPE_CHECK(list.addAllOf(state));
        }
    }
    if (!states.contains("weight"))
        return {};
    for (const WholeTensor& whole : stored.whole)
        SHARDSCOPE_CHECK(list.add(whole.run.file));
    return {};
}

/// The source with its tensor slices and pipeline stages merged.
Result<CheckpointPtr> mergedSource(io::FileSystem& files, const CheckpointPtr& source,
    const ExportOptions& options, std::vector<Finding>& warnings, JobContext& job)
{
    if (source->parallel.tp == 1 && source->parallel.pp == 1) {
        if (options.patterns)
            return fail(ErrorCode::Usage,
                "patterns say how to merge tensor slices, but this checkpoint has none",
                source->tagFolder.string(), Hint::omit("--patterns"));
        return source;
    }
    ReshardOptions mergeOptions;
    mergeOptions.form = TargetForm::Universal; // a form that does not depend on the number of ranks
    mergeOptions.patterns = options.patterns;
    SHARDSCOPE_TRY(SliceMerge merged, mergeForPlan(files, source, mergeOptions, job));
    std::move(merged.warnings.begin(), merged.warnings.end(), std::back_inserter(warnings));
    return std::move(merged.source);
}

/// Whether no file holds the weights that the source's LoRA adapter changes.
bool lacksBaseOfAdapter(const Checkpoint& source)
{
    bool hasAdapter = false;
    for (const Parameter& param : source.params) {
        const auto part = adapterPart(param.name);
        if (!part || part->role == AdapterRole::SavedModule)
            continue;
        hasAdapter = true;
        for (const char* base : {".base_layer.weight", ".weight"}) { // in front of PEFT 0.6: the second
            const auto id = source.findParam(part->module + base);
            if (id && (source.params[index(*id)].unit != kNoUnit || source.wholeOf(*id) != nullptr))
                return false;
        }
    }
    return hasAdapter;
}

/// Checks for tensors that the model lists and no file holds. An export without them would be incomplete: it
/// is marked.
Status checkUnheld(const Checkpoint& source, const ExportOptions& options, std::vector<Finding>& warnings,
    std::vector<Finding>& marks)
{
    std::vector<std::string> names = unheldNames(source);
    std::erase_if(names, [&](const std::string& name) {
        return !options.only.empty()
            && std::none_of(options.only.begin(), options.only.end(),
                [&](const std::string& pattern) { return fitsGlob(pattern, name); });
    });
    if (options.format == ExportFormat::Adapter)
        std::erase_if(names, [](const std::string& name) { return !adapterPart(name); });
    const bool adapterOnly = options.format != ExportFormat::Adapter && lacksBaseOfAdapter(source);
    if (adapterOnly)
        warnings.push_back({code::kStateMissing, Severity::Warning,
            "the model that the LoRA adapter belongs to was not saved (exclude_frozen_parameters): the "
            "export holds only what was trained; `--format adapter` writes what PEFT loads",
            {}, {}});
    if (names.empty())
        return {};
    const std::string what = adapterOnly
        ? "the frozen parameters of the model were not saved (exclude_frozen_parameters), and no file holds "
            + nameList(names)
        : "the model lists tensors that no file holds, probably ties that were not recorded or frozen "
          "parameters: "
            + nameList(names);
    if (std::find(options.allow.begin(), options.allow.end(), code::kStateMissing) == options.allow.end())
        return fail(ErrorCode::Refused, what, source.tagFolder.string(),
            (adapterOnly ? "export the LoRA adapter with --format adapter"
                         : "name the owner of a tie with --tie NAME=OWNER")
                + std::string("; --allow ") + std::string(code::kStateMissing)
                + " exports the model without them");
    warnings.push_back({code::kStateMissing, Severity::Warning, what + "; they are omitted", {}, {}});
    marks.push_back({code::kMarked, Severity::Warning,
        "written despite " + std::string(code::kStateMissing) + ": " + what, {}, {}});
    return {};
}

/// Files copied with the tensors: those that transformers keeps next to weights. With an adapter: its
/// configuration, not the model's.
Result<std::vector<CarriedFile>> filesAlong(io::FileSystem& files, const Checkpoint& source,
    ExportFormat format, const std::optional<AdapterExport>& adapter, std::vector<PlanSource>& sources,
    std::vector<ExportTarget>& texts)
{
    std::vector<CarriedFile> out;
    const ExportLayout layout = traitsOf(format).layout;
    if (layout != ExportLayout::Shards && layout != ExportLayout::OneFile)
        return out;
    SHARDSCOPE_TRY(out, modelFilesNextTo(files, source, sources, adapter.has_value()));
    if (adapter && adapter->config) {
        CarriedFile config;
        config.path = kAdapterConfigName;
        config.source = static_cast<uint32_t>(sources.size());
        config.bytes = adapter->config->file.identity.bytes;
        SHARDSCOPE_TRY(PlanSource from, wholeFileSource(files, adapter->config->file, config));
        sources.push_back(std::move(from));
        out.push_back(std::move(config));
    } else if (adapter) {
        ExportTarget config{ExportTarget::Kind::Text, std::string(kAdapterConfigName)};
        config.text = adapter->configText;
        texts.push_back(std::move(config));
    }
    return out;
}

/// `leftOut`: trained parameters that an adapter does not keep.
void addExportWarnings(const Checkpoint& source, const ExportContext& context,
    const std::vector<std::string>& leftOut, std::vector<Finding>& out)
{
    const bool fused = !FusedExperts::of(source).isEmpty();
    if (fused && partitionsParameters(source.kind))
        out.push_back({code::kStockLoaderTrap, Severity::Warning,
            "AutoEP replaced the experts of the model: those of every expert-parallel rank are written as "
            "the one tensor that the rank has (…experts.w1:epK), which the model before AutoEP does not have",
            {}, {}});
    else if (fused)
        out.push_back({code::kStockLoaderTrap, Severity::Warning,
            "AutoEP replaced the experts of the model: they are written one by one under the names that "
            "DeepSpeed gives them (…experts.w1.X), which the model before AutoEP does not have",
            {}, {}});
    if (lacksOptimizer(source))
        out.push_back({code::kOptimizerMissing, Severity::Warning,
            "the checkpoint has no masters: the export holds its weights in " + source.precision, {}, {}});
    if (hasZenFlow(source))
        out.push_back({code::kStockLoaderTrap, Severity::Warning,
            "ZenFlow changes the model's 16-bit weights between the updates of their masters: the export "
            "holds the masters, from which DeepSpeed also resumes",
            {}, {}});
    if (const std::string raw = npyRawNote(context.tensors);
        context.format == ExportFormat::Npy && !raw.empty())
        out.push_back({code::kStockLoaderTrap, Severity::Warning,
            "NumPy has no type for " + raw
                + ": such files hold the elements as they are, as numpy.save writes those of ml_dtypes, and "
                  "index.json records their types; use `.view(ml_dtypes.bfloat16)` or similar to convert "
                  "them, or --dtype fp32",
            {}, {}});
    std::set<std::string_view> written;
    for (const ExportTensor& tensor : context.tensors)
        written.insert(source.params[index(tensor.param)].name);
    std::vector<std::string> aliases;
    for (const Parameter& param : source.params) {
        if (param.sharedWith != kNoParam && written.contains(source.params[index(param.sharedWith)].name))
            aliases.push_back(param.name);
    }
    if (!aliases.empty())
        out.push_back({code::kStockLoaderTrap, Severity::Info,
            "tied parameters are written once, under their owner's name, as transformers expects; not "
            "written: "
                + nameList(aliases),
            {}, {}});
    if (!leftOut.empty())
        out.push_back({code::kStockLoaderTrap, Severity::Warning,
            "these parameters were also trained, but PEFT does not keep them with an adapter: "
                + nameList(leftOut) + "; export the model to get them",
            {}, {}});
}

std::shared_ptr<const ExportFacts> factsOf(const ExportOptions& options,
    const std::shared_ptr<const ExportContext>& context, const std::vector<ExportTarget>& targets)
{
    struct Held {
        std::shared_ptr<const ExportContext> context;
        ExportFacts facts;
    };
    std::vector<uint32_t> tensorOfFile;
    for (const ExportTarget& target : targets)
        tensorOfFile.push_back(target.tensors.size() == 1 ? target.tensors.front() : Segment::kNoTensor);
    const auto held = std::make_shared<const Held>(
        Held{context, {options, context->tensors, std::move(tensorOfFile), context->source}});
    return {held, &held->facts};
}

Status checkValues(const ExportOptions& options)
{
    if (options.folderName.empty())
        return fail(ErrorCode::Usage, "no target folder was given");
    if (options.shardBytes == 0)
        return fail(ErrorCode::Usage, "the maximum size of a file must be at least 1 byte");
    return {};
}

Result<WritePlan> planFiles(
    io::FileSystem& files, CheckpointPtr source, const ExportOptions& options, JobContext& job)
{
    std::vector<std::string> allow = options.allow;
    if (options.format != ExportFormat::Dcp) // weights need no optimizer
        allow.emplace_back(code::kOptimizerMissing);
    SHARDSCOPE_CHECK(requireComplete(*source, allow));
    if (std::any_of(options.states.begin(), options.states.end(),
            [](const std::string& state) { return state != "fp32"; }))
        SHARDSCOPE_CHECK(requireAllStates(*source, {std::string(code::kOptionMismatch)}));
    SHARDSCOPE_TRY(source, withTies(std::move(source), options.ties));
    SHARDSCOPE_CHECK(checkValues(options));
    const CheckpointPtr whole = source;
    std::vector<Finding> warnings;
    SHARDSCOPE_TRY(source, mergedSource(files, source, options, warnings, job));
    auto context = std::make_shared<ExportContext>();
    context->source = source;
    context->format = options.format;
    SHARDSCOPE_TRY(std::vector<ExportName> names, exportNames(*source, options));
    std::optional<AdapterExport> adapter;
    if (options.format == ExportFormat::Adapter) {
        SHARDSCOPE_TRY(adapter, selectAdapter(files, *source, std::move(names), options.adapterOptions));
        names = adapter->names;
    }
    const bool dcp = options.format == ExportFormat::Dcp;
    SHARDSCOPE_TRY(
        context->tensors, dcp ? dcpTensors(*source, names) : exportTensors(*source, options, names));
    SourceList list(files, *source, job);
    SHARDSCOPE_CHECK(addSources(*source, context->tensors, list));
    if (dcp) { // these hold values that are not tensors
        for (const FileId file : {source->templateModel, source->templateOptim}) {
            if (source->isReadable(file) && source->file(file).content)
                SHARDSCOPE_CHECK(list.add(file));
        }
    }
    WritePlan plan{.verb = dcp ? "convert" : "export",
        .targetName = options.folderName,
        .outcome = OutcomeKind::Export,
        .ownsFolder = false,
        .sources = list.takeSources()};
    context->sourceOfFile = list.takeMap();
    std::vector<ExportTarget> texts;
    SHARDSCOPE_TRY(std::vector<CarriedFile> carried,
        filesAlong(files, *whole, options.format, adapter, plan.sources, texts));
    plan.marks = marksOf(*whole, options.allow);
    SHARDSCOPE_CHECK(checkUnheld(*source, options, warnings, plan.marks));
    plan.warnings = plan.marks;
    std::move(warnings.begin(), warnings.end(), std::back_inserter(plan.warnings));
    addExportWarnings(*source, *context, adapter ? adapter->left : std::vector<std::string>(), plan.warnings);
    SHARDSCOPE_TRY(std::vector<ExportTarget> targets,
        dcp ? dcpTargets(context, names, plan.warnings) : exportTargets(*context, options.shardBytes));
    std::move(texts.begin(), texts.end(), std::back_inserter(targets));
    for (CarriedFile& file : carried) {
        ExportTarget& target = targets.emplace_back(ExportTarget{ExportTarget::Kind::Carried, file.path});
        target.carried = std::move(file);
    }
    plan.exported = factsOf(options, context, targets);
    SHARDSCOPE_CHECK(addFiles(plan, context, std::move(targets), job));
    describe(plan, *whole, options);
    return plan;
}

} // namespace

Result<WritePlanPtr> planExport(
    io::FileSystem& files, CheckpointPtr source, const ExportOptions& options, JobContext& job)
{
    SHARDSCOPE_CHECK(requireKnownKind(*source));
    auto plan = planFiles(files, std::move(source), options, job);
    if (!plan)
        return forward(refusal(plan.error()));
    return std::make_shared<const WritePlan>(std::move(*plan));
}

} // namespace shardscope
