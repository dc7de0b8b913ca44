// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/plan/model: defines a plan as files, records and segments that name the origin of every output
// byte; the planners make it and core/engine runs it. Start with WritePlan.

#include "core/base/finding.h"
#include "core/base/result.h"
#include "core/io/file_system.h"
#include "core/tensor/dtype.h"
#include "core/tensor/element_digest.h"
#include "core/tensor/transposed_order.h"
#include "core/torchfile/torch_file.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// A run of bytes of one output record: copied from a source record, converted from it, or zeros (padding).
struct Segment {
    static constexpr uint32_t kZero = 0xFFFFFFFFu;
    static constexpr uint32_t kNoTensor = 0xFFFFFFFFu;

    uint32_t source = kZero; ///< index into WritePlan::sources, or kZero
    uint32_t record = 0; ///< record of that source file
    uint64_t sourceOffset = 0; ///< bytes from the start of the source file
    uint64_t bytes = 0; ///< of the output; never 0
    uint32_t tensor = kNoTensor; ///< index into WritePlan::tensors: the owner of these elements
    uint64_t firstElement = 0; ///< of that tensor, flattened
    /// If it differs from the output's dtype, elements are converted on the way (canConvert() holds).
    /// `tensor` is the output's.
    DType sourceType = DType::Unknown;
    DType outputType = DType::Unknown;
    /// The distance between two elements in the source. Above 1 if the source stores a matrix column by
    /// column and the output does not. Such a segment stays in one row.
    uint32_t sourceStep = 1;

    [[nodiscard]] bool isGathered() const { return sourceStep > 1; }
    [[nodiscard]] bool isConverted() const { return sourceType != outputType; }
    /// Bytes from its first one in the source to its last one.
    [[nodiscard]] uint64_t sourceBytes() const
    {
        if (isGathered()) {
            const uint64_t item = itemSize(sourceType);
            return (bytes / itemSize(outputType) - 1) * sourceStep * item + item;
        }
        return isConverted() ? bytes / itemSize(outputType) * itemSize(sourceType) : bytes;
    }
};

/// The segments of one record in the order of its bytes. Their sizes add up to the record's size. Cheap to
/// create, not thread-safe.
class SegmentCursor
{
public:
    virtual ~SegmentCursor() = default;
    /// The next segment, or false at the end.
    virtual bool next(Segment& segment) = 0;
};

/// One record of an output archive, or one part of a plain file.
struct OutputRecord {
    enum class Content { Literal, Segments, SerializationId };
    std::string name = {}; ///< "data.pkl", "data/0"
    uint64_t bytes = 0;
    Content content = Content::Literal;
    std::string literal = {};
    std::function<std::unique_ptr<SegmentCursor>()> cursor = {}; ///< thread-safe to call
};

/// How to write one output file.
struct OutputFile {
    std::string path; ///< as PlannedFile::path
    uint32_t mode = 0644;
    bool torchArchive = true; ///< false: a plain file, the records' bytes back to back and nothing else
    /// The file has exactly the bytes of this source. It may share them on a file system that supports this.
    std::optional<uint32_t> copyOf = {};
    std::string prefix = {}; ///< of the archive
    std::vector<OutputRecord> records = {};
};

/// The kind of output. It decides how the output is opened and verified: a checkpoint of DeepSpeed, tensors
/// in files of other tools (core/plan/export/export.h), or bytes without a known form
/// (core/plan/repair/repair_undo.cpp).
enum class OutcomeKind { Checkpoint, Export, Copy };

/// A file that the plan reads, and its state when the plan was made.
struct PlanSource {
    io::Path path;
    std::string name; ///< relative to the source tag folder
    io::FileIdentity identity;
    std::vector<ZipRecord>
        records; ///< with CRCs to check what is read; one record for the whole file if not zip
};

/// A tensor with elements that the plan moves. For digests and verification.
struct PlanTensor {
    std::string name;
    std::string state;
    DType dtype = DType::Float32;
    /// Number of rows if the output stores a matrix column by column. Its segments count elements in that
    /// order. Else 0.
    uint32_t columnRows = 0;
    uint64_t elements = 0;

    [[nodiscard]] std::optional<TransposedOrder> order() const
    {
        return columnRows == 0 ? std::nullopt
                               : std::optional(TransposedOrder{columnRows, elements / columnRows});
    }
};

/// One file of the output.
struct PlannedFile {
    /// Relative to the target, plain names and '/' only. "../NAME" is a file of the target that is next to
    /// it, in the run folder. It is written, verified and listed in the manifest like the others, and is
    /// published after the target and before the pointer.
    std::string path;
    uint64_t bytes = 0;
    /// As OutputFile::copyOf: the source with the same bytes.
    std::optional<uint32_t> copyOf = {};
};

struct ReshardFacts;
struct ExportFacts;
struct RepairFacts;

/// The complete output, known before writing, as data. One engine runs all plans.
///
/// Deterministic: the same source and options give the same plan on every machine. Splittable by output file.
/// Not changed once a planner has returned it; then it may be used by several threads.
struct WritePlan {
    std::string verb = {}; ///< "reshard", "convert", …
    std::string id = {}; ///< 16 hex digits from verb, options and source identities; names the work folder
    std::string targetName = {}; ///< the target's own name (the tag)
    std::string pointerName = {}; ///< the pointer file written last next to it ("latest"), empty for none
    OutcomeKind outcome = OutcomeKind::Checkpoint;
    /// Whether the parent folder of the target belongs to the output, as a run folder belongs to its tag. If
    /// so, this folder must not overlap the source. Else only the target must not overlap it.
    bool ownsFolder = true;
    std::vector<PlanSource> sources = {};
    std::vector<PlanTensor> tensors = {};
    std::vector<PlannedFile> files = {};
    /// Makes recipe(). Thread-safe to call.
    std::function<Result<OutputFile>(const WritePlan& plan, size_t file)> compose = {};
    /// Files for the run folder, next to the target: name and bytes. They are written only if absent
    /// (scripts).
    std::vector<OutputFile> runFolderFiles = {};
    uint64_t readsBytes = 0;
    uint64_t writesBytes = 0;
    /// Makes the fingerprint of the whole training state (32 hex digits), from the digests of the tensors in
    /// their order. Null for plans that do not write a training state. Thread-safe to call.
    std::function<std::string(std::span<const Digest> digests)> fingerprint = {};
    /// Options and facts for reports and the manifest, as a JSON object's text (deterministic, no paths, no
    /// times).
    std::string description = "{}";
    std::vector<Finding> warnings = {};
    /// The parts of the output that differ from what a run saved, for the manifest; also among the warnings.
    std::vector<Finding> marks = {};
    /// The facts of its kind. A copy has none of them.
    std::shared_ptr<const ReshardFacts> reshard = {}; ///< reshard, conversion, repair (reshard.h)
    std::shared_ptr<const ExportFacts> exported = {}; ///< files of other tools (export.h)
    std::shared_ptr<const RepairFacts> repair = {}; ///< (repair.h)

    /// The recipe of files[i]. May take time (it builds the file's pickle); nothing is kept.
    [[nodiscard]] Result<OutputFile> recipe(size_t i) const { return compose(*this, i); }
};

using WritePlanPtr = std::shared_ptr<const WritePlan>;

} // namespace shardscope
