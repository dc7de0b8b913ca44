// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/plan/export: plans weights as files of other tools; the formats themselves are in
// core/torchfile/formats. Start with planExport().

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/describe/option.h"
#include "core/plan/export/export_format.h"
#include "core/plan/model/write_plan.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

/// The names that --dtype takes ("fp32", "bf16", "fp16", "fp8_e4m3", "fp8_e5m2"), the cast targets.
std::vector<std::string> castNames();
std::optional<DType> castFromName(std::string_view name);
/// The name of one of these dtypes; "keep" for none.
std::string_view castName(std::optional<DType> dtype);

/// 5 GB, decimal, as huggingface_hub splits (serialization/_base.py, MAX_SHARD_SIZE).
inline constexpr uint64_t kDefaultShardBytes = 5'000'000'000;

struct ExportOptions {
    ExportFormat format = ExportFormat::Safetensors;
    /// The dtype of floating-point weights. Nothing: keep the model's own.
    std::optional<DType> dtype = {};
    /// Max bytes of elements in one file. A larger tensor gets its own file. Only for
    /// ExportLayout::Shards.
    uint64_t shardBytes = kDefaultShardBytes;
    std::vector<std::string> only = {}; ///< patterns of parameter names (core/base/glob.h); empty: all
    std::string stripPrefix = {}; ///< removed from names that begin with it
    /// A name, or its part before a dot, and the replacement. The first match is used.
    std::vector<std::pair<std::string, std::string>> renames = {};
    std::vector<std::string> states = {}; ///< written next to the weights, unchanged, each in its own files
    /// KEY=VALUE of an adapter's configuration, when there is none next to the checkpoint
    /// (core/plan/export/adapter_config.h).
    std::vector<std::string> adapterOptions = {};
    std::vector<std::string> ties = {}; ///< "NAME=OWNER" (core/plan/compose/named_ties.h)
    std::optional<std::string> patterns = {}; ///< ReshardOptions::patterns
    std::vector<std::string> allow = {}; ///< finding codes accepted despite blocking
    /// DST's own name: the target. It is not part of the plan's id, because a plan may run into another
    /// folder.
    std::string folderName = {};

    bool operator==(const ExportOptions&) const = default;
};

/// The table of the options. It refers to `of`, which must live as long.
OptionFields fieldsOf(ExportOptions& of);

/// A tensor of the output. Its number is its index in WritePlan::tensors.
struct ExportTensor {
    ParamId param = kNoParam; ///< in ExportFacts::laidOut: the owner of these elements
    std::string from; ///< the state to read
    std::string name; ///< as written
    std::string state; ///< "weight", or an additionally requested state
    DType dtype = DType::Float32; ///< as written
    Shape shape;
    uint64_t elements = 0;
    bool isBuffer = false;
};

/// The facts of a plan that writes weights (and states) as files of other tools.
struct ExportFacts {
    ExportOptions options;
    std::span<const ExportTensor> tensors; ///< of the plan's files; they live as long as the plan
    /// By WritePlan::files: the tensor of a file that has exactly one, else Segment::kNoTensor.
    std::vector<uint32_t> tensorOfFile;
    /// The checkpoint that the tensors are read from: the source, with slices and stages merged.
    CheckpointPtr laidOut;
};

/// Plans an export. Writes nothing. The output is one file of tensors per state, or several with an index
/// above the shard size. Copies of the files that transformers keeps next to weights (config.json, the
/// tokenizer) are added. NumPy: one file per tensor and an index, without these copies, because transformers
/// does not read NumPy files (core/torchfile/formats/npy_folder.h). Adapter: only the tensors of a LoRA
/// adapter and its configuration (core/plan/export/export_adapter.h).
///
/// Values come from the masters, else from the weights. Frozen parameters and buffers are included. Of tied
/// parameters only the owner is written. Errors: Unsupported, by name, for kinds that this build cannot read
/// and for elements that the format does not have; Refused if findings make the result wrong; Usage for
/// options that match nothing.
Result<WritePlanPtr> planExport(
    io::FileSystem& files, CheckpointPtr source, const ExportOptions& options, JobContext& job);

} // namespace shardscope
