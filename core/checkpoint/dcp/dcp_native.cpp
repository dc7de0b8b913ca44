// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp/dcp_native.h"

#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <map>

namespace shardscope {

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
