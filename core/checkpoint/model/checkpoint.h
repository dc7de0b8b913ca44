// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/checkpoint/model: the result of reading, which all later rooms work on, and typed access to the
// pickles of its files (ModelStates, OptimStates). Start with Checkpoint.

#include "core/base/address.h"
#include "core/base/finding.h"
#include "core/base/ids.h"
#include "core/base/string_hash.h"
#include "core/checkpoint/model/checkpoint_kind.h"
#include "core/checkpoint/model/element_map.h"
#include "core/checkpoint/model/stored_run.h"
#include "core/io/file_system.h"
#include "core/partition/flat_partition.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"
#include "core/tensor/transposed_order.h"
#include "core/torchfile/torch_file.h"

#include <compare>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardscope {

struct ParallelDegrees {
    uint32_t dp = 1; ///< ZeRO partition count (data × sequence ranks)
    uint32_t tp = 1;
    uint32_t pp = 1;
    uint32_t ep = 1;

    [[nodiscard]] uint32_t ranks() const { return dp * tp * pp; } ///< torch's WORLD_SIZE
};

enum class FileRole {
    ModelStates,
    OptimStates,
    LayerStates,
    ExpertStates,
    Pointer,
    Script,
    Manifest,
    Swap,
    Other
};
std::string_view fileRoleName(FileRole role); ///< "model-states", "optim-states", …
enum class FileStatus { Ok, Missing, Damaged, Stale, Foreign, NotYetRead };
std::string_view fileStatusName(FileStatus status);

/// One file of the tag folder, or one that should be there.
struct CheckpointFile {
    io::Path path; ///< absolute
    std::string name; ///< relative to Checkpoint::tagFolder
    FileRole role = FileRole::Other;
    FileStatus status = FileStatus::Ok;
    std::optional<RankCoordinate> rank;
    io::FileIdentity identity; ///< zero for missing files
    /// Parsed content. Kept for rank 0's files and all optimizer files. Null for files that are missing,
    /// unreadable or not torch files, and for files dropped after their facts were read (other ranks' ZeRO-3
    /// model files).
    std::shared_ptr<const TorchFile> content;
    uint64_t recordCount = 0;
};

enum class ParamRole { Trainable, Frozen, Buffer };

/// One parameter or buffer of the model.
struct Parameter {
    std::string name; ///< DeepSpeed's, any bytes
    Shape shape;
    uint64_t elements = 0;
    ParamRole role = ParamRole::Trainable;
    int32_t group = -1; ///< optimizer param group; -1 for frozen and buffers
    UnitId unit = kNoUnit; ///< the flat unit that holds it; kNoUnit if it is only stored whole
    uint32_t indexInUnit = 0;
    ParamId sharedWith
        = kNoParam; ///< owner, for an alias of a tied parameter; an alias has no unit of its own
};

/// One state of a flat unit: "fp32" first, then the optimizer's own states in the order of rank 0's file
/// ("exp_avg", …). Frozen units have the single state "weight".
struct UnitState {
    std::string name;
    DType dtype = DType::Float32;
    bool lean = false; ///< stored without padding (ZeRO-1/2 fp32 masters)
    /// Indexed by the rank in the unit's partition. This is the dp rank, except for experts. If `elements` is
    /// set, an entry has only a file (no record): it represents everything that the rank stores, and is
    /// absent if nothing of it (slices: not all of it) is stored.
    std::vector<StoredRun> perRank;
    /// Where the elements are, if perRank does not have them as flat buffers.
    std::shared_ptr<const ElementMap> elements{};
    /// A rank stores every parameter whole that it has a share of (core/partition/held_whole.h). perRank has
    /// the shares alone.
    bool heldWhole = false;

    [[nodiscard]] const ElementMap& map() const;
    bool visitPiece(const FlatPiece& piece, const ElementMap::PieceVisit& visit) const
    {
        return map().visitPiece(perRank, piece, visit);
    }
    bool visitRuns(const ElementMap::RunVisit& visit) const { return map().visitRuns(perRank, visit); }
    /// The tensor of the parameter at that position, if parameters are whole tensors; else null, as if
    /// absent.
    [[nodiscard]] const StoredRun* tensorOf(size_t position) const;
};

/// Whole: a param group that has unpartitioned states, one tensor per parameter (universal folders, stage 0).
/// Its partition has one rank and no padding. It only defines an order to draw and walk; no such buffer is on
/// disk.
enum class UnitKind { Group, SubGroup, Frozen, Whole };

/// How an optimizer stores its step: torch's Adam as a 0-dim tensor, DeepSpeed's as an int, Apex only in the
/// group's options.
enum class StepForm { Absent, Integer, Real, Tensor };

/// A ZeRO-1/2 param group, a ZeRO-3 sub-group, or a frozen ZeRO-3 parameter: what is flattened and
/// partitioned as one. Or a group of tensors that are stored whole (UnitKind::Whole).
struct FlatUnit {
    UnitKind kind = UnitKind::Group;
    int32_t group = -1; ///< param group; -1 for frozen
    std::optional<uint32_t> subgroup; ///< ZeRO-3 sub-group number
    std::vector<ParamId> params; ///< in flat order
    FlatPartition partition;
    std::vector<UnitState> states;
    std::optional<double> step; ///< the unit's optimizer step, as a number, from rank 0
    StepForm stepForm = StepForm::Absent;
    DType stepType = DType::Float32; ///< for StepForm::Tensor
    bool stepSet = false; ///< a repair changed `step`: it differs from the files
    /// The mapping node of this unit's optimizer state in the rank-0 optimizer file; kNoNode if absent
    NodeId stateNode = kNoNode;
    uint32_t part = 0; ///< index into Checkpoint::parts, if there are parts
    /// The data-parallel ranks that share its partition: firstRank, firstRank + rankStride, … These are all
    /// ranks, except for experts: there each expert-parallel rank has its own set.
    uint32_t firstRank = 0;
    uint32_t rankStride = 1;

    [[nodiscard]] uint32_t dpRankOf(uint32_t partitionRank) const
    {
        return firstRank + partitionRank * rankStride;
    }
    /// The place of a data-parallel rank in the partition. Nothing if the rank has no share.
    [[nodiscard]] std::optional<uint32_t> partitionRankOf(uint32_t dpRank) const;

    /// Whether ranks hold numbered flat buffers of it, so that flat addresses can point into it.
    [[nodiscard]] bool isFlat() const { return kind == UnitKind::Group || kind == UnitKind::SubGroup; }
};

/// A tensor that one file holds whole: a 16-bit copy of ZeRO-1/2, a frozen parameter or a buffer.
struct WholeTensor {
    ParamId param = kNoParam;
    std::string state = "weight";
    DType dtype = DType::Float32;
    StoredRun run;
    std::vector<uint64_t> strides; ///< in elements; empty if `contiguous` (row-major)
    bool contiguous = true;
};

struct ParamGroup {
    uint32_t index = 0;
    std::vector<UnitId> units;
    uint64_t parameters = 0;
    uint64_t elements = 0;
    NodeId options = kNoNode; ///< the group's mapping in rank 0's optimizer file ("lr", "betas", …, "params")
};

struct StepCounters {
    std::optional<int64_t> globalSteps;
    std::optional<int64_t> globalSamples;
    std::optional<int64_t> skippedSteps;
};

/// The byte range of a file that is one archive of torch.save.
struct ArchivePart {
    FileId file = kNoFile;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    auto operator<=>(const ArchivePart&) const = default;
};

struct MergedSlices;

/// Everything known about one tag of a run. Immutable and thread-safe: views, verbs and planners share
/// snapshots, without locks.
///
/// The logical model is parameters × states, per param group, with every scalar. To find a state element,
/// follow Parameter::unit → FlatUnit::partition → UnitState::visitPiece(), or use `whole`.
///
/// Tensor slices and pipeline stages are its parts. Each part is a Checkpoint of its own with the parameters,
/// param groups and optimizer files of one model-parallel rank (`mp_rank_MM`). The whole has the parameters
/// and units of all parts, in their order. If several parts have a parameter of the same name, a suffix after
/// a colon names the part ("norm.weight:tp1"). A FileId means the same file in all of them.
struct Checkpoint {
    std::vector<std::shared_ptr<const Checkpoint>> parts; ///< empty if there is one model-parallel rank
    std::shared_ptr<const MergedSlices> merged; ///< set by mergeSlices(): the slices of each parameter
    uint32_t modelRank = 0; ///< for a part: MM in the names of its files
    RankCoordinate place; ///< for a part: its tp and pp
    io::Path runFolder; ///< holds `latest` and the tags; equals tagFolder's parent
    io::Path tagFolder;
    std::string tag;
    std::vector<std::string> tags; ///< all tag folders of the run, newest step last
    std::optional<std::string> latest; ///< content of `latest`, stripped

    bool supported = false; ///< this build can interpret the kind
    std::string whyNot; ///< one sentence if not supported
    /// Why there is no logical model to work on (Unsupported, NotFound, Damaged …). Unset if there is one.
    std::optional<Error> modelError;
    bool complete = false; ///< every rank's file exists and fits: values can be trusted
    bool fullyRead = false; ///< false for the first, quick snapshot

    CheckpointKind kind = CheckpointKind::Unknown;
    int zeroStage = 0;
    ParallelDegrees parallel;
    std::string precision; ///< "bf16", "fp16", "fp32"
    std::string optimizer; ///< states' signature: "exp_avg+exp_avg_sq"
    std::string deepspeedVersion;
    StepCounters steps;
    std::optional<uint64_t> subGroupSize; ///< ZeRO-3: recorded in ds_config, or inferred
    /// ZeRO-1/2 with round_robin_gradients: the flat order of every group is its optimizer order, distributed
    /// to parallel.dp ranks in turn. Another number of ranks therefore has another order
    /// (core/partition/round_robin.h).
    bool roundRobin = false;
    /// ZeRO-1/2 of ZenFlow up to 0.19.6: every matrix is stored column by column in its unit's flat buffers
    /// (transposedOrder()). core/checkpoint/zero/zenflow.h describes how this is detected.
    bool zenflow = false;
    std::optional<double> lossScale;
    std::string wrapper; ///< "transformers", "accelerate", "lightning", "megatron" or empty
    std::vector<std::string> clientStateKeys;
    /// The kind that the files say, where another one was asked for (OpenOptions::kind).
    std::optional<CheckpointKind> replacedKind;
    std::vector<std::string> evidence; ///< why it is of this kind
    std::vector<Finding> findings;
    /// What the optimizer keeps and this program does not understand (odd_states.h); a finding tells each.
    std::set<std::string, std::less<>> statesAside;

    std::vector<CheckpointFile> files;
    FileId templateModel = kNoFile;
    FileId templateOptim = kNoFile; ///< universal: zero/optimizer_state.pt
    /// In rank 0's optimizer file: the mapping with `loss_scaler` and similar keys.
    NodeId optimWrapper = kNoNode;
    /// Distributed checkpoints of PyTorch: the archives in their files, ascending. They overlap only in files
    /// that a finding reports as damaged. templateModel and templateOptim are then `.metadata`; its content
    /// is built from the objects in the archives (dcp_native.h).
    std::vector<ArchivePart> archives;
    std::vector<FileId> optimFiles; ///< index = dp rank; kNoFile if missing. With parts: the first part's
    std::vector<FileId> modelFiles; ///< ZeRO-3: index = dp rank; else one entry. With parts: the first part's

    std::vector<Parameter> params;
    std::vector<FlatUnit> units;
    std::vector<WholeTensor> whole; ///< ascending by param, at most one per parameter: wholeOf() searches it
    std::vector<ParamGroup> groups;
    StringMap<ParamId> paramByName;

    /// The whole tensor of a parameter, or null.
    [[nodiscard]] const WholeTensor* wholeOf(ParamId param) const;
    [[nodiscard]] std::optional<ParamId> findParam(std::string_view name) const;
    [[nodiscard]] const FlatUnit* unitOf(ParamId param) const;
    /// The stored order of a parameter's elements, if it is not the logical one. Partitions and pieces count
    /// stored elements; addresses, values and digests count logical ones.
    [[nodiscard]] std::optional<TransposedOrder> transposedOrder(ParamId param) const;
    [[nodiscard]] const CheckpointFile& file(FileId id) const { return files[index(id)]; }
    /// The part that a unit belongs to. It is the checkpoint itself if there are no parts.
    [[nodiscard]] const Checkpoint& partOf(const FlatUnit& unit) const
    {
        return parts.empty() ? *this : *parts[unit.part];
    }
    /// The rank that holds a share of a unit's partition. `partitionRank` counts in that partition.
    [[nodiscard]] RankCoordinate rankOf(const FlatUnit& unit, uint32_t partitionRank) const;
    /// The flat units that the rank has a share of, in the order of their numbers on disk.
    [[nodiscard]] std::vector<UnitId> unitsOn(const RankCoordinate& rank) const;
    /// The rank's place in a unit's partition. Nothing if it has no share.
    [[nodiscard]] std::optional<uint32_t> shareOf(const FlatUnit& unit, const RankCoordinate& rank) const;
    /// Whether the file exists and could be parsed: its status is Ok.
    [[nodiscard]] bool isReadable(FileId id) const;
    /// Names of all states in the checkpoint, in order of first use, "weight" last: "fp32", "exp_avg", …,
    /// "weight".
    [[nodiscard]] std::vector<std::string> stateNames() const;
};

/// The address of an element in a rank's partition of a flat unit (FlatUnit::isFlat).
FlatAddress flatAddressOf(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t partitionRank,
    uint64_t element, std::string state);
using CheckpointPtr = std::shared_ptr<const Checkpoint>;

} // namespace shardscope
