// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/plan/compose: building blocks for planners: archives from records and edited pickles, cursors
// over segments. Start with ArchiveComposer.

#include "core/plan/model/write_plan.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "core/torchfile/storage_use.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Builds one output archive. With a source archive: its pickle with some parts replaced, or a new pickle
/// with parts of it. Storages are copied if the pickle still names them; new tensors get new storages.
/// Without a source: new tensors only.
///
/// Storage keys are numbered in the order in which the unpickler reads them, like in torch's own writer.
/// Readers that compute offsets instead of reading headers rely on this. Call order: make, substitute,
/// finish. Not thread-safe.
class ArchiveComposer
{
public:
    using CursorFactory = std::function<std::unique_ptr<SegmentCursor>()>;

    /// What is used from the source: parts of its pickle with their storages, or only the archive's form.
    enum class Take { Parts, FormOnly };
    ArchiveComposer(const TorchFile& source, uint32_t sourceIndex, Take take = Take::Parts);
    /// Without a source nothing is imported. finish() then takes a root and recordsOfToday().
    ArchiveComposer();

    [[nodiscard]] const PickleGraph& graph() const { return m_source->pickle(); }
    PickleBuilder& builder() { return m_builder; }
    void substitute(NodeId sourceNode, NodeId builtNode) { m_importer->substitute(sourceNode, builtNode); }
    NodeId import(NodeId sourceNode) { return m_importer->import(sourceNode); }
    /// The value of an entry of a source mapping in a new one; kNoNode: none. `key` is empty if it is no
    /// string.
    using ValueOf = std::function<NodeId(std::string_view key, NodeId value)>;
    /// Adds the entries of a source mapping to a new one, in their order.
    void addEntries(NodeId to, NodeId mapping, const ValueOf& valueOf);
    /// A new dict with the entries of a source mapping.
    NodeId importChanged(NodeId mapping, const ValueOf& valueOf);
    using Changes = std::map<std::string_view, NodeId>; ///< by key
    /// The same where keys in `changes` get that value; keys that the mapping does not have are not added.
    NodeId importChanged(NodeId mapping, const Changes& changes);

    /// A new dense tensor with its own storage, in the form of torch._utils._rebuild_tensor_v2. An empty
    /// shape means 0-dim.
    NodeId tensor(DType dtype, const std::vector<uint64_t>& shape, bool requiresGrad, CursorFactory cursor);
    /// A new dense tensor with these little-endian elements.
    NodeId smallTensor(DType dtype, const std::vector<uint64_t>& shape, std::string elements);
    NodeId orderedDict();

    /// This hook splits copies of source storages at tensor borders, so that digests can be computed. It
    /// returns the cursor of a run of a source record, in bytes from the start of the file. Default: one
    /// segment without a tensor.
    using RecordCursor = std::function<CursorFactory(uint32_t record, uint64_t offset, uint64_t bytes)>;
    void setRecordCursor(RecordCursor hook) { m_recordCursor = std::move(hook); }

    /// Gives the parts of the source's storages that its tensors use their own storages, so that the rest is
    /// not copied. Call it first.
    void leaveOutUnused(const StorageUse& use);

    /// The output without its mode. `smallRecords`: the source's, from readSmallRecords(). The pickle's root
    /// is `root`, or the source's root with the substitutions.
    Result<OutputFile> finish(const std::string& outputName, const std::vector<OutputRecord>& smallRecords);
    Result<OutputFile> finish(
        NodeId root, const std::string& outputName, const std::vector<OutputRecord>& smallRecords);

private:
    struct NewStorage {
        uint64_t bytes = 0;
        CursorFactory cursor = {};
        std::string literal = {}; ///< used instead of a cursor
        std::string key = {}; ///< used instead of both: a run of this storage of the source
        uint64_t first = 0; ///< bytes from the storage's start
    };
    NodeId tensorOf(NewStorage storage, DType dtype, const std::vector<uint64_t>& shape, bool requiresGrad);
    NodeId runOf(const StorageView& storage, std::pair<uint64_t, uint64_t> run);
    [[nodiscard]] Result<OutputRecord> storageRecord(const std::string& key, const std::string& name) const;
    /// A run of a storage of the source. Copies the whole record if the run is as long as it.
    [[nodiscard]] Result<OutputRecord> copiedRecord(
        const std::string& key, const std::string& name, uint64_t first, std::optional<uint64_t> bytes) const;

    const TorchFile* m_source = nullptr;
    uint32_t m_sourceIndex = 0;
    PickleBuilder m_builder;
    std::optional<PickleImporter> m_importer; ///< from the source
    std::string m_newKeyMark;
    std::vector<NewStorage> m_new;
    RecordCursor m_recordCursor;
    NodeId m_rebuild = kNoNode;
    NodeId m_storageWord = kNoNode;
    NodeId m_cpuWord = kNoNode;
    NodeId m_orderedDictClass = kNoNode;
    std::vector<std::pair<DType, NodeId>> m_storageClasses;
};

/// The records of a source archive that are neither pickle nor storage, in file order, with their content.
/// Empty records named "data.pkl" and "data/" mark the places of the pickle and the storages.
Result<std::vector<OutputRecord>> readSmallRecords(io::FileSystem& files, const TorchFile& source);

/// The records that torch 2.15 writes in addition to pickle and storages, in the same form.
std::vector<OutputRecord> recordsOfToday();

/// The persistent ids of a graph in the order in which an unpickler of its emitted stream reads them.
std::vector<NodeId> persistentIdsInOrder(const PickleGraph& graph);

} // namespace shardscope
