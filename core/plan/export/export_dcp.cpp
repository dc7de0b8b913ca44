// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export_dcp.h"

#include "core/base/text.h"
#include "core/checkpoint/model/require.h"
#include "core/checkpoint/model/wrapped_names.h"
#include "core/layout/fragments.h"
#include "core/plan/compose/archive_composer.h"
#include "core/plan/compose/literal_archive.h"
#include "core/plan/compose/segment_cursors.h"
#include "core/plan/export/dcp_objects.h"
#include "core/plan/model/output_bytes.h"
#include "core/plan/target/stage0_form.h"
#include "core/torchfile/formats/dcp_metadata.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardscope {

namespace {

constexpr std::string_view kMaster = "fp32";
constexpr std::string_view kWeight = "weight";

std::string keyOf(const std::vector<DcpStep>& path)
{
    std::string out;
    for (const DcpStep& step : path) {
        const auto* text = std::get_if<std::string>(&step);
        out += (out.empty() ? "" : ".") + (text ? *text : std::to_string(std::get<int64_t>(step)));
    }
    return out;
}

std::vector<DcpStep> pathOf(const std::string& name, const std::string& state)
{
    if (state == kWeight)
        return {"model", name};
    return {"optim", "state", name, state};
}

std::string fileName(size_t number)
{
    return "__0_" + std::to_string(number) + ".distcp";
}

DcpEntry tensorEntry(std::vector<DcpStep> path, DType dtype, const Shape& shape, DcpPlace place)
{
    DcpEntry out;
    out.key = keyOf(path);
    out.path = std::move(path);
    out.isTensor = true;
    out.dtype = dtype;
    out.shape = shape;
    out.chunks = {{Shape(shape.size(), 0), shape, std::move(place)}};
    return out;
}

/// The parameter's name in a tensor's key.
std::string nameIn(const ExportTensor& tensor)
{
    const size_t begin = keyOf(pathOf({}, tensor.state)).size();
    if (tensor.state == kWeight)
        return tensor.name.substr(begin);
    const size_t around = begin - tensor.state.size() - 1;
    return tensor.name.substr(around, tensor.name.size() - begin);
}

/// Collects the files and their entries in the metadata.
class TargetMaker
{
public:
    explicit TargetMaker(std::shared_ptr<const ExportContext> context)
        : m_context(std::move(context))
    {
        m_targets.push_back({ExportTarget::Kind::Text, fileName(0)});
    }

    Status addTensors()
    {
        for (uint32_t i = 0; i < m_context->tensors.size(); ++i) {
            const ExportTensor& tensor = m_context->tensors[i];
            ExportTarget file{ExportTarget::Kind::Tensors, fileName(m_targets.size())};
            file.tensors.push_back(i);
            SHARDSCOPE_TRY(const OutputFile made, composeDcpTensor(m_context, file));
            SHARDSCOPE_TRY(const DcpPlace place, placeOf(made));
            SHARDSCOPE_CHECK(
                note(tensorEntry(pathOf(nameIn(tensor), tensor.state), tensor.dtype, tensor.shape, place)));
            if (tensor.state == kWeight)
                m_weights[tensor.param] = i;
            m_places.push_back(place);
            m_targets.push_back(std::move(file));
        }
        return {};
    }

    /// A model's state dict has tied parameters under all their names. One file is used for all of them.
    Status addAliases()
    {
        for (uint32_t i = 0; i < m_context->source->params.size(); ++i) {
            const Parameter& param = m_context->source->params[i];
            const auto owner
                = param.sharedWith == kNoParam ? m_weights.end() : m_weights.find(param.sharedWith);
            if (owner == m_weights.end())
                continue;
            const ExportTensor& tensor = m_context->tensors[owner->second];
            SHARDSCOPE_CHECK(
                note(tensorEntry(pathOf(stateDictName(*m_context->source, ParamId{i}), std::string(kWeight)),
                    tensor.dtype, tensor.shape, m_places[owner->second])));
        }
        return {};
    }

    Status addObjects(std::vector<DcpObject> objects)
    {
        for (DcpObject& object : objects) {
            DcpPlace place;
            std::string& packed = m_targets.front().text;
            if (isLiteralArchive(object.archive)) {
                SHARDSCOPE_TRY(const std::string bytes, literalArchiveBytes(object.archive));
                place = {m_targets.front().path, packed.size(), bytes.size()};
                packed += bytes;
            } else {
                ExportTarget file{ExportTarget::Kind::Made, fileName(m_targets.size())};
                object.archive.path = file.path;
                SHARDSCOPE_TRY(place, placeOf(object.archive));
                file.made = std::make_shared<const OutputFile>(std::move(object.archive));
                m_targets.push_back(std::move(file));
            }
            for (std::vector<DcpStep>& path : object.paths) {
                DcpEntry entry = object.isStep ? tensorEntry(path, DType::Float32, {}, place) : DcpEntry();
                if (!object.isStep) {
                    entry.key = keyOf(path);
                    entry.path = std::move(path);
                    entry.place = place;
                }
                SHARDSCOPE_CHECK(note(std::move(entry)));
            }
        }
        return {};
    }

    Result<std::vector<ExportTarget>> take()
    {
        ExportTarget metadata{ExportTarget::Kind::Text, std::string(kDcpMetadataName)};
        SHARDSCOPE_TRY(metadata.text, dcpMetadataBytes(m_entries));
        m_targets.push_back(std::move(metadata));
        return std::move(m_targets);
    }

private:
    static Result<DcpPlace> placeOf(const OutputFile& file)
    {
        SHARDSCOPE_TRY(const uint64_t bytes, outputBytes(file));
        return DcpPlace{file.path, 0, bytes};
    }

    Status note(DcpEntry entry)
    {
        if (!m_keys.insert(entry.key).second)
            return fail(ErrorCode::Unsupported,
                "two values of the checkpoint would have the name `" + toValidUtf8(entry.key) + "`",
                m_context->source->tagFolder.string());
        m_entries.push_back(std::move(entry));
        return {};
    }

    std::shared_ptr<const ExportContext> m_context;
    std::vector<ExportTarget> m_targets;
    std::vector<DcpEntry> m_entries;
    std::set<std::string> m_keys;
    std::vector<DcpPlace> m_places; ///< by tensor
    std::map<ParamId, uint32_t> m_weights;
};

/// A state with known places. A whole tensor may be known without its bytes.
std::optional<StateSource> presentState(const Checkpoint& source, ParamId param, std::string_view state)
{
    const auto found = findState(source, param, state);
    if (!found || (found->whole != nullptr && !found->whole->run.isPresent() && found->elements > 0))
        return std::nullopt;
    return *found;
}

ExportTensor tensorOf(
    const Checkpoint& source, const ExportName& entry, const StateSource& from, std::string read, bool weight)
{
    const Parameter& param = source.params[index(entry.param)];
    std::string state = weight ? std::string(kWeight) : read;
    std::string key = keyOf(pathOf(entry.name, state));
    return {from.param, std::move(read), std::move(key), std::move(state), from.dtype, param.shape,
        param.elements, param.role == ParamRole::Buffer};
}

} // namespace

Result<std::vector<ExportTensor>> dcpTensors(const Checkpoint& source, const std::vector<ExportName>& names)
{
    SHARDSCOPE_CHECK(requireAllStates(source));
    if (source.isReadable(source.templateOptim))
        SHARDSCOPE_CHECK(requireNoFurtherValues(source));
    std::vector<ExportTensor> out;
    for (const ExportName& entry : names) {
        const std::string read(presentState(source, entry.param, kMaster) ? kMaster : kWeight);
        const auto from = presentState(source, entry.param, read);
        if (!from)
            return fail(ErrorCode::Refused, "no file holds the weight of `" + toValidUtf8(entry.name) + "`",
                source.tagFolder.string());
        out.push_back(tensorOf(source, entry, *from, read, true));
    }
    for (const std::string& state : source.stateNames()) {
        if (state == kMaster || state == kWeight)
            continue;
        for (const ExportName& entry : names) {
            if (const auto from = presentState(source, entry.param, state))
                out.push_back(tensorOf(source, entry, *from, state, false));
        }
    }
    return out;
}

Result<std::vector<ExportTarget>> dcpTargets(const std::shared_ptr<const ExportContext>& context,
    const std::vector<ExportName>& names, std::vector<Finding>& warnings)
{
    TargetMaker maker(context);
    SHARDSCOPE_CHECK(maker.addTensors());
    SHARDSCOPE_CHECK(maker.addAliases());
    SHARDSCOPE_TRY(std::vector<DcpObject> objects,
        dcpObjects(*context->source, names, *context->sourceOfFile, warnings));
    SHARDSCOPE_CHECK(maker.addObjects(std::move(objects)));
    return maker.take();
}

Result<OutputFile> composeDcpTensor(
    const std::shared_ptr<const ExportContext>& context, const ExportTarget& target)
{
    const uint32_t number = target.tensors.front();
    const ExportTensor& tensor = context->tensors[number];
    if (storageClassOf(tensor.dtype).empty())
        return fail(ErrorCode::Unsupported,
            "this build does not write `" + toValidUtf8(tensor.name) + "` of "
                + std::string(dtypeName(tensor.dtype)) + " into a file of torch",
            context->source->tagFolder.string());
    ArchiveComposer composer;
    const NodeId root = composer.tensor(tensor.dtype, tensor.shape, false,
        tensorCursor(
            {context->source, context->sourceOfFile, tensor.param, tensor.from, tensor.dtype, number}));
    SHARDSCOPE_TRY(OutputFile out, composer.finish(root, target.path, recordsOfToday()));
    out.prefix = "archive"; // like torch.save into a stream
    return out;
}

} // namespace shardscope
