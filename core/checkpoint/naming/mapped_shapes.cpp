// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/naming/mapped_shapes.h"

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

    std::optional<ShapeLists> find()
    {
        if (!loadFiles(m_reading, m_out.optimFiles) || !addMappings() || !loadLayers())
            return std::nullopt;
        ShapeLists out;
        for (const auto& group : m_groups) {
            out.emplace_back();
            for (const auto& [name, elements] : group) {
                auto shape = shapeOf(name, elements);
                if (!shape)
                    return std::nullopt;
                out.back().push_back({name, std::move(*shape)});
            }
        }
        m_out.evidence.emplace_back("`param_slice_mappings` of the optimizer files name the parameters of "
                                    "each pipeline stage, and the layer files have their shapes");
        return out;
    }

private:
    std::nullopt_t damaged(std::string what) const
    {
        m_reading.noModel({ErrorCode::Damaged, std::move(what), m_out.tagFolder.string(), {}});
        return std::nullopt;
    }

    /// A parameter that two ranks share is named by both ranks.
    bool addMappings()
    {
        for (const FileId file : m_out.optimFiles) {
            if (m_reading.content(file) == nullptr) {
                damaged("no file lists the shapes of its parameters, and only the optimizer files of all "
                        "ranks together name them: one is missing or unreadable");
                return false;
            }
            const PickleGraph& graph = m_reading.content(file)->pickle();
            const auto mappings
                = sequenceItems(graph, lookup(graph, wrapperOf(graph), "param_slice_mappings"));
            if (mappings.empty()) {
                m_reading.refuse(
                    "it was saved without ZeRO (stage 0) by pipeline stages, and its optimizer files record "
                    "no `param_slice_mappings` that would name the parameters of a stage");
                return false;
            }
            m_groups.resize(std::max(m_groups.size(), mappings.size()));
            for (size_t g = 0; g < mappings.size(); ++g) {
                const auto items = mappingItems(graph, mappings[g]);
                for (size_t i = 0; i + 1 < items.size(); i += 2) {
                    if (!addSlice(g, graph, items[i], items[i + 1]))
                        return false;
                }
            }
        }
        return true;
    }

    bool addSlice(size_t g, const PickleGraph& graph, NodeId nameNode, NodeId addressNode)
    {
        const auto name = asString(graph, nameNode);
        const auto address = asObject(graph, addressNode);
        const auto numel
            = address ? asInteger(graph, lookup(graph, address->attributes, "numel")) : std::nullopt;
        auto& group = m_groups[g];
        if (!name || !numel || *numel < 0) {
            damaged("an optimizer file's `param_slice_mappings` does not hold together");
            return false;
        }
        const auto count = static_cast<uint64_t>(*numel);
        if (!group.empty() && group.back().first == *name) {
            if (count > std::numeric_limits<uint64_t>::max() - group.back().second) {
                damaged("the parts of a parameter have more elements than 64 bits can count");
                return false;
            }
            group.back().second += count;
        } else if (!m_names.insert(*name).second) {
            damaged("the optimizer files name `" + toValidUtf8(std::string(*name)) + "` at two places");
            return false;
        } else {
            group.emplace_back(*name, count);
        }
        return true;
    }

    bool loadLayers()
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
        return loadFiles(m_reading, files).has_value();
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
    std::optional<Shape> shapeOf(std::string_view name, uint64_t elements) const
    {
        const std::string shown = "`" + toValidUtf8(std::string(name)) + "`";
        if (const auto layer = layerOf(name)) {
            const auto file = m_layers.find(*layer);
            auto shape = file == m_layers.end()
                ? std::nullopt
                : shapeIn(file->second, name.substr(name.find('.') + 1), elements);
            if (!shape)
                damaged("the layer file that holds " + shown
                    + " is missing, or does not fit the optimizer files");
            return shape;
        }
        std::set<Shape> shapes;
        for (const auto& [layer, file] : m_layers) {
            if (const auto shape = shapeIn(file, insideTied(name), elements))
                shapes.insert(*shape);
        }
        if (shapes.size() == 1)
            return *shapes.begin();
        m_reading.refuse("it was saved without ZeRO (stage 0) by pipeline stages, and "
            + std::string(shapes.empty() ? "no layer file has" : "layer files have several shapes for") + " "
            + shown + ", whose shape no other file records");
        return std::nullopt;
    }

    Reading& m_reading;
    Checkpoint& m_out;
    std::vector<std::vector<std::pair<std::string_view, uint64_t>>> m_groups; ///< names and elements
    std::set<std::string_view> m_names;
    std::map<uint32_t, FileId> m_layers;
};

} // namespace

std::optional<ShapeLists> findMappedShapes(Reading& reading)
{
    return MappedShapes(reading).find();
}

} // namespace shardscope
