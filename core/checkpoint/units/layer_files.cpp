// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/layer_files.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/folder/file_table.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/layer_names.h"
#include "core/checkpoint/units/module_reader.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

/// Reads the layer files of one pipeline stage.
class LayerFiles
{
public:
    explicit LayerFiles(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
    {
    }

    Status read()
    {
        collectNames();
        std::vector<FileId> own;
        std::vector<FileId> others;
        for (uint32_t i = 0; i < m_out.files.size(); ++i) {
            const auto parsed = parseCheckpointFileName(m_out.files[i].name);
            if (!parsed || parsed->role != FileRole::LayerStates || !parsed->layer
                || parsed->tp.value_or(m_out.place.tp) != m_out.place.tp)
                continue;
            (m_layers.erase(*parsed->layer) > 0 ? own : others).push_back(FileId{i});
        }
        SHARDSCOPE_CHECK(loadFiles(m_reading, own));
        for (const FileId file : own)
            readOwn(file);
        if (!m_tied.empty()) {
            SHARDSCOPE_CHECK(loadFiles(m_reading, others));
            for (const FileId file : others) {
                if (!m_out.file(file).rank) // it belongs to an earlier stage
                    readTied(file);
            }
        }
        sortWholeTensors(m_reading);
        if (m_out.modelRank + 1 == m_reading.modelRanks)
            SHARDSCOPE_CHECK(takeLeftOver());
        for (const uint32_t layer : m_layers)
            m_reading.add(code::kModelStatesMissing, Severity::Error,
                "the file with the weights of layer " + std::to_string(layer) + " is missing", nameOf(layer));
        return {};
    }

private:
    void collectNames()
    {
        for (uint32_t i = 0; i < m_out.params.size(); ++i) {
            const std::string& name = m_out.params[i].name;
            if (const auto layer = layerOf(name))
                m_layers.insert(*layer);
            else if (!insideTied(name).empty())
                m_tied.push_back(ParamId{i});
        }
        const PickleGraph& graph = m_reading.content(m_out.templateModel)->pickle();
        for (const NodeId item : sequenceItems(graph, lookup(graph, m_reading.modelRoot, "buffer_names"))) {
            if (const auto name = asString(graph, item))
                m_buffers.emplace(*name);
        }
    }

    /// The name of a layer's file, in the form of this slice's other files.
    [[nodiscard]] std::string nameOf(uint32_t layer) const
    {
        std::string like;
        for (const CheckpointFile& file : m_out.files) {
            const auto parsed = parseCheckpointFileName(file.name);
            const bool isLayer = parsed && parsed->role == FileRole::LayerStates;
            if (isLayer && (like.empty() || parsed->tp == m_out.place.tp))
                like = file.name;
        }
        const std::string number = std::to_string(layer);
        return "layer_" + (number.size() < 2 ? "0" + number : number) + like.substr(like.find('-'));
    }

    void readOwn(FileId file)
    {
        const TorchFile* content = m_reading.content(file);
        if (content == nullptr)
            return;
        m_out.files[index(file)].rank = m_out.place;
        const std::string layer = std::to_string(*parseCheckpointFileName(m_out.file(file).name)->layer);
        const PickleGraph& graph = content->pickle();
        const auto items = mappingItems(graph, graph.root());
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(graph, items[i]);
            const auto tensor = asTensor(graph, items[i + 1]);
            if (!key || !looksLikeTensor(graph, items[i + 1]))
                continue;
            if (!tensor) {
                m_reading.add(code::kTensorInvalid, Severity::Error,
                    "a tensor's description does not hold together", m_out.file(file).name,
                    {std::string(*key), describe(tensor.error())});
                continue;
            }
            const std::string name = layer + "." + std::string(*key);
            auto known = m_out.findParam(name);
            if (!known) {
                // Only ZeRO-3 lists frozen parameters. A tensor that no optimizer has is therefore classified
                // by its type.
                const bool buffer = m_buffers.contains(name) || !isFloatingPoint(tensor->dtype);
                known = addParameter(
                    m_reading, name, tensor->sizes, buffer ? ParamRole::Buffer : ParamRole::Frozen);
            }
            addWholeTensor(m_reading, file, *known, *tensor);
        }
    }

    /// A layer that several stages share is saved once per use, each time under that layer's number. All its
    /// names must belong to one tied module.
    void readTied(FileId file)
    {
        const TorchFile* content = m_reading.content(file);
        if (content == nullptr)
            return;
        const PickleGraph& graph = content->pickle();
        const auto items = mappingItems(graph, graph.root());
        std::vector<std::pair<ParamId, TensorView>> found;
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(graph, items[i]);
            const auto tensor = asTensor(graph, items[i + 1]);
            const auto param = std::find_if(m_tied.begin(), m_tied.end(), [&](ParamId id) {
                const Parameter& of = m_out.params[index(id)];
                return key && tensor && insideTied(of.name) == *key && of.shape == tensor->sizes;
            });
            if (param == m_tied.end())
                return;
            found.emplace_back(*param, *tensor);
        }
        if (!found.empty())
            m_out.files[index(file)].rank = m_out.place;
        for (const auto& [param, tensor] : found) {
            addWholeTensor(m_reading, file, param, tensor);
            std::erase(m_tied, param);
        }
    }

    /// Files without a parameter of any part are assigned to the last part.
    Status takeLeftOver()
    {
        std::vector<FileId> left;
        for (uint32_t i = 0; i < m_out.files.size(); ++i) {
            CheckpointFile& file = m_out.files[i];
            if (file.role != FileRole::LayerStates || file.rank)
                continue;
            file.rank = m_out.place;
            left.push_back(FileId{i});
        }
        return loadFiles(m_reading, left);
    }

    Reading& m_reading;
    Checkpoint& m_out;
    std::set<uint32_t> m_layers; ///< layers of this stage without a file so far
    std::set<std::string, std::less<>> m_buffers;
    std::vector<ParamId> m_tied; ///< parameters of tied modules without a copy
};

} // namespace

Status readLayerFiles(Reading& reading)
{
    const auto& files = reading.out.files;
    const bool any = std::any_of(files.begin(), files.end(),
        [](const CheckpointFile& file) { return file.role == FileRole::LayerStates; });
    const TorchFile* model = reading.content(reading.out.templateModel);
    if (!any || model == nullptr)
        return {};
    const NodeId module = lookup(model->pickle(), reading.modelRoot, "module");
    if (module == kNoNode || model->pickle().kind(module) == NodeKind::None)
        return LayerFiles(reading).read();
    for (uint32_t i = 0; reading.out.modelRank == 0 && i < files.size(); ++i) {
        if (files[i].role == FileRole::LayerStates)
            markUnneeded(reading, FileId{i},
                "the model file holds the weights itself; a run with pipeline stages left this one here");
    }
    return {};
}

} // namespace shardscope
