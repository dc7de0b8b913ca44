// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/torchfile/pickle: pickles as data, with the parser, the graph, the functions that find torch's
// patterns in it, and the writer; it does not know files. Start with PickleGraph; other rooms mostly use
// pickle_values.h.

#include "core/base/result.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope {

/// Index of a node in one PickleGraph.
enum class NodeId : uint32_t {};
inline constexpr NodeId kNoNode{0xFFFFFFFFu};
constexpr uint32_t index(NodeId id)
{
    return static_cast<uint32_t>(id);
}

enum class NodeKind : uint8_t {
    None,
    Bool,
    Int, ///< fits 64 bits, signed
    BigInt, ///< text() is the two's-complement little-endian bytes
    Float,
    String, ///< text() is UTF-8 (lone surrogates allowed, as CPython's surrogatepass writes them)
    Bytes, ///< also Python-2 8-bit strings; text() is the raw bytes
    List,
    Tuple,
    Dict,
    Set,
    FrozenSet,
    ByteArray,
    Global, ///< a name, never looked up: globalModule(), globalName()
    Reduce, ///< callable(arguments)
    NewObj, ///< callable.__new__(*arguments); also INST and OBJ forms
    NewObjEx, ///< with keyword arguments: arguments() is the tuple (args, kwargs)
    PersistentId, ///< target() is the id
    Extension, ///< integer() is the code
    Buffer, ///< an out-of-band buffer; torch never writes them
};

/// The content of a pickle, as data. Nothing in it is ever executed or looked up.
///
/// Nodes live in one arena and refer to each other by NodeId, so that a million nested lists need no native
/// recursion. Sharing is kept: a node that the stream fetched from its memo is one node with several parents.
/// Call nodes (Reduce, NewObj, …) keep what the stream did to them afterwards, in order per kind: appended
/// items, set items, state. Immutable once parsed; safe to share between threads. New graphs are made with
/// PickleBuilder.
class PickleGraph
{
public:
    [[nodiscard]] NodeId root() const { return m_root; }
    [[nodiscard]] size_t nodeCount() const { return m_nodes.size(); }
    [[nodiscard]] uint8_t protocol() const { return m_protocol; }

    [[nodiscard]] NodeKind kind(NodeId node) const;
    [[nodiscard]] bool boolean(NodeId node) const; ///< Bool
    [[nodiscard]] int64_t integer(NodeId node) const; ///< Int, Extension
    [[nodiscard]] double real(NodeId node) const; ///< Float
    [[nodiscard]] std::string_view text(NodeId node) const; ///< String, Bytes, ByteArray, BigInt
    /// List, Tuple, Set, FrozenSet: elements. Dict: key, value, key, value … all pairs in stream order.
    [[nodiscard]] std::span<const NodeId> items(NodeId node) const;
    [[nodiscard]] std::string_view globalModule(NodeId node) const; ///< Global
    [[nodiscard]] std::string_view globalName(NodeId node) const; ///< Global
    [[nodiscard]] NodeId callable(NodeId node) const; ///< Reduce, NewObj, NewObjEx
    [[nodiscard]] NodeId arguments(NodeId node) const; ///< Reduce, NewObj, NewObjEx: a Tuple
    [[nodiscard]] NodeId target(NodeId node) const; ///< PersistentId
    [[nodiscard]] std::span<const NodeId> appendedItems(NodeId node) const; ///< call nodes: APPEND(S)
    [[nodiscard]] std::span<const NodeId> setItems(
        NodeId node) const; ///< call nodes: SETITEM(S), key, value, …
    [[nodiscard]] NodeId state(NodeId node) const; ///< call nodes: the last BUILD, or kNoNode
    /// Byte range of the opcode that made the node, in the parsed stream; 0,0 for built nodes.
    [[nodiscard]] uint64_t sourceBegin(NodeId node) const;
    [[nodiscard]] uint64_t sourceEnd(NodeId node) const;

private:
    /// What the emitter must know besides the kind.
    enum Flag : uint8_t {
        kShared = 1, ///< fetched from the memo or duplicated, so identity may matter
        kStackGlobal = 2, ///< Global: `a` and `b` are the two String nodes
        kDotted = 4, ///< Global of protocol 4 or later: dots in the name mean attributes
        kEightBit = 8, ///< Bytes: a Python 2 string
        kTextForm = 16, ///< PersistentId by PERSID; NewObj by INST
        kObjForm = 32, ///< NewObj by OBJ
        kConflicting = 64 ///< PersistentId: its key is also used with another type or size
    };
    /// 32 bytes, because a file may hold tens of millions. Meaning of the fields by kind:
    /// text kinds: `a` text, `value` offset, `b` length; containers: `value` first link, `b` count, `a`
    /// capacity; Global: `a` text, `value` offset, `b` module length << 16 | name length; calls: `a`
    /// callable, `b` arguments; PersistentId: `a` target; numbers: `value`.
    struct Node {
        NodeKind kind = NodeKind::None;
        uint8_t flags = 0;
        uint32_t extra = 0; ///< 1-based index into m_extras, 0 for most
        uint32_t a = 0;
        uint32_t b = 0;
        uint64_t value = 0;
        uint32_t begin = 0;
        uint32_t end = 0;
    };
    /// A growing run inside m_links.
    struct Run {
        uint64_t begin = 0;
        uint32_t count = 0;
        uint32_t capacity = 0;
    };
    /// What the stream did to a node after making it.
    struct Extra {
        Run appended; ///< APPEND(S) on a call node
        Run set; ///< SETITEM(S) on a call node
        Run added; ///< ADDITEMS on a call node
        Run earlierStates; ///< BUILDs before the last one
        Run discarded; ///< calls made and popped right above this node (state setters work so)
        NodeId state = kNoNode;
    };

    [[nodiscard]] const Node* nodeAt(NodeId node) const;
    [[nodiscard]] const Extra* extraOf(NodeId node) const;
    [[nodiscard]] std::string_view textAt(const Node& node) const;
    [[nodiscard]] std::span<const NodeId> run(const Run& run) const
    {
        return {m_links.data() + run.begin, run.count};
    }
    NodeId addNode(const Node& node);
    Extra& extraFor(NodeId node);
    void extend(Run& run, std::span<const NodeId> more);
    void extendItems(NodeId node, std::span<const NodeId> more);
    [[nodiscard]] uint64_t memoryBytes() const;

    NodeId m_root = kNoNode;
    uint8_t m_protocol = 2;
    std::vector<Node> m_nodes;
    std::vector<NodeId> m_links; ///< children of all nodes, as runs
    std::vector<Extra> m_extras;
    std::vector<std::shared_ptr<const std::string>> m_texts; ///< streams and strings that views point into
    /// CPython throws a recursive call away and fetches the copy made inside it: copy → the call thrown away.
    std::unordered_map<uint32_t, NodeId> m_wrappers;

    friend class PickleMachine;
    friend class PickleBuilder;
    friend class PickleImporter;
    friend class PickleEmitter;
    friend bool storageConflicts(const PickleGraph& graph, NodeId persistentId);
};

/// Whether a parse also found this storage's key with another storage class or size (T06).
[[nodiscard]] bool storageConflicts(const PickleGraph& graph, NodeId persistentId);

/// Makes a new graph, from scratch and from parts of other graphs.
///
/// Containers are created empty or whole and may be added to until finish(). Not thread-safe.
class PickleBuilder
{
public:
    NodeId none();
    NodeId boolean(bool value);
    NodeId integer(int64_t value);
    NodeId real(double value);
    /// Each call makes a distinct string object: the emitter shares by identity, not by value, as CPython
    /// does.
    NodeId string(std::string_view utf8);
    NodeId global(std::string_view module, std::string_view name);
    NodeId tuple(std::span<const NodeId> items);
    NodeId list(std::span<const NodeId> items = {});
    NodeId dict();
    NodeId reduce(NodeId callable, NodeId arguments);
    NodeId newObj(NodeId callable, NodeId arguments);
    NodeId persistentId(NodeId target);

    void append(NodeId list, NodeId item);
    /// For Dict nodes and for call nodes that behave like dicts (OrderedDict).
    void setItem(NodeId dict, NodeId key, NodeId value);
    void setState(NodeId object, NodeId state);

    /// The finished graph; the builder is empty afterwards. The graph owns or shares everything it refers to.
    PickleGraph finish(NodeId root);

private:
    NodeId add(NodeKind kind, uint64_t value = 0);
    void storeText(PickleGraph::Node& node, std::string_view text);

    PickleGraph m_graph;
    std::shared_ptr<std::string> m_chunk; ///< the last of m_graph.m_texts while it still grows
    uint32_t m_chunkIndex = 0;

    friend class PickleImporter;
};

/// Copies parts of one graph into a builder and keeps sharing: a source node becomes one new node, however
/// often it is used.
///
/// substitute() replaces a source node wherever it is used afterwards; this is how to make edits. Iterative,
/// so that any depth is safe. The source must outlive the importer, not the result. Not thread-safe.
class PickleImporter
{
public:
    /// Share: the new graph keeps the source's whole stream for its strings. Copy: only the strings; for a
    /// small part of a large source.
    enum class Texts { Share, Copy };
    PickleImporter(PickleBuilder& builder, const PickleGraph& source, Texts texts = Texts::Share);

    void substitute(NodeId sourceNode, NodeId builtNode);
    NodeId import(NodeId sourceNode);

private:
    static constexpr size_t kPageNodes = 4096;

    [[nodiscard]] NodeId mapped(NodeId sourceNode) const;
    void setMapped(NodeId sourceNode, NodeId builtNode);
    NodeId shell(NodeId sourceNode);
    void fill(NodeId sourceNode);
    void copyRun(const PickleGraph::Run& from, uint32_t extra, PickleGraph::Run PickleGraph::Extra::*to);
    void takeText(PickleGraph::Node& node, uint64_t bytes);

    PickleBuilder& m_builder;
    const PickleGraph& m_source;
    Texts m_texts;
    std::vector<std::unique_ptr<NodeId[]>>
        m_pages; ///< source node → built node, allocated where something was imported
    std::vector<uint32_t> m_textMap; ///< source text → 1 + built text
    std::vector<NodeId> m_pending; ///< source nodes whose children are still to be copied
};

} // namespace shardscope
