// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp/dcp_state_dict.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

constexpr uint64_t kMaxElementBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxPickleBytes = uint64_t{64} << 20;
constexpr size_t kDeepest = 64; ///< steps on the way to an object

/// A mapping or list under construction, or an object in it.
struct Branch {
    std::vector<DcpStep> steps; ///< in the order of their arrival
    std::map<DcpStep, std::unique_ptr<Branch>> children;
    NodeId leaf = kNoNode;
};

class StateDictReader
{
public:
    StateDictReader(DcpArchives& archives, Checkpoint& out)
        : m_archives(archives)
        , m_out(out)
    {
    }

    /// Whether the value is in the result, or a finding names it.
    Result<bool> add(const DcpEntry& entry, const DcpKey& key)
    {
        const DcpPlace& place = entry.isTensor ? entry.chunks.front().place : entry.place;
        const bool ofParam = key.kind == DcpKey::Kind::ParamOption; // equal ones are held once
        if (!ofParam)
            m_pickleBytes += place.bytes;
        if (place.bytes > kMaxPickleBytes || m_pickleBytes > kMaxPickleBytes) {
            leaveOut(entry, "objects of more than 64 MiB");
            return key.kind == DcpKey::Kind::Object;
        }
        const auto archive = m_archives.open(place);
        if (!archive && archive.error().code == ErrorCode::Cancelled)
            return forward(archive.error());
        if (!archive)
            return true; // already reported
        if (ofParam)
            return addOption(entry, key, place, **archive);
        PickleImporter importer(m_builder, (*archive)->pickle());
        SHARDSCOPE_TRY(const bool held, holdStorages(entry, place, **archive, importer));
        if (!held)
            return key.kind == DcpKey::Kind::Object; // a finding names it
        Branch* branch = branchOf(key.path);
        if (branch != nullptr)
            branch->leaf = importer.import((*archive)->pickle().root());
        return branch != nullptr;
    }

    DcpStateDict finish()
    {
        addGroups();
        const NodeId root = build(m_root);
        return {m_builder.finish(root), std::move(m_storages)};
    }

private:
    struct OptionsOfParam {
        std::string param;
        std::map<std::string, NodeId> options;
    };

    Result<bool> addOption(
        const DcpEntry& entry, const DcpKey& key, const DcpPlace& place, const TorchFile& archive)
    {
        SHARDSCOPE_TRY(std::string value, emitPickle(archive.pickle()));
        for (const StorageView& storage : archive.storagesInOrder()) {
            auto bytes
                = m_archives.storageBytes(place, archive, storage.key, kMaxElementBytes - m_elementBytes);
            if (!bytes && bytes.error().code == ErrorCode::Cancelled)
                return forward(bytes.error());
            if (!bytes)
                return false;
            value += *bytes;
        }
        auto known = m_values.find(value);
        if (known == m_values.end()) {
            PickleImporter importer(m_builder, archive.pickle());
            SHARDSCOPE_TRY(const bool held, holdStorages(entry, place, archive, importer));
            if (!held)
                return false;
            known = m_values.emplace(std::move(value), importer.import(archive.pickle().root())).first;
        }
        const auto [at, isNew] = m_optionsOf.try_emplace(key.name, m_options.size());
        if (isNew)
            m_options.push_back({key.name, {}});
        return m_options[at->second].options.emplace(key.state, known->second).second;
    }

    void addGroups()
    {
        std::map<std::map<std::string, NodeId>, size_t> groupOf;
        std::vector<std::vector<NodeId>> members;
        for (const OptionsOfParam& param : m_options) {
            const auto [at, isNew] = groupOf.try_emplace(param.options, members.size());
            if (isNew)
                members.emplace_back();
            members[at->second].push_back(m_builder.string(param.param));
        }
        for (const auto& [options, group] : groupOf) {
            const std::vector<DcpStep> path{"optim", "param_groups", static_cast<int64_t>(group)};
            const auto set = [&](const std::string& key, NodeId value) {
                std::vector<DcpStep> full = path;
                full.emplace_back(key);
                if (Branch* branch = branchOf(full))
                    branch->leaf = value;
            };
            set("params", m_builder.list(members[group]));
            for (const auto& [option, value] : options)
                set(option, value);
        }
    }

    /// Storages of different archives have the same names. False if they are too large.
    Result<bool> holdStorages(
        const DcpEntry& entry, const DcpPlace& place, const TorchFile& archive, PickleImporter& importer)
    {
        const PickleGraph& graph = archive.pickle();
        std::map<std::string, NodeId, std::less<>> renamed;
        for (const StorageView& storage : archive.storagesInOrder()) {
            auto bytes
                = m_archives.storageBytes(place, archive, storage.key, kMaxElementBytes - m_elementBytes);
            if (!bytes && bytes.error().code == ErrorCode::LimitExceeded) {
                leaveOut(entry, "tensors outside the model of more than 64 MiB");
                return false;
            }
            if (!bytes)
                return bytes.error().code == ErrorCode::Cancelled ? Result<bool>(forward(bytes.error()))
                                                                  : Result<bool>(false);
            m_elementBytes += bytes->size();
            const std::string key = std::to_string(m_storages.size());
            renamed.emplace(storage.key, m_builder.string(key));
            m_storages.emplace(key, std::move(*bytes));
        }
        for (uint32_t i = 0; !renamed.empty() && i < graph.nodeCount(); ++i) {
            const auto storage = asStorage(graph, NodeId{i});
            if (!storage)
                continue;
            const auto parts = graph.items(graph.target(NodeId{i}));
            std::vector<NodeId> items;
            for (size_t part = 0; part < parts.size(); ++part)
                items.push_back(
                    part == 2 ? renamed.at(std::string(storage->key)) : importer.import(parts[part]));
            importer.substitute(graph.target(NodeId{i}), m_builder.tuple(items));
        }
        return true;
    }

    /// Null if another object is in the way.
    Branch* branchOf(const std::vector<DcpStep>& path)
    {
        Branch* at = &m_root;
        for (size_t i = 0; i < path.size() && i < kDeepest; ++i) {
            if (at->leaf != kNoNode)
                return nullptr;
            auto& child = at->children[path[i]];
            if (!child) {
                child = std::make_unique<Branch>();
                at->steps.push_back(path[i]);
            }
            at = child.get();
        }
        return path.size() <= kDeepest && at->children.empty() && at->leaf == kNoNode ? at : nullptr;
    }

    NodeId build(const Branch& branch)
    {
        if (branch.leaf != kNoNode)
            return branch.leaf;
        const bool isList = !branch.children.empty()
            && std::all_of(
                branch.children.begin(), branch.children.end(), [at = int64_t{0}](const auto& one) mutable {
                    const auto* number = std::get_if<int64_t>(&one.first);
                    return number != nullptr && *number == at++;
                });
        if (isList) {
            std::vector<NodeId> items;
            for (const auto& [step, child] : branch.children)
                items.push_back(build(*child));
            return m_builder.list(items);
        }
        const NodeId out = m_builder.dict();
        for (const DcpStep& step : branch.steps) {
            const auto* text = std::get_if<std::string>(&step);
            m_builder.setItem(out,
                text != nullptr ? m_builder.string(*text) : m_builder.integer(std::get<int64_t>(step)),
                build(*branch.children.at(step)));
        }
        return out;
    }

    /// Reports only the first entry: all later ones are left out as well, and there may be very many of them.
    void leaveOut(const DcpEntry& entry, const std::string& why)
    {
        if (m_leftOut++ > 0)
            return;
        m_out.findings.push_back({code::kNotSupported, Severity::Warning,
            "the value, and everything after it, is omitted: this build does not hold " + why,
            ParamAddress{entry.key}, {}});
    }

    DcpArchives& m_archives;
    Checkpoint& m_out;
    PickleBuilder m_builder;
    TorchFile::HeldStorages m_storages;
    Branch m_root;
    std::map<std::string, NodeId> m_values; ///< of options of parameters, by their bytes
    std::vector<OptionsOfParam> m_options; ///< in the entries' order
    std::map<std::string, size_t> m_optionsOf;
    uint64_t m_elementBytes = 0;
    uint64_t m_pickleBytes = 0;
    uint64_t m_leftOut = 0;
};

} // namespace

Result<DcpStateDict> readDcpStateDict(const std::vector<DcpEntry>& entries, const std::vector<DcpKey>& keys,
    const std::vector<bool>& isWanted, std::vector<bool>& isTaken, DcpArchives& archives, Checkpoint& out,
    JobContext& job)
{
    StateDictReader reader(archives, out);
    for (size_t i = 0; i < entries.size(); ++i) {
        SHARDSCOPE_CHECK(job.poll());
        if (!isWanted[i])
            continue;
        SHARDSCOPE_TRY(isTaken[i], reader.add(entries[i], keys[i]));
    }
    return reader.finish();
}

} // namespace shardscope
