// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export_files.h"

#include "core/base/text.h"
#include "core/plan/compose/archive_composer.h"
#include "core/plan/compose/segment_cursors.h"
#include "core/plan/compose/shard_split.h"
#include "core/plan/export/export_dcp.h"
#include "core/plan/export/export_npy.h"
#include "core/torchfile/formats/safetensors_layout.h"

#include <limits>
#include <numeric>

namespace shardscope {

namespace {

/// The elements of several tensors, one tensor after the other.
class TensorsCursor final : public SegmentCursor
{
public:
    TensorsCursor(
        std::shared_ptr<const ExportContext> context, std::shared_ptr<const std::vector<uint32_t>> order)
        : m_context(std::move(context))
        , m_order(std::move(order))
    {
    }

    bool next(Segment& segment) override
    {
        while (!m_current || !m_current->next(segment)) {
            if (m_next == m_order->size())
                return false;
            const uint32_t number = (*m_order)[m_next++];
            const ExportTensor& tensor = m_context->tensors[number];
            m_current = tensorCursor({m_context->source, m_context->sourceOfFile, tensor.param, tensor.from,
                tensor.dtype, number})();
        }
        return true;
    }

private:
    std::shared_ptr<const ExportContext> m_context;
    std::shared_ptr<const std::vector<uint32_t>> m_order;
    size_t m_next = 0;
    std::unique_ptr<SegmentCursor> m_current;
};

OutputRecord literalRecord(std::string name, std::string text)
{
    OutputRecord out;
    out.name = std::move(name);
    out.bytes = text.size();
    out.literal = std::move(text);
    return out;
}

OutputFile plainFile(std::string path)
{
    OutputFile out;
    out.path = std::move(path);
    out.torchArchive = false;
    return out;
}

Result<OutputFile> composeSafetensors(
    const std::shared_ptr<const ExportContext>& context, const ExportTarget& target)
{
    std::vector<SafetensorsSpec> specs;
    specs.reserve(target.tensors.size());
    for (const uint32_t number : target.tensors) {
        const ExportTensor& tensor = context->tensors[number];
        specs.push_back({tensor.name, tensor.dtype, tensor.shape});
    }
    // transformers refuses files that do not record the framework that saved them (modeling_utils.py).
    SHARDSCOPE_TRY(SafetensorsLayout layout, SafetensorsLayout::make(specs, {{"format", "pt"}}));
    auto order = std::make_shared<std::vector<uint32_t>>();
    for (const uint32_t position : layout.order)
        order->push_back(target.tensors[position]);
    OutputFile out = plainFile(target.path);
    OutputRecord elements;
    elements.name = "elements";
    elements.bytes = layout.totalBytes - layout.header.size();
    elements.content = OutputRecord::Content::Segments;
    elements.cursor = [context, order = std::shared_ptr<const std::vector<uint32_t>>(std::move(order))] {
        return std::make_unique<TensorsCursor>(context, order);
    };
    out.records.push_back(literalRecord("header", std::move(layout.header)));
    out.records.push_back(std::move(elements));
    return out;
}

/// The `torch.save` form of a dict of tensors, each with its own storage.
Result<OutputFile> composeTorch(
    const std::shared_ptr<const ExportContext>& context, const ExportTarget& target)
{
    ArchiveComposer composer;
    PickleBuilder& builder = composer.builder();
    const NodeId root = builder.dict();
    for (const uint32_t number : target.tensors) {
        const ExportTensor& tensor = context->tensors[number];
        if (storageClassOf(tensor.dtype).empty())
            return fail(ErrorCode::Unsupported,
                "this build does not write `" + toValidUtf8(tensor.name) + "` of "
                    + std::string(dtypeName(tensor.dtype)) + " into a file of torch",
                context->source->tagFolder.string(), "--format safetensors holds it");
        if (!isValidUtf8(tensor.name))
            return fail(ErrorCode::Unsupported,
                "`" + toValidUtf8(tensor.name) + "` is not a name that torch can load",
                context->source->tagFolder.string(), "give it another name with --rename");
        builder.setItem(root, builder.string(tensor.name),
            composer.tensor(tensor.dtype, tensor.shape, false,
                tensorCursor({context->source, context->sourceOfFile, tensor.param, tensor.from, tensor.dtype,
                    number})));
    }
    return composer.finish(root, target.path, recordsOfToday());
}

/// Adds all tensors of one state: files of at most the shard size, and an index if there are several.
void addShards(const ExportContext& context, uint32_t begin, uint32_t end, uint64_t shardBytes,
    std::vector<ExportTarget>& out)
{
    std::vector<uint64_t> bytes;
    uint64_t parameters = 0;
    for (uint32_t i = begin; i < end; ++i) {
        const ExportTensor& tensor = context.tensors[i];
        bytes.push_back(tensor.elements * itemSize(tensor.dtype));
        parameters += tensor.isBuffer ? 0 : tensor.elements;
    }
    const ExportFormatTraits& traits = traitsOf(context.format);
    const std::string extension(traits.extension);
    const std::string stem = begin == 0 ? std::string(traits.stem) : context.tensors[begin].state;
    const auto shards = splitIntoShards(bytes, shardBytes);
    std::vector<std::pair<std::string, std::string>> fileOfTensor;
    for (size_t shard = 0; shard < shards.size(); ++shard) {
        ExportTarget file{ExportTarget::Kind::Tensors, shardName(stem, extension, shard, shards.size())};
        for (const uint32_t position : shards[shard]) {
            file.tensors.push_back(begin + position);
            fileOfTensor.emplace_back(context.tensors[begin + position].name, file.path);
        }
        out.push_back(std::move(file));
    }
    if (shards.size() < 2)
        return;
    ExportTarget index{ExportTarget::Kind::Text, stem + "." + extension + ".index.json"};
    index.text = shardIndexText(
        std::move(fileOfTensor), parameters, std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}));
    out.push_back(std::move(index));
}

} // namespace

Result<std::vector<ExportTarget>> exportTargets(const ExportContext& context, uint64_t shardBytes)
{
    switch (traitsOf(context.format).layout) {
    case ExportLayout::Shards:
        break;
    case ExportLayout::OneFile:
        shardBytes = std::numeric_limits<uint64_t>::max();
        break;
    case ExportLayout::FilePerTensor:
        return npyTargets(context);
    case ExportLayout::Distributed:
        return fail(ErrorCode::Internal, "exportTargets() for a distributed checkpoint");
    }
    std::vector<ExportTarget> out;
    const auto total = static_cast<uint32_t>(context.tensors.size());
    for (uint32_t begin = 0; begin < total;) {
        uint32_t end = begin + 1;
        while (end < total && context.tensors[end].state == context.tensors[begin].state)
            ++end;
        addShards(context, begin, end, shardBytes, out);
        begin = end;
    }
    return out;
}

Result<OutputFile> composeExport(
    const std::shared_ptr<const ExportContext>& context, const ExportTarget& target)
{
    switch (target.kind) {
    case ExportTarget::Kind::Tensors:
        switch (context->format) {
        case ExportFormat::Safetensors:
        case ExportFormat::Adapter:
            return composeSafetensors(context, target);
        case ExportFormat::Torch:
            return composeTorch(context, target);
        case ExportFormat::Npy:
            return composeNpy(context, target);
        case ExportFormat::Dcp:
            return composeDcpTensor(context, target);
        }
        break;
    case ExportTarget::Kind::Text: {
        OutputFile out = plainFile(target.path);
        out.records.push_back(literalRecord("text", target.text));
        return out;
    }
    case ExportTarget::Kind::Made:
        return *target.made;
    case ExportTarget::Kind::Carried:
        return verbatimCopy(target.carried);
    }
    return fail(ErrorCode::Internal, "unknown kind of file");
}

} // namespace shardscope
