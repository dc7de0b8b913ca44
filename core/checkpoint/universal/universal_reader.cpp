// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/universal/universal_reader.h"
#include "core/checkpoint/model/scalar_text.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/folder/file_table.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/units/module_reader.h"
#include "core/checkpoint/units/rank_model_files.h"
#include "core/checkpoint/units/unsupported.h"
#include "core/checkpoint/universal/universal.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

/// Reads the output of ds_to_universal.py for a ZeRO checkpoint: one group of whole tensors per param group.
class UniversalReader
{
public:
    explicit UniversalReader(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
        , m_findings(reading)
    {
    }

    Status run()
    {
        SHARDSCOPE_TRY(m_folders, listParamFolders(m_reading));
        m_out.parallel.dp = m_reading.worldSize = 1;
        findModelFile();
        findOptimizer();
        readModelHeader(m_reading);
        readOptimizerHeader();
        m_reading.stop(refuseUnsupported(m_reading));
        const auto shapes = readParamShapes(m_reading);
        if (!shapes)
            m_reading.stop(withoutShapes());
        else if (!m_out.modelError)
            SHARDSCOPE_CHECK(readModel(*shapes));
        markUnread();
        return {};
    }

private:
    [[nodiscard]] const PickleGraph* optimizerGraph() const
    {
        const TorchFile* content = m_reading.content(m_out.templateOptim);
        return content == nullptr ? nullptr : &content->pickle();
    }

    /// Finds the model file: mp_rank_00's, else that of the lowest ZeRO-3 rank.
    void findModelFile()
    {
        std::vector<std::pair<std::pair<bool, uint32_t>, FileId>> found;
        for (uint32_t i = 0; i < m_out.files.size(); ++i) {
            const auto parsed = parseCheckpointFileName(m_out.files[i].name);
            if (!parsed || parsed->role != FileRole::ModelStates || parsed->fastWriterPart)
                continue;
            m_parallelSource = m_parallelSource || parsed->mp > 0;
            m_modelFiles.push_back(FileId{i});
            if (parsed->mp == 0)
                found.push_back({{parsed->zero3Model, parsed->dp}, FileId{i}});
        }
        std::sort(found.begin(), found.end());
        for (const auto& [order, id] : found) {
            if (!loadFile(m_reading, id))
                continue;
            m_out.templateModel = id;
            m_out.modelFiles = {id};
            const PickleGraph& graph = m_reading.content(id)->pickle();
            m_reading.modelRoot = graph.root();
            const auto mp = asInteger(graph, lookup(graph, graph.root(), "mp_world_size"));
            m_parallelSource = m_parallelSource || mp.value_or(1) > 1;
            return;
        }
        if (found.empty())
            m_reading.add(code::kModelStatesMissing, Severity::Error, "the model file is missing",
                modelFileName(0), {"the converter copies it, or those of all ZeRO-3 ranks"});
    }

    void findOptimizer()
    {
        const auto found = std::find_if(m_out.files.begin(), m_out.files.end(),
            [](const CheckpointFile& file) { return file.name == kUniversalOptimizer; });
        m_out.templateOptim = FileId{static_cast<uint32_t>(found - m_out.files.begin())};
        m_out.optimFiles = {m_out.templateOptim};
        if (found != m_out.files.end()) {
            loadFile(m_reading, m_out.templateOptim);
            return;
        }
        CheckpointFile file;
        file.path = m_out.tagFolder / kUniversalOptimizer;
        file.name = kUniversalOptimizer;
        file.role = FileRole::OptimStates;
        file.status = FileStatus::Missing;
        m_out.files.push_back(std::move(file));
        m_reading.add(code::kRankMissing, Severity::Error,
            "the file with group options and loss scaler is missing", std::string(kUniversalOptimizer));
    }

    void readOptimizerHeader()
    {
        const PickleGraph* graph = optimizerGraph();
        if (graph == nullptr)
            return;
        m_out.optimWrapper = graph->root();
        m_out.zeroStage = zeroStageOf(*graph, m_out.optimWrapper).value_or(0);
        const auto version = asString(*graph, lookup(*graph, m_out.optimWrapper, "ds_version"));
        if (m_out.deepspeedVersion.empty() && version)
            m_out.deepspeedVersion = std::string(*version);
    }

    [[nodiscard]] Status withoutShapes() const
    {
        constexpr auto kCopy = "copy it from the checkpoint that was converted";
        if (m_out.templateModel == kNoFile)
            return fail(ErrorCode::Damaged,
                "the model file is missing or unreadable, and only it records names and shapes",
                m_out.tagFolder.string(), kCopy);
        return fail(ErrorCode::Damaged,
            "the model file has no usable `param_shapes`, so no parameter can be placed",
            m_out.file(m_out.templateModel).path.string(), kCopy);
    }

    Status readModel(const ShapeLists& shapes)
    {
        m_plan = planGroups(optimizerGraph(), shapes.size());
        if (m_plan.ownerOfList.size() != shapes.size()) {
            m_reading.stop(fail(ErrorCode::Damaged,
                "model file and optimizer_state.pt disagree about the number of param groups",
                m_out.tagFolder.string(), "the files may come from different runs"));
            return {};
        }
        m_members.resize(m_plan.groups.size());
        addMembers(shapes);
        SHARDSCOPE_CHECK(readOtherStages());
        if (m_reading.depth == OpenDepth::Full)
            SHARDSCOPE_CHECK(m_facts.read(m_reading, m_folders, m_isMember, m_findings));
        reserveParameters(m_reading);
        m_ofAdam = statesOfAdam();
        for (uint32_t g = 0; g < m_members.size() && !m_out.modelError; ++g)
            m_reading.stop(addGroup(g));
        m_reading.placeholders = true;
        readModule(m_reading, true);
        if (!m_out.modelError)
            SHARDSCOPE_CHECK(readFrozen());
        reportUnknownFolders();
        m_findings.finish();
        return {};
    }

    /// Adds the parameters that are not known yet.
    void addMembers(const ShapeLists& shapes)
    {
        m_isMember.resize(m_folders.size());
        for (size_t i = 0; i < std::min(shapes.size(), m_plan.ownerOfList.size()); ++i) {
            for (const NamedShape& entry : shapes[i]) {
                if (!m_memberNames.emplace(entry.name, true).second)
                    continue;
                Member member{std::string(entry.name), entry.shape};
                const auto folder = std::lower_bound(m_folders.begin(), m_folders.end(), member.name,
                    [](const ParamFolder& one, const std::string& name) { return one.name < name; });
                if (folder != m_folders.end() && folder->name == member.name) {
                    member.folder = static_cast<uint32_t>(folder - m_folders.begin());
                    m_isMember[member.folder] = true;
                }
                m_members[m_plan.ownerOfList[i]].push_back(std::move(member));
            }
        }
    }

    /// Model files of other tensor-parallel ranks list the same parameters. Those of other pipeline stages
    /// list their own.
    Status readOtherStages()
    {
        if (m_reading.depth == OpenDepth::Structure)
            return {};
        for (const FileId id : m_modelFiles) {
            const auto parsed = parseCheckpointFileName(m_out.file(id).name);
            if (parsed->mp == 0 || parsed->dp > 0)
                continue;
            SHARDSCOPE_CHECK(m_reading.job.poll());
            if (!loadFile(m_reading, id))
                continue;
            const PickleGraph& graph = m_reading.content(id)->pickle();
            if (const auto shapes = readParamShapes(graph, graph.root()))
                addMembers(*shapes);
            m_out.files[index(id)].content.reset();
        }
        if (m_parallelSource)
            m_reading.add(code::kUniversalSource, Severity::Warning,
                "the source had tensor or pipeline parallelism: frozen parameters, buffers and 16-bit copies "
                "are those of its first rank",
                m_out.file(m_out.templateModel).name,
                {"the converter merges only masters and optimizer states"});
        return {};
    }

    /// Whether the group has "betas". Such optimizers keep the same states for every parameter of every
    /// group.
    [[nodiscard]] bool isOfAdam(uint32_t g) const
    {
        const NodeId options = m_plan.groups[g].options;
        return optimizerGraph() != nullptr && options != kNoNode
            && lookup(*optimizerGraph(), options, "betas") != kNoNode;
    }

    [[nodiscard]] std::set<std::string> statesOfAdam() const
    {
        std::set<std::string> out;
        for (uint32_t g = 0; g < m_members.size(); ++g) {
            if (!isOfAdam(g))
                continue;
            for (const Member& member : m_members[g]) {
                if (member.folder == Member::kNoFolder)
                    continue;
                const ParamFolder& folder = m_folders[member.folder];
                for (uint32_t f = 0; f < folder.fileCount; ++f) {
                    const auto state = stateOfFile(m_out.file(FileId{folder.firstFile + f}), folder);
                    if (state == "exp_avg" || state == "exp_avg_sq" || state == "step")
                        out.emplace(state);
                }
            }
        }
        return out;
    }

    Status addGroup(uint32_t g)
    {
        static const std::set<std::string> noStates;
        FlatUnit unit;
        unit.kind = UnitKind::Whole;
        unit.group = static_cast<int32_t>(g);
        std::vector<uint64_t> elements;
        for (const Member& member : m_members[g]) {
            const Parameter& param = addMember(member, g, static_cast<uint32_t>(unit.params.size()));
            unit.params.push_back(*m_out.findParam(member.name));
            elements.push_back(param.elements);
        }
        SHARDSCOPE_TRY(unit.partition, FlatPartition::contiguous(std::move(elements), 1, 1));
        const bool steps = fillWholeUnit(
            m_reading, unit, m_members[g], m_folders, m_facts, isOfAdam(g) ? m_ofAdam : noStates, m_findings);
        if (!steps && optimizerGraph() != nullptr)
            takeSharedStep(unit, g);
        ParamGroup group;
        group.index = g;
        group.units = {UnitId{g}};
        group.parameters = unit.params.size();
        group.elements = unit.partition.payloadElements();
        group.options = m_plan.groups[g].options;
        m_out.groups.push_back(std::move(group));
        m_out.units.push_back(std::move(unit));
        return {};
    }

    const Parameter& addMember(const Member& member, uint32_t group, uint32_t position)
    {
        const FileId master = masterOf(member);
        const StateFact* fact = master == kNoFile ? nullptr : m_facts.of(master);
        const Shape* stored = master == kNoFile ? nullptr : m_facts.shapeOf(master);
        Shape shape = resolveShape(member, fact, stored, m_parallelSource, m_findings);
        const bool reshaped = shape != member.shape;
        const ParamId id = addParameter(m_reading, member.name, std::move(shape), ParamRole::Trainable);
        m_reading.reshaped.resize(m_out.params.size());
        m_reading.reshaped[index(id)] = reshaped;
        Parameter& param = m_out.params[index(id)];
        param.group = static_cast<int32_t>(group);
        param.unit = UnitId{group};
        param.indexInUnit = position;
        return param;
    }

    [[nodiscard]] FileId masterOf(const Member& member) const
    {
        if (member.folder == Member::kNoFolder)
            return kNoFile;
        const ParamFolder& folder = m_folders[member.folder];
        for (uint32_t i = 0; i < folder.fileCount; ++i) {
            const FileId id{folder.firstFile + i};
            if (stateOfFile(m_out.file(id), folder) == "fp32")
                return id;
        }
        return kNoFile;
    }

    /// Finds a step that parameters share. ZeRO-3 sources keep the step of every sub-group in
    /// optimizer_state.pt. Apex keeps that of a group in the group's options.
    void takeSharedStep(FlatUnit& unit, uint32_t g)
    {
        const PickleGraph& graph = *optimizerGraph();
        const NodeId nested = lookup(graph, m_out.optimWrapper, "optimizer_state_dict");
        if (g < m_plan.nested.size()) {
            for (const int64_t key : m_plan.nested[g].stateKeys) {
                const NodeId step = lookup(graph, lookup(graph, lookup(graph, nested, "state"), key), "step");
                const auto value
                    = step == kNoNode ? std::nullopt : scalarOf(m_reading, m_out.templateOptim, step);
                if (!value)
                    continue;
                if (!unit.step) {
                    unit.step = value;
                    setStepForm(graph, step, unit);
                } else if (*unit.step != *value) {
                    m_reading.add(code::kStepMismatch, Severity::Error,
                        "the sub-groups of group " + std::to_string(g) + " are at different steps",
                        std::string(kUniversalOptimizer), {shortRealText(*unit.step), shortRealText(*value)});
                }
            }
        }
        const NodeId options = m_plan.groups[g].options;
        if (!unit.step && options != kNoNode)
            unit.step = asNumber(graph, lookup(graph, options, "step"));
    }

    /// ZeRO-3's model files hold fragments of frozen parameters. The converter leaves them there.
    Status readFrozen()
    {
        bool fragments = false;
        for (uint32_t i = 0; i < m_out.params.size() && !fragments; ++i) {
            const Parameter& param = m_out.params[i];
            fragments = param.role == ParamRole::Frozen && param.sharedWith == kNoParam && param.elements > 0
                && m_out.wholeOf(ParamId{i}) == nullptr;
        }
        const FileId first = fragments ? firstRankFile() : kNoFile;
        if (first != kNoFile && loadFile(m_reading, first)) {
            const PickleGraph& graph = m_reading.content(first)->pickle();
            const auto world = asInteger(graph, lookup(graph, graph.root(), "dp_world_size"));
            if (world && *world > 0 && *world <= 1'000'000) {
                m_reading.worldSize = static_cast<uint32_t>(*world);
                markExpectedModelFiles(m_reading);
                m_reading.stop(addFrozenUnits(m_reading));
                SHARDSCOPE_CHECK(readOtherModelFiles(m_reading));
            }
        }
        return m_reading.depth == OpenDepth::Full ? openCopies() : Status();
    }

    /// For ZeRO-3: the file of the lowest rank that has one.
    [[nodiscard]] FileId firstRankFile() const
    {
        FileId out = kNoFile;
        uint32_t lowest = 0;
        for (const FileId id : m_modelFiles) {
            const auto parsed = parseCheckpointFileName(m_out.file(id).name);
            if (!parsed->zero3Model || parsed->mp != 0 || (out != kNoFile && parsed->dp >= lowest))
                continue;
            out = id;
            lowest = parsed->dp;
        }
        return out;
    }

    /// Opens model files that add nothing, only to check that they are intact.
    Status openCopies()
    {
        for (const FileId id : m_modelFiles) {
            const bool used = id == m_out.templateModel
                || std::find(m_out.modelFiles.begin(), m_out.modelFiles.end(), id) != m_out.modelFiles.end();
            if (used || m_out.file(id).recordCount > 0)
                continue;
            SHARDSCOPE_CHECK(m_reading.job.poll());
            loadFile(m_reading, id);
            m_out.files[index(id)].content.reset();
        }
        return {};
    }

    /// Reports folders that belong to no parameter of the model. DeepSpeed 0.19.8 also writes an fp32.pt for
    /// buffers, frozen and tied parameters, from the copies in the model file.
    void reportUnknownFolders()
    {
        for (size_t f = 0; f < m_folders.size(); ++f) {
            if (m_isMember[f] || m_out.findParam(m_folders[f].name))
                continue;
            m_findings.add(code::kForeignFile, Severity::Warning,
                "the model file does not list a parameter of this name, so the folder does not belong to a "
                "param group",
                m_folders[f].name, "fp32", {std::string(kUniversalFolder) + "/" + m_folders[f].name});
        }
    }

    void markUnread()
    {
        if (m_reading.depth == OpenDepth::Full)
            return;
        for (CheckpointFile& file : m_out.files) {
            const bool state = file.role == FileRole::ModelStates || file.role == FileRole::OptimStates;
            if (state && file.status == FileStatus::Ok && !file.content)
                file.status = FileStatus::NotYetRead;
        }
    }

    Reading& m_reading;
    Checkpoint& m_out;
    ParamFindings m_findings;
    std::vector<ParamFolder> m_folders;
    std::vector<bool> m_isMember; ///< by folder: belongs to a trainable parameter
    std::vector<FileId> m_modelFiles; ///< all existing ones
    bool m_parallelSource = false;
    GroupPlan m_plan;
    std::vector<std::vector<Member>> m_members; ///< by group
    StringMap<bool> m_memberNames;
    std::set<std::string> m_ofAdam; ///< states of any parameter in a group with "betas"
    StateFacts m_facts;
};

} // namespace

Status readUniversal(Reading& reading)
{
    return UniversalReader(reading).run();
}

} // namespace shardscope
