// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_machine.h"
#include "core/torchfile/pickle/pickle_machine_opcodes.h"

#include <optional>
#include <unordered_map>

namespace shardscope {

/// One run of the pickle machine: a stack, marks, a memo and the graph that grows.
///
/// Steps return false after fail() has kept the first error; a Result per opcode would cost more than the
/// opcode.
class PickleMachine
{
public:
    PickleMachine(std::shared_ptr<const std::string> stream, const PickleLimits& limits, JobContext& job);

    Result<PickleParse> run();

private:
    using Node = PickleGraph::Node;

    // pickle_machine.cpp: the loop, the stack and the memo
    bool execute();
    bool step(uint8_t byte);
    bool duplicateTop();
    bool protocol();
    bool stop();
    bool periodicChecks();
    bool fail(std::string_view why, ErrorCode code = ErrorCode::Damaged);
    bool failLimit(std::string_view limit, uint64_t value);
    bool push(NodeId node);
    bool pushNode(Node node);
    bool pushMark();
    bool need(size_t count); ///< that many items above the last mark
    NodeId pop();
    [[nodiscard]] size_t fence() const { return m_marks.empty() ? 0 : m_marks.back(); }
    bool popItemOrMark();
    bool popMark(std::span<const NodeId>& items); ///< items stay valid until the next push
    bool put(uint64_t memoIndex);
    bool get(uint64_t memoIndex);
    bool remember(NodeId discarded);
    void attachDiscarded(NodeId discarded);
    template <class T>
    bool operand(T& value); ///< little-endian, unsigned
    bool take(uint64_t length, uint64_t& offset);
    bool line(std::string_view& text);

    // pickle_machine_constants.cpp
    bool constant(Opcode code);
    bool pushInteger(uint64_t value);
    bool repeatInteger(uint8_t value);
    bool signedLength(uint32_t& length); ///< an operand that must not be negative
    bool longInteger(uint64_t length);
    bool bytes(NodeKind kind, uint64_t length, uint8_t flags = 0);
    bool unicode(uint64_t length);

    // pickle_machine_text.cpp
    bool textNumber(Opcode code);
    bool decimalLong(std::string_view digits);
    bool quotedString();
    bool rawUnicode();
    bool pushOwned(NodeKind kind, std::string_view text, uint8_t flags);
    bool memoText(Opcode code);

    // pickle_machine_objects.cpp
    bool object(Opcode code);
    bool rareObject(Opcode code);
    bool dict();
    bool appendTop();
    bool setTop();
    bool persistentId();
    bool persistentIdText();
    bool tuple(size_t count);
    bool container(NodeKind kind, std::span<const NodeId> items);
    bool append(std::span<const NodeId> items);
    bool setItems(std::span<const NodeId> items);
    bool addItems(std::span<const NodeId> items);
    bool build();
    bool global();
    bool stackGlobal();
    bool call(NodeKind kind);
    bool newObjEx();
    bool instance(bool byName);
    bool extension(uint64_t code);
    bool globalLines(Node& node);
    [[nodiscard]] bool isCall(NodeId node) const;
    [[nodiscard]] bool takesItems(NodeId node) const;

    // pickle_machine_findings.cpp
    void addFindings();
    [[nodiscard]] std::string dangerousNames() const;
    [[nodiscard]] std::vector<uint8_t> enumLookups() const;
    void markConflictingStorages();

    std::shared_ptr<const std::string> m_stream;
    const PickleLimits& m_limits;
    JobContext& m_job;
    const char* m_data;
    uint64_t m_size;
    uint64_t m_position = 0;
    uint64_t m_opcodeBegin = 0;
    uint64_t m_opcodes = 0;
    uint64_t m_nextChecks = 0; ///< in opcodes
    bool m_stopped = false;

    PickleGraph m_graph;
    std::vector<NodeId> m_stack;
    std::vector<size_t> m_marks;
    std::vector<NodeId> m_memo; ///< small indices
    std::unordered_map<uint64_t, NodeId> m_sparseMemo; ///< the others: an index is not a size
    uint64_t m_memoCount = 0;
    std::shared_ptr<std::string> m_owned; ///< decoded text of protocol 0
    NodeId m_discarded = kNoNode; ///< a call popped just before a fetch
    std::vector<Finding> m_findings;
    std::optional<Error> m_error;
};

template <class T>
bool PickleMachine::operand(T& value)
{
    if (m_size - m_position < sizeof(T))
        return fail("the stream ends inside an operand");
    value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
        value = static_cast<T>(
            value | static_cast<T>(static_cast<T>(static_cast<uint8_t>(m_data[m_position + i])) << (8 * i)));
    m_position += sizeof(T);
    return true;
}

} // namespace shardscope
