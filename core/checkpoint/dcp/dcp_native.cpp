// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp/dcp_native.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
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

namespace {

/// Keys of the root and of "deepspeed" that are skipped: their content comes from elsewhere, or they would be
/// mistaken for another key.
constexpr std::array<std::string_view, 8> kElsewhere{
    "model", "optim", "deepspeed", "scaler", kDcpNativeForm, "module", "optimizer", "mp_world_size"};

class NativeMaker
{
public:
    NativeMaker(DcpStateDict dict, const CheckpointFile& metadata)
        : m_dict(std::move(dict))
        , m_metadata(metadata)
        , m_graph(m_dict.graph)
        , m_importer(m_builder, m_graph)
        , m_deepspeed(child(m_graph.root(), "deepspeed"))
        , m_form(child(m_deepspeed, kDcpNativeForm))
    {
    }

    DcpNative make()
    {
        takeForm();
        const NodeId root = modelRoot();
        m_out.wrapper = wrapper();
        addGroups();
        m_out.content = TorchFile::made(
            m_metadata.path, m_metadata.identity, m_builder.finish(root), std::move(m_dict.storages));
        return std::move(m_out);
    }

private:
    [[nodiscard]] NodeId child(NodeId mapping, std::string_view key) const
    {
        return mapping == kNoNode ? kNoNode : lookup(m_graph, mapping, key);
    }
    void set(NodeId mapping, std::string_view key, NodeId value)
    {
        m_builder.setItem(mapping, m_builder.string(key), value);
    }

    void takeForm()
    {
        const NodeId stage = child(m_form, "zero_stage");
        const int64_t number = stage == kNoNode ? 0 : asInteger(m_graph, stage).value_or(0);
        m_out.zeroStage = number > 0 && number <= 3 ? static_cast<int>(number) : 0;
        for (const NodeId step : items(child(m_form, "steps"))) {
            const auto text = asString(m_graph, step);
            m_out.steps.push_back(text ? parseDcpStepForm(*text) : std::nullopt);
        }
        const NodeId tied = child(m_form, "tied");
        const auto pairs = tied == kNoNode ? std::span<const NodeId>() : mappingItems(m_graph, tied);
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
            const auto name = asString(m_graph, pairs[i]);
            const auto owner = asString(m_graph, pairs[i + 1]);
            if (name && owner)
                m_out.tied.emplace_back(*name, *owner);
        }
        for (const NodeId name : items(child(m_deepspeed, "buffer_names"))) {
            if (const auto text = asString(m_graph, name))
                m_out.bufferNames.emplace_back(*text);
        }
    }
    [[nodiscard]] std::span<const NodeId> items(NodeId list) const
    {
        return list == kNoNode ? std::span<const NodeId>() : sequenceItems(m_graph, list);
    }

    NodeId modelRoot()
    {
        const NodeId root = m_builder.dict();
        if (const NodeId types = child(m_form, "module"); types != kNoNode)
            set(root, "module", module(types));
        addItems(root, m_deepspeed);
        addItems(root, m_graph.root());
        set(root, "optimizer", m_builder.none());
        set(root, "mp_world_size", m_builder.integer(1));
        return root;
    }

    void addItems(NodeId root, NodeId from)
    {
        const auto pairs = from == kNoNode ? std::span<const NodeId>() : mappingItems(m_graph, from);
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
            const auto key = asString(m_graph, pairs[i]);
            if (key && std::find(kElsewhere.begin(), kElsewhere.end(), *key) == kElsewhere.end())
                m_builder.setItem(root, m_importer.import(pairs[i]), m_importer.import(pairs[i + 1]));
        }
    }

    /// Tensors without elements, as in ZeRO-3's model files: only their names and dtypes are used.
    NodeId module(NodeId types)
    {
        const NodeId out
            = m_builder.reduce(m_builder.global("collections", "OrderedDict"), m_builder.tuple({}));
        const auto pairs = mappingItems(m_graph, types);
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
            const NodeId type = pairs[i + 1];
            if (!asString(m_graph, pairs[i]) || m_graph.kind(type) != NodeKind::Global
                || m_graph.globalModule(type) != "torch")
                continue;
            const DType dtype = dtypeFromName(std::string(m_graph.globalName(type))).value_or(DType::Unknown);
            if (const NodeId tensor = emptyTensor(dtype); tensor != kNoNode)
                m_builder.setItem(out, m_importer.import(pairs[i]), tensor);
        }
        return out;
    }

    NodeId emptyTensor(DType dtype)
    {
        if (storageClassOf(dtype).empty())
            return kNoNode;
        const auto [known, isNew] = m_empty.try_emplace(dtype, kNoNode);
        if (!isNew)
            return known->second;
        const std::string key = std::to_string(m_dict.storages.size());
        m_dict.storages.emplace(key, std::string());
        const std::array id{m_builder.string("storage"), m_builder.global("torch", storageClassOf(dtype)),
            m_builder.string(key), m_builder.string("cpu"), m_builder.integer(0)};
        const std::array arguments{m_builder.persistentId(m_builder.tuple(id)), m_builder.integer(0),
            m_builder.tuple(std::array{m_builder.integer(0)}),
            m_builder.tuple(std::array{m_builder.integer(1)}), m_builder.boolean(false),
            m_builder.reduce(m_builder.global("collections", "OrderedDict"), m_builder.tuple({}))};
        known->second = m_builder.reduce(
            m_builder.global("torch._utils", "_rebuild_tensor_v2"), m_builder.tuple(arguments));
        return known->second;
    }

    /// Turns the scaler's numbers back into DeepSpeed's object (runtime/fp16/loss_scaler.py). What runs
    /// without ZeRO keep becomes keys of the wrapper.
    NodeId wrapper()
    {
        const NodeId out = m_builder.dict();
        const NodeId scaler = child(m_deepspeed, "scaler");
        const auto pairs = scaler == kNoNode ? std::span<const NodeId>() : mappingItems(m_graph, scaler);
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
            if (asString(m_graph, pairs[i]) != "loss_scaler") {
                m_builder.setItem(out, m_importer.import(pairs[i]), m_importer.import(pairs[i + 1]));
                continue;
            }
            const bool dynamic = child(pairs[i + 1], "scale_window") != kNoNode;
            const NodeId object = m_builder.newObj(m_builder.global("deepspeed.runtime.fp16.loss_scaler",
                                                       dynamic ? "DynamicLossScaler" : "LossScaler"),
                m_builder.tuple({}));
            m_builder.setState(object, m_importer.import(pairs[i + 1]));
            set(out, "loss_scaler", object);
        }
        set(out, "zero_stage", m_builder.integer(m_out.zeroStage));
        return out;
    }

    void addGroups()
    {
        const NodeId groups = child(child(m_graph.root(), "optim"), "param_groups");
        if (groups == kNoNode)
            return;
        const auto list = sequenceItems(m_graph, groups);
        const auto pairs = mappingItems(m_graph, groups); // if a group has no objects
        for (size_t i = 0; i < list.size(); ++i)
            addGroup(i, list[i]);
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
            const auto number = asInteger(m_graph, pairs[i]);
            if (number && *number >= 0 && *number < 1'000'000)
                addGroup(static_cast<size_t>(*number), pairs[i + 1]);
        }
    }

    void addGroup(size_t number, NodeId group)
    {
        const size_t count = std::max(m_out.members.size(), number + 1);
        m_out.groupOptions.resize(count, kNoNode);
        m_out.members.resize(count);
        m_out.groupOptions[number] = optionsOf(group);
        for (const NodeId name : items(child(group, "params"))) {
            if (const auto text = asString(m_graph, name))
                m_out.members[number].emplace_back(*text);
        }
    }

    NodeId optionsOf(NodeId group)
    {
        const auto pairs = mappingItems(m_graph, group);
        const NodeId out = m_builder.dict();
        bool any = false;
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
            if (asString(m_graph, pairs[i]) == "params")
                continue;
            m_builder.setItem(out, m_importer.import(pairs[i]), m_importer.import(pairs[i + 1]));
            any = true;
        }
        return any ? out : kNoNode;
    }

    DcpStateDict m_dict;
    const CheckpointFile& m_metadata;
    const PickleGraph& m_graph;
    PickleBuilder m_builder;
    PickleImporter m_importer;
    NodeId m_deepspeed;
    NodeId m_form;
    std::map<DType, NodeId> m_empty;
    DcpNative m_out;
};

constexpr std::string_view kTensor = "tensor ";

} // namespace

std::string dcpStepFormText(const DcpStepForm& form)
{
    switch (form.form) {
    case StepForm::Absent:
        return "absent";
    case StepForm::Integer:
        return "integer";
    case StepForm::Real:
        return "real";
    case StepForm::Tensor:
        break;
    }
    return std::string(kTensor) + std::string(dtypeName(form.type));
}

std::optional<DcpStepForm> parseDcpStepForm(std::string_view text)
{
    for (const StepForm form : {StepForm::Absent, StepForm::Integer, StepForm::Real}) {
        if (text == dcpStepFormText({form, DType::Float32}))
            return DcpStepForm{form, DType::Float32};
    }
    if (!text.starts_with(kTensor))
        return std::nullopt;
    const auto type = dtypeFromName(std::string(text.substr(kTensor.size())));
    return type ? std::optional(DcpStepForm{StepForm::Tensor, *type}) : std::nullopt;
}

DcpNative makeDcpNative(DcpStateDict dict, const CheckpointFile& metadata)
{
    return NativeMaker(std::move(dict), metadata).make();
}

} // namespace shardscope
