// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/repair_json.h"

#include "core/base/build_info.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/io/sha256.h"
#include "core/plan/model/saved_text.h"
#include "core/plan/model/source_list.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kSchema = "shardscope/repair-record/1";

/// Numbers above the last choice mean the default.
template <class Choice>
Choice choiceOf(int number, Choice last)
{
    return number < 0 || number > static_cast<int>(last) ? Choice::Default : static_cast<Choice>(number);
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

std::string repairText(const RepairRecord& record, const std::vector<RepairChange>& changes)
{
    const RepairOptions& options = record.options;
    Json out;
    out["schema"] = kSchema;
    out["version"] = buildInfo().version;
    Json& from = out["source"] = Json::object();
    putText(from, "path", record.source);
    putText(from, "tag", record.tag);
    for (const io::Path& root : record.roots) {
        Json entry = Json::object();
        putText(entry, "path", root.string());
        from["roots"].push_back(std::move(entry));
    }
    from["identity"] = record.identity;
    out["fixed"] = options.fixes;
    Json& chosen = out["options"] = Json::object();
    putText(chosen, "from", options.donor);
    chosen["masters"] = static_cast<int>(options.masters);
    chosen["moments"] = static_cast<int>(options.moments);
    chosen["allow"] = options.allow;
    chosen["set"] = options.values;
    chosen["depth"] = checkDepthName(options.depth.value_or(CheckDepth::Metadata));
    out["changes"] = Json::array();
    for (const RepairChange& change : changes)
        out["changes"].push_back({{"code", change.code}, {"where", toValidUtf8(change.where.text())},
            {"what", toValidUtf8(change.what)}, {"before", toValidUtf8(change.before)},
            {"after", toValidUtf8(change.after)}, {"marked", change.reconstructed}});
    return out.dump(1) + "\n";
}

Result<RepairRecord> readRepairText(const std::string& text, const io::Path& path)
{
    const Json json = Json::parse(text, nullptr, false);
    const auto wrong = [&] {
        return fail(ErrorCode::Damaged, "the file does not record what a repair changed", path.string());
    };
    if (!json.is_object() || !json.contains("schema") || json["schema"] != kSchema
        || !json.contains("source"))
        return wrong();
    RepairRecord out;
    try {
        out.source = getText(json.at("source"), "path");
        out.tag = getText(json.at("source"), "tag");
        for (const Json& root : json.at("source").value("roots", Json::array())) // absent in older files
            out.roots.emplace_back(getText(root, "path"));
        out.identity = json.at("source").at("identity").get<std::string>();
        out.options.fixes = json.at("fixed").get<std::vector<std::string>>();
        const Json& options = json.at("options");
        out.options.donor = getText(options, "from");
        out.options.masters = choiceOf(getNumber<int>(options, "masters"), RepairOptions::Masters::Donor);
        out.options.moments = choiceOf(getNumber<int>(options, "moments"), RepairOptions::Moments::Donor);
        out.options.allow = options.at("allow").get<std::vector<std::string>>();
        out.options.values = options.at("set").get<std::vector<std::string>>();
        out.options.depth = parseCheckDepth(options.at("depth").get<std::string>());
    } catch (const nlohmann::json::exception&) {
        return wrong();
    } catch (const std::invalid_argument&) {
        return wrong();
    }
    return out;
}

} // namespace shardscope
