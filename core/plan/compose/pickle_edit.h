// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shardscope {

/// Sets other values in the pickle of one of the template files, in memory. Node arguments are nodes of the
/// file as it was read. Used by one thread.
class PickleEdit
{
public:
    /// The checkpoint must have kept the file's content.
    PickleEdit(const Checkpoint& checkpoint, FileId file);

    [[nodiscard]] const PickleGraph& graph() const { return m_graph; }
    PickleBuilder& builder() { return m_builder; }
    /// Sets the value of a key in this mapping only. Other mappings that share the value keep it. A new key
    /// comes after the existing ones.
    void put(NodeId mapping, const std::string& key, NodeId value);
    /// Sets another node of the file as the value of an existing key.
    void share(NodeId mapping, const std::string& key, NodeId other);

    /// Puts the edited file into the checkpoint, which was a copy of the original. The copy's nodes are then
    /// those of the new pickle. Do not use this object afterwards.
    void finish(Checkpoint& out);

private:
    struct Value {
        NodeId made = kNoNode; ///< of the builder; kNoNode: `other`
        NodeId other = kNoNode; ///< of the source
    };
    NodeId emptyLike(NodeId mapping);

    std::shared_ptr<const TorchFile> m_content;
    FileId m_file;
    const PickleGraph& m_graph;
    PickleBuilder m_builder;
    PickleImporter m_importer;
    std::map<NodeId, std::map<std::string, Value, std::less<>>> m_values; ///< by mapping and key
};

} // namespace shardscope
