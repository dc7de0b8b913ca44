// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export.h"
#include "core/plan/model/shared_options.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace shardscope {

namespace {

struct Cast {
    std::string_view name;
    DType dtype;
};
constexpr std::array<Cast, 5> kCasts{{{"fp32", DType::Float32}, {"bf16", DType::BFloat16},
    {"fp16", DType::Float16}, {"fp8_e4m3", DType::Float8E4M3}, {"fp8_e5m2", DType::Float8E5M2}}};

} // namespace

std::vector<std::string> castNames()
{
    std::vector<std::string> out;
    for (const Cast& cast : kCasts) {
        if (canConvert(DType::Float32, cast.dtype))
            out.emplace_back(cast.name);
    }
    return out;
}

std::optional<DType> castFromName(std::string_view name)
{
    const auto known
        = std::find_if(kCasts.begin(), kCasts.end(), [&](const Cast& cast) { return cast.name == name; });
    return known == kCasts.end() || !canConvert(DType::Float32, known->dtype) ? std::nullopt
                                                                              : std::optional(known->dtype);
}

std::string_view castName(std::optional<DType> dtype)
{
    const auto known
        = std::find_if(kCasts.begin(), kCasts.end(), [&](const Cast& cast) { return dtype == cast.dtype; });
    return known == kCasts.end() ? std::string_view("keep") : known->name;
}

namespace {

std::vector<std::string> dtypeNames()
{
    std::vector<std::string> out = castNames();
    out.insert(out.begin(), std::string(castName({})));
    return out;
}

std::string formatHelp()
{
    std::string out = "The format of the files:";
    const std::vector<std::string> names = exportFormatNames();
    for (const std::string& name : names)
        out += (name == names.back() ? " or " : " ") + name + " ("
            + std::string(traitsOf(*exportFormatFromName(name)).note) + ")"
            + (name == names.back() ? ". " : ",");
    return out + "Default: " + names.front() + ".";
}

std::vector<std::string> allFormatNames()
{
    std::vector<std::string> out;
    for (const ExportFormatTraits& traits : kExportFormats)
        out.emplace_back(traits.name);
    return out;
}

/// What is written, and in which form.
OptionFields formFields(ExportOptions& of)
{
    return {
        {.key = "format",
            .value = OptionWord{[&of] { return std::string(exportFormatName(of.format)); },
                [&of](
                    const std::string& word) { of.format = exportFormatFromName(word).value_or(of.format); },
                allFormatNames()},
            .option = {.name = "--format",
                .kind = ValueKind::Choice,
                .valueName = "FORMAT",
                .help = formatHelp(),
                .choices = exportFormatNames()},
            .always = true},
        {.key = "dtype",
            .value = OptionWord{[&of] { return std::string(castName(of.dtype)); },
                [&of](const std::string& word) { of.dtype = castFromName(word); }, dtypeNames()},
            .option = {.name = "--dtype",
                .kind = ValueKind::Choice,
                .valueName = "DTYPE",
                .help = "The dtype to cast floating-point weights and buffers to, from the fp32 masters if "
                        "there are any; keep means the model's own dtypes. Default: keep.",
                .choices = dtypeNames()},
            .always = true,
            .fallback = std::string(castName({}))},
        {.key = "shard_size",
            .value = &of.shardBytes,
            .option = {.name = "--shard-size",
                .kind = ValueKind::Size,
                .valueName = "SIZE",
                .help
                = "Max bytes of tensors in one file, such as 2G. A larger tensor gets its own file. "
                  "Several files also get an index. Only for safetensors and torch. Default: 5000000000.",
                .minimum = 1},
            .text = "maximum bytes of tensors in one file",
            .always = true,
            .fallback = std::to_string(kDefaultShardBytes)},
        {.key = "only",
            .value = &of.only,
            .option = {.name = "--only",
                .kind = ValueKind::Text,
                .valueName = "PATTERN",
                .help = "Export only parameters with matching names: `*` matches any characters, `?` one "
                        "character. Can be repeated.",
                .repeats = true},
            .always = true},
    };
}

/// Under which names, and what is written beside the weights.
OptionFields nameFields(ExportOptions& of)
{
    return {
        {.key = "strip_prefix",
            .value = &of.stripPrefix,
            .option = {.name = "--strip-prefix",
                .kind = ValueKind::Text,
                .valueName = "PREFIX",
                .help = "Remove PREFIX, such as `module.`, from the names that begin with it."}},
        {.key = "rename",
            .value = &of.renames,
            .option = {.name = "--rename",
                .kind = ValueKind::Text,
                .valueName = "OLD=NEW",
                .help = "Write NEW instead of OLD in names that are OLD or begin with `OLD.`. This is "
                        "applied after --strip-prefix. Can be repeated; the first match is used.",
                .repeats = true},
            .always = true},
        {.key = "states",
            .value = &of.states,
            .option = {.name = "--states",
                .kind = ValueKind::Text,
                .valueName = "STATES",
                .help = "States to write in addition to the weights, separated by commas: "
                        "fp32,exp_avg,exp_avg_sq. Each is written unchanged to a file (npy: a folder) with "
                        "its name."},
            .always = true,
            .commas = true},
        {.key = "adapter_options",
            .value = &of.adapterOptions,
            .option = {.name = "--adapter-option",
                .kind = ValueKind::Text,
                .valueName = "OPTION",
                .help = "With --format adapter, an entry of adapter_config.json as KEY=VALUE, such as "
                        "lora_alpha=16. Use it when that file is not next to the checkpoint and the value "
                        "is not recorded elsewhere; the error names missing entries. Can be repeated.",
                .repeats = true}},
    };
}

} // namespace

OptionFields fieldsOf(ExportOptions& of)
{
    OptionFields out = formFields(of);
    std::ranges::move(nameFields(of), std::back_inserter(out));
    out.push_back(patternsField(of.patterns));
    out.push_back(tieField(of.ties));
    out.push_back(allowField(of.allow, kAllowHelp));
    for (OptionField& field : out)
        field.inFacts = true; // choicesOf() has them
    return out;
}

} // namespace shardscope
