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

struct ExportFormatTraits {
    ExportFormat format = ExportFormat::Safetensors;
    std::string_view name; ///< in JSON and on the command line
    bool byExport = true; ///< `export` writes it. Else `convert` does
};

/// To add a format, add a row.
inline constexpr std::array kExportFormats{
    ExportFormatTraits{ExportFormat::Safetensors, "safetensors"},
    ExportFormatTraits{ExportFormat::Torch, "torch"},
    ExportFormatTraits{ExportFormat::Npy, "npy"},
    ExportFormatTraits{ExportFormat::Adapter, "adapter"},
    ExportFormatTraits{ExportFormat::Dcp, "dcp", false},
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

[[nodiscard]] constexpr std::string_view exportFormatName(ExportFormat format)
{
    return kExportFormats[static_cast<size_t>(format)].name;
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
