// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/repair_json.h"

#include "core/base/build_info.h"
#include "core/base/finding_codes.h"
#include "core/base/sha256.h"
#include "core/checkpoint/open/source_arguments.h"
#include "core/describe/json_in.h"
#include "core/describe/json_out.h"
#include "core/plan/model/source_list.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr const char* kSchema = "shardscope/repair-record/1";

/// Stored as a number. Numbers above the last choice mean the default.
template <class Choice>
void describeChoice(auto& out, std::string_view name, Choice& choice, Choice last)
{
    int number = static_cast<int>(choice);
    out.field(name, number);
    choice = number < 0 || number > static_cast<int>(last) ? Choice::Default : static_cast<Choice>(number);
}

void describePath(auto& out, auto& path)
{
    std::string text = path.string();
    out.name("path", text);
    if constexpr (kReads<decltype(out)>)
        path = text;
}

/// What `repair --undo` reads.
void describeRecord(auto& out, RepairRecord& record)
{
    RepairOptions& options = record.options;
    out.object("source", [&](auto& from) {
        from.name("path", record.source);
        from.name("tag", record.tag);
        from.present("roots", !record.roots.empty(), [&] { // absent in older files, too
            from.list("roots", record.roots, [](auto& row, auto& root) { describePath(row, root); });
        });
        describeAskedKind(from, record.kind);
        from.field("identity", record.identity);
    });
    out.field("fixed", options.fixes);
    out.object("options", [&](auto& chosen) {
        chosen.name("from", options.donor);
        describeChoice(chosen, "masters", options.masters, RepairOptions::Masters::Donor);
        describeChoice(chosen, "moments", options.moments, RepairOptions::Moments::Donor);
        chosen.field("allow", options.allow);
        chosen.field("set", options.values);
        std::string depth(checkDepthName(options.depth.value_or(CheckDepth::Metadata)));
        chosen.field("depth", depth);
        options.depth = parseCheckDepth(depth);
    });
}

} // namespace

bool isOfPointer(std::string_view code)
{
    return code == code::kLatestMissing || code == code::kLatestDangling;
}

std::string tagToOpen(const std::vector<std::string>& fixes, const std::string& tag)
{
    return std::ranges::any_of(fixes, isOfPointer) ? std::string() : tag;
}

std::string repairText(RepairRecord record, const std::vector<RepairChange>& changes)
{
    const auto describeChange = [](JsonOut& out, const RepairChange& change) {
        out.field("code", change.code);
        out.field("where", change.where.text());
        out.field("what", change.what);
        out.field("before", change.before);
        out.field("after", change.after);
        out.field("marked", change.reconstructed);
    };
    return documentText([&](JsonOut& out) {
        out.field("schema", kSchema);
        out.field("version", buildInfo().version);
        describeRecord(out, record);
        out.list("changes", changes, describeChange);
    });
}

Result<RepairRecord> readRepairText(const std::string& text, const io::Path& path)
{
    const JsonNode json = JsonNode::parse(text);
    RepairRecord out;
    std::string problem;
    JsonIn in(json, problem);
    describeRecord(in, out);
    if (json.at("schema").text() != kSchema || !problem.empty())
        return fail(ErrorCode::Damaged, "the file does not record what a repair changed", path.string());
    return out;
}

} // namespace shardscope
