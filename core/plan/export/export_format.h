// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The file formats of an export.
enum class ExportFormat { Safetensors, Torch, Npy, Adapter, Dcp };

/// How the tensors are distributed over files.
enum class ExportLayout {
    Shards, ///< files of at most the shard size for each state; several files get an index
    OneFile, ///< for each state
    FilePerTensor,
    Distributed, ///< a file per tensor, and metadata that lists them
};

struct ExportFormatTraits {
    ExportFormat format = ExportFormat::Safetensors;
    std::string_view name; ///< in JSON and on the command line
    std::string_view note; ///< what it is for, a few words
    ExportLayout layout = ExportLayout::Shards;
    /// Of the file of the weights. Shards and OneFile: also the names that transformers searches for
    /// (utils/__init__.py, SAFE_WEIGHTS_NAME, WEIGHTS_NAME), and PEFT (utils/constants.py).
    std::string_view stem;
    std::string_view extension;
    bool byExport = true; ///< `export` writes it. Else `convert` does
};

/// To add a format, add a row.
inline constexpr std::array kExportFormats{
    ExportFormatTraits{ExportFormat::Safetensors, "safetensors", "for transformers and most tools",
        ExportLayout::Shards, "model", "safetensors"},
    ExportFormatTraits{
        ExportFormat::Torch, "torch", "pytorch_model.bin", ExportLayout::Shards, "pytorch_model", "bin"},
    ExportFormatTraits{
        ExportFormat::Npy, "npy", "a NumPy file per tensor", ExportLayout::FilePerTensor, "", "npy"},
    ExportFormatTraits{ExportFormat::Adapter, "adapter", "only the LoRA adapter, as PEFT saves it",
        ExportLayout::OneFile, "adapter_model", "safetensors"},
    ExportFormatTraits{ExportFormat::Dcp, "dcp", "a distributed checkpoint of PyTorch, with all states",
        ExportLayout::Distributed, "", "distcp", false},
};
static_assert(
    [] {
        for (size_t i = 0; i < kExportFormats.size(); ++i) {
            if (kExportFormats[i].format != static_cast<ExportFormat>(i))
                return false;
        }
        return true;
    }(),
    "rows are in the order of ExportFormat");

[[nodiscard]] constexpr const ExportFormatTraits& traitsOf(ExportFormat format)
{
    return kExportFormats[static_cast<size_t>(format)];
}

[[nodiscard]] constexpr std::string_view exportFormatName(ExportFormat format)
{
    return traitsOf(format).name;
}

[[nodiscard]] constexpr std::optional<ExportFormat> exportFormatFromName(std::string_view name)
{
    for (const ExportFormatTraits& traits : kExportFormats) {
        if (traits.name == name)
            return traits.format;
    }
    return std::nullopt;
}

/// The formats that `export` writes, as spelled in --format.
[[nodiscard]] inline std::vector<std::string> exportFormatNames()
{
    std::vector<std::string> out;
    for (const ExportFormatTraits& traits : kExportFormats) {
        if (traits.byExport)
            out.emplace_back(traits.name);
    }
    return out;
}

} // namespace shardscope
