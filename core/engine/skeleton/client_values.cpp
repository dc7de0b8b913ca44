// SPDX-License-Identifier: Apache-2.0
#include "core/engine/skeleton/client_values.h"

#include "core/checkpoint/model/model_states.h"
#include "core/torchfile/pickle/pickle_machine_opcodes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace shardscope {

namespace {

constexpr size_t kLongestKey = 64;

/// In lower case: DeepSpeed compares most of them case-insensitively.
constexpr std::array<std::string_view, 71> kWords{"", "auto", "none", "null", "true", "false", "cpu", "cuda",
    "nvme", "fp16", "bf16", "bfp16", "fp32", "fp64", "int8", "float16", "float32", "bfloat16", "adam",
    "adamw", "fusedadam", "cpuadam", "deepspeedcpuadam", "adagrad", "cpuadagrad", "lamb", "fusedlamb", "lion",
    "fusedlion", "cpulion", "sgd", "muon", "muadam", "muadamw", "musgd", "rmsprop", "adafactor", "onebitadam",
    "onebitlamb", "zerooneadam", "warmuplr", "warmupdecaylr", "warmupcosinelr", "onecycle", "lrrangetest",
    "linear", "log", "cos", "cosine", "constant", "warn", "ignore", "fail", "sum", "mean", "nccl", "gloo",
    "mpi", "ccl", "hccl", "prescale", "fixed_linear", "fixed_root", "fixed_discrete", "custom", "seqlen",
    "step", "epoch", "auto_tp", "seq", "uniform"};

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Whether a text of ds_config or of a scheduler is a word with a meaning to DeepSpeed: a device, a dtype, a
/// mode, the name of an optimizer or a schedule. False for a user's text, such as a path. Sources:
/// runtime/constants.py, runtime/config.py, runtime/zero/offload_config.py, runtime/lr_schedules.py.
bool isConfigWord(std::string_view text)
{
    return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
        return word.size() == text.size()
            && std::equal(
                word.begin(), word.end(), text.begin(), [](char a, char b) { return a == lower(b); });
    });
}

/// Whether it may be a key that DeepSpeed knows: letters, digits and `_ . -`, at most 64 characters.
bool looksLikeConfigKey(std::string_view text)
{
    return !text.empty() && text.size() <= kLongestKey && std::all_of(text.begin(), text.end(), [](char c) {
        return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_' || c == '.' || c == '-';
    });
}

/// What to keep of a node and its contents. Later values keep less.
enum class Rule : uint8_t {
    Everything,
    Engine, ///< everything except byte strings
    Config, ///< numbers, keys, and DeepSpeed's words
    Module, ///< tensors by name, nested like the model
    Nothing, ///< except shapes of tensors
};

/// Maximum bytes of a NumPy scalar, which a param group may hold as an option. A longer one may hold
/// anything.
constexpr size_t kMaxScalarBytes = 16;

class Marking
{
public:
    Marking(const PickleGraph& graph, std::string_view stream)
        : m_graph(graph)
        , m_stream(stream)
        , m_kept(graph.nodeCount(), false)
        , m_met(graph.nodeCount(), 0)
    {
    }

    void add(NodeId node, Rule rule)
    {
        if (index(node) < m_met.size())
            m_pending.emplace_back(node, rule);
    }

    /// Storages of one element under the key "step", among what DeepSpeed's optimizer keeps.
    std::set<std::string> takeSteps() { return std::move(m_steps); }

    void addStep(NodeId node)
    {
        const auto tensor = looksLikeTensor(m_graph, node) ? asTensor(m_graph, node) : Result<TensorView>();
        if (tensor && tensor->node != kNoNode && tensor->storage.elements == 1)
            m_steps.emplace(tensor->storage.key);
    }

    std::vector<bool> finish()
    {
        while (!m_pending.empty()) {
            const auto [node, rule] = m_pending.back();
            m_pending.pop_back();
            const auto bit = static_cast<uint8_t>(1U << static_cast<unsigned>(rule));
            uint8_t& met = m_met[index(node)];
            if ((met & bit) != 0)
                continue;
            met = static_cast<uint8_t>(met | bit);
            visit(node, rule);
        }
        return std::move(m_kept);
    }

private:
    void visit(NodeId node, Rule rule)
    {
        const bool tensor = looksLikeTensor(m_graph, node);
        if (tensor && rule != Rule::Everything)
            rule = Rule::Engine;
        const bool object = m_graph.callable(node) != kNoNode;
        if (rule == Rule::Module && !tensor && !isMapping(m_graph, node) && !isSequence(node))
            rule = Rule::Nothing; // extra state of a module, written by a library
        if (rule == Rule::Engine && holdsBytes(node))
            rule = Rule::Nothing;
        m_kept[index(node)] = m_kept[index(node)] || keepsLeaf(node, rule);
        if (m_graph.kind(node) == NodeKind::Dict)
            addPairs(m_graph.items(node), rule);
        else
            addAll(m_graph.items(node), rule);
        if (m_graph.kind(node) == NodeKind::PersistentId)
            add(m_graph.target(node), Rule::Everything);
        if (!object)
            return;
        addAll(m_graph.appendedItems(node), rule);
        addPairs(m_graph.setItems(node), rule);
        add(m_graph.arguments(node), rule);
        add(m_graph.state(node), rule == Rule::Module ? Rule::Engine : rule); // `_metadata` of a state dict
    }

    [[nodiscard]] bool keepsLeaf(NodeId node, Rule rule) const
    {
        switch (rule) {
        case Rule::Everything:
            return true;
        case Rule::Engine:
            return !isBytes(node) || m_graph.text(node).size() <= kMaxScalarBytes;
        case Rule::Config:
            return m_graph.kind(node) == NodeKind::String ? isConfigWord(m_graph.text(node)) : !isBytes(node);
        case Rule::Module:
        case Rule::Nothing:
            break;
        }
        return false;
    }

    void addAll(std::span<const NodeId> nodes, Rule rule)
    {
        for (const NodeId node : nodes)
            add(node, rule);
    }

    /// A reader needs the names of parameters first. Keys of a configuration are kept if they look like
    /// DeepSpeed's.
    void addPairs(std::span<const NodeId> pairs, Rule rule)
    {
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
            const NodeId key = pairs[i];
            if (rule == Rule::Config)
                add(key, isConfigKey(key) ? Rule::Engine : Rule::Nothing);
            else
                add(key, rule == Rule::Module ? Rule::Engine : rule);
            if (rule == Rule::Engine && asString(m_graph, key) == "step")
                addStep(pairs[i + 1]);
            add(pairs[i + 1], rule);
        }
    }

    [[nodiscard]] bool isSequence(NodeId node) const
    {
        const NodeKind kind = m_graph.kind(node);
        return kind == NodeKind::List || kind == NodeKind::Tuple;
    }

    [[nodiscard]] bool isConfigKey(NodeId node) const
    {
        const auto text = asString(m_graph, node);
        return !text || looksLikeConfigKey(*text);
    }

    /// Byte strings, but not the 8-bit texts of Python 2.
    [[nodiscard]] bool isBytes(NodeId node) const
    {
        const NodeKind kind = m_graph.kind(node);
        if (kind == NodeKind::ByteArray)
            return true;
        const uint64_t at = m_graph.sourceBegin(node);
        if (kind != NodeKind::Bytes || at >= m_stream.size())
            return false;
        const auto opcode = static_cast<Opcode>(m_stream[at]);
        return opcode == Opcode::BinBytes || opcode == Opcode::ShortBinBytes || opcode == Opcode::BinBytes8;
    }

    /// `_codecs.encode(text, "latin1")`: pickle protocol 2 writes bytes in this way.
    [[nodiscard]] bool holdsBytes(NodeId node) const
    {
        if (m_graph.kind(node) != NodeKind::Reduce
            || !isGlobal(m_graph, m_graph.callable(node), "_codecs", "encode"))
            return false;
        const auto parts = m_graph.items(m_graph.arguments(node));
        return !parts.empty() && m_graph.text(parts[0]).size() > 2 * kMaxScalarBytes;
    }

    const PickleGraph& m_graph;
    std::string_view m_stream;
    std::vector<bool> m_kept;
    std::vector<uint8_t> m_met; ///< by node: the rules under which it was visited
    std::vector<std::pair<NodeId, Rule>> m_pending;
    std::set<std::string> m_steps;
};

/// The rule for a key that DeepSpeed writes.
Rule ruleOf(std::string_view key)
{
    if (key == "module")
        return Rule::Module;
    const bool fromClient
        = key == "ds_config" || key == "lr_scheduler" || key == "data_sampler" || key == "random_ltd";
    return fromClient ? Rule::Config : Rule::Engine;
}

} // namespace

KeptValues keptValues(
    const PickleGraph& graph, std::string_view stream, PickleForm form, const std::set<std::string>& keep)
{
    KeptValues out;
    Marking marking(graph, stream);
    const NodeId root = graph.root();
    if (form == PickleForm::Tensors || form == PickleForm::Step || !isMapping(graph, root)) {
        if (form == PickleForm::Step)
            marking.addStep(root);
        marking.add(root,
            form == PickleForm::Tensors           ? Rule::Module
                : form == PickleForm::ModelStates ? Rule::Nothing
                                                  : Rule::Engine);
        out.kept = marking.finish();
        out.steps = marking.takeSteps();
        return out;
    }
    const auto items = mappingItems(graph, root);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        marking.add(items[i], Rule::Engine);
        const std::string key(asString(graph, items[i]).value_or(std::string_view()));
        Rule rule = ruleOf(key);
        if (form == PickleForm::ModelStates && !isEngineKey(key)) {
            const bool asked = keep.contains(key);
            rule = asked ? Rule::Everything : Rule::Nothing;
            (asked ? out.keptKeys : out.redactedKeys).insert(key);
        }
        marking.add(items[i + 1], rule);
    }
    out.kept = marking.finish();
    out.steps = marking.takeSteps();
    return out;
}

} // namespace shardscope
