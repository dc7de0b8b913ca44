// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/discover.h"
#include "core/checkpoint/open.h"

namespace shardscope {

/// One rank's swap files (swap.h).
struct SwapFolder {
    enum class Origin { Checkpoint, Beside, Named };
    Origin origin
        = Origin::Checkpoint; ///< copied into the tag, or a run's own: found beside it, or asked for
    std::string name; ///< relative to the tag folder, for findings
    std::optional<uint32_t> rank; ///< unset: several ranks wrote into it, each over the other's files
    std::vector<FileId> files;
};

struct ModuleTensor;

/// What the readers share while they fill a Checkpoint. One thread at a time; the finished Checkpoint is then
/// frozen.
struct Reading {
    io::FileSystem& files;
    JobContext& job;
    OpenDepth depth;
    Checkpoint& out;
    bool bf16Prefix = false; ///< of the optimizer files that belong together
    uint32_t worldSize = 0; ///< ranks that must be there
    uint32_t modelRanks = 1; ///< tensor slices × pipeline stages of the checkpoint
    NodeId modelRoot = kNoNode; ///< root mapping of the rank-0 (or first readable) model file
    bool placeholders = false; ///< tensors of shape (0,) in `module` may stand for what is stored elsewhere
    std::vector<io::Path> roots{}; ///< OpenOptions::roots
    bool salvage = false; ///< OpenOptions::salvage
    io::Path modelsFrom{}; ///< OpenOptions::modelsFrom
    std::map<std::string, std::string> exchanged{}; ///< OpenOptions::exchanged
    std::vector<SwapFolder> swapFolders{};
    /// By parameter: its shape is not that of `module`, whose copy is a part of it or has rows of padding.
    std::vector<bool> reshaped{};

    /// Saved without ZeRO by pipeline stages: what this one trains (stage0_stages.h); null for all others.
    const std::vector<ModuleTensor>* ofStage = nullptr;

    struct Loaded {
        std::shared_ptr<const TorchFile> content;
        std::optional<Error> error;
        [[nodiscard]] bool isThere() const { return content != nullptr || error.has_value(); }
    };
    SharedPickles pickles{};
    std::vector<Loaded> prefetched{}; ///< by file: read ahead, and not yet part of the checkpoint

    void add(std::string_view code, Severity severity, std::string message, std::string where,
        std::vector<std::string> evidence = {}) const
    {
        out.findings.push_back({code, severity, std::move(message), std::move(where), std::move(evidence)});
    }
    /// Whether it is a skeleton: no value can be read, and none is missed.
    [[nodiscard]] bool hasNoValues() const;
    /// Marks the checkpoint as recognised but beyond this build; the first reason stands.
    void refuse(std::string why) const;
    /// No model can be made although the kind is supported; the first reason stands.
    void noModel(Error error) const;
    /// refuse() for what is Unsupported, noModel() for all else.
    void stop(Error error) const;

    [[nodiscard]] const TorchFile* content(FileId id) const
    {
        return id == kNoFile ? nullptr : out.files[index(id)].content.get();
    }
};

/// A finding where the checkpoint is a skeleton.
void noteSkeleton(io::FileSystem& files, Checkpoint& checkpoint);

/// The tag's folder in a further root: below it, or the root itself.
io::Path tagFolderIn(const Reading& reading, const io::Path& root);
/// A finding where `other`, of a further root, is not the same file as `file`, by sizes and checksums.
void checkCopy(const Reading& reading, const CheckpointFile& file, const io::Path& other);
/// Lists tag folder and roots, gives every file its role and rank. Expected but absent files come with
/// markExpectedFiles().
Status buildFileTable(Reading& reading);
/// Fills optimFiles and modelFiles for `worldSize` ranks: adds missing entries, marks stale ones, says so in
/// findings.
void markExpectedFiles(Reading& reading, bool zero3);
/// The same for the model files of ZeRO-3 alone.
void markExpectedModelFiles(Reading& reading);

/// An optimizer file's pickle without the list of alignment paddings, where that is long and all zero: one
/// number per parameter in every rank's file, so that keeping them would cost parameters × ranks.
PickleGraph withoutZeroPaddings(PickleGraph graph);

/// Opens one torch file; on failure its status and a finding tell why. True when it is readable.
bool loadFile(Reading& reading, FileId id);
/// Opens many at once.
Status loadFiles(Reading& reading, const std::vector<FileId>& ids);
/// Reads files of which most will be asked for, in this order, on all cores. Nothing of them shows before one
/// of the two above is called for it.
Status prefetchFiles(Reading& reading, const std::vector<FileId>& ids);

/// Facts of the model-states file: steps, versions, client state, precision, wrapper. Needs modelRoot.
void readModelHeader(Reading& reading);
/// Files that the framework around DeepSpeed keeps beside the tag folder, as `../NAME`, and its counters as
/// evidence.
void readWrapper(const Reading& reading, const std::vector<io::Path>& roots);
/// A finding for each mark that `shardscope.json` in the tag folder holds; nothing where that is not ours,
/// which verify tells.
void readMarks(const Reading& reading);
/// A value of ds_config by path ("zero_optimization", "sub_group_size"); kNoNode when absent or ds_config is
/// no mapping.
NodeId configValue(const Reading& reading, std::initializer_list<std::string_view> path);

/// Makes room for the parameters that the model file names, so that adding them moves none.
void reserveParameters(const Reading& reading);
/// Adds one parameter; the index of the old one when the name is known.
ParamId addParameter(Reading& reading, std::string name, Shape shape, ParamRole role);
/// Parameters, buffers, frozen ones and aliases from the model file; whole tensors when `weightsAreWhole`
/// (ZeRO-1/2). The trainable ones must have been added before, from param_shapes.
void readModule(Reading& reading, bool weightsAreWhole);
/// A tensor that a file holds whole as the copy of a parameter; false, with a finding, where it is not one.
bool addWholeTensor(Reading& reading, FileId file, ParamId param, const TensorView& tensor);
/// Puts Checkpoint::whole into its order, after tensors were added.
void sortWholeTensors(Reading& reading);
/// The entries of `param_shapes`: names and shapes in flat order. Nothing when it is absent, malformed or
/// names a parameter twice.
struct NamedShape {
    std::string_view name; ///< lives as long as the model file's content
    Shape shape;
};
using ShapeLists = std::vector<std::vector<NamedShape>>;
std::optional<ShapeLists> readParamShapes(const Reading& reading);
std::optional<ShapeLists> readParamShapes(const PickleGraph& graph, NodeId modelRoot);
/// Whether the model file has such lists, which the engine writes for ZeRO alone.
bool wasSavedWithZero(const Reading& reading);

/// A 1-D contiguous tensor of a state list as a stored run; nothing when it is not one, with a finding.
std::optional<StoredRun> flatRun(const Reading& reading, FileId file, NodeId tensor, DType& dtype);

/// `bytes` bytes of a payload, for single scalars kept as tensors; empty on failure, with a finding.
std::vector<uint8_t> readScalar(
    const Reading& reading, const io::Path& path, uint64_t offset, uint32_t bytes);

/// Whether a step is kept as an int, a number or a tensor.
void setStepForm(const PickleGraph& graph, NodeId value, FlatUnit& unit);
/// The number that a value is, or that a tensor of one element in `file` holds.
std::optional<double> scalarOf(const Reading& reading, FileId file, NodeId value);

/// In an optimizer file: the mapping that holds masters, states and scaler; kNoNode where there is none.
inline NodeId wrapperOf(const PickleGraph& graph)
{
    return lookup(graph, graph.root(), "optimizer_state_dict");
}

/// Per param group of the torch optimizer state: options and the state keys ("params") it lists.
struct GroupEntry {
    NodeId options = kNoNode;
    std::vector<int64_t> stateKeys;
};
std::vector<GroupEntry> readParamGroups(const PickleGraph& graph, NodeId torchState);

/// A state that lies in a swap file in place of the optimizer file.
struct SwappedState {
    std::string name;
    DType dtype = DType::Float32;
    StoredRun run; ///< absent where the file is missing or too short, which a finding tells
};

/// One rank's part of a unit, where its file keeps it.
struct RankStates {
    FileId file = kNoFile;
    NodeId master = kNoNode; ///< tensor node
    NodeId state = kNoNode; ///< mapping node, kNoNode when there is none
    const std::vector<SwappedState>* swapped = nullptr; ///< what lies in swap files, null for nothing
    bool lean = false; ///< its tensors are cut as the masters are (elastic_checkpoint)
    /// Elastic ZeRO-3: states may be lists of tensors, of which the unit's parameters begin with this one.
    std::optional<uint32_t> firstSlice{};

    [[nodiscard]] const SwappedState* findSwapped(std::string_view name) const
    {
        for (size_t i = 0; swapped != nullptr && i < swapped->size(); ++i) {
            if ((*swapped)[i].name == name)
                return &(*swapped)[i];
        }
        return nullptr;
    }
};
/// Over how many data-parallel ranks a native checkpoint is cut: as its model file says, else the optimizer
/// file `guide`, else as many as there are optimizer files.
uint32_t findWorldSize(Reading& reading, FileId guide, size_t optimFiles);
/// The optimizer file that tells what all ranks' files have alike: rank0Optim, else the first that can be
/// read and belongs here; kNoFile where none does.
FileId guideOf(const Reading& reading);
/// Whether the masters of at least one rank have the length that the shapes give. Else the shapes are not
/// those of these files: noModel() says so. True when no rank's masters can be looked at.
bool requireShapesFit(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    const std::string& unitText);
/// Whether one rank's masters are there and have such a length.
bool masterFits(const Reading& reading, const FlatUnit& unit, uint32_t rank, const RankStates& source);
/// Fills unit.states from the fp32 list entry and the optimizer's state mapping of every rank's file.
void fillUnitStates(const Reading& reading, FlatUnit& unit, const std::vector<RankStates>& perRank,
    const std::string& unitText);

/// A unit for every frozen parameter that no file holds whole: it is partitioned alone, over worldSize ranks,
/// and its fragments are in the model files. Empty ones have nothing to place.
void addFrozenUnits(Reading& reading);
/// Full depth: the model files of the other ranks, in small batches, so that memory stays bounded whatever
/// their number; checks them against the first and takes their frozen fragments.
Status readOtherModelFiles(Reading& reading);

/// Pipeline stages keep their weights in files of single layers (layer_LL-…-model_states.pt, pipe/module.py):
/// copies of this part's parameters, and its buffers and frozen parameters.
Status readLayerFiles(Reading& reading);
/// Experts keep theirs in a file each (layer_L_expert_X_…, engine.py, _save_moe_checkpoint).
Status readExpertFiles(Reading& reading);

/// How many model-parallel ranks saved together: from file names, and from rank 0's model file.
uint32_t countModelRanks(const Reading& reading);
/// Files of model-parallel ranks beyond those that saved become Stale, with a finding.
void markBeyondModelRanks(const Reading& reading, uint32_t modelRanks);
/// A file that this checkpoint does not need becomes Stale, with a finding that says why.
void markUnneeded(const Reading& reading, FileId file, std::string why);
/// Where a model-parallel rank stands, of so many.
ParallelDegrees modelParallelDegrees(const Reading& reading, uint32_t modelRanks);
/// What a model-parallel rank has in common with the whole, before anything of it is read.
Checkpoint partOf(const Checkpoint& whole, uint32_t rank);
/// A slice or stage without any optimizer file. True where such files are missing: then there is no model of
/// it. Else it was saved without ZeRO.
bool refuseWithoutShards(Reading& reading);
/// Whether a stage holds the optimizer's state in its model file and its weights in the files of its layers.
/// Under bf16 its ranks save optimizer files besides (runtime/engine.py, _save_checkpoint).
bool isStage0OfStages(const Reading& reading);
/// Fills what the whole checkpoint says from its parts, and compares them.
void mergeParts(Reading& reading);

/// A file that belongs to no checkpoint: records of a torch file can be listed, of kinds that are recognised
/// and not read the name is told, nothing more.
Status openLoneFile(io::FileSystem& files, const Discovery& found, JobContext& job, Checkpoint& out);

/// The number behind `zero_stage` of an optimizer's mapping, which is an int or an enum; nothing when absent.
std::optional<int> zeroStageOf(const PickleGraph& graph, NodeId wrapper);

/// The readers. They fill params, units, groups; a problem becomes a finding or refuse()/noModel().
Status readZero12(Reading& reading);
Status readZero3(Reading& reading);
/// A checkpoint without ZeRO: one model file. Names of the optimizer's parameters are inferred, or it
/// refuses.
Status readStage0(Reading& reading);
/// A folder that ds_to_universal made; finds its files too.
Status readUniversal(Reading& reading);
/// Reasons to refuse that any kind can have: parallelism, experts, offload folders, legacy releases.
void refuseUnsupported(const Reading& reading);
/// Optimizer files of another world size become Foreign, with a finding; before the model is read.
void markForeignRanks(const Reading& reading);
/// Ranks that disagree with rank 0 about step, options or scaler; after the model is read.
void checkRanksAgree(const Reading& reading);
/// ZeRO-1/2: where the optimizer files record that parameters lie, against where the units say. Foreign for a
/// file of another rank, noModel() when no order explains them. Whether they show round_robin_gradients:
/// stock DeepSpeed records the places as if the order before it stood on disk.
bool checkSliceMappings(Reading& reading);
/// ZeRO-1/2: sets Checkpoint::roundRobin from the configuration, the slice mappings and the order of names; a
/// finding where they contradict each other.
void decideRoundRobin(Reading& reading, bool mappingsShowIt);
/// ZeRO-1/2: whether parameters start on boundaries of their own (parameter_alignment), and on multiples of
/// how many elements those of a group do.
bool isParameterAligned(const Reading& reading, FileId optimFile);
uint32_t parameterAlignmentOf(const Reading& reading, std::string_view firstParam);
/// The paddings that every optimizer file records against those of the units: noModel() or Foreign.
void checkAlignmentPaddings(Reading& reading);
/// ZeRO-1/2: a few masters of every rank against the model file's copies of them, which a rank or a model
/// file of another run or step does not match even where all its counters do.
void checkWeightsAgree(const Reading& reading);
/// The same for a universal folder that holds copies: some parameters of every group. What DeepSpeed's
/// converter makes of a round-robin source shows here, and nowhere else.
void checkUniversalAgrees(const Reading& reading);
/// torch names the archive inside a file after the file. A name with another rank in it: the file was
/// renamed, and holds that rank's part. It becomes Foreign, with a finding; whether it did.
bool markRenamed(const Reading& reading, FileId file);
/// One more ZeRO-3 model file against the first: steps, world size, version.
void checkModelFile(const Reading& reading, FileId file);

} // namespace shardscope
