// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/expert_files.h"

#include "core/base/text.h"
#include "core/checkpoint/model/experts.h"
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope {

std::map<std::string, DType> expertTypes(const ReshardContext& context)
{
    std::map<std::string, DType> out;
    for (const ReshardContext::Copied& copied : context.copied) {
        if (copied.made == nullptr)
            continue;
        const PickleGraph& graph = context.source->file(copied.file).content->pickle();
        const auto items = mappingItems(graph, graph.root());
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(graph, items[i]);
            const auto expert = name ? parseExpertName(*name) : std::nullopt;
            const auto tensor = asTensor(graph, items[i + 1]);
            if (expert && tensor)
                out.emplace(expert->renumbered(copied.made->number), tensor->dtype);
        }
    }
    return out;
}

Result<OutputFile> composeExpert(const std::shared_ptr<const ReshardContext>& context,
    const ReshardContext::Copied& from, const std::string& name)
{
    const Checkpoint& source = *context->source;
    ArchiveComposer composer(
        *source.file(from.file).content, context->sourceIndex(from.file), ArchiveComposer::Take::FormOnly);
    const PickleGraph& graph = composer.graph();
    const NodeId root = composer.builder().dict();
    const auto items = mappingItems(graph, graph.root());
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(graph, items[i]);
        const auto expert = key ? parseExpertName(*key) : std::nullopt;
        const auto tensor = asTensor(graph, items[i + 1]);
        const auto param = expert ? source.findParam(expert->renumbered(from.made->number)) : std::nullopt;
        if (!param || !tensor || source.params[index(*param)].group < 0)
            return fail(ErrorCode::Refused,
                "the file of another expert holds `" + toValidUtf8(std::string(key.value_or("?")))
                    + "`, which has no master for this expert",
                source.file(from.file).path.string(), "copy the file from where it was saved");
        composer.builder().setItem(root, composer.builder().string(source.params[index(*param)].name),
            wholeTensor(composer, context, *param, valueStateOf(source, *param), tensor->dtype,
                weightTensor(*context, *param), tensor->requiresGrad));
    }
    return composer.finish(root, name, from.records);
}

} // namespace shardscope
