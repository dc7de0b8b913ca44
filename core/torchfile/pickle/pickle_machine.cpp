// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/torchfile/pickle/pickle_machine_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace shardscope {

namespace {

constexpr uint64_t kChecksEvery = 4096;
constexpr uint64_t kBytesPerNode = 8; ///< of a stream, about, as torch writes them
constexpr uint64_t kBytesPerLink = 2; ///< at the densest: a list of small integers
constexpr std::string_view kWouldRun = ", which would run in Python";
constexpr uint64_t kLargestStream = 0xFFFFFFFFu; ///< nodes keep 32-bit source offsets

} // namespace

PickleMachine::PickleMachine(
    std::shared_ptr<const std::string> stream, const PickleLimits& limits, JobContext& job)
    : m_stream(std::move(stream))
    , m_limits(limits)
    , m_job(job)
    , m_data(m_stream->data())
    , m_size(m_stream->size())
{
    m_graph.m_texts.push_back(m_stream);
    m_graph.m_protocol = 0;
}

Result<PickleParse> PickleMachine::run()
{
    if (m_size > std::min(m_limits.streamBytes, kLargestStream))
        failLimit("bytes of a pickle", std::min(m_limits.streamBytes, kLargestStream));
    if (!m_error) { // room as torch's files need it; unused room costs only addresses
        m_graph.m_nodes.reserve(std::min(m_size / kBytesPerNode, m_limits.nodes));
        m_graph.m_links.reserve(m_size / kBytesPerLink);
    }
    if (m_error || !execute()) {
        if (const std::string names = dangerousNames();
            !names.empty() && m_error->code != ErrorCode::Cancelled)
            m_error->message += "; before that it names " + names + std::string(kWouldRun);
        return forward(std::move(*m_error));
    }
    addFindings();
    return PickleParse{std::move(m_graph), std::move(m_findings), m_position};
}

bool PickleMachine::execute()
{
    while (!m_stopped) {
        if (m_position == m_size) {
            m_opcodeBegin = m_position;
            return fail("the stream ends without STOP");
        }
        if (m_opcodes >= m_nextChecks && !periodicChecks())
            return false;
        m_opcodeBegin = m_position;
        ++m_opcodes;
        if (!step(static_cast<uint8_t>(m_data[m_position++])))
            return false;
    }
    return true;
}

bool PickleMachine::periodicChecks()
{
    m_nextChecks = m_opcodes + kChecksEvery;
    if (m_opcodes >= m_limits.opcodes)
        return failLimit("opcodes", m_limits.opcodes);
    const uint64_t owned = m_owned ? m_owned->size() : 0;
    const uint64_t memo = m_memo.size() * sizeof(NodeId) + m_sparseMemo.size() * 32;
    if (m_graph.memoryBytes() + owned + memo > m_limits.arenaBytes)
        return failLimit("bytes of memory", m_limits.arenaBytes);
    if (Status polled = m_job.poll(); !polled) {
        m_error = std::move(polled).error();
        return false;
    }
    return true;
}

bool PickleMachine::step(uint8_t byte)
{
    const auto code = static_cast<Opcode>(byte);
    switch (code) {
    case Opcode::BinPut: {
        uint8_t at = 0;
        return operand(at) && put(at);
    }
    case Opcode::LongBinPut: {
        uint32_t at = 0;
        return operand(at) && put(at);
    }
    case Opcode::BinGet: {
        uint8_t at = 0;
        return operand(at) && get(at);
    }
    case Opcode::LongBinGet: {
        uint32_t at = 0;
        return operand(at) && get(at);
    }
    case Opcode::Memoize:
        return put(m_memoCount);
    case Opcode::Put:
    case Opcode::Get:
        return memoText(code);
    case Opcode::Mark:
        return pushMark();
    case Opcode::Pop:
        return popItemOrMark();
    case Opcode::PopMark: {
        std::span<const NodeId> items;
        return popMark(items);
    }
    case Opcode::Dup:
        return duplicateTop();
    case Opcode::Proto:
        return protocol();
    case Opcode::Frame: {
        uint64_t length = 0;
        if (!operand(length))
            return false;
        return length <= m_size - m_position || fail("the frame is longer than the stream");
    }
    case Opcode::Stop:
        return stop();
    default:
        if (opcodeName(byte).empty())
            return fail("unknown opcode");
        return constant(code);
    }
}

bool PickleMachine::duplicateTop()
{
    if (!need(1))
        return false;
    const NodeId top = m_stack.back();
    m_graph.m_nodes[index(top)].flags |= PickleGraph::kShared;
    return push(top);
}

bool PickleMachine::protocol()
{
    uint8_t version = 0;
    if (!operand(version))
        return false;
    if (version > 5)
        return fail(fmt::format("protocol {} is not known, 5 is the newest", version));
    m_graph.m_protocol = std::max(m_graph.m_protocol, version);
    return true;
}

bool PickleMachine::stop()
{
    if (m_stack.empty())
        return fail("nothing is on the stack");
    if (!m_marks.empty())
        return fail("a mark is still open");
    if (m_stack.size() > 1)
        m_findings.push_back({code::kTrailingData, Severity::Warning,
            fmt::format("{} items below the result are left on the stack of the pickle", m_stack.size() - 1),
            {}, {fmt::format("STOP at byte {}", m_opcodeBegin)}});
    m_graph.m_root = m_stack.back();
    m_stopped = true;
    return true;
}

bool PickleMachine::fail(std::string_view why, ErrorCode code)
{
    if (m_error)
        return false;
    std::string opcode;
    if (m_opcodeBegin < m_size) {
        const auto byte = static_cast<uint8_t>(m_data[m_opcodeBegin]);
        const std::string_view name = opcodeName(byte);
        opcode = name.empty() ? fmt::format(" (0x{:02X})", byte) : fmt::format(" ({})", name);
    }
    m_error = Error{
        code, fmt::format("cannot read the pickle: at byte {}{} {}", m_opcodeBegin, opcode, why), {}, {}};
    return false;
}

bool PickleMachine::failLimit(std::string_view limit, uint64_t value)
{
    return fail(fmt::format("the limit of {} {} is reached", value, limit), ErrorCode::LimitExceeded);
}

bool PickleMachine::push(NodeId node)
{
    if (m_stack.size() >= m_limits.stackDepth)
        return failLimit("items on the stack", m_limits.stackDepth);
    m_stack.push_back(node);
    return true;
}

bool PickleMachine::pushNode(Node node)
{
    if (m_graph.m_nodes.size() >= m_limits.nodes)
        return failLimit("nodes", m_limits.nodes);
    node.begin = static_cast<uint32_t>(m_opcodeBegin);
    node.end = static_cast<uint32_t>(m_position);
    return push(m_graph.addNode(node));
}

bool PickleMachine::pushMark()
{
    if (m_marks.size() >= m_limits.markDepth)
        return failLimit("open marks", m_limits.markDepth);
    m_marks.push_back(m_stack.size());
    return true;
}

bool PickleMachine::need(size_t count)
{
    return m_stack.size() - fence() >= count || fail("too few items are on the stack");
}

NodeId PickleMachine::pop()
{
    const NodeId top = m_stack.back();
    m_stack.pop_back();
    return top;
}

bool PickleMachine::popItemOrMark()
{
    if (!m_marks.empty() && m_marks.back() == m_stack.size()) {
        m_marks.pop_back();
        return true;
    }
    return need(1) && remember(pop());
}

bool PickleMachine::popMark(std::span<const NodeId>& items)
{
    if (m_marks.empty())
        return fail("no mark is open");
    const size_t from = m_marks.back();
    m_marks.pop_back();
    items = std::span(m_stack).subspan(from);
    // Shrinking leaves the popped items where they are until something is pushed.
    m_stack.resize(from);
    return true;
}

/// Keeps a call that the stream throws away. What a fetch does to it is decided there.
bool PickleMachine::remember(NodeId discarded)
{
    if (!isCall(discarded))
        return true;
    if (m_position < m_size) {
        const auto next = static_cast<Opcode>(m_data[m_position]);
        if (next == Opcode::BinGet || next == Opcode::LongBinGet || next == Opcode::Get) {
            m_discarded = discarded;
            return true;
        }
    }
    attachDiscarded(discarded);
    return true;
}

void PickleMachine::attachDiscarded(NodeId discarded)
{
    if (m_stack.size() > fence() && m_stack.back() != discarded)
        m_graph.extend(m_graph.extraFor(m_stack.back()).discarded, std::span(&discarded, 1));
}

bool PickleMachine::put(uint64_t memoIndex)
{
    if (!need(1))
        return false;
    const NodeId node = m_stack.back();
    if (memoIndex <= m_memo.size() * 2 + 1024) {
        if (memoIndex >= m_memo.size())
            m_memo.resize(std::max<size_t>(memoIndex + 1, m_memo.size() + m_memo.size() / 2), kNoNode);
        m_memoCount += m_memo[memoIndex] == kNoNode ? 1 : 0;
        m_memo[memoIndex] = node;
        return true;
    }
    m_memoCount += m_sparseMemo.insert_or_assign(memoIndex, node).second ? 1 : 0;
    return true;
}

bool PickleMachine::get(uint64_t memoIndex)
{
    NodeId node = memoIndex < m_memo.size() ? m_memo[memoIndex] : kNoNode;
    if (node == kNoNode) {
        const auto found = m_sparseMemo.find(memoIndex);
        if (found == m_sparseMemo.end())
            return fail(fmt::format("memo entry {} was never stored", memoIndex));
        node = found->second;
    }
    m_graph.m_nodes[index(node)].flags |= PickleGraph::kShared;
    if (m_discarded != kNoNode) {
        const bool madeInside
            = node != m_discarded && isCall(node) && m_graph.callable(node) == m_graph.callable(m_discarded);
        if (!madeInside || !m_graph.m_wrappers.emplace(index(node), m_discarded).second)
            attachDiscarded(m_discarded);
        m_discarded = kNoNode;
    }
    return push(node);
}

bool PickleMachine::take(uint64_t length, uint64_t& offset)
{
    if (length > m_size - m_position)
        return fail(fmt::format("{} bytes are announced, {} are left", length, m_size - m_position));
    if (length > m_limits.stringBytes)
        return failLimit("bytes of one string", m_limits.stringBytes);
    offset = m_position;
    m_position += length;
    return true;
}

bool PickleMachine::line(std::string_view& text)
{
    const auto* end = static_cast<const char*>(std::memchr(m_data + m_position, '\n', m_size - m_position));
    if (end == nullptr)
        return fail("the line has no end");
    const auto length = static_cast<uint64_t>(end - (m_data + m_position));
    if (length > m_limits.stringBytes)
        return failLimit("bytes of one string", m_limits.stringBytes);
    text = std::string_view(m_data + m_position, length);
    m_position += length + 1;
    return true;
}

Result<PickleParse> parsePickle(
    std::shared_ptr<const std::string> stream, const PickleLimits& limits, JobContext& job)
{
    return PickleMachine(std::move(stream), limits, job).run();
}

bool namesDangerousCode(const Error& refused)
{
    return refused.message.ends_with(kWouldRun);
}

} // namespace shardscope
