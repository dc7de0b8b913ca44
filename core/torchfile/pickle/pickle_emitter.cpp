// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_emitter.h"

#include "core/torchfile/pickle/pickle_emitter_state.h"

#include <fmt/format.h>

namespace shardscope {

Result<std::string> emitPickle(const PickleGraph& graph)
{
    return PickleEmitter(graph).run();
}

PickleEmitter::PickleEmitter(const PickleGraph& graph)
    : m_graph(graph)
    , m_memo(graph.nodeCount(), kNoMemo)
    , m_wrapped(graph.m_wrappers.empty() ? 0 : graph.nodeCount(), false)
{
}

Result<std::string> PickleEmitter::run()
{
    if (m_graph.nodeAt(m_graph.root()) == nullptr)
        return fail(ErrorCode::Internal, "cannot write a pickle that has no root");
    m_out = "\x80\x02";
    visit(m_graph.root());
    while (!m_frames.empty() && !m_error) {
        const Frame frame = m_frames.back();
        m_frames.pop_back();
        resume(frame);
        checkSize();
    }
    if (m_error)
        return forward(std::move(*m_error));
    write(Opcode::Stop);
    return std::move(m_out);
}

void PickleEmitter::stop(ErrorCode code, std::string why)
{
    if (!m_error)
        m_error = Error{code, "cannot write the pickle: " + std::move(why), {}, {}};
}

void PickleEmitter::checkSize()
{
    if (m_out.size() > kLargestPickle)
        stop(ErrorCode::LimitExceeded, fmt::format("the pickle would grow beyond {} bytes", kLargestPickle));
}

void PickleEmitter::later(Step step, NodeId node, uint32_t position)
{
    m_frames.push_back({step, node, position});
}

/// CPython remembers every container, text, global and call; the rest only where the source fetched it.
void PickleEmitter::remember(NodeId node)
{
    m_memo[index(node)] = m_nextMemo;
    putMemo();
}

void PickleEmitter::rememberIfShared(NodeId node)
{
    if ((m_graph.nodeAt(node)->flags & PickleGraph::kShared) != 0)
        remember(node);
}

void PickleEmitter::visit(NodeId node, bool forget)
{
    const Node* found = m_graph.nodeAt(node);
    if (found == nullptr)
        return stop(ErrorCode::Internal, "a child is missing");
    if (m_memo[index(node)] != kNoMemo)
        return getMemo(m_memo[index(node)]);
    if (!m_wrapped.empty() && startWrapper(node))
        return;
    if (found->extra != 0)
        later(Step::Builds, node);
    switch (found->kind) {
    case NodeKind::String:
    case NodeKind::Global:
    case NodeKind::Bytes:
    case NodeKind::ByteArray:
        return text(node, *found);
    case NodeKind::List:
        write(Opcode::EmptyList);
        remember(node);
        return later(Step::ListItems, node);
    case NodeKind::Dict:
        write(Opcode::EmptyDict);
        remember(node);
        return later(Step::DictItems, node);
    case NodeKind::Tuple:
        return tuple(node, *found);
    case NodeKind::Set:
    case NodeKind::FrozenSet:
        writeKnownGlobal(found->kind == NodeKind::Set ? KnownGlobal::Set : KnownGlobal::FrozenSet);
        write(Opcode::EmptyList);
        putMemo();
        later(Step::SetEnd, node);
        return later(Step::ListItems, node);
    case NodeKind::Reduce:
    case NodeKind::NewObj:
    case NodeKind::NewObjEx:
        return call(node, *found, forget);
    case NodeKind::PersistentId:
        later(Step::PersistentEnd, node);
        return (found->flags & PickleGraph::kTextForm) != 0 ? void() : later(Step::Visit, NodeId{found->a});
    case NodeKind::Extension:
        return stop(ErrorCode::Unsupported, "protocol 2 files of torch have no place for extension codes");
    case NodeKind::Buffer:
        return stop(ErrorCode::Unsupported, "a buffer outside the pickle cannot be written");
    default:
        number(*found, node);
        return rememberIfShared(node);
    }
}

/// A recursive call as CPython writes it: the outer call, thrown away, then the copy made inside it.
bool PickleEmitter::startWrapper(NodeId node)
{
    const auto wrapper = m_graph.m_wrappers.find(index(node));
    if (wrapper == m_graph.m_wrappers.end() || m_wrapped[index(node)])
        return false;
    m_wrapped[index(node)] = true;
    later(Step::PopThenVisit, node);
    later(Step::VisitAndForget, wrapper->second);
    return true;
}

void PickleEmitter::tuple(NodeId node, const Node& found)
{
    if (found.b == 0) {
        write(Opcode::EmptyTuple);
        return rememberIfShared(node);
    }
    if (found.b > 3)
        write(Opcode::Mark);
    later(Step::TupleItems, node);
}

void PickleEmitter::call(NodeId node, const Node& found, bool forget)
{
    later(Step::CallEnd, node, forget && (found.flags & PickleGraph::kShared) == 0 ? 1 : 0);
    const bool byName = (found.flags & PickleGraph::kTextForm) != 0;
    const bool spread = byName || (found.flags & PickleGraph::kObjForm) != 0;
    if (spread)
        write(Opcode::Mark);
    later(spread || found.kind == NodeKind::NewObjEx ? Step::Items : Step::Visit, NodeId{found.b});
    if (!byName)
        later(Step::Visit, NodeId{found.a});
}

void PickleEmitter::resume(const Frame& frame)
{
    const Node& found = m_graph.m_nodes[index(frame.node)];
    const PickleGraph::Extra* extra = m_graph.extraOf(frame.node);
    switch (frame.step) {
    case Step::Visit:
        return visit(frame.node);
    case Step::VisitAndForget:
        return visit(frame.node, true);
    case Step::PopThenVisit:
        write(Opcode::Pop);
        return visit(frame.node);
    case Step::Items:
    case Step::TupleItems:
        return children(frame);
    case Step::ListItems:
        return batch(frame, m_graph.items(frame.node), {1, true, Opcode::Append, Opcode::Appends});
    case Step::DictItems:
        return batch(frame, m_graph.items(frame.node), {2, true, Opcode::SetItem, Opcode::SetItems});
    case Step::Appended:
        return batch(frame, m_graph.run(extra->appended), {1, false, Opcode::Append, Opcode::Appends});
    case Step::Set:
        return batch(frame, m_graph.run(extra->set), {2, false, Opcode::SetItem, Opcode::SetItems});
    case Step::Added:
        return batch(frame, m_graph.run(extra->added), {1, true, Opcode::AddItems, Opcode::AddItems});
    case Step::SetEnd:
        write(Opcode::Tuple1);
        putMemo();
        write(Opcode::Reduce);
        return remember(frame.node);
    case Step::CallEnd:
        return callEnd(frame, found);
    case Step::PersistentEnd:
        if ((found.flags & PickleGraph::kTextForm) != 0)
            m_out.append("P").append(m_graph.text(NodeId{found.a})).push_back('\n');
        else
            write(Opcode::BinPersId);
        return rememberIfShared(frame.node);
    case Step::Builds:
        later(Step::States, frame.node);
        if (extra->added.count != 0)
            later(Step::Added, frame.node);
        if (extra->set.count != 0)
            later(Step::Set, frame.node);
        if (extra->appended.count != 0)
            later(Step::Appended, frame.node);
        return;
    case Step::States:
        return states(frame, *extra);
    case Step::Discarded:
        return discarded(frame, *extra);
    }
}

void PickleEmitter::callEnd(const Frame& frame, const Node& found)
{
    const bool byName = (found.flags & PickleGraph::kTextForm) != 0;
    if (m_memo[index(frame.node)] != kNoMemo) { // made while its own arguments were written
        write(Opcode::Pop);
        return getMemo(m_memo[index(frame.node)]);
    }
    if (byName) {
        write(Opcode::Inst);
        globalLines(NodeId{found.a});
    } else if ((found.flags & PickleGraph::kObjForm) != 0) {
        write(Opcode::Obj);
    } else {
        write(found.kind == NodeKind::Reduce     ? Opcode::Reduce
                : found.kind == NodeKind::NewObj ? Opcode::NewObj
                                                 : Opcode::NewObjEx);
    }
    if (frame.position == 0)
        remember(frame.node);
}

/// Visits a child. False if it has children, which come before `next`: then the caller returns. Leaves are
/// written here and now.
bool PickleEmitter::visitLeaf(NodeId child, const Frame& next)
{
    const size_t depth = m_frames.size();
    visit(child);
    checkSize(); // a leaf may be a long number, which is written as often as it is there
    if (m_frames.size() == depth)
        return true;
    m_frames.insert(m_frames.begin() + static_cast<ptrdiff_t>(depth), next);
    return false;
}

void PickleEmitter::children(const Frame& frame)
{
    const auto items = m_graph.items(frame.node);
    uint32_t at = frame.position;
    while (at < items.size() && !m_error) {
        const NodeId child = items[at++];
        if (!visitLeaf(child, {frame.step, frame.node, at}))
            return;
    }
    if (frame.step == Step::TupleItems)
        tupleEnd(frame.node, items.size());
}

void PickleEmitter::tupleEnd(NodeId node, size_t count)
{
    if (m_memo[index(node)] != kNoMemo) { // a recursive tuple: its items led back to it
        if (count > 3)
            write(Opcode::PopMark);
        else
            for (size_t i = 0; i < count; ++i)
                write(Opcode::Pop);
        return getMemo(m_memo[index(node)]);
    }
    write(count == 1     ? Opcode::Tuple1
            : count == 2 ? Opcode::Tuple2
            : count == 3 ? Opcode::Tuple3
                         : Opcode::Tuple);
    if (m_forgottenTuples.contains(index(node)))
        return rememberIfShared(node);
    remember(node);
}

/// CPython's batches of 1000. Plain lists and dicts close every batch with the plural opcode unless there is
/// only one item in all, and a dict whose size is a multiple of 1000 gets an empty batch at the end; items
/// that a reduce gave as an iterator use the singular opcode for a batch of one.
void PickleEmitter::batch(const Frame& frame, std::span<const NodeId> items, const Batch& rule)
{
    constexpr uint32_t kBatch = 1000;
    const auto total = static_cast<uint32_t>(items.size() / rule.unit);
    for (uint32_t at = frame.position; !m_error; ++at) {
        const uint32_t done = at / rule.unit;
        if (at % rule.unit == 0) {
            if (done > 0 && (done % kBatch == 0 || done == total)) {
                const uint32_t inBatch = done - (done - 1) / kBatch * kBatch;
                write((rule.exact ? total == 1 : inBatch == 1) ? rule.one : rule.many);
            }
            if (done == total) {
                if (rule.exact && rule.unit == 2 && total > 0 && total % kBatch == 0) {
                    write(Opcode::Mark);
                    write(rule.many);
                }
                return;
            }
            if (done % kBatch == 0 && (rule.one == rule.many || (rule.exact ? total : total - done) != 1))
                write(Opcode::Mark);
        }
        if (!visitLeaf(items[at], {frame.step, frame.node, at + 1}))
            return;
    }
}

void PickleEmitter::states(const Frame& frame, const PickleGraph::Extra& extra)
{
    const uint32_t earlier = extra.earlierStates.count;
    const uint32_t total = earlier + (extra.state != kNoNode ? 1 : 0);
    if (frame.position > 0)
        write(Opcode::Build);
    if (frame.position == total)
        return extra.discarded.count != 0 ? later(Step::Discarded, frame.node) : void();
    later(Step::States, frame.node, frame.position + 1);
    visit(frame.position < earlier ? m_graph.run(extra.earlierStates)[frame.position] : extra.state);
}

void PickleEmitter::discarded(const Frame& frame, const PickleGraph::Extra& extra)
{
    if (frame.position > 0)
        write(Opcode::Pop);
    if (frame.position == extra.discarded.count)
        return;
    later(Step::Discarded, frame.node, frame.position + 1);
    const NodeId call = m_graph.run(extra.discarded)[frame.position];
    m_forgottenTuples.insert(
        index(m_graph.arguments(call))); // CPython gives a state setter's tuple no memo entry
    visit(call, true);
}

} // namespace shardscope
