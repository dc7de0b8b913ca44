// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/pickle_edit.h"

#include "core/torchfile/pickle/pickle_values.h"

#include <set>
#include <string_view>

namespace shardscope {

PickleEdit::PickleEdit(const Checkpoint& checkpoint, FileId file)
    : m_content(checkpoint.file(file).content)
    , m_file(file)
    , m_graph(m_content->pickle())
    , m_importer(m_builder, m_graph)
{
}

void PickleEdit::put(NodeId mapping, const std::string& key, NodeId value)
{
    m_values[mapping][key] = {value, kNoNode};
}

void PickleEdit::share(NodeId mapping, const std::string& key, NodeId other)
{
    m_values[mapping][key] = {kNoNode, other};
}

NodeId PickleEdit::emptyLike(NodeId mapping)
{
    if (m_graph.kind(mapping) == NodeKind::Dict)
        return m_builder.dict();
    const NodeId callable = m_importer.import(m_graph.callable(mapping));
    const NodeId arguments = m_importer.import(m_graph.arguments(mapping));
    return m_graph.kind(mapping) == NodeKind::Reduce ? m_builder.reduce(callable, arguments)
                                                     : m_builder.newObj(callable, arguments);
}

void PickleEdit::finish(Checkpoint& out)
{
    // Edit all of them first: a mapping may contain another one.
    std::map<NodeId, NodeId> made;
    for (const auto& [mapping, values] : m_values) {
        made[mapping] = emptyLike(mapping);
        m_importer.substitute(mapping, made[mapping]);
    }
    for (const auto& [mapping, values] : m_values) {
        std::set<std::string_view> known;
        const auto items = mappingItems(m_graph, mapping);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(m_graph, items[i]);
            const auto value = key ? values.find(*key) : values.end();
            if (key)
                known.insert(*key);
            const NodeId kept = value == values.end() ? items[i + 1] : value->second.other;
            m_builder.setItem(made[mapping], m_importer.import(items[i]),
                kept == kNoNode ? value->second.made : m_importer.import(kept));
        }
        for (const auto& [key, value] : values) {
            if (!known.contains(key) && value.made != kNoNode)
                m_builder.setItem(made[mapping], m_builder.string(key), value.made);
        }
        if (m_graph.kind(mapping) != NodeKind::Dict && m_graph.state(mapping) != kNoNode)
            m_builder.setState(made[mapping], m_importer.import(m_graph.state(mapping)));
    }
    const NodeId root = m_importer.import(m_graph.root());
    if (m_file == out.templateOptim) {
        const auto follow = [&](NodeId& node) {
            if (node != kNoNode)
                node = m_importer.import(node);
        };
        follow(out.optimWrapper);
        for (ParamGroup& group : out.groups)
            follow(group.options);
        for (FlatUnit& unit : out.units)
            follow(unit.stateNode);
    }
    out.files[index(m_file)].content = TorchFile::withPickle(*m_content, m_builder.finish(root));
}

} // namespace shardscope
