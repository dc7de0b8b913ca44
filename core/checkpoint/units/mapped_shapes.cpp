// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/mapped_shapes.h"

#include "core/base/text.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/layer_names.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/units/module_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace shardscope {

namespace {

class MappedShapes
{
public:
    explicit MappedShapes(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
    {
    }

    Result<ShapeLists> find()
    {
        SHARDSCOPE_CHECK(loadFiles(m_reading, m_out.optimFiles));
        SHARDSCOPE_CHECK(addMappings());
        SHARDSCOPE_CHECK(loadLayers());
        ShapeLists out;
        for (const auto& group : m_groups) {
            out.emplace_back();
            for (const auto& [name, elements] : group) {
                SHARDSCOPE_TRY(Shape shape, shapeOf(name, elements));
                out.back().push_back({name, std::move(shape)});
            }
        }
        m_out.evidence.emplace_back("`param_slice_mappings` of the optimizer files name the parameters of "
                                    "each pipeline stage, and the layer files have their shapes");
        return out;
    }

private:
    tl::unexpected<Error> damaged(std::string what) const
    {
        return fail(ErrorCode::Damaged, std::move(what), m_out.tagFolder.string());
    }

    /// A parameter that two ranks share is named by both ranks.
    Status addMappings()
    {
        for (const FileId file : m_out.optimFiles) {
            if (m_reading.content(file) == nullptr)
                return damaged(
                    "no file lists the shapes of its parameters, and only the optimizer files of all "
                    "ranks together name them: one is missing or unreadable");
            const PickleGraph& graph = m_reading.content(file)->pickle();
            const auto mappings
                = sequenceItems(graph, lookup(graph, wrapperOf(graph), "param_slice_mappings"));
            if (mappings.empty())
                return fail(ErrorCode::Unsupported,
                    "it was saved without ZeRO (stage 0) by pipeline stages, and its optimizer files record "
                    "no `param_slice_mappings` that would name the parameters of a stage");
            m_groups.resize(std::max(m_groups.size(), mappings.size()));
            for (size_t g = 0; g < mappings.size(); ++g) {
                const auto items = mappingItems(graph, mappings[g]);
                for (size_t i = 0; i + 1 < items.size(); i += 2)
                    SHARDSCOPE_CHECK(addSlice(g, graph, items[i], items[i + 1]));
            }
        }
        return {};
    }

    Status addSlice(size_t g, const PickleGraph& graph, NodeId nameNode, NodeId addressNode)
    {
        const auto name = asString(graph, nameNode);
        const auto address = asObject(graph, addressNode);
        const int64_t numel
            = address ? asInteger(graph, lookup(graph, address->attributes, "numel")).value_or(-1) : -1;
        auto& group = m_groups[g];
        if (!name || numel < 0)
            return damaged("an optimizer file's `param_slice_mappings` does not hold together");
        const auto count = static_cast<uint64_t>(numel);
        if (!group.empty() && group.back().first == *name) {
            if (count > std::numeric_limits<uint64_t>::max() - group.back().second)
                return damaged("the parts of a parameter have more elements than 64 bits can count");
            group.back().second += count;
        } else if (!m_names.insert(*name).second) {
            return damaged(
                "the optimizer files name `" + toValidUtf8(std::string(*name)) + "` at two places");
        } else {
            group.emplace_back(*name, count);
        }
        return {};
    }

    Status loadLayers()
    {
        std::vector<FileId> files;
        for (uint32_t i = 0; i < m_out.files.size(); ++i) {
            const auto parsed = parseCheckpointFileName(m_out.files[i].name);
            if (!parsed || parsed->role != FileRole::LayerStates || !parsed->layer
                || parsed->tp.value_or(m_out.place.tp) != m_out.place.tp)
                continue;
            m_layers.emplace(*parsed->layer, FileId{i});
            files.push_back(FileId{i});
        }
        return loadFiles(m_reading, files);
    }

    [[nodiscard]] std::optional<Shape> shapeIn(FileId file, std::string_view key, uint64_t elements) const
    {
        const TorchFile* content = m_reading.content(file);
        if (content == nullptr)
            return std::nullopt;
        const PickleGraph& graph = content->pickle();
        const NodeId node = lookup(graph, graph.root(), key);
        const auto tensor = node == kNoNode || !looksLikeTensor(graph, node)
            ? std::nullopt
            : std::optional(asTensor(graph, node));
        if (!tensor || !*tensor || (*tensor)->elements() != elements)
            return std::nullopt;
        return (*tensor)->sizes;
    }

    /// Any layer that uses a tied module has its shape in its file. No file records which layers do.
    Result<Shape> shapeOf(std::string_view name, uint64_t elements) const
    {
        const std::string shown = "`" + toValidUtf8(std::string(name)) + "`";
        if (const auto layer = layerOf(name)) {
            const auto file = m_layers.find(*layer);
            auto shape = file == m_layers.end()
                ? std::nullopt
                : shapeIn(file->second, name.substr(name.find('.') + 1), elements);
            if (!shape)
                return damaged("the layer file that holds " + shown
                    + " is missing, or does not fit the optimizer files");
            return std::move(*shape);
        }
        std::set<Shape> shapes;
        for (const auto& [layer, file] : m_layers) {
            if (const auto shape = shapeIn(file, insideTied(name), elements))
                shapes.insert(*shape);
        }
        if (shapes.size() == 1)
            return *shapes.begin();
        return fail(ErrorCode::Unsupported,
            "it was saved without ZeRO (stage 0) by pipeline stages, and "
                + std::string(shapes.empty() ? "no layer file has" : "layer files have several shapes for")
                + " " + shown + ", whose shape no other file records");
    }

    Reading& m_reading;
    Checkpoint& m_out;
    std::vector<std::vector<std::pair<std::string_view, uint64_t>>> m_groups; ///< names and elements
    std::set<std::string_view> m_names;
    std::map<uint32_t, FileId> m_layers;
};

} // namespace

Result<ShapeLists> findMappedShapes(Reading& reading)
{
    return MappedShapes(reading).find();
}

} // namespace shardscope
