// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shardscope {

/// Other values in the pickle of one of rank 0's files, in memory. Nodes that are asked for are those of the
/// file as it was read. Used by one thread.
class PickleEdit
{
public:
    /// The file's content must have been kept.
    PickleEdit(const Checkpoint& checkpoint, FileId file);

    [[nodiscard]] const PickleGraph& graph() const { return m_graph; }
    PickleBuilder& builder() { return m_builder; }
    /// The value of a key, in this mapping alone: values that are shared stay in others. A key that is not
    /// there comes behind those that are.
    void put(NodeId mapping, const std::string& key, NodeId value);
    /// Another node of the file as the value of a key that is there.
    void share(NodeId mapping, const std::string& key, NodeId other);

    /// Puts the edited file into the checkpoint, which was a copy of the one that was read; its nodes are
    /// those of the new pickle then. Afterwards this is of no more use.
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
