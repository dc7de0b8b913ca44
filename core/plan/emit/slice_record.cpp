// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/slice_record.h"

#include "core/layout/slices/merged_slices.h"
#include "core/layout/slices/slice_rules.h"
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope {

namespace {

std::vector<uint64_t> rowMajor(const Shape& shape)
{
    std::vector<uint64_t> out(shape.size(), 1);
    for (size_t i = shape.size(); i > 1; --i)
        out[i - 2] = out[i - 1] * shape[i - 1];
    return out;
}

class Record
{
public:
    Record(ArchiveComposer& composer, const ReshardContext& context)
        : m_composer(composer)
        , m_graph(composer.graph())
        , m_builder(composer.builder())
        , m_source(*context.source)
        , m_merged(*context.source->merged)
        , m_slices(context.source->merged->split->slices)
    {
    }

    NodeId make(NodeId info)
    {
        return m_composer.importChanged(info, [&](std::string_view key, NodeId value) {
            if (key == "affine_map")
                return m_composer.importChanged(value, [&](std::string_view inMap, NodeId of) {
                    return inMap == "params" ? params(of) : m_composer.import(of);
                });
            if (key == "sub_param_shard_widths")
                return shardWidths(value);
            return key == "padded_vocab_size" && m_merged.split->vocabularyRows
                ? number(*m_merged.split->vocabularyRows)
                : m_composer.import(value);
        });
    }

private:
    NodeId number(uint64_t value) { return m_builder.integer(static_cast<int64_t>(value)); }
    NodeId numbers(const std::vector<uint64_t>& values)
    {
        std::vector<NodeId> out;
        for (const uint64_t value : values)
            out.push_back(number(value));
        return m_builder.list(out);
    }
    void set(NodeId mapping, std::string_view key, NodeId value)
    {
        m_builder.setItem(mapping, m_builder.string(key), value);
    }

    /// Per sub-parameter the width of every slice: they are even.
    NodeId shardWidths(NodeId from)
    {
        return m_composer.importChanged(from, [&](std::string_view, NodeId value) {
            std::vector<NodeId> perSubParam;
            for (const NodeId widths : sequenceItems(m_graph, value)) {
                uint64_t sum = 0;
                for (const NodeId width : sequenceItems(m_graph, widths))
                    sum += static_cast<uint64_t>(asInteger(m_graph, width).value_or(0));
                perSubParam.push_back(numbers(std::vector<uint64_t>(m_slices, sum / m_slices)));
            }
            return m_builder.list(perSubParam);
        });
    }

    NodeId params(NodeId from)
    {
        return m_composer.importChanged(from, [&](std::string_view pattern, NodeId) {
            const auto name = nameOfPattern(pattern);
            const auto param = name ? m_source.findParam(*name) : std::nullopt;
            return param ? entry(*param) : kNoNode; // of no name of the model: cannot be determined again
        });
    }

    NodeId entry(ParamId param)
    {
        const UniversalMarks& marks = m_merged.marks[index(param)];
        const bool alike = !m_merged.alike[index(param)].empty();
        const Shape& whole = m_merged.of->params[index(param)].shape;
        const Shape& part = m_source.params[index(param)].shape;
        const uint32_t dimension = marks.subShape ? marks.subShape->dimension : marks.catDimension;
        std::vector<uint64_t> sizes{alike || whole.empty() ? 1 : whole[dimension]};
        if (marks.subShape)
            sizes = marks.subShape->sizes;
        else if (marks.subParams > 1)
            sizes.assign(marks.subParams, sizes.front() / marks.subParams);
        const NodeId ranks = m_builder.dict();
        for (uint32_t slice = 0; slice < m_slices; ++slice) {
            std::vector<NodeId> pieces;
            if (alike) {
                pieces.push_back(piece(part, 0, rowMajor(part), 0, rowMajor(part), 0, m_slices));
            } else {
                const std::vector<uint64_t> from = rowMajor(whole);
                const std::vector<uint64_t> to = rowMajor(part);
                uint64_t before = 0; // of the whole's dimension
                uint64_t done = 0; // of the slice's
                for (const uint64_t size : sizes) {
                    Shape shape = part;
                    shape[dimension] = size / m_slices;
                    pieces.push_back(piece(shape, (before + slice * shape[dimension]) * from[dimension], from,
                        done * to[dimension], to, slice, slice + 1));
                    before += size;
                    done += shape[dimension];
                }
            }
            const NodeId rank = m_builder.dict();
            set(rank, "shard_shape", numbers(part));
            set(rank, "pieces", m_builder.list(pieces));
            m_builder.setItem(ranks, number(slice), rank);
        }
        const NodeId out = m_builder.dict();
        set(out, "logical_shape", numbers(whole));
        set(out, "ranks", ranks);
        return out;
    }

    /// `firstHolder` to `endHolder`: slices that have it.
    NodeId piece(const Shape& shape, uint64_t from, const std::vector<uint64_t>& fromStrides, uint64_t to,
        const std::vector<uint64_t>& toStrides, uint32_t firstHolder, uint32_t endHolder)
    {
        const auto place = [&](uint64_t offset, const std::vector<uint64_t>& strides) {
            std::vector<NodeId> both{number(offset), numbers(strides)};
            return m_builder.list(both);
        };
        std::vector<uint64_t> holders;
        for (uint32_t slice = firstHolder; slice < endHolder; ++slice)
            holders.push_back(slice);
        const NodeId out = m_builder.dict();
        set(out, "shape", numbers(shape));
        set(out, "source", place(from, fromStrides));
        set(out, "dest", place(to, toStrides));
        set(out, "locations", numbers(holders));
        return out;
    }

    ArchiveComposer& m_composer;
    const PickleGraph& m_graph;
    PickleBuilder& m_builder;
    const Checkpoint& m_source;
    const MergedSlices& m_merged;
    uint32_t m_slices;
};

} // namespace

NodeId sliceRecord(ArchiveComposer& composer, const ReshardContext& context, NodeId info)
{
    const Checkpoint& source = *context.source;
    if (info == kNoNode || !source.merged || !source.merged->split || !source.merged->split->asRecorded)
        return kNoNode;
    return Record(composer, context).make(info);
}

} // namespace shardscope
