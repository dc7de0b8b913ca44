// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp/dcp_reader.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/dcp/dcp_archives.h"
#include "core/checkpoint/dcp/dcp_keys.h"
#include "core/checkpoint/dcp/dcp_native.h"
#include "core/checkpoint/dcp/dcp_units.h"
#include "core/checkpoint/folder/distributed_folders.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <optional>
#include <set>

namespace shardscope {

namespace {

constexpr std::string_view kStep = "step";

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
        SHARDSCOPE_TRY(const auto folders, distributedFolders(m_files, m_folder));
        for (const std::string& name : folders)
            SHARDSCOPE_CHECK(readMetadata(name));
        m_keys = parseDcpKeys(m_entries);
        m_isTaken.resize(m_entries.size(), false);
        m_archives.emplace(m_files, m_folder, m_entries, m_job, m_out);
        takeModel();
        if (m_out.params.empty())
            return failWithoutModel();
        SHARDSCOPE_CHECK(readObjects());
        takeStates();
        DcpUnits units(*m_archives, m_out, m_native.members, m_native.steps);
        SHARDSCOPE_CHECK(units.add(m_held, m_job));
        finish(units.anyLost());
        refuseUnknown();
        return {};
    }

private:
    /// Reads the metadata of the folder, or of one below it. The first one's content is later built from the
    /// objects.
    Status readMetadata(const std::string& folder)
    {
        ++m_metadataFiles;
        SHARDSCOPE_TRY(std::vector<DcpEntry> entries, readDcpMetadata(m_files, m_folder / folder, m_job));
        CheckpointFile file;
        file.name = folder + std::string(folder.empty() ? "" : "/") + std::string(kDcpMetadataName);
        file.path = m_folder / file.name;
        file.role = FileRole::ModelStates;
        SHARDSCOPE_TRY(const io::FileInfo info, m_files.stat(file.path));
        file.identity = info.identity;
        m_out.files.push_back(std::move(file));
        for (DcpEntry& entry : entries) {
            for (DcpChunk& chunk : entry.chunks)
                chunk.place.file.insert(0, folder.empty() ? "" : folder + "/");
            entry.place.file.insert(0, folder.empty() ? "" : folder + "/");
            m_entries.push_back(std::move(entry));
        }
        return {};
    }

    Status failWithoutModel() const
    {
        const bool optimizer
            = std::ranges::any_of(m_keys, [](const DcpKey& key) { return key.kind == DcpKey::Kind::State; });
        if (!optimizer)
            return fail(ErrorCode::NotACheckpoint, "the distributed checkpoint holds no tensors of a model",
                m_folder.string());
        return fail(ErrorCode::Unsupported,
            "the distributed checkpoint holds the state of an optimizer and no weights", m_folder.string(),
            "give the folder that contains both: Accelerate writes `pytorch_model_fsdp_0` next to "
            "`optimizer_0`");
    }

    /// The one check that no tensor and no part of the optimizer is dropped: each is in the model, or the
    /// checkpoint is refused, naming it.
    void refuseUnknown()
    {
        std::vector<std::string> unknown;
        for (size_t i = 0; i < m_entries.size(); ++i) {
            if (!m_isTaken[i])
                unknown.push_back("`" + toValidUtf8(m_entries[i].key) + "`");
        }
        for (const auto& members : m_native.members) {
            for (const std::string& name : members) {
                if (!m_out.findParam(name))
                    unknown.push_back(
                        "the weights of `" + toValidUtf8(name) + "`, which a param group lists");
            }
        }
        const Reading reading{m_files, m_job, OpenDepth::Full, m_out};
        if (!unknown.empty())
            reading.refuse(
                "the distributed checkpoint holds what this build does not understand: " + firstOf(unknown));
        if (m_archives->refused())
            reading.refuse(m_archives->refused()->message);
        m_out.complete = m_out.complete && m_out.supported;
    }

    static std::string firstOf(const std::vector<std::string>& names)
    {
        constexpr size_t kNamed = 4;
        std::string out;
        for (size_t i = 0; i < names.size() && i < kNamed; ++i)
            out += (i > 0 ? ", " : "") + names[i];
        return names.size() > kNamed ? out + " and " + formatCount(names.size() - kNamed) + " more" : out;
    }

    void takeModel()
    {
        std::map<std::pair<FileId, uint64_t>, ParamId> owners;
        for (size_t i = 0; i < m_entries.size(); ++i) {
            const DcpEntry& entry = m_entries[i];
            if (m_keys[i].kind != DcpKey::Kind::Model)
                continue;
            Parameter param;
            param.name = m_keys[i].name;
            param.shape = entry.shape;
            param.elements = elementCount(entry.shape).value_or(0);
            param.role = ParamRole::Frozen;
            const ParamId id{static_cast<uint32_t>(m_out.params.size())};
            if (!m_out.paramByName.emplace(param.name, id).second)
                continue; // refuseUnknown() names it
            m_isTaken[i] = true;
            if (!entry.chunks.empty()) { // a tensor without elements has no place
                const DcpPlace& place = entry.chunks.front().place;
                const auto [owner, isNew]
                    = owners.try_emplace({m_archives->fileOf(place.file), place.offset}, id);
                if (!isNew && isSame(*m_held[index(owner->second)].weight, entry)) {
                    param.sharedWith = owner->second;
                    m_owners.insert(owner->second);
                }
            }
            m_out.params.push_back(std::move(param));
            m_held.push_back({&entry, {}, nullptr});
        }
    }

    static bool isSame(const DcpEntry& a, const DcpEntry& b)
    {
        return a.shape == b.shape && a.dtype == b.dtype && a.chunks.size() == b.chunks.size();
    }

    /// Options, counters, scheduler, scaler and client state.
    Status readObjects()
    {
        std::vector<bool> wanted(m_entries.size(), false);
        for (size_t i = 0; i < m_entries.size(); ++i) {
            const DcpEntry& entry = m_entries[i];
            const DcpKey::Kind kind = m_keys[i].kind;
            wanted[i] = (!entry.isTensor || entry.chunks.size() == 1) && kind != DcpKey::Kind::Model
                && kind != DcpKey::Kind::State && kind != DcpKey::Kind::Unknown;
        }
        SHARDSCOPE_TRY(DcpStateDict dict,
            readDcpStateDict(m_entries, m_keys, wanted, m_isTaken, *m_archives, m_out, m_job));
        m_native = makeDcpNative(std::move(dict), m_out.files.front());
        m_out.files.front().content = m_native.content;
        m_out.templateModel = m_out.templateOptim = FileId{0};
        m_out.modelFiles = m_out.optimFiles = {FileId{0}};
        m_out.optimWrapper = m_native.wrapper;
        m_out.zeroStage = m_native.zeroStage;
        tieParameters();
        for (const std::string& name : m_native.bufferNames) {
            if (const auto param = m_out.findParam(name))
                m_out.params[index(*param)].role = ParamRole::Buffer;
        }
        return {};
    }

    /// torch may save tied parameters twice. Their values are those of the owner, as in every form.
    void tieParameters()
    {
        for (const auto& [name, ownerName] : m_native.tied) {
            const auto param = m_out.findParam(name);
            const auto owner = m_out.findParam(ownerName);
            if (!param || !owner || param == owner)
                continue;
            const Parameter& of = m_out.params[index(*owner)];
            Parameter& tied = m_out.params[index(*param)];
            if (of.sharedWith == kNoParam && tied.sharedWith == kNoParam && of.shape == tied.shape
                && !m_owners.contains(*param))
                tied.sharedWith = *owner;
            if (tied.sharedWith == *owner)
                m_owners.insert(*owner);
        }
    }

    void takeStates()
    {
        for (size_t i = 0; i < m_entries.size(); ++i) {
            const DcpEntry& entry = m_entries[i];
            const auto param = m_out.findParam(m_keys[i].name);
            if (m_keys[i].kind != DcpKey::Kind::State || !param)
                continue;
            const ParamId owner = m_out.params[index(*param)].sharedWith;
            DcpHeld& held = m_held[index(owner == kNoParam ? *param : owner)];
            const bool hasTensor
                = entry.isTensor && (!entry.chunks.empty() || elementCount(entry.shape) == uint64_t{0});
            m_isTaken[i] = true;
            if (m_keys[i].state == kStep && (entry.chunks.size() == 1 || !entry.isTensor)) {
                m_isTaken[i] = held.step == nullptr;
                held.step = held.step == nullptr ? &entry : held.step;
            } else if (hasTensor && entry.shape == m_out.params[index(*param)].shape)
                m_isTaken[i] = held.states.emplace(m_keys[i].state, &entry).second;
            else
                m_out.findings.push_back({code::kNotSupported, Severity::Info,
                    entry.isTensor ? "the shape of the state is not that of its parameter, so it is not shown"
                                   : "the state is not a tensor, so it is not shown",
                    ParamAddress{m_keys[i].name, m_keys[i].state}, {}});
        }
    }

    void finish(bool lostAny)
    {
        for (uint32_t g = 0; g < m_out.groups.size() && g < m_native.groupOptions.size(); ++g)
            m_out.groups[g].options = m_native.groupOptions[g];
        Reading reading{m_files, m_job, OpenDepth::Full, m_out};
        reading.modelRoot = m_native.content->pickle().root();
        readModelHeader(reading);
        if (lookup(m_native.content->pickle(), reading.modelRoot, "module") == kNoNode)
            m_out.precision = storedPrecision();
        for (const FlatUnit& unit : m_out.units) {
            for (size_t s = 1; unit.group >= 0 && m_out.optimizer.empty() && s < unit.states.size(); ++s)
                m_out.optimizer += (s > 1 ? "+" : "") + unit.states[s].name;
        }
        describeScaler();
        m_out.supported = true;
        m_out.complete = !lostAny && !m_archives->anyLost();
        m_out.fullyRead = true;
        m_out.evidence.push_back("`.metadata` of torch.distributed.checkpoint, which names "
            + std::to_string(m_entries.size()) + " entries in "
            + std::to_string(m_out.files.size() - m_metadataFiles) + " files");
        if (m_out.parallel.dp > 1)
            m_out.evidence.push_back("tensors are split for " + std::to_string(m_out.parallel.dp) + " ranks");
    }

    /// If nothing records the model's own dtypes, this is the dtype of the trained values.
    [[nodiscard]] std::string storedPrecision() const
    {
        for (uint32_t i = 0; i < m_held.size(); ++i) {
            const DType dtype = m_held[i].weight->dtype;
            if (m_out.params[i].role == ParamRole::Trainable && dtype == DType::Float16)
                return "fp16";
            if (m_out.params[i].role == ParamRole::Trainable && dtype == DType::BFloat16)
                return "bf16";
        }
        return "fp32";
    }

    void describeScaler()
    {
        const PickleGraph& graph = m_native.content->pickle();
        const auto scaler = asObject(graph, lookup(graph, m_out.optimWrapper, "loss_scaler"));
        const NodeId scale = scaler ? lookup(graph, scaler->attributes, "cur_scale")
                                    : lookup(graph, m_out.optimWrapper, "cur_scale");
        if (scale != kNoNode)
            m_out.lossScale = asNumber(graph, scale);
    }

    io::FileSystem& m_files;
    const io::Path& m_folder;
    JobContext& m_job;
    Checkpoint& m_out;
    size_t m_metadataFiles = 0;
    std::vector<DcpEntry> m_entries;
    std::vector<DcpKey> m_keys; ///< by entry
    std::vector<bool> m_isTaken; ///< by entry: it is in the checkpoint, or a finding names it
    std::optional<DcpArchives> m_archives;
    DcpNative m_native;
    std::vector<DcpHeld> m_held; ///< by parameter
    std::set<ParamId> m_owners; ///< of tied parameters: an owner is not an alias itself
};

} // namespace

Status readDistributed(io::FileSystem& files, const io::Path& folder, JobContext& job, Checkpoint& out)
{
    return Reader(files, folder, job, out).run();
}

} // namespace shardscope
