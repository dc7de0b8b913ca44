// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export_npy.h"

#include "core/base/text.h"
#include "core/checkpoint/model/file_names.h"
#include "core/plan/compose/segment_cursors.h"
#include "core/torchfile/formats/npy_folder.h"
#include "core/torchfile/formats/npy_format.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

/// Whether it is one of our file names next to the folders of states.
bool isTaken(const std::string& state)
{
    return state.ends_with(".npy") || state == kNpyIndexName || state == kManifestName;
}

Status checkNames(const ExportContext& context)
{
    for (const ExportTensor& tensor : context.tensors) {
        if (!isValidUtf8(tensor.name))
            return fail(ErrorCode::Unsupported,
                "`" + toValidUtf8(tensor.name) + "` is not a name that the index of NumPy files can hold",
                context.source->tagFolder.string(), "give it another name with --rename");
        if (isTaken(tensor.state))
            return fail(ErrorCode::Unsupported, "`" + tensor.state + "` cannot be the name of a folder",
                context.source->tagFolder.string(), "omit it from --states");
    }
    return {};
}

} // namespace

Result<std::vector<ExportTarget>> npyTargets(const ExportContext& context)
{
    SHARDSCOPE_CHECK(checkNames(context));
    std::vector<ExportTarget> out;
    std::vector<NpyTensor> index;
    const auto total = static_cast<uint32_t>(context.tensors.size());
    std::vector<std::string> states;
    for (uint32_t begin = 0; begin < total;) {
        std::vector<std::string> names;
        const std::string& state = context.tensors[begin].state;
        uint32_t end = begin;
        for (; end < total && context.tensors[end].state == state; ++end)
            names.push_back(context.tensors[end].name);
        names = npyFileNames(names);
        std::string folder;
        if (begin > 0) { // the weights come first
            states.push_back(state);
            folder = npyFileNames(states).back() + "/";
        }
        for (uint32_t i = begin; i < end; ++i) {
            const ExportTensor& tensor = context.tensors[i];
            ExportTarget file{ExportTarget::Kind::Tensors, folder + names[i - begin] + ".npy"};
            file.tensors.push_back(i);
            index.push_back({begin > 0 ? state : std::string(kNpyWeights), file.path,
                {tensor.name, tensor.dtype, tensor.shape, tensor.elements, 0, 0}});
            out.push_back(std::move(file));
        }
        begin = end;
    }
    ExportTarget file{ExportTarget::Kind::Text, std::string(kNpyIndexName)};
    file.text = npyIndexText(index);
    out.push_back(std::move(file));
    return out;
}

Result<OutputFile> composeNpy(const std::shared_ptr<const ExportContext>& context, const ExportTarget& target)
{
    const uint32_t number = target.tensors.front();
    const ExportTensor& tensor = context->tensors[number];
    OutputFile out;
    out.path = target.path;
    out.torchArchive = false;
    OutputRecord header;
    header.name = "header";
    header.literal = npyRawHeader(tensor.dtype, tensor.shape);
    header.bytes = header.literal.size();
    out.records.push_back(std::move(header));
    OutputRecord elements;
    elements.name = "elements";
    elements.bytes = tensor.elements * itemSize(tensor.dtype);
    elements.content = OutputRecord::Content::Segments;
    elements.cursor = tensorCursor(
        {context->source, context->sourceOfFile, tensor.param, tensor.from, tensor.dtype, number});
    out.records.push_back(std::move(elements));
    return out;
}

std::string npyRawNote(const std::vector<ExportTensor>& tensors)
{
    std::set<std::string_view> dtypes;
    for (const ExportTensor& tensor : tensors) {
        if (npyType(tensor.dtype).empty())
            dtypes.insert(dtypeName(tensor.dtype));
    }
    std::string list;
    for (const std::string_view dtype : dtypes)
        list += (list.empty() ? "" : ", ") + std::string(dtype);
    return list;
}

} // namespace shardscope
