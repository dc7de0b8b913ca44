// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/stage0/stage0_layers.h"

#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/layer_names.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

class Pipeline
{
public:
    Pipeline(Reading& reading, const ParallelDegrees& degrees, uint32_t slice)
        : m_reading(reading)
        , m_degrees(degrees)
        , m_slice(slice)
        , m_samples(reading)
    {
    }

    Result<Stage0Pipeline> read()
    {
        for (uint32_t stage = 0; stage < m_degrees.pp; ++stage)
            SHARDSCOPE_CHECK(readStage(stage));
        SHARDSCOPE_CHECK(readLayers());
        if (!m_reading.hasNoValues())
            findTwins();
        return std::move(m_out);
    }

private:
    [[nodiscard]] tl::unexpected<Error> damaged(std::string what) const
    {
        return fail(ErrorCode::Damaged, std::move(what), m_reading.out.tagFolder.string());
    }

    Status readStage(uint32_t stage)
    {
        const uint32_t rank = stage * m_degrees.tp + m_slice;
        const FileId file = modelFileOf(rank);
        const std::string what = "model-parallel rank " + std::to_string(rank);
        if (file == kNoFile || !loadFile(m_reading, file))
            return damaged("the model file of " + what + " is missing or unreadable");
        const PickleGraph& graph = m_reading.content(file)->pickle();
        const NodeId optimizer = lookup(graph, graph.root(), "optimizer");
        if (!isMapping(graph, optimizer))
            return fail(ErrorCode::Unsupported,
                "the model file of " + what
                    + " holds no optimizer, so the layers of its pipeline stage cannot be determined",
                m_reading.out.tagFolder.string());
        const CheckpointKind kind = formOfOptimizer(graph, optimizer);
        if (stage > 0 && kind != m_out.kind)
            return damaged("the optimizer of " + what + " has another form than that of the first stage");
        m_out.kind = kind;
        SHARDSCOPE_TRY(Stage0Groups groups, readStage0Groups(m_reading, file, optimizer, kind));
        addStage(file, std::move(groups.groups));
        for (const NodeId item : sequenceItems(graph, lookup(graph, graph.root(), "buffer_names"))) {
            const auto name = asString(graph, item);
            if (name && layerOf(*name)) {
                m_buffers.emplace(*name);
                m_stageOf[*layerOf(*name)] = stage;
            } else if (name && !insideTied(*name).empty()) {
                return fail(ErrorCode::Unsupported,
                    "a tied module has buffers, and no file records which layer it is",
                    m_reading.out.tagFolder.string());
            }
        }
        return {};
    }

    [[nodiscard]] FileId modelFileOf(uint32_t rank) const
    {
        for (uint32_t i = 0; i < m_reading.out.files.size(); ++i) {
            const auto parsed = parseCheckpointFileName(m_reading.out.files[i].name);
            if (parsed && parsed->role == FileRole::ModelStates && parsed->mp == rank && !parsed->zero3Model
                && !parsed->fastWriterPart)
                return FileId{i};
        }
        return kNoFile;
    }

    void addStage(FileId file, std::vector<Stage0Group> groups)
    {
        Stage0Stage& stage = m_out.stages.emplace_back();
        stage.model = file;
        stage.groups = std::move(groups);
        bool known = !m_out.isFlat();
        for (const Stage0Group& group : stage.groups) {
            stage.weight += m_out.isFlat() ? group.flatRun.elements : group.shapes.size();
            for (const std::optional<Shape>& shape : group.shapes) {
                known = known && shape;
                stage.shapes.push_back(shape.value_or(Shape()));
            }
        }
        if (!known)
            stage.shapes.clear();
        std::sort(stage.shapes.begin(), stage.shapes.end());
    }

    Status readLayers()
    {
        std::map<uint32_t, FileId> files;
        for (uint32_t i = 0; i < m_reading.out.files.size(); ++i) {
            const auto parsed = parseCheckpointFileName(m_reading.out.files[i].name);
            if (parsed && parsed->role == FileRole::LayerStates && parsed->layer
                && parsed->tp.value_or(0) == m_slice)
                files.emplace(*parsed->layer, FileId{i});
        }
        std::vector<FileId> wanted;
        for (const auto& [number, file] : files)
            wanted.push_back(file);
        SHARDSCOPE_CHECK(loadFiles(m_reading, wanted));
        for (const auto& [number, file] : files) {
            if (m_reading.content(file) == nullptr)
                return damaged("the file of layer " + std::to_string(number) + " cannot be read");
            SHARDSCOPE_CHECK(readLayer(number, file));
        }
        return {};
    }

    Status readLayer(uint32_t number, FileId file)
    {
        Stage0Layer& layer = m_out.layers.emplace_back();
        layer.number = number;
        layer.module = static_cast<uint32_t>(m_out.layers.size() - 1);
        if (const auto known = m_stageOf.find(number); known != m_stageOf.end())
            layer.stage = known->second;
        const TorchFile& content = *m_reading.content(file);
        const PickleGraph& graph = content.pickle();
        const auto items = mappingItems(graph, graph.root());
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(graph, items[i]);
            if (!key || !looksLikeTensor(graph, items[i + 1])
                || m_buffers.contains(std::to_string(number) + "." + std::string(*key)))
                continue;
            const auto tensor = asTensor(graph, items[i + 1]);
            const auto extent = tensor ? content.extentOf(*tensor) : forward(tensor.error());
            if (!tensor || !extent || !tensor->elements())
                return damaged("a tensor of layer " + std::to_string(number) + " cannot be used");
            if (!isFloatingPoint(tensor->dtype)) // a buffer, in releases that name none
                continue;
            const uint64_t elements = *tensor->elements();
            layer.tensors.push_back(static_cast<uint32_t>(m_out.tensors.size()));
            m_out.tensors.push_back({m_out.keys.emplace_back(*key), tensor->sizes, elements, tensor->dtype,
                {file, extent->record, extent->byteOffset, elements}, tensor->isContiguous()});
            layer.weight += m_out.weightOf(layer.tensors.back());
        }
        return {};
    }

    /// A tied module is saved with every layer that uses it without a function of its own. Such files have
    /// equal values. Constant values prove nothing: a new normalisation layer has the same ones in every
    /// layer.
    void findTwins()
    {
        std::map<std::string, uint32_t> known;
        for (uint32_t i = 0; i < m_out.layers.size(); ++i) {
            std::string text;
            bool says = false;
            for (const uint32_t at : m_out.layers[i].tensors) {
                const ModuleTensor& tensor = m_out.tensors[at];
                const auto sample
                    = m_samples.read(tensor.run.file, tensor.run.byteOffset, tensor.elements, tensor.dtype);
                text += std::string(tensor.name) + shapeText(tensor.shape) + "\n";
                text.append(sample.begin(), sample.end());
                const size_t item = itemSize(tensor.dtype);
                says = says
                    || (sample.size() > item
                        && !std::equal(sample.begin() + ptrdiff_t(item), sample.end(), sample.begin()));
            }
            if (says)
                m_out.layers[i].module = known.try_emplace(std::move(text), i).first->second;
        }
    }

    Reading& m_reading;
    ParallelDegrees m_degrees;
    uint32_t m_slice;
    TensorSamples m_samples;
    Stage0Pipeline m_out;
    std::set<std::string, std::less<>> m_buffers;
    std::map<uint32_t, uint32_t> m_stageOf; ///< by number of a layer that has buffers
};

} // namespace

std::vector<uint8_t> TensorSamples::read(FileId id, uint64_t byte, uint64_t elements, DType type)
{
    const auto [entry, isNew] = m_files.try_emplace(index(id));
    if (isNew) {
        if (auto opened = m_reading.files.openRead(m_reading.out.file(id).path))
            entry->second = std::move(*opened);
    }
    std::vector<uint8_t> out(std::min(elements, kMax) * itemSize(type));
    if (entry->second == nullptr || !entry->second->readAt(byte, out))
        return {};
    return out;
}

Result<Stage0Pipeline> readStage0Pipeline(Reading& reading, const ParallelDegrees& degrees, uint32_t slice)
{
    return Pipeline(reading, degrees, slice).read();
}

} // namespace shardscope
