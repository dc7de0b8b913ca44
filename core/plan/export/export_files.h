// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/compose/wrapper_carry.h"
#include "core/plan/export/export.h"

#include <memory>

namespace shardscope {

/// The data that all parts of an export plan share. Immutable once made; thread-safe.
struct ExportContext {
    CheckpointPtr source; ///< slices and stages merged
    ExportFormat format = ExportFormat::Safetensors;
    std::shared_ptr<const std::vector<uint32_t>> sourceOfFile; ///< FileId → index into WritePlan::sources
    std::vector<ExportTensor> tensors;
};

/// One file of an export, with all that is needed to compose it at any time.
struct ExportTarget {
    enum class Kind : uint8_t { Tensors, Text, Made, Carried };
    Kind kind = Kind::Tensors;
    std::string path;
    std::vector<uint32_t> tensors = {}; ///< for Tensors: in the order of the model
    std::string text = {}; ///< for Text: the whole file
    std::shared_ptr<const OutputFile> made = {}; ///< for Made: the recipe
    CarriedFile carried = {};
};

/// The files of tensors and their indices, the weights first, then state by state. Errors as npyTargets().
/// Pure.
Result<std::vector<ExportTarget>> exportTargets(const ExportContext& context, uint64_t shardBytes);
/// The recipe of one file. Errors as SafetensorsLayout::make(). Unsupported, by name, for elements without a
/// storage class in torch's own form.
Result<OutputFile> composeExport(
    const std::shared_ptr<const ExportContext>& context, const ExportTarget& target);

} // namespace shardscope
