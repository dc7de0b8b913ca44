// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair_json.h"

#include "core/base/build_info.h"
#include "core/base/text.h"
#include "core/io/sha256.h"

#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kSchema = "shardscope/repair-record/1";

/// Numbers beyond the last choice are the default.
template <class Choice>
Choice choiceOf(int number, Choice last)
{
    return number < 0 || number > static_cast<int>(last) ? Choice::Default : static_cast<Choice>(number);
}

} // namespace

std::string identityOf(const std::vector<PlanSource>& sources)
{
    std::string text;
    for (const PlanSource& source : sources)
        text += source.name + "|" + std::to_string(source.identity.bytes) + "|"
            + std::to_string(source.identity.modifiedNs) + "\n";
    io::Sha256 sha;
    sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return sha.finishHex();
}

std::string repairText(const std::string& source, const Checkpoint& checkpoint, const RepairOptions& options,
    const std::vector<std::string>& fixed, const std::vector<RepairChange>& changes,
    const std::vector<PlanSource>& sources)
{
    Json out;
    out["schema"] = kSchema;
    out["version"] = buildInfo().version;
    out["source"]
        = {{"path", toValidUtf8(source)}, {"path_hex", toHex(source)}, {"tag", toValidUtf8(checkpoint.tag)},
            {"tag_hex", toHex(checkpoint.tag)}, {"identity", identityOf(sources)}};
    out["fixed"] = fixed;
    out["options"] = {{"from_hex", toHex(options.donor)}, {"masters", static_cast<int>(options.masters)},
        {"moments", static_cast<int>(options.moments)}, {"allow", options.allow}};
    out["changes"] = Json::array();
    for (const RepairChange& change : changes)
        out["changes"].push_back({{"code", change.code}, {"where", toValidUtf8(change.where)},
            {"what", toValidUtf8(change.what)}, {"before", toValidUtf8(change.before)},
            {"after", toValidUtf8(change.after)}, {"marked", change.reconstructed}});
    return out.dump(1) + "\n";
}

Result<RepairRecord> readRepairText(const std::string& text, const io::Path& path)
{
    const Json json = Json::parse(text, nullptr, false);
    const auto wrong = [&] {
        return fail(ErrorCode::Damaged, "the file does not tell what a repair changed", path.string());
    };
    if (!json.is_object() || json.value("schema", std::string()) != kSchema || !json.contains("source"))
        return wrong();
    RepairRecord out;
    const auto raw = [](const std::string& hex) {
        std::string bytes;
        for (size_t i = 0; i + 1 < hex.size(); i += 2)
            bytes += static_cast<char>(std::strtol(hex.substr(i, 2).c_str(), nullptr, 16));
        return bytes;
    };
    try {
        out.source = raw(json.at("source").at("path_hex").get<std::string>());
        out.tag = raw(json.at("source").at("tag_hex").get<std::string>());
        out.identity = json.at("source").at("identity").get<std::string>();
        out.options.fixes = json.at("fixed").get<std::vector<std::string>>();
        const Json& options = json.at("options");
        out.options.donor = raw(options.at("from_hex").get<std::string>());
        out.options.masters = choiceOf(options.at("masters").get<int>(), RepairOptions::Masters::Donor);
        out.options.moments = choiceOf(options.at("moments").get<int>(), RepairOptions::Moments::Donor);
        out.options.allow = options.at("allow").get<std::vector<std::string>>();
    } catch (const nlohmann::json::exception&) {
        return wrong();
    }
    return out;
}

} // namespace shardscope
