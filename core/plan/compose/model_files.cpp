// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/model_files.h"

#include "core/checkpoint/folder/wrapper_files.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

/// transformers, utils/__init__.py (…_NAME) and the vocab_files_names of its tokenizers.
constexpr std::array<std::string_view, 28> kNames{"added_tokens.json", "audio_tokenizer_config.json",
    "bpe.codes", "chat_template.jinja", "chat_template.json", "config.json", "dict.txt",
    "generation_config.json", "image_processor_config.json", "merges.txt", "prefix.txt",
    "preprocessor_config.json", "processor_config.json", "sentencepiece.bpe.model", "sentencepiece.model",
    "source.spm", "special_tokens_map.json", "spiece.model", "spm.model", "target.spm", "tekken.json",
    "tiktoken.model", "tokenizer.json", "tokenizer.model", "tokenizer_config.json",
    "video_preprocessor_config.json", "vocab.json", "vocab.txt"};

/// Files of models and tokenizers with their own code (custom_object_save).
constexpr std::array<std::string_view, 5> kCode{
    "configuration_", "image_processing_", "modeling_", "processing_", "tokenization_"};

bool isOfModelAlone(std::string_view name)
{
    return name == "config.json" || name == "generation_config.json" || name.ends_with(".py");
}

} // namespace

bool isModelFile(std::string_view name)
{
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end())
        return true;
    return name.ends_with(".py") && std::any_of(kCode.begin(), kCode.end(), [&](std::string_view begin) {
        return name.starts_with(begin);
    });
}

Result<std::vector<CarriedFile>> modelFilesNextTo(
    io::FileSystem& files, const Checkpoint& source, std::vector<PlanSource>& sources, bool ofText)
{
    const io::Path folder
        = hasNoRunFolder(source.kind) || source.runFolder.empty() ? source.tagFolder : source.runFolder;
    SHARDSCOPE_TRY(const auto entries, files.list(folder));
    std::vector<CarriedFile> out;
    for (const io::DirectoryEntry& entry : entries) {
        if (!isModelFile(entry.name) || (ofText && isOfModelAlone(entry.name)))
            continue;
        CheckpointFile file;
        file.path = folder / entry.name;
        file.name = std::string(kNextToTag) + entry.name;
        const auto info = files.stat(file.path);
        if (!info && info.error().code != ErrorCode::NotFound)
            return forward(info.error());
        if (!info || info->type != io::FileType::Regular)
            continue; // a broken link, or a folder with that name
        file.identity = info->identity;
        CarriedFile carried;
        carried.path = entry.name;
        carried.source = static_cast<uint32_t>(sources.size());
        carried.bytes = info->identity.bytes;
        SHARDSCOPE_TRY(PlanSource from, wholeFileSource(files, file, carried));
        sources.push_back(std::move(from));
        out.push_back(std::move(carried));
    }
    return out;
}

} // namespace shardscope
