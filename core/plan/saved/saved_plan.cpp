// SPDX-License-Identifier: Apache-2.0
#include "core/plan/saved/saved_plan.h"

#include "core/checkpoint/model/require.h"
#include "core/checkpoint/open/open.h"
#include "core/checkpoint/open/source_arguments.h"
#include "core/describe/json_in.h"
#include "core/describe/json_out.h"
#include "core/describe/schema_out.h"
#include "core/far/far_path.h"
#include "core/plan/export/export_place.h"
#include "core/plan/model/source_list.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace shardscope {

namespace {

constexpr std::string_view kSchema = "shardscope/saved-plan/1";
constexpr std::string_view kSchemaFamily = "shardscope/saved-plan/";
constexpr auto kVerbs = std::to_array<std::string_view>({"reshard", "convert", "export", "repair"});

/// An absolute path: another process runs the plan, in another folder.
void describePath(auto& out, std::string_view name, auto& path, const About& about = {})
{
    std::string text = path.string();
    out.name(name, text, about);
    if constexpr (kReads<decltype(out)>) {
        path = text;
        if (!path.is_absolute() && !far::isElsewhere(path))
            out.refuse(name, "is not an absolute path");
    }
}

void describeSource(auto& out, auto& source)
{
    out.name("path", source.name);
    out.field("bytes", source.identity.bytes);
    out.field("modified_ns", source.identity.modifiedNs);
    out.present("records_sha256", true, [&] {
        out.field("records_sha256", source.records,
            "names, places, sizes and checksums of its records; absent in older files");
    });
    out.present("inode", source.noChecksums, [&] {
        if constexpr (kReads<decltype(out)>)
            source.noChecksums = true;
        out.field("inode", source.identity.inode, "if its records have no checksums");
        out.field(
            "changed_ns", source.identity.changedNs, "time of change, if its records have no checksums");
    });
}

constexpr auto kTextRow = [](auto& out, auto& text) { out.name("text", text); };
constexpr auto kPairRow = [](auto& out, auto& pair) {
    out.name("from", pair.first);
    out.name("to", pair.second);
};

/// A value of one of the types of OptionValue that is set, or always stored.
class DescribeOption
{
public:
    explicit DescribeOption(const OptionField& field)
        : m_field(field)
    {
        m_about.text = field.text.empty() ? std::string_view(field.option.help) : field.text;
        m_about.maximum = field.option.maximum <= INT64_MAX
            ? std::optional(static_cast<int64_t>(field.option.maximum))
            : std::nullopt;
    }

    void as(auto& out)
    {
        std::visit([&](const auto& value) { one(out, value); }, m_field.value);
    }

private:
    void one(auto& out, bool* value)
    {
        ifSet(out, *value, [&] { out.field(m_field.key, *value, m_about); });
    }
    void one(auto& out, uint32_t* value) { out.field(m_field.key, *value, m_about); }
    void one(auto& out, uint64_t* value) { out.field(m_field.key, *value, limited()); }
    template <std::integral Number>
    void one(auto& out, std::optional<Number>* value)
    {
        if (m_field.always) // or null
            return out.field(m_field.key, *value, limited());
        out.present(m_field.key, value->has_value(), [&] {
            Number number = value->value_or(0);
            out.field(m_field.key, number, limited());
            *value = number;
        });
    }
    void one(auto& out, std::string* value)
    {
        ifSet(out, !value->empty(), [&] { out.name(m_field.key, *value, m_about); });
    }
    void one(auto& out, std::optional<std::string>* value)
    {
        out.present(m_field.key, value->has_value(), [&] {
            std::string text = value->value_or(std::string());
            out.name(m_field.key, text, m_about);
            *value = std::move(text);
        });
    }
    void one(auto& out, std::vector<std::string>* value)
    {
        ifSet(out, !value->empty(), [&] {
            if (m_field.plain)
                out.field(m_field.key, *value, m_about);
            else
                out.list(m_field.key, *value, kTextRow, m_about);
        });
    }
    void one(auto& out, TextPairs* value)
    {
        ifSet(out, !value->empty(), [&] { out.list(m_field.key, *value, kPairRow, m_about); });
    }
    void one(auto& out, std::vector<uint32_t>* value)
    {
        ifSet(out, !value->empty(), [&] { out.field(m_field.key, *value, m_about); });
    }
    void one(auto& out, const OptionWord& word)
    {
        std::string text = word.get();
        ifSet(out, !text.empty(), [&] {
            out.word(m_field.key, text, word.words, m_about);
            if constexpr (kReads<decltype(out)>)
                word.set(text);
        });
    }
    /// Adds the field where it is set, or is always stored.
    void ifSet(auto& out, bool isSet, const auto& fields)
    {
        if (m_field.always)
            fields();
        else
            out.present(m_field.key, isSet, fields);
    }
    [[nodiscard]] About limited() const
    {
        About out = m_about;
        out.minimum = static_cast<int64_t>(m_field.option.minimum);
        return out;
    }

    const OptionField& m_field;
    About m_about;
};

constexpr auto kOptions = [](auto& out, auto& options) {
    using Options = std::remove_cvref_t<decltype(options)>;
    if constexpr (std::is_same_v<Options, ReshardOptions>)
        out.is("reshard", "Options of `reshard` and `convert --to universal`.");
    else if constexpr (std::is_same_v<Options, ExportOptions>)
        out.is("export", "Options of `export` and `convert --to dcp`.");
    else
        out.is("repair", "Options of `repair`.");
    for (const OptionField& field : fieldsOf(options))
        DescribeOption{field}.as(out);
};

void describePlan(auto& out, auto& plan)
{
    out.answer("saved-plan", "SavedPlan", "A plan as a file, for `run`.");
    std::string verb = plan.verb;
    out.word("verb", verb, kVerbs);
    describePath(out, "source", plan.source, "the run folder; of a repair: what was examined");
    out.name("tag", plan.tag);
    out.list("roots", plan.roots, [](auto& row, auto& root) { describePath(row, "path", root); });
    out.present("salvage", plan.salvage, [&] {
        out.field("salvage", plan.salvage, "the first of `roots` is a swap folder, and `source` its donor");
    });
    describeAskedKind(out, plan.kind);
    describePath(out, "destination", plan.destination);
    out.oneOf("options", plan.options, kOptions);
    out.field("id", plan.id);
    out.list("sources", plan.sources, [](auto& row, auto& source) { describeSource(row, source); });
    out.list("files", plan.files, [](auto& row, auto& file) {
        row.name("path", file.path);
        row.field("bytes", file.bytes);
    });
}

/// Another process runs the plan, in another folder.
io::Path absolutePath(const io::Path& path)
{
    if (far::isElsewhere(path))
        return path;
    std::error_code error;
    io::Path out = std::filesystem::absolute(path, error);
    return error ? path : out;
}

SavedPlan::Source savedSource(const PlanSource& source)
{
    return {source.name, source.identity, recordsDigest(source),
        std::ranges::none_of(source.records, &ZipRecord::crcPresent)};
}

/// Describes how a source file changed. Empty if it did not.
std::string changeOf(const SavedPlan::Source& was, const PlanSource& source)
{
    const SavedPlan::Source now = savedSource(source);
    if (now.identity.bytes != was.identity.bytes)
        return "`" + was.name + "` has another size";
    // Device and inode alone are not compared: another machine sees the same files with other numbers.
    if (now.identity.modifiedNs != was.identity.modifiedNs)
        return "`" + was.name + "` was rewritten";
    if (!was.records.empty() && now.records != was.records)
        return "`" + was.name + "` has other records or checksums";
    if (was.noChecksums && now.identity.inode == was.identity.inode
        && now.identity.changedNs != was.identity.changedNs)
        return "`" + was.name + "` may have been written to, and has no checksums";
    return {};
}

/// Describes the first source file that changed. Empty if none did.
std::string firstChange(const SavedPlan& saved, const WritePlan& plan)
{
    for (size_t i = 0; i < saved.sources.size(); ++i) {
        const SavedPlan::Source& was = saved.sources[i];
        const auto isIt = [&](const PlanSource& source) { return source.name == was.name; };
        // A repair may read two files of one name.
        const bool isThere = i < plan.sources.size() && isIt(plan.sources[i]);
        const auto now = isThere ? plan.sources.begin() + static_cast<std::ptrdiff_t>(i)
                                 : std::ranges::find_if(plan.sources, isIt);
        if (now == plan.sources.end())
            return "`" + was.name + "` was removed";
        if (std::string change = changeOf(was, *now); !change.empty())
            return change;
    }
    if (plan.sources.size() != saved.sources.size())
        return "there are new files";
    return {};
}

} // namespace

SavedPlan savePlan(
    const WritePlan& plan, const Checkpoint& source, const OpenOptions& asked, const io::Path& destination)
{
    SavedPlan out;
    const OpenOptions& opened = plan.repair ? plan.repair->input.open : asked;
    out.salvage = opened.salvage;
    out.kind = opened.kind;
    out.verb = plan.verb;
    out.source = source.runFolder;
    if (hasNoRunFolder(source.kind))
        out.source = isWeights(source.kind) && source.files.size() == 1 ? source.files.front().path
                                                                        : source.tagFolder;
    out.tag = source.tag;
    if (plan.repair) {
        const RepairInput& input = plan.repair->input;
        out.source = input.path;
        out.tag = input.open.tag;
        out.options = input.options;
    } else if (plan.exported) {
        out.options = plan.exported->options;
    } else {
        out.options = plan.reshard->options;
    }
    out.source = absolutePath(out.source);
    std::ranges::transform(opened.roots, std::back_inserter(out.roots), absolutePath);
    out.destination = absolutePath(destination);
    out.id = plan.id;
    for (const PlanSource& file : plan.sources)
        out.sources.push_back(savedSource(file));
    out.files = plan.files;
    return out;
}

std::string savedPlanSchema()
{
    return schemaOf("saved-plan", [](SchemaOut& out) {
        SavedPlan plan;
        describePlan(out, plan);
    });
}

std::string savedPlanText(const SavedPlan& saved)
{
    return documentText([&](JsonOut& out) { describePlan(out, saved); });
}

Result<SavedPlan> parseSavedPlan(const std::string& text, const std::string& path)
{
    const auto notOne = [&] {
        return fail(ErrorCode::Usage, "this is not a saved plan", path,
            "make one with " + Hint::command("plan … -o FILE"));
    };
    const JsonNode json = JsonNode::parse(text);
    const std::string schema = json.at("schema").text().value_or(std::string());
    if (schema != kSchema && schema.starts_with(kSchemaFamily))
        return fail(ErrorCode::Unsupported,
            "the plan was saved in a form that this build does not know: " + schema, path,
            "run it with the version that saved it");
    if (schema != kSchema)
        return notOne();
    SavedPlan out;
    out.verb = json.at("verb").text().value_or(std::string());
    if (out.verb == "repair")
        out.options = RepairOptions();
    else if (json.at("options").at("format")) // also a conversion to a form that no run reads
        out.options = ExportOptions();
    std::string problem;
    JsonIn in(json, problem);
    if (std::ranges::find(kVerbs, out.verb) == std::end(kVerbs))
        return fail(ErrorCode::Unsupported, "this build cannot run a plan of `" + out.verb + "`", path);
    describePlan(in, out);
    if (!problem.empty())
        return fail(ErrorCode::Usage, "the saved plan is incomplete or damaged: " + problem, path,
            "make it again with " + Hint::command("plan … -o FILE"));
    return out;
}

namespace {

tl::unexpected<Error> sourceChanged(const SavedPlan& saved, const std::string& how)
{
    return fail(ErrorCode::SourceChanged, "the source has changed since the plan was made: " + how,
        (saved.source / saved.tag).string(), "make the plan again with " + Hint::command("plan … -o FILE"));
}

} // namespace

Status checkSavedPlan(const SavedPlan& saved, const WritePlan& plan)
{
    const bool sameFiles = std::equal(saved.files.begin(), saved.files.end(), plan.files.begin(),
        plan.files.end(),
        [](const PlannedFile& a, const PlannedFile& b) { return a.path == b.path && a.bytes == b.bytes; });
    const std::string change = firstChange(saved, plan);
    if (saved.id == plan.id && sameFiles && change.empty())
        return {};
    return sourceChanged(saved, change.empty() ? "a new plan gives another result" : change);
}

OpenOptions openOptionsOf(const SavedPlan& saved)
{
    OpenOptions open;
    open.tag = saved.tag;
    open.roots = saved.roots;
    open.salvage = saved.salvage;
    open.kind = saved.kind;
    return open;
}

namespace {

Result<PlannedAgain> repairAgain(io::FileSystem& files, const SavedPlan& saved, const io::Path& destination,
    JobContext& job, SharedWork* shared)
{
    const auto plan = planRepair(
        files, saved.source, openOptionsOf(saved), std::get<RepairOptions>(saved.options), job, shared);
    if (!plan && plan.error().code == ErrorCode::NotFound)
        return sourceChanged(saved, plan.error().message);
    if (!plan)
        return forward(plan.error());
    return PlannedAgain{*plan, (*plan)->repair->source, destination};
}

Result<PlannedAgain> copyAgain(
    io::FileSystem& files, const SavedPlan& saved, const io::Path& destination, JobContext& job)
{
    SHARDSCOPE_TRY(
        const OpenedCheckpoint opened, openCheckpoint(files, saved.source, openOptionsOf(saved), job));
    const CheckpointPtr& source = opened.checkpoint;
    SHARDSCOPE_CHECK(requireTag(*source));
    if (const auto* exported = std::get_if<ExportOptions>(&saved.options)) {
        SHARDSCOPE_TRY(PlacedExport placed, planExportTo(files, source, *exported, destination, job));
        return PlannedAgain{std::move(placed.plan), source, std::move(placed.folder)};
    }
    SHARDSCOPE_TRY(
        WritePlanPtr plan, planReshard(files, source, std::get<ReshardOptions>(saved.options), job));
    return PlannedAgain{std::move(plan), source, destination};
}

} // namespace

Result<PlannedAgain> planAgain(io::FileSystem& files, const SavedPlan& saved, const io::Path& destination,
    JobContext& job, SharedWork* shared)
{
    const io::Path& folder = destination.empty() ? saved.destination : destination;
    const bool isRepair = std::holds_alternative<RepairOptions>(saved.options);
    SHARDSCOPE_TRY(PlannedAgain out,
        isRepair ? repairAgain(files, saved, folder, job, shared) : copyAgain(files, saved, folder, job));
    SHARDSCOPE_CHECK(checkSavedPlan(saved, *out.plan));
    return out;
}

} // namespace shardscope
