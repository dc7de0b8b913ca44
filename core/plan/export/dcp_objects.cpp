// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/dcp_objects.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/dcp/dcp_native.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/param_order.h"
#include "core/checkpoint/model/wrapped_names.h"
#include "core/plan/compose/archive_composer.h"
#include "core/plan/model/model_types.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

namespace shardscope {

namespace {

/// Keys of rank 0's model file that are not copied: the model itself, the optimizer of stage 0, and facts
/// that follow from the tensors.
constexpr std::array<std::string_view, 8> kNotCarried{"module", "optimizer", "param_shapes",
    "frozen_param_shapes", "frozen_param_fragments", "shared_params", "buffer_names", "mp_world_size"};
/// Facts about slices and stages: omitted if those were merged.
constexpr std::array<std::string_view, 2> kOfDegrees{
    "universal_checkpoint_info", "checkpoint_parallel_dimensions"};

/// The last ones belong to Python itself: command lines are often kept as argparse.Namespace.
constexpr std::array<std::string_view, 11> kPlainModules{"torch", "numpy", "collections", "builtins",
    "__builtin__", "_codecs", "copyreg", "copy_reg", "datetime", "argparse", "pathlib"};

/// The first class below a node that belongs to none of Python, torch and NumPy. Empty if there is none.
std::string foreignClass(const PickleGraph& graph, NodeId root)
{
    std::vector<NodeId> open{root};
    std::set<NodeId> seen;
    const auto push = [&](NodeId node) {
        if (node != kNoNode && seen.insert(node).second)
            open.push_back(node);
    };
    while (!open.empty()) {
        const NodeId node = open.back();
        open.pop_back();
        if (graph.kind(node) == NodeKind::Global) {
            const std::string_view module = graph.globalModule(node);
            const std::string_view package = module.substr(0, module.find('.'));
            if (std::find(kPlainModules.begin(), kPlainModules.end(), package) == kPlainModules.end())
                return std::string(module) + "." + std::string(graph.globalName(node));
        }
        for (const auto items : {graph.items(node), graph.appendedItems(node), graph.setItems(node)})
            std::ranges::for_each(items, push);
        push(graph.callable(node));
        push(graph.arguments(node));
        push(graph.state(node));
        if (graph.kind(node) == NodeKind::PersistentId)
            push(graph.target(node));
    }
    return {};
}

std::string elementBytes(float value)
{
    const auto bits = std::bit_cast<uint32_t>(value);
    std::string out;
    for (int shift = 0; shift < 32; shift += 8)
        out += static_cast<char>(bits >> shift);
    return out;
}

class ObjectMaker
{
public:
    ObjectMaker(const Checkpoint& source, const std::vector<ExportName>& names,
        const std::vector<uint32_t>& sourceOfFile)
        : m_source(source)
        , m_sourceOfFile(sourceOfFile)
    {
        for (const ExportName& entry : names)
            m_nameOf.emplace(entry.param, entry.name);
    }

    Status addSteps()
    {
        std::map<float, std::vector<std::vector<DcpStep>>> pathsOf;
        for (const auto& [param, name] : m_nameOf) {
            const FlatUnit* unit = m_source.unitOf(param);
            if (unit != nullptr && unit->kind != UnitKind::Frozen && unit->step)
                pathsOf[static_cast<float>(*unit->step)].push_back({"optim", "state", name, "step"});
        }
        for (auto& [step, paths] : pathsOf) {
            ArchiveComposer composer;
            const NodeId root = composer.smallTensor(DType::Float32, {}, elementBytes(step));
            SHARDSCOPE_CHECK(finish(composer, root, std::move(paths), true));
        }
        return {};
    }

    Status addGroups()
    {
        for (const ParamGroup& group : m_source.groups) {
            const auto pathOf = [&](std::string key) {
                return std::vector<DcpStep>{"optim", "param_groups", int64_t{group.index}, std::move(key)};
            };
            if (group.options != kNoNode) {
                const PickleGraph& graph = m_source.file(m_source.templateOptim).content->pickle();
                const auto items = mappingItems(graph, group.options);
                for (size_t i = 0; i + 1 < items.size(); i += 2) {
                    const auto key = asString(graph, items[i]);
                    if (key && *key != "params")
                        SHARDSCOPE_CHECK(
                            carry(m_source.templateOptim, items[i + 1], pathOf(std::string(*key))));
                }
            }
            ArchiveComposer composer;
            std::vector<NodeId> names;
            for (const ParamId param : optimizerOrder(m_source, group)) {
                if (const auto name = m_nameOf.find(param); name != m_nameOf.end())
                    names.push_back(composer.builder().string(name->second));
            }
            SHARDSCOPE_CHECK(finish(composer, composer.builder().list(names), {pathOf("params")}, false));
        }
        return {};
    }

    Status addRun()
    {
        if (const TorchFile* model = contentOf(m_source.templateModel)) {
            const PickleGraph& graph = model->pickle();
            const auto items = mappingItems(graph, graph.root());
            for (size_t i = 0; i + 1 < items.size(); i += 2) {
                const auto key = asString(graph, items[i]);
                if (m_source.merged && key
                    && std::find(kOfDegrees.begin(), kOfDegrees.end(), *key) != kOfDegrees.end())
                    continue;
                if (key && std::find(kNotCarried.begin(), kNotCarried.end(), *key) == kNotCarried.end())
                    SHARDSCOPE_CHECK(
                        carry(m_source.templateModel, items[i + 1], {"deepspeed", std::string(*key)}));
            }
        }
        const TorchFile* optim = contentOf(m_source.templateOptim);
        if (optim == nullptr)
            return {};
        const OptimStates saved = optimStates(optim->pickle(), m_source.optimWrapper);
        const LossScaler scaler = lossScaler(saved);
        std::vector<std::pair<std::string_view, NodeId>> values{
            {"dynamic_loss_scale", saved.dynamicLossScale}, {"overflow", saved.overflow},
            {"clip_grad", saved.clipGrad}};
        if (saved.lossScaler == kNoNode) {
            values.emplace_back("cur_scale", scaler.scale);
            for (const auto& value : dynamicValues(scaler))
                values.push_back(value);
        } else { // an object of DeepSpeed's: its numbers are what counts
            values.emplace_back("loss_scaler", scaler.values);
        }
        for (const auto& [key, value] : values) {
            if (value != kNoNode)
                SHARDSCOPE_CHECK(
                    carry(m_source.templateOptim, value, {"deepspeed", "scaler", std::string(key)}));
        }
        return {};
    }

    /// The parts of DeepSpeed's files that a state dict of torch's form does not record
    /// (core/checkpoint/dcp/dcp_native.h).
    Status addNative()
    {
        ArchiveComposer names;
        std::vector<NodeId> buffers;
        for (const Parameter& param : m_source.params) {
            if (param.role == ParamRole::Buffer)
                buffers.push_back(names.builder().string(param.name));
        }
        SHARDSCOPE_CHECK(
            finish(names, names.builder().list(buffers), {{"deepspeed", "buffer_names"}}, false));

        ArchiveComposer composer;
        PickleBuilder& builder = composer.builder();
        const NodeId form = builder.dict();
        builder.setItem(form, builder.string("zero_stage"), builder.integer(m_source.zeroStage));
        std::vector<NodeId> steps;
        for (const ParamGroup& group : m_source.groups) {
            const FlatUnit* unit
                = group.units.empty() ? nullptr : &m_source.units[index(group.units.front())];
            steps.push_back(builder.string(dcpStepFormText(
                unit == nullptr ? DcpStepForm() : DcpStepForm{unit->stepForm, unit->stepType})));
        }
        builder.setItem(form, builder.string("steps"), builder.list(steps));
        if (const auto types = moduleTypes(m_source); !types.empty())
            builder.setItem(form, builder.string("module"), module(builder, types));
        const NodeId tied = builder.dict();
        for (uint32_t i = 0; i < m_source.params.size(); ++i) {
            const ParamId owner = m_source.params[i].sharedWith;
            if (owner != kNoParam)
                builder.setItem(tied, builder.string(stateDictName(m_source, ParamId{i})),
                    builder.string(stateDictName(m_source, owner)));
        }
        builder.setItem(form, builder.string("tied"), tied);
        return finish(composer, form, {{"deepspeed", std::string(kDcpNativeForm)}}, false);
    }

    std::vector<DcpObject> take() { return std::move(m_out); }
    [[nodiscard]] const std::vector<std::string>& leftOut() const { return m_leftOut; }

private:
    /// In the model's order. It determines the owner of tied parameters if nothing else does.
    [[nodiscard]] NodeId module(PickleBuilder& builder, const std::map<std::string_view, DType>& types) const
    {
        std::map<DType, NodeId> known;
        const NodeId out = builder.dict();
        for (const ParamId param : modelOrder(m_source)) {
            const auto found = types.find(m_source.params[index(param)].name);
            if (found == types.end())
                continue;
            const auto [type, isNew] = known.try_emplace(found->second, kNoNode);
            if (isNew)
                type->second = builder.global("torch", dtypeName(found->second));
            builder.setItem(out, builder.string(stateDictName(m_source, param)), type->second);
        }
        return out;
    }

    [[nodiscard]] const TorchFile* contentOf(FileId file) const
    {
        return m_source.isReadable(file) ? m_source.file(file).content.get() : nullptr;
    }

    /// Copies a value of a source file unchanged.
    Status carry(FileId file, NodeId value, std::vector<DcpStep> path)
    {
        const TorchFile& content = *m_source.file(file).content;
        if (const std::string foreign = foreignClass(content.pickle(), value); !foreign.empty()) {
            m_leftOut.push_back(std::get<std::string>(path.back()) + " (" + foreign + ")");
            return {};
        }
        ArchiveComposer composer(content, m_sourceOfFile[index(file)]);
        const NodeId root = composer.import(value);
        return finish(composer, root, {std::move(path)}, false);
    }

    Status finish(
        ArchiveComposer& composer, NodeId root, std::vector<std::vector<DcpStep>> paths, bool isStep)
    {
        SHARDSCOPE_TRY(OutputFile archive, composer.finish(root, "archive", recordsOfToday()));
        archive.prefix = "archive"; // like torch.save into a stream
        m_out.push_back({std::move(paths), std::move(archive), isStep});
        return {};
    }

    const Checkpoint& m_source;
    const std::vector<uint32_t>& m_sourceOfFile;
    std::map<ParamId, std::string> m_nameOf;
    std::vector<DcpObject> m_out;
    std::vector<std::string> m_leftOut;
};

} // namespace

Result<std::vector<DcpObject>> dcpObjects(const Checkpoint& source, const std::vector<ExportName>& names,
    const std::vector<uint32_t>& sourceOfFile, std::vector<Finding>& warnings)
{
    ObjectMaker maker(source, names, sourceOfFile);
    SHARDSCOPE_CHECK(maker.addSteps());
    SHARDSCOPE_CHECK(maker.addGroups());
    SHARDSCOPE_CHECK(maker.addRun());
    SHARDSCOPE_CHECK(maker.addNative());
    std::string list;
    for (const std::string& left : maker.leftOut())
        list += (list.empty() ? "" : ", ") + toValidUtf8(left);
    if (!list.empty())
        warnings.push_back({code::kStockLoaderTrap, Severity::Warning,
            "omitted, because loading them needs packages other than torch: " + list, {}, {}});
    if (std::any_of(source.groups.begin(), source.groups.end(),
            [](const ParamGroup& group) { return group.options == kNoNode; }))
        warnings.push_back({code::kStockLoaderTrap, Severity::Warning,
            "the checkpoint has no options of its param groups (lr, betas, …): `optim.param_groups` has only "
            "their parameters",
            {}, {}});
    return maker.take();
}

} // namespace shardscope
