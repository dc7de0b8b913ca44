// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_graph.h"
#include "core/torchfile/pickle/pickle_machine_opcodes.h"

#include <array>
#include <optional>
#include <unordered_set>

namespace shardscope {

/// One run of the writer: CPython's save() with its recursion turned into frames.
class PickleEmitter
{
public:
    explicit PickleEmitter(const PickleGraph& graph);

    Result<std::string> run();

private:
    using Node = PickleGraph::Node;
    enum class Step : uint8_t {
        Visit,
        VisitAndForget,
        PopThenVisit,
        Items,
        TupleItems,
        ListItems,
        DictItems,
        Appended,
        Set,
        Added,
        SetEnd,
        CallEnd,
        PersistentEnd,
        Builds,
        States,
        Discarded,
    };
    struct Frame {
        Step step;
        NodeId node;
        uint32_t position; ///< children done; CallEnd: 1 where the result is not remembered
    };
    struct Batch {
        uint32_t unit; ///< 1 for items, 2 for pairs
        bool exact; ///< a plain list or dict
        Opcode one;
        Opcode many;
    };
    /// Globals for node kinds that protocol 2 does not have; each is memoized once, as CPython does.
    enum class KnownGlobal : uint8_t { Set, FrozenSet, Bytes, ByteArray, Encode, Getattr };

    static constexpr uint32_t kNoMemo = 0xFFFFFFFFu;
    static constexpr uint64_t kLargestPickle = uint64_t{1} << 30;

    void stop(ErrorCode code, std::string why);
    void checkSize();
    void later(Step step, NodeId node, uint32_t position = 0);
    void visit(NodeId node, bool forget = false); ///< forget: a call that will be popped gets no memo entry
    void resume(const Frame& frame);
    bool startWrapper(NodeId node);
    void tuple(NodeId node, const Node& found);
    void tupleEnd(NodeId node, size_t count);
    void call(NodeId node, const Node& found, bool forget);
    void callEnd(const Frame& frame, const Node& found);
    bool visitLeaf(NodeId child, const Frame& next);
    void children(const Frame& frame);
    void batch(const Frame& frame, std::span<const NodeId> items, const Batch& rule);
    void states(const Frame& frame, const PickleGraph::Extra& extra);
    void discarded(const Frame& frame, const PickleGraph::Extra& extra);
    void remember(NodeId node);
    void rememberIfShared(NodeId node);

    // pickle_emitter_values.cpp
    void write(Opcode code) { m_out.push_back(static_cast<char>(code)); }
    template <class T>
    void littleEndian(T value);
    void putMemo(); ///< under the next number
    void getMemo(uint32_t at);
    void number(const Node& found, NodeId node);
    void longInteger(std::string_view bytes);
    void unicode(std::string_view utf8);
    void text(NodeId node, const Node& found);
    void global(NodeId node, const Node& found);
    void globalLines(NodeId node);
    void writeKnownGlobal(KnownGlobal known);
    void latin1Call(NodeId node, KnownGlobal callable, std::string_view codec, uint32_t& codecMemo);

    const PickleGraph& m_graph;
    std::string m_out;
    std::vector<Frame> m_frames;
    std::unordered_set<uint32_t> m_forgottenTuples;
    std::vector<uint32_t> m_memo; ///< per node
    std::vector<bool> m_wrapped; ///< wrappers already written
    uint32_t m_nextMemo = 0;
    std::array<uint32_t, 6> m_knownMemo{kNoMemo, kNoMemo, kNoMemo, kNoMemo, kNoMemo, kNoMemo};
    uint32_t m_latin1Memo = kNoMemo;
    uint32_t m_latinDash1Memo = kNoMemo;
    std::optional<Error> m_error;
};

} // namespace shardscope
