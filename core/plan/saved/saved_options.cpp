// SPDX-License-Identifier: Apache-2.0
#include "core/plan/saved/saved_options.h"

#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/model/saved_text.h"

#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

/// Fails like a missing key: this build does not know the value.
void throwUnknown(const Json& object, const std::string& key)
{
    (void)object.at(key).at("known");
}

Json textList(const std::vector<std::string>& texts)
{
    Json out = Json::array();
    for (const std::string& text : texts) {
        Json entry;
        putText(entry, "text", text);
        out.push_back(std::move(entry));
    }
    return out;
}

template <class Choice>
Choice choiceOf(const Json& object, const std::string& key,
    std::initializer_list<std::pair<std::string_view, Choice>> known)
{
    const auto word = object.at(key).get<std::string>();
    for (const auto& [name, choice] : known) {
        if (word == name)
            return choice;
    }
    throwUnknown(object, key);
    return Choice::Default;
}

std::vector<std::string> readTextList(const Json& list)
{
    std::vector<std::string> out;
    for (const Json& entry : list)
        out.push_back(getText(entry, "text"));
    return out;
}

std::vector<uint32_t> readNumberList(const Json& object, const std::string& key)
{
    std::vector<uint32_t> out;
    for (const Json& entry : object.at(key))
        out.push_back(numberIn<uint32_t>(entry, key));
    return out;
}

} // namespace

std::string optionsText(const ReshardOptions& options)
{
    Json out;
    out["world_size"] = options.worldSize;
    if (options.form == TargetForm::Universal)
        out["form"] = "universal";
    if (options.stage)
        out["stage"] = *options.stage;
    if (options.stage0Form)
        out["stage0_form"] = kindName(*options.stage0Form);
    if (options.tp)
        out["tp"] = *options.tp;
    if (options.pp)
        out["pp"] = *options.pp;
    if (!options.stageLayers.empty())
        out["stage_layers"] = options.stageLayers;
    if (!options.tiedLayers.empty())
        out["tied_layers"] = textList(options.tiedLayers);
    if (!options.ties.empty())
        out["ties"] = textList(options.ties);
    if (options.ep)
        out["ep"] = *options.ep;
    if (options.patterns)
        putText(out, "patterns", *options.patterns);
    if (options.paddedVocabulary)
        out["padded_vocab_size"] = *options.paddedVocabulary;
    if (options.rowMajor)
        out["row_major"] = true;
    out["sub_group_size"] = options.subGroupSize ? Json(*options.subGroupSize) : Json(nullptr);
    if (!options.tagOut.empty())
        putText(out, "tag_out", options.tagOut);
    if (!options.optimizerOptions.empty())
        out["optimizer_options"] = options.optimizerOptions;
    out["latest"] = options.writePointer;
    out["allow"] = options.allow;
    return out.dump();
}

ReshardOptions readReshardOptions(const std::string& text)
{
    const Json object = Json::parse(text);
    ReshardOptions out;
    out.worldSize = getNumber<uint32_t>(object, "world_size");
    if (object.contains("form") && object.at("form").get<std::string>() == "universal")
        out.form = TargetForm::Universal;
    if (object.contains("stage"))
        out.stage = getNumber<int>(object, "stage");
    if (object.contains("stage0_form")) {
        out.stage0Form = stage0FormOf(object.at("stage0_form").get<std::string>());
        if (!out.stage0Form)
            throwUnknown(object, "stage0_form");
    }
    if (object.contains("tp"))
        out.tp = getNumber<uint32_t>(object, "tp");
    if (object.contains("pp"))
        out.pp = getNumber<uint32_t>(object, "pp");
    if (object.contains("stage_layers"))
        out.stageLayers = readNumberList(object, "stage_layers");
    if (object.contains("tied_layers"))
        out.tiedLayers = readTextList(object.at("tied_layers"));
    if (object.contains("ties"))
        out.ties = readTextList(object.at("ties"));
    if (object.contains("ep"))
        out.ep = getNumber<uint32_t>(object, "ep");
    if (object.contains("patterns"))
        out.patterns = getText(object, "patterns");
    if (object.contains("padded_vocab_size"))
        out.paddedVocabulary = getNumber<uint64_t>(object, "padded_vocab_size");
    if (object.contains("row_major"))
        out.rowMajor = object.at("row_major").get<bool>();
    if (!object.at("sub_group_size").is_null())
        out.subGroupSize = getNumber<uint64_t>(object, "sub_group_size");
    if (object.contains("tag_out"))
        out.tagOut = getText(object, "tag_out");
    if (object.contains("optimizer_options"))
        out.optimizerOptions = object.at("optimizer_options").get<std::vector<std::string>>();
    out.writePointer = object.at("latest").get<bool>();
    out.allow = object.at("allow").get<std::vector<std::string>>();
    return out;
}

std::string optionsText(const ExportOptions& options)
{
    Json out;
    out["format"] = exportFormatName(options.format);
    out["dtype"] = castName(options.dtype);
    out["shard_size"] = options.shardBytes;
    out["only"] = textList(options.only);
    if (!options.stripPrefix.empty())
        putText(out, "strip_prefix", options.stripPrefix);
    out["rename"] = Json::array();
    for (const auto& [from, to] : options.renames) {
        Json entry;
        putText(entry, "from", from);
        putText(entry, "to", to);
        out["rename"].push_back(std::move(entry));
    }
    out["states"] = textList(options.states);
    if (!options.adapterOptions.empty())
        out["adapter_options"] = textList(options.adapterOptions);
    if (!options.ties.empty())
        out["ties"] = textList(options.ties);
    if (options.patterns)
        putText(out, "patterns", *options.patterns);
    out["allow"] = options.allow;
    return out.dump();
}

ExportOptions readExportOptions(const std::string& text)
{
    const Json object = Json::parse(text);
    ExportOptions out;
    const auto format = exportFormatFromName(object.at("format").get<std::string>());
    if (!format)
        throwUnknown(object, "format");
    out.format = format.value_or(ExportFormat::Safetensors);
    const auto dtype = object.at("dtype").get<std::string>();
    out.dtype = castFromName(dtype);
    if (!out.dtype && dtype != castName({}))
        throwUnknown(object, "dtype");
    out.shardBytes = getNumber<uint64_t>(object, "shard_size");
    out.only = readTextList(object.at("only"));
    if (object.contains("strip_prefix"))
        out.stripPrefix = getText(object, "strip_prefix");
    for (const Json& entry : object.at("rename"))
        out.renames.emplace_back(getText(entry, "from"), getText(entry, "to"));
    out.states = readTextList(object.at("states"));
    if (object.contains("adapter_options"))
        out.adapterOptions = readTextList(object.at("adapter_options"));
    if (object.contains("ties"))
        out.ties = readTextList(object.at("ties"));
    if (object.contains("patterns"))
        out.patterns = getText(object, "patterns");
    out.allow = object.at("allow").get<std::vector<std::string>>();
    return out;
}

std::string optionsText(const RepairOptions& options)
{
    Json out;
    out["fix"] = options.fixes;
    out["set"] = textList(options.values);
    if (!options.donor.empty())
        putText(out, "from", options.donor);
    if (options.masters != RepairOptions::Masters::Default)
        out["masters"] = options.masters == RepairOptions::Masters::Copies ? "copies" : "donor";
    if (options.moments != RepairOptions::Moments::Default)
        out["moments"] = options.moments == RepairOptions::Moments::Zeros ? "zeros" : "donor";
    if (options.depth)
        out["depth"] = checkDepthName(*options.depth);
    if (!options.tagOut.empty())
        putText(out, "tag_out", options.tagOut);
    out["latest"] = options.writePointer;
    out["allow"] = options.allow;
    return out.dump();
}

RepairOptions readRepairOptions(const std::string& text)
{
    const Json object = Json::parse(text);
    RepairOptions out;
    out.fixes = object.at("fix").get<std::vector<std::string>>();
    out.values = readTextList(object.at("set"));
    if (object.contains("from"))
        out.donor = getText(object, "from");
    if (object.contains("masters"))
        out.masters = choiceOf<RepairOptions::Masters>(object, "masters",
            {{"copies", RepairOptions::Masters::Copies}, {"donor", RepairOptions::Masters::Donor}});
    if (object.contains("moments"))
        out.moments = choiceOf<RepairOptions::Moments>(object, "moments",
            {{"zeros", RepairOptions::Moments::Zeros}, {"donor", RepairOptions::Moments::Donor}});
    if (object.contains("depth")) {
        out.depth = parseCheckDepth(object.at("depth").get<std::string>());
        if (!out.depth)
            throwUnknown(object, "depth");
    }
    if (object.contains("tag_out"))
        out.tagOut = getText(object, "tag_out");
    out.writePointer = object.at("latest").get<bool>();
    out.allow = object.at("allow").get<std::vector<std::string>>();
    return out;
}

} // namespace shardscope
