// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_machine_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

constexpr uint32_t kLongestGlobalPart = 0xFFFF; ///< a node keeps both lengths in 16 bits

} // namespace

bool PickleMachine::object(Opcode code)
{
    std::span<const NodeId> items;
    switch (code) {
    case Opcode::EmptyTuple:
        return container(NodeKind::Tuple, {});
    case Opcode::EmptyList:
        return container(NodeKind::List, {});
    case Opcode::EmptyDict:
        return container(NodeKind::Dict, {});
    case Opcode::EmptySet:
        return container(NodeKind::Set, {});
    case Opcode::Tuple1:
        return tuple(1);
    case Opcode::Tuple2:
        return tuple(2);
    case Opcode::Tuple3:
        return tuple(3);
    case Opcode::Tuple:
        return popMark(items) && container(NodeKind::Tuple, items);
    case Opcode::List:
        return popMark(items) && container(NodeKind::List, items);
    case Opcode::FrozenSet:
        return popMark(items) && container(NodeKind::FrozenSet, items);
    case Opcode::Dict:
        return dict();
    case Opcode::Append:
        return appendTop();
    case Opcode::Appends:
        return popMark(items) && append(items);
    case Opcode::SetItem:
        return setTop();
    case Opcode::SetItems:
        return popMark(items) && setItems(items);
    case Opcode::AddItems:
        return popMark(items) && addItems(items);
    case Opcode::Global:
        return global();
    case Opcode::StackGlobal:
        return stackGlobal();
    case Opcode::Reduce:
        return call(NodeKind::Reduce);
    case Opcode::NewObj:
        return call(NodeKind::NewObj);
    case Opcode::NewObjEx:
        return newObjEx();
    case Opcode::Build:
        return build();
    case Opcode::BinPersId:
        return persistentId();
    default:
        return rareObject(code);
    }
}

/// Opcodes that torch.save() does not write.
bool PickleMachine::rareObject(Opcode code)
{
    uint8_t byte = 0;
    uint16_t half = 0;
    uint32_t word = 0;
    Node node;
    switch (code) {
    case Opcode::Inst:
        return instance(true);
    case Opcode::Obj:
        return instance(false);
    case Opcode::Ext1:
        return operand(byte) && extension(byte);
    case Opcode::Ext2:
        return operand(half) && extension(half);
    case Opcode::Ext4:
        return operand(word) && extension(word);
    case Opcode::PersId:
        return persistentIdText();
    case Opcode::NextBuffer:
        node.kind = NodeKind::Buffer;
        return pushNode(node);
    case Opcode::ReadonlyBuffer:
        return need(1);
    default:
        return fail("unknown opcode");
    }
}

bool PickleMachine::dict()
{
    std::span<const NodeId> items;
    if (!popMark(items))
        return false;
    return items.size() % 2 == 0 ? container(NodeKind::Dict, items) : fail("the number of items is odd");
}

bool PickleMachine::appendTop()
{
    if (!need(2))
        return false;
    const NodeId item = pop();
    return append(std::span(&item, 1));
}

bool PickleMachine::setTop()
{
    if (!need(3))
        return false;
    const std::array pair{m_stack[m_stack.size() - 2], m_stack.back()};
    m_stack.resize(m_stack.size() - 2);
    return setItems(pair);
}

bool PickleMachine::persistentId()
{
    if (!need(1))
        return false;
    Node node;
    node.kind = NodeKind::PersistentId;
    node.a = index(pop());
    return pushNode(node);
}

bool PickleMachine::persistentIdText()
{
    std::string_view text;
    if (!line(text))
        return false;
    if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
        return fail("a persistent id in text form must be ASCII");
    if (!pushOwned(NodeKind::String, text, 0))
        return false;
    Node node;
    node.kind = NodeKind::PersistentId;
    node.flags = PickleGraph::kTextForm;
    node.a = index(pop());
    return pushNode(node);
}

bool PickleMachine::tuple(size_t count)
{
    if (!need(count))
        return false;
    const std::span<const NodeId> items = std::span(m_stack).last(count);
    m_stack.resize(m_stack.size() - count);
    return container(NodeKind::Tuple, items);
}

bool PickleMachine::container(NodeKind kind, std::span<const NodeId> items)
{
    Node node;
    node.kind = kind;
    PickleGraph::Run run;
    m_graph.extend(run, items);
    node.value = run.begin;
    node.b = run.count;
    node.a = run.capacity;
    return pushNode(node);
}

bool PickleMachine::isCall(NodeId node) const
{
    const NodeKind kind = m_graph.m_nodes[index(node)].kind;
    return kind == NodeKind::Reduce || kind == NodeKind::NewObj || kind == NodeKind::NewObjEx;
}

/// Opaque objects may be containers; tensors are known not to be (CVE-2026-24747 wrote through one).
bool PickleMachine::takesItems(NodeId node) const
{
    if (m_graph.kind(node) == NodeKind::Extension)
        return true;
    if (!isCall(node))
        return false;
    const NodeId function = m_graph.callable(node);
    const std::string_view module = m_graph.globalModule(function);
    return !((module == "torch._utils" || module == "torch._tensor")
        && m_graph.globalName(function).starts_with("_rebuild"));
}

bool PickleMachine::append(std::span<const NodeId> items)
{
    if (!need(1))
        return false;
    const NodeId target = m_stack.back();
    if (m_graph.kind(target) == NodeKind::List)
        m_graph.extendItems(target, items);
    else if (takesItems(target))
        m_graph.extend(m_graph.extraFor(target).appended, items);
    else
        return fail("items are appended to something that is not a list");
    return true;
}

bool PickleMachine::setItems(std::span<const NodeId> items)
{
    if (!need(1))
        return false;
    if (items.size() % 2 != 0)
        return fail("the number of items is odd");
    const NodeId target = m_stack.back();
    if (m_graph.kind(target) == NodeKind::Dict)
        m_graph.extendItems(target, items);
    else if (takesItems(target))
        m_graph.extend(m_graph.extraFor(target).set, items);
    else
        return fail("items are set on something that is not a dict");
    return true;
}

bool PickleMachine::addItems(std::span<const NodeId> items)
{
    if (!need(1))
        return false;
    const NodeId target = m_stack.back();
    if (m_graph.kind(target) == NodeKind::Set)
        m_graph.extendItems(target, items);
    else if (takesItems(target))
        m_graph.extend(m_graph.extraFor(target).added, items);
    else
        return fail("items are added to something that is not a set");
    return true;
}

bool PickleMachine::build()
{
    if (!need(2))
        return false;
    const NodeId state = pop();
    PickleGraph::Extra& extra = m_graph.extraFor(m_stack.back());
    if (extra.state != kNoNode)
        m_graph.extend(extra.earlierStates, std::span(&extra.state, 1));
    extra.state = state;
    return true;
}

/// "module\nname\n" as it is in the stream.
bool PickleMachine::globalLines(Node& node)
{
    std::string_view module;
    std::string_view name;
    node.value = m_position;
    if (!line(module) || !line(name))
        return false;
    const uint32_t longest = std::min(m_limits.globalNameBytes, kLongestGlobalPart);
    if (module.size() > longest || name.size() > longest)
        return failLimit("bytes of a global's name", longest);
    node.kind = NodeKind::Global;
    node.b = static_cast<uint32_t>(module.size() << 16 | name.size());
    if (m_graph.m_protocol >= 4)
        node.flags = PickleGraph::kDotted;
    return true;
}

bool PickleMachine::global()
{
    Node node;
    return globalLines(node) && pushNode(node);
}

bool PickleMachine::stackGlobal()
{
    if (!need(2))
        return false;
    const NodeId name = pop();
    const NodeId module = pop();
    if (m_graph.kind(name) != NodeKind::String || m_graph.kind(module) != NodeKind::String)
        return fail("module and name of a global must be strings");
    if (std::max(m_graph.text(name).size(), m_graph.text(module).size()) > m_limits.globalNameBytes)
        return failLimit("bytes of a global's name", m_limits.globalNameBytes);
    Node node;
    node.kind = NodeKind::Global;
    node.flags = PickleGraph::kStackGlobal | PickleGraph::kDotted;
    node.a = index(module);
    node.b = index(name);
    return pushNode(node);
}

bool PickleMachine::call(NodeKind kind)
{
    if (!need(2))
        return false;
    const NodeId arguments = pop();
    if (m_graph.kind(arguments) != NodeKind::Tuple)
        return fail("the arguments of a call are not a tuple");
    Node node;
    node.kind = kind;
    node.a = index(pop());
    node.b = index(arguments);
    return pushNode(node);
}

bool PickleMachine::newObjEx()
{
    if (!need(3))
        return false;
    const NodeId keywords = m_stack.back();
    const NodeId arguments = m_stack[m_stack.size() - 2];
    if (m_graph.kind(arguments) != NodeKind::Tuple || m_graph.kind(keywords) != NodeKind::Dict)
        return fail("the arguments of a call are not a tuple and a dict");
    if (!tuple(2))
        return false;
    return call(NodeKind::NewObjEx);
}

/// INST names its class in the stream, OBJ has it above the mark.
bool PickleMachine::instance(bool byName)
{
    std::span<const NodeId> items;
    Node classNode;
    if ((byName && !globalLines(classNode)) || !popMark(items))
        return false;
    if (!byName && items.empty())
        return fail("the class is missing");
    Node node;
    node.kind = NodeKind::NewObj;
    node.flags = byName ? PickleGraph::kTextForm : PickleGraph::kObjForm;
    const NodeId callable = byName ? kNoNode : items.front();
    if (!container(NodeKind::Tuple, byName ? items : items.subspan(1)))
        return false;
    node.b = index(pop());
    node.a = index(callable);
    if (byName) {
        if (!pushNode(classNode))
            return false;
        node.a = index(pop());
    }
    return pushNode(node);
}

bool PickleMachine::extension(uint64_t code)
{
    if (code == 0 || code > 0x7FFFFFFFu)
        return fail("an extension code must be positive");
    Node node;
    node.kind = NodeKind::Extension;
    node.value = code;
    return pushNode(node);
}

} // namespace shardscope
