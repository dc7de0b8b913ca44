// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp_reader.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/dcp_keys.h"
#include "core/torchfile/dcp_metadata.h"
#include "core/torchfile/pickle_values.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace shardscope {

namespace {

constexpr std::string_view kStep = "step";

/// A tensor's parts in the order of its elements, and how they are cut; nothing where they are cut otherwise.
struct Cut {
    std::vector<const DcpChunk*> chunks;
    FlatPartition partition;
};

std::optional<Cut> cutOf(const DcpEntry& entry)
{
    const uint64_t elements = elementCount(entry.shape).value_or(0);
    Cut out;
    for (const DcpChunk& chunk : entry.chunks)
        out.chunks.push_back(&chunk);
    std::sort(out.chunks.begin(), out.chunks.end(),
        [](const DcpChunk* a, const DcpChunk* b) { return a->offsets < b->offsets; });
    // torch.chunk: every rank has as many rows but the last ones, which may have fewer or none.
    uint64_t rows = 0;
    uint64_t at = 0;
    for (const DcpChunk* chunk : out.chunks) {
        for (size_t i = 1; i < entry.shape.size(); ++i) {
            if (chunk->offsets[i] != 0 || chunk->sizes[i] != entry.shape[i])
                return std::nullopt;
        }
        if (entry.shape.empty())
            break;
        rows = std::max(rows, chunk->sizes[0]);
        if (chunk->offsets[0] != at && chunk->sizes[0] > 0)
            return std::nullopt;
        if (at % std::max<uint64_t>(rows, 1) != 0 && chunk->sizes[0] > 0)
            return std::nullopt;
        at += chunk->sizes[0];
    }
    const uint64_t rowElements = entry.shape.empty() || entry.shape[0] == 0 ? 1 : elements / entry.shape[0];
    const uint64_t share = out.chunks.size() > 1 ? rows * rowElements : 1;
    if (out.chunks.empty() || share > std::numeric_limits<uint32_t>::max() || (elements > 0 && share == 0))
        return std::nullopt;
    auto partition = FlatPartition::contiguous({elements}, static_cast<uint32_t>(out.chunks.size()),
        static_cast<uint32_t>(std::max<uint64_t>(share, 1)));
    if (!partition)
        return std::nullopt;
    out.partition = std::move(*partition);
    return out;
}

class Reader
{
public:
    Reader(io::FileSystem& files, const io::Path& folder, JobContext& job, Checkpoint& out)
        : m_files(files)
        , m_folder(folder)
        , m_job(job)
        , m_out(out)
    {
        out.kind = CheckpointKind::Dcp;
    }

    Status run()
    {
        SHARDSCOPE_TRY(m_entries, readDcpMetadata(m_files, m_folder, m_job));
        for (const DcpEntry& entry : m_entries)
            m_keys.push_back(parseDcpKey(entry.key));
        takeModel();
        if (m_out.params.empty())
            return fail(ErrorCode::NotACheckpoint, "the distributed checkpoint holds no tensors of a model",
                m_folder.string());
        SHARDSCOPE_CHECK(readGroups());
        SHARDSCOPE_CHECK(readValues());
        finish();
        return {};
    }

private:
    struct Held {
        const DcpEntry* weight = nullptr;
        std::map<std::string, const DcpEntry*> states;
        const DcpEntry* step = nullptr;
    };

    void takeModel()
    {
        const bool named = std::any_of(
            m_keys.begin(), m_keys.end(), [](const DcpKey& key) { return key.kind == DcpKey::Kind::Model; });
        std::map<std::pair<std::string, uint64_t>, ParamId> owners;
        for (size_t i = 0; i < m_entries.size(); ++i) {
            const DcpEntry& entry = m_entries[i];
            const bool other = m_keys[i].kind == DcpKey::Kind::Other && !entry.key.starts_with("optim");
            if (!entry.isTensor || entry.chunks.empty()
                || (named ? m_keys[i].kind != DcpKey::Kind::Model : !other))
                continue;
            Parameter param;
            param.name = named ? m_keys[i].name : entry.key;
            param.shape = entry.shape;
            param.elements = elementCount(entry.shape).value_or(0);
            param.role = ParamRole::Frozen;
            const ParamId id{static_cast<uint32_t>(m_out.params.size())};
            const DcpPlace& place = entry.chunks.front().place;
            const auto [owner, isNew] = owners.try_emplace({place.file, place.offset}, id);
            if (!isNew)
                param.sharedWith = owner->second;
            if (!m_out.paramByName.emplace(param.name, id).second)
                continue;
            m_out.params.push_back(std::move(param));
            m_held.push_back({&entry, {}, nullptr});
        }
        for (size_t i = 0; i < m_entries.size(); ++i) {
            const auto param = m_out.findParam(m_keys[i].name);
            if (m_keys[i].kind != DcpKey::Kind::State || !param || !m_entries[i].isTensor
                || m_entries[i].chunks.empty())
                continue;
            Held& held = m_held[index(*param)];
            if (m_entries[i].shape == m_out.params[index(*param)].shape && m_keys[i].state != kStep)
                held.states.emplace(m_keys[i].state, &m_entries[i]);
            else if (m_keys[i].state == kStep)
                held.step = &m_entries[i];
            else
                add(code::kNotSupported, Severity::Info,
                    "the state has another shape than its parameter and is not shown", m_keys[i].name,
                    m_keys[i].state);
        }
    }

    Status readGroups()
    {
        std::map<uint32_t, std::vector<std::string>> members;
        for (size_t i = 0; i < m_entries.size(); ++i) {
            if (m_keys[i].kind != DcpKey::Kind::GroupMembers || m_entries[i].isTensor)
                continue;
            const DcpPlace& place = m_entries[i].place;
            const auto file = openAt(place);
            if (!file && file.error().code == ErrorCode::Cancelled)
                return forward(file.error());
            if (!file) {
                addError(file.error(), place.file);
                continue;
            }
            const PickleGraph& graph = (*file)->pickle();
            for (const NodeId item : sequenceItems(graph, graph.root())) {
                if (const auto name = asString(graph, item))
                    members[m_keys[i].group].emplace_back(*name);
            }
        }
        for (auto& [group, names] : members) {
            for (const std::string& name : names) {
                if (const auto param = m_out.findParam(name))
                    m_groupOf.emplace(*param, group);
            }
        }
        return {};
    }

    Status readValues()
    {
        for (uint32_t i = 0; i < m_out.params.size(); ++i) {
            SHARDSCOPE_CHECK(m_job.poll());
            const Held& held = m_held[i];
            Parameter& param = m_out.params[i];
            if (param.sharedWith != kNoParam) { // its owner comes before it
                param.role = m_out.params[index(param.sharedWith)].role;
                param.group = m_out.params[index(param.sharedWith)].group;
                continue;
            }
            const auto cut = cutOf(*held.weight);
            const bool alone = held.states.empty() && held.weight->chunks.size() == 1;
            if (!cut) {
                add(code::kNotSupported, Severity::Error,
                    "the tensor is not cut into equal runs of rows, which is all that this build joins",
                    param.name, "weight");
                continue;
            }
            if (alone)
                SHARDSCOPE_CHECK(addWhole(ParamId{i}, *held.weight));
            else
                SHARDSCOPE_CHECK(addUnit(ParamId{i}, held, *cut));
        }
        return {};
    }

    Status addWhole(ParamId id, const DcpEntry& entry)
    {
        SHARDSCOPE_TRY(const StoredRun run, runOf(entry, entry.chunks.front()));
        WholeTensor whole;
        whole.param = id;
        whole.dtype = entry.dtype;
        whole.run = run;
        m_out.whole.push_back(std::move(whole));
        return {};
    }

    Status addUnit(ParamId id, const Held& held, const Cut& cut)
    {
        Parameter& param = m_out.params[index(id)];
        const bool trained = !held.states.empty();
        FlatUnit unit;
        unit.kind = UnitKind::Whole;
        unit.params = {id};
        unit.partition = cut.partition;
        if (trained) {
            const auto group = m_groupOf.find(id);
            unit.group = group == m_groupOf.end() ? 0 : static_cast<int32_t>(group->second);
            param.role = ParamRole::Trainable;
            param.group = unit.group;
        }
        param.unit = UnitId{static_cast<uint32_t>(m_out.units.size())};
        // Beside moments the fp32 value is what the optimizer goes on from.
        const bool master = trained && held.weight->dtype == DType::Float32;
        SHARDSCOPE_CHECK(addState(unit, master ? "fp32" : "weight", *held.weight));
        for (const auto& [name, entry] : held.states)
            SHARDSCOPE_CHECK(addState(unit, name, *entry));
        if (held.step != nullptr)
            SHARDSCOPE_CHECK(readStep(unit, *held.step));
        m_out.parallel.dp = std::max(m_out.parallel.dp, unit.partition.ranks());
        m_out.units.push_back(std::move(unit));
        return {};
    }

    Status addState(FlatUnit& unit, std::string name, const DcpEntry& entry)
    {
        const auto cut = cutOf(entry);
        const bool same = cut && cut->partition.ranks() == unit.partition.ranks()
            && cut->partition.partitionElements() == unit.partition.partitionElements();
        if (!same) {
            add(code::kNotSupported, Severity::Error,
                "the state is cut otherwise than its parameter, which this build does not join",
                m_out.params[index(unit.params.front())].name, name);
            return {};
        }
        UnitState state;
        state.name = std::move(name);
        state.dtype = entry.dtype;
        for (const DcpChunk* chunk : cut->chunks) {
            SHARDSCOPE_TRY(const StoredRun run, runOf(entry, *chunk));
            state.perRank.push_back(run);
        }
        if (state.perRank.size() == 1) // as of all that is stored whole
            state.perParam = state.perRank;
        unit.states.push_back(std::move(state));
        return {};
    }

    Status readStep(FlatUnit& unit, const DcpEntry& entry)
    {
        SHARDSCOPE_TRY(const StoredRun run, runOf(entry, entry.chunks.front()));
        if (!run.isPresent() || run.elements != 1)
            return {};
        std::vector<uint8_t> bytes(itemSize(entry.dtype));
        SHARDSCOPE_TRY(const auto file, m_files.openRead(m_out.file(run.file).path));
        SHARDSCOPE_CHECK(file->readAt(run.byteOffset, bytes));
        unit.step = elementAsDouble(entry.dtype, bytes.data());
        unit.stepForm = StepForm::Tensor;
        unit.stepType = entry.dtype;
        return {};
    }

    /// Where a chunk's elements lie; an absent run, with a finding, where that cannot be told.
    Result<StoredRun> runOf(const DcpEntry& entry, const DcpChunk& chunk)
    {
        const auto file = openAt(chunk.place);
        if (!file && file.error().code == ErrorCode::Cancelled)
            return forward(file.error());
        if (!file) {
            addError(file.error(), chunk.place.file);
            return StoredRun{};
        }
        const PickleGraph& graph = (*file)->pickle();
        const auto tensor = asTensor(graph, graph.root());
        const auto extent
            = tensor ? (*file)->extentOf(*tensor) : Result<TensorExtent>(forward(tensor.error()));
        const bool fits = extent && tensor->dtype == entry.dtype && tensor->sizes == chunk.sizes
            && tensor->isContiguous() && !(*file)->isBigEndian();
        if (!fits) {
            addError(extent ? Error{ErrorCode::Damaged,
                         "`" + toValidUtf8(entry.key) + "` is stored otherwise than the metadata say",
                         chunk.place.file, {}}
                            : extent.error(),
                chunk.place.file);
            return StoredRun{};
        }
        return StoredRun{fileOf(chunk.place.file), StoredRun::kNoRecord,
            chunk.place.offset + extent->byteOffset, elementCount(chunk.sizes).value_or(0)};
    }

    Result<std::shared_ptr<const TorchFile>> openAt(const DcpPlace& place)
    {
        return TorchFile::openPart(
            m_files, m_folder / place.file, place.offset, place.bytes, ReadMode::Strict, m_job);
    }

    FileId fileOf(const std::string& name)
    {
        const auto [known, isNew]
            = m_fileIds.try_emplace(name, FileId{static_cast<uint32_t>(m_out.files.size())});
        if (isNew) {
            CheckpointFile file;
            file.path = m_folder / name;
            file.name = name;
            const auto info = m_files.stat(file.path);
            file.status = info ? FileStatus::Ok : FileStatus::Missing;
            if (info)
                file.identity = info->identity;
            m_out.files.push_back(std::move(file));
        }
        return known->second;
    }

    void add(std::string_view code, Severity severity, std::string message, const std::string& name,
        const std::string& state)
    {
        m_complete = m_complete && severity != Severity::Error;
        m_out.findings.push_back(
            {code, severity, std::move(message), percentEncode(name) + "#" + percentEncode(state), {}});
    }

    /// Once for each file.
    void addError(const Error& error, const std::string& file)
    {
        m_complete = false;
        const FileId id = fileOf(file);
        CheckpointFile& entry = m_out.files[index(id)];
        if (!m_told.insert(file).second)
            return;
        const bool missing = entry.status == FileStatus::Missing;
        if (!missing)
            entry.status = FileStatus::Damaged;
        m_out.findings.push_back({missing          ? code::kRankMissing
                : error.code == ErrorCode::Hostile ? code::kFileHostile
                                                   : code::kFileUnreadable,
            Severity::Error,
            missing ? "the metadata name a file that is not there" : "a part of the file cannot be used",
            percentEncode(file), {describe(error)}});
    }

    void finish()
    {
        for (const auto& [param, number] : m_groupOf) {
            if (number >= m_out.groups.size())
                m_out.groups.resize(number + size_t{1});
        }
        const bool trained = std::any_of(
            m_out.units.begin(), m_out.units.end(), [](const FlatUnit& unit) { return unit.group >= 0; });
        if (trained && m_out.groups.empty())
            m_out.groups.resize(1);
        for (uint32_t g = 0; g < m_out.groups.size(); ++g)
            m_out.groups[g].index = g;
        for (uint32_t u = 0; u < m_out.units.size(); ++u) {
            const FlatUnit& unit = m_out.units[u];
            if (unit.group < 0)
                continue;
            ParamGroup& group = m_out.groups[static_cast<size_t>(unit.group)];
            group.units.push_back(UnitId{u});
            ++group.parameters;
            group.elements += unit.partition.payloadElements();
            if (m_out.optimizer.empty()) {
                for (size_t s = 1; s < unit.states.size(); ++s)
                    m_out.optimizer += (s > 1 ? "+" : "") + unit.states[s].name;
            }
        }
        m_out.supported = true;
        m_out.complete = m_complete;
        m_out.fullyRead = true;
        m_out.precision = "fp32";
        m_out.evidence.push_back("`.metadata` of torch.distributed.checkpoint, which names "
            + std::to_string(m_entries.size()) + " entries in " + std::to_string(m_out.files.size())
            + " files");
        if (m_out.parallel.dp > 1)
            m_out.evidence.push_back("tensors are cut for " + std::to_string(m_out.parallel.dp) + " ranks");
    }

    io::FileSystem& m_files;
    const io::Path& m_folder;
    JobContext& m_job;
    Checkpoint& m_out;
    std::vector<DcpEntry> m_entries;
    std::vector<DcpKey> m_keys; ///< by entry
    std::vector<Held> m_held; ///< by parameter
    std::map<ParamId, uint32_t> m_groupOf;
    std::map<std::string, FileId> m_fileIds;
    std::set<std::string> m_told;
    bool m_complete = true;
};

} // namespace

Status readDistributed(io::FileSystem& files, const io::Path& folder, JobContext& job, Checkpoint& out)
{
    return Reader(files, folder, job, out).run();
}

} // namespace shardscope
