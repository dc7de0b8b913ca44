// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"

#include "core/base/finding_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace shardscope::test {

namespace {

constexpr uint64_t kAlignment = 64;

/// The I-th parameter of a decoder-only transformer: embedding, blocks, and so on until the caller stops
/// asking.
std::pair<std::string, Shape> transformerParam(uint32_t i, uint64_t hidden, uint32_t experts)
{
    if (i == 0)
        return {"model.embed_tokens.weight", {32 * hidden, hidden}};
    if (i == 1)
        return {"lm_head.weight", {32 * hidden, hidden}};
    if (i == 2)
        return {"model.norm.weight", {hidden}};
    const uint32_t perLayer = 10 + 2 * experts;
    const uint32_t layer = (i - 3) / perLayer;
    const uint32_t part = (i - 3) % perLayer;
    const auto in = [&](std::string_view tail) { return fmt::format("model.layers.{}.{}", layer, tail); };
    switch (part) {
    case 0:
        return {in("input_layernorm.weight"), {hidden}};
    case 1:
        return {in("self_attn.q_proj.weight"), {hidden, hidden}};
    case 2:
        return {in("self_attn.k_proj.weight"), {hidden / 4, hidden}};
    case 3:
        return {in("self_attn.v_proj.weight"), {hidden / 4, hidden}};
    case 4:
        return {in("self_attn.v_proj.bias"), {hidden / 4}};
    case 5:
        return {in("self_attn.o_proj.weight"), {hidden, hidden}};
    case 6:
        return {in("post_attention_layernorm.weight"), {hidden}};
    case 7:
        return {in("mlp.gate_proj.weight"), {hidden * 11 / 4, hidden}};
    case 8:
        return {in("mlp.up_proj.weight"), {hidden * 11 / 4, hidden}};
    case 9:
        return {in("mlp.down_proj.weight"), {hidden, hidden * 11 / 4}};
    default:
        return {
            in(fmt::format("mlp.experts.{}.w{}.weight", (part - 10) / 2, 1 + part % 2)), {hidden, hidden}};
    }
}

/// Where the next tensor of one file goes.
struct Cursor {
    uint64_t byte = kAlignment;
    uint32_t record = 0;

    StoredRun place(FileId file, uint64_t elements, DType dtype)
    {
        const StoredRun run{file, record++, byte, elements};
        byte += (elements * itemSize(dtype) + kAlignment - 1) / kAlignment * kAlignment;
        return run;
    }
};

class Builder
{
public:
    explicit Builder(const SyntheticOptions& options)
        : m_options(options)
        , m_model(options.stage == 3 ? options.ranks : 1)
        , m_optim(options.ranks)
    {
        describe();
        addFiles();
        addParams();
        addGroups();
        addRest();
        finish();
    }

    Checkpoint take() { return std::move(m_out); }

private:
    void describe()
    {
        m_out.runFolder = "/synthetic/run";
        m_out.tagFolder = "/synthetic/run/global_step100";
        m_out.tag = "global_step100";
        m_out.tags = {m_out.tag};
        m_out.latest = m_out.tag;
        m_out.supported = true;
        m_out.fullyRead = m_options.notYetReadRanks.empty();
        m_out.complete = m_options.missingRanks.empty() && m_out.fullyRead;
        m_out.kind = m_options.stage == 3 ? CheckpointKind::Zero3
            : m_options.stage == 2        ? CheckpointKind::Zero2
                                          : CheckpointKind::Zero1;
        m_out.zeroStage = m_options.stage;
        m_out.parallel.dp = m_options.ranks;
        m_out.precision = "bf16";
        m_out.optimizer = fmt::format("{}", fmt::join(m_options.optimizerStates, "+"));
        m_out.deepspeedVersion = "0.19.8";
        m_out.steps = {100, 25'600, 0};
        if (m_options.stage == 3)
            m_out.subGroupSize = m_options.subGroupSize;
    }

    FileId addFile(std::string name, FileRole role, uint32_t rank, FileStatus status)
    {
        CheckpointFile file;
        file.path = m_out.tagFolder / name;
        file.name = std::move(name);
        file.role = role;
        file.rank = RankCoordinate{rank, 0, 0};
        file.status = status;
        m_out.files.push_back(std::move(file));
        return FileId{static_cast<uint32_t>(m_out.files.size() - 1)};
    }

    void addFiles()
    {
        const auto contains = [](const std::vector<uint32_t>& ranks, uint32_t rank) {
            return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
        };
        const bool sliced = m_options.stage == 3;
        for (uint32_t rank = 0; rank < m_model.size(); ++rank) {
            const std::string name = sliced ? fmt::format("zero_pp_rank_{}_mp_rank_00_model_states.pt", rank)
                                            : std::string("mp_rank_00_model_states.pt");
            m_out.modelFiles.push_back(addFile(name, FileRole::ModelStates, rank, FileStatus::Ok));
        }
        for (uint32_t rank = 0; rank < m_options.ranks; ++rank) {
            const std::string name = fmt::format("bf16_zero_pp_rank_{}_mp_rank_00_optim_states.pt", rank);
            const bool missing = contains(m_options.missingRanks, rank);
            const auto status = missing                     ? FileStatus::Missing
                : contains(m_options.notYetReadRanks, rank) ? FileStatus::NotYetRead
                                                            : FileStatus::Ok;
            const FileId file = addFile(name, FileRole::OptimStates, rank, status);
            m_out.optimFiles.push_back(missing ? kNoFile : file);
            if (missing)
                m_out.findings.push_back({code::kRankMissing, Severity::Error,
                    "the optimizer file of a rank is missing", name, {}});
        }
        m_out.templateModel = m_out.modelFiles[0];
        m_out.templateOptim = m_out.optimFiles[0];
    }

    ParamId addParam(std::string name, Shape shape, ParamRole role, int32_t group)
    {
        Parameter param;
        param.elements = elementCount(shape).value();
        param.name = std::move(name);
        param.shape = std::move(shape);
        param.role = role;
        param.group = group;
        m_out.params.push_back(std::move(param));
        return ParamId{static_cast<uint32_t>(m_out.params.size() - 1)};
    }

    void addParams()
    {
        const bool given = !m_options.shapes.empty();
        const uint32_t count = given ? static_cast<uint32_t>(m_options.shapes.size()) : m_options.params;
        m_out.params.reserve(size_t{count} + m_options.frozen + m_options.buffers + m_options.aliases);
        m_groups.resize(m_options.groups);
        for (uint32_t i = 0; i < count; ++i) {
            auto [name, shape]
                = given ? m_options.shapes[i] : transformerParam(i, m_options.hidden, m_options.experts);
            const uint32_t group = i % m_options.groups;
            m_groups[group].push_back(addParam(
                std::move(name), std::move(shape), ParamRole::Trainable, static_cast<int32_t>(group)));
        }
        m_trainable = count;
    }

    std::vector<uint64_t> elementsOf(const std::vector<ParamId>& params) const
    {
        std::vector<uint64_t> elements;
        elements.reserve(params.size());
        for (const ParamId param : params)
            elements.push_back(m_out.params[index(param)].elements);
        return elements;
    }

    UnitId addUnit(FlatUnit unit, Result<FlatPartition> partition)
    {
        if (!partition)
            throw std::logic_error(describe(partition.error()));
        unit.partition = std::move(*partition);
        const UnitId id{static_cast<uint32_t>(m_out.units.size())};
        for (uint32_t i = 0; i < unit.params.size(); ++i) {
            m_out.params[index(unit.params[i])].unit = id;
            m_out.params[index(unit.params[i])].indexInUnit = i;
        }
        if (unit.group >= 0) {
            ParamGroup& group = m_out.groups[static_cast<size_t>(unit.group)];
            group.units.push_back(id);
            group.parameters += unit.params.size();
            group.elements += unit.partition.payloadElements();
        }
        m_out.units.push_back(std::move(unit));
        return id;
    }

    static std::string describe(const Error& error) { return shardscope::describe(error); }

    void addState(FlatUnit& unit, std::string name, DType dtype, bool lean)
    {
        UnitState state{std::move(name), dtype, lean, {}};
        auto& cursors = unit.kind == UnitKind::Frozen ? m_model : m_optim;
        const auto& files = unit.kind == UnitKind::Frozen ? m_out.modelFiles : m_out.optimFiles;
        for (uint32_t rank = 0; rank < m_options.ranks; ++rank) {
            const uint64_t stored
                = lean ? unit.partition.payloadOn(rank) : unit.partition.partitionElements();
            const bool readable = m_out.isReadable(files[rank]);
            const StoredRun run = cursors[rank].place(files[rank], stored, dtype);
            state.perRank.push_back(readable ? run : StoredRun{});
        }
        unit.states.push_back(std::move(state));
    }

    void addGroups()
    {
        const uint32_t ranks = m_options.ranks;
        uint32_t subgroups = 0;
        for (uint32_t number = 0; number < m_groups.size(); ++number) {
            m_out.groups.push_back({number, {}, 0, 0, kNoNode});
            const auto& params = m_groups[number];
            FlatUnit unit;
            unit.group = static_cast<int32_t>(number);
            unit.step = 100;
            if (m_options.stage != 3) {
                unit.params = params;
                addUnit(std::move(unit), FlatPartition::contiguous(elementsOf(params), ranks));
                continue;
            }
            unit.kind = UnitKind::SubGroup;
            for (const auto& range : splitIntoSubGroups(elementsOf(params), ranks, m_options.subGroupSize)) {
                unit.subgroup = subgroups++;
                unit.params.assign(params.begin() + range.begin, params.begin() + range.end);
                addUnit(unit, FlatPartition::sliced(elementsOf(unit.params), ranks));
            }
        }
        for (FlatUnit& unit : m_out.units)
            addState(unit, "fp32", DType::Float32, m_options.stage != 3);
        for (FlatUnit& unit : m_out.units) {
            for (const std::string& name : m_options.optimizerStates)
                addState(unit, name, DType::Float32, false);
        }
    }

    void addWhole(ParamId param)
    {
        WholeTensor whole;
        whole.param = param;
        whole.dtype = DType::BFloat16;
        whole.run = m_model[0].place(m_out.templateModel, m_out.params[index(param)].elements, whole.dtype);
        m_out.whole.push_back(std::move(whole));
    }

    void addRest()
    {
        const bool sliced = m_options.stage == 3;
        for (uint32_t i = 0; i < m_trainable && !sliced; ++i)
            addWhole(ParamId{i});
        for (uint32_t i = 0; i < m_options.frozen; ++i) {
            const ParamId param = addParam(fmt::format("frozen.{}.weight", i),
                {m_options.hidden, uint64_t{i} + 3}, ParamRole::Frozen, -1);
            if (!sliced) {
                addWhole(param);
                continue;
            }
            FlatUnit unit;
            unit.kind = UnitKind::Frozen;
            unit.params = {param};
            const UnitId id = addUnit(std::move(unit),
                FlatPartition::sliced({m_out.params[index(param)].elements}, m_options.ranks));
            addState(m_out.units[index(id)], "weight", DType::BFloat16, false);
        }
        for (uint32_t i = 0; i < m_options.buffers; ++i)
            addWhole(addParam(fmt::format("buffer.{}", i), {m_options.hidden}, ParamRole::Buffer, -1));
        for (uint32_t i = 0; i < std::min(m_options.aliases, m_trainable); ++i) {
            const ParamId alias = addParam(fmt::format("alias.{}.weight", i), m_out.params[i].shape,
                ParamRole::Trainable, m_out.params[i].group);
            m_out.params[index(alias)].sharedWith = ParamId{i};
        }
    }

    void finish()
    {
        for (size_t rank = 0; rank < m_model.size(); ++rank)
            m_out.files[index(m_out.modelFiles[rank])].identity.bytes = m_model[rank].byte;
        for (size_t rank = 0; rank < m_optim.size(); ++rank) {
            if (m_out.optimFiles[rank] != kNoFile)
                m_out.files[index(m_out.optimFiles[rank])].identity.bytes = m_optim[rank].byte;
        }
        m_out.paramByName.reserve(m_out.params.size());
        for (uint32_t i = 0; i < m_out.params.size(); ++i)
            m_out.paramByName.emplace(m_out.params[i].name, ParamId{i});
    }

    const SyntheticOptions& m_options;
    Checkpoint m_out;
    std::vector<Cursor> m_model; ///< per model file
    std::vector<Cursor> m_optim; ///< per rank
    std::vector<std::vector<ParamId>> m_groups;
    uint32_t m_trainable = 0;
};

} // namespace

Checkpoint buildSyntheticCheckpoint(const SyntheticOptions& options)
{
    return Builder(options).take();
}

CheckpointPtr makeSyntheticCheckpoint(const SyntheticOptions& options)
{
    return std::make_shared<const Checkpoint>(buildSyntheticCheckpoint(options));
}

} // namespace shardscope::test
