// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/adapter_config.h"

#include "core/base/text.h"
#include "core/checkpoint/folder/wrapper_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;
constexpr std::array<std::string_view, 3> kDecided{"peft_type", "r", "rank_pattern"};

/// Parses an object that is a configuration of LoRA. Null values count as absent (peft/config.py).
Result<AdapterConfig> configOf(const std::string& text, const io::Path& path)
{
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("peft_type") || !json.at("peft_type").is_string())
        return fail(ErrorCode::Damaged, "the adapter's configuration is not one of PEFT's", path.string());
    if (const auto method = json.at("peft_type").get<std::string>(); method != "LORA")
        return fail(ErrorCode::Unsupported,
            "the adapter is of PEFT's method " + toValidUtf8(method) + "; this build exports only LoRA",
            path.string(), "--format safetensors --only PATTERN writes its parameters as they are named");
    AdapterConfig out;
    const auto has = [&](const char* key) { return json.contains(key) && !json.at(key).is_null(); };
    if (has("trainable_token_indices"))
        return fail(ErrorCode::Unsupported,
            "the adapter has trainable tokens (trainable_token_indices), which this build does not export",
            path.string());
    if (has("bias") && json.at("bias").is_string())
        out.biases = json.at("bias").get<std::string>();
    if (has("target_modules") && json.at("target_modules").is_array()) {
        out.targetsAreListed = true;
        for (const Json& target : json.at("target_modules")) {
            if (target.is_string())
                out.targets.push_back(target.get<std::string>());
        }
    }
    if (has("r") && json.at("r").is_number_unsigned())
        out.ranks.push_back(json.at("r").get<uint64_t>());
    if (has("rank_pattern") && json.at("rank_pattern").is_object()) {
        for (const auto& [pattern, rank] : json.at("rank_pattern").items()) {
            if (rank.is_number_unsigned())
                out.ranks.push_back(rank.get<uint64_t>());
        }
    }
    return out;
}

/// The rank of most modules.
uint64_t commonRank(const AdapterFacts& facts)
{
    std::map<uint64_t, size_t> counts;
    for (const auto& [module, rank] : facts.ranks)
        ++counts[rank];
    const auto most = std::max_element(
        counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counts.end() ? 0 : most->first;
}

/// A module's name as a pattern. PEFT matches patterns with the ends of names.
std::string asPattern(const std::string& module)
{
    std::string out;
    for (const char c : module)
        out += c == '.' ? std::string("\\.") : std::string(1, c);
    return out;
}

Status applyOption(const std::string& option, Json& config)
{
    const size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0 || !isValidUtf8(option))
        return fail(ErrorCode::Usage, "--adapter-option " + toValidUtf8(option) + " is not KEY=VALUE", {},
            "such as --adapter-option lora_alpha=16");
    const std::string key = option.substr(0, equals);
    if (std::find(kDecided.begin(), kDecided.end(), key) != kDecided.end())
        return fail(ErrorCode::Usage, "the adapter's tensors decide `" + key + "`");
    const std::string text = option.substr(equals + 1);
    const Json value = Json::parse(text, nullptr, false);
    config[key] = value.is_discarded() ? Json(text) : value;
    return {};
}

} // namespace

Result<std::optional<AdapterConfig>> findAdapterConfig(
    io::FileSystem& files, const Checkpoint& source, const std::string& adapter)
{
    std::vector<io::Path> folders{source.tagFolder};
    if (!hasNoRunFolder(source.kind) && !source.runFolder.empty()) {
        folders.insert(folders.begin(), source.runFolder / adapter);
        folders.insert(folders.begin(), source.runFolder);
    }
    for (const io::Path& folder : folders) {
        const io::Path path = folder / kAdapterConfigName;
        const auto info = files.stat(path);
        if (!info && info.error().code != ErrorCode::NotFound)
            return forward(info.error());
        if (!info || info->type != io::FileType::Regular)
            continue;
        SHARDSCOPE_TRY(const std::string text, files.readSmall(path, kMaxConfigBytes));
        SHARDSCOPE_TRY(AdapterConfig out, configOf(text, path));
        out.file.path = path;
        out.file.name = std::string(kNextToTag) + std::string(kAdapterConfigName);
        out.file.identity = info->identity;
        return std::optional(std::move(out));
    }
    return std::optional<AdapterConfig>();
}

Result<std::string> adapterConfigText(const AdapterFacts& facts, const std::vector<std::string>& options)
{
    const uint64_t rank = commonRank(facts);
    Json config = {{"peft_type", "LORA"}, {"r", rank}, {"target_modules", facts.targets},
        {"rank_pattern", Json::object()}, {"modules_to_save", nullptr}, {"bias", facts.biases},
        {"use_dora", facts.dora}, {"lora_bias", facts.loraBias}, {"inference_mode", true},
        {"base_model_name_or_path", nullptr}, {"task_type", nullptr}};
    for (const auto& [module, own] : facts.ranks) {
        if (own != rank)
            config["rank_pattern"][asPattern(module)] = own;
    }
    if (!facts.savedModules.empty())
        config["modules_to_save"] = facts.savedModules;
    for (const std::string& option : options)
        SHARDSCOPE_CHECK(applyOption(option, config));
    if (!config.contains("lora_alpha"))
        return fail(ErrorCode::Refused,
            "there is no adapter_config.json next to the checkpoint, and no other file records the adapter's "
            "lora_alpha",
            {},
            "pass it, as in --adapter-option lora_alpha=16, or put adapter_config.json into the run folder");
    return config.dump(2, ' ', true) + "\n";
}

} // namespace shardscope
