// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/weights_reader.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/formats/npy_folder.h"
#include "core/torchfile/formats/safetensors_file.h"
#include "core/torchfile/torch_file_sniff.h"
#include "core/torchfile/torch_tensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace shardscope {

namespace {

constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20;
constexpr size_t kMaxFiles = 65536;

/// Adds files and their tensors to a checkpoint.
class Weights
{
public:
    Weights(io::FileSystem& files, JobContext& job, Checkpoint& out)
        : m_files(files)
        , m_job(job)
        , m_out(out)
    {
        out.kind = CheckpointKind::Weights;
    }

    Status addFile(const io::Path& path)
    {
        CheckpointFile file;
        file.path = path;
        file.name = path.filename().string();
        const FileId id{static_cast<uint32_t>(m_out.files.size())};
        auto header = headerOf(path, file);
        if (!header) {
            file.status
                = header.error().code == ErrorCode::NotFound ? FileStatus::Missing : FileStatus::Damaged;
            m_out.files.push_back(std::move(file));
            return forward(std::move(header).error());
        }
        file.identity = header->identity;
        m_out.files.push_back(std::move(file));
        for (SafeTensor& tensor : header->tensors)
            addTensor(id, std::move(tensor));
        return {};
    }

    /// Adds a file that holds one tensor at a known place.
    Status addTensorFile(const io::Path& folder, NpyTensor entry)
    {
        CheckpointFile file;
        file.path = folder / entry.file;
        file.name = entry.file;
        SHARDSCOPE_TRY(const io::FileInfo info, m_files.stat(file.path));
        file.identity = info.identity;
        const FileId id{static_cast<uint32_t>(m_out.files.size())};
        m_out.files.push_back(std::move(file));
        addTensor(id, std::move(entry.tensor));
        return {};
    }

    /// `name`: the file that the finding is about.
    void note(const Error& error, const std::string& name)
    {
        const bool missing = error.code == ErrorCode::NotFound;
        m_out.findings.push_back({missing          ? code::kRankMissing
                : error.code == ErrorCode::Hostile ? code::kFileHostile
                                                   : code::kFileUnreadable,
            Severity::Error,
            missing ? "the index names a file that does not exist" : "the file cannot be used",
            percentEncode(name), {describe(error)}});
    }

    void finish(bool complete)
    {
        std::stable_sort(m_out.whole.begin(), m_out.whole.end(),
            [](const WholeTensor& a, const WholeTensor& b) { return a.param < b.param; });
        m_out.supported = true;
        m_out.complete = complete;
        std::map<DType, uint64_t> elements;
        for (const WholeTensor& tensor : m_out.whole)
            elements[tensor.dtype] += tensor.run.elements;
        const auto most = std::max_element(elements.begin(), elements.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most != elements.end())
            m_out.precision = most->first == DType::BFloat16 ? "bf16"
                : most->first == DType::Float16              ? "fp16"
                : most->first == DType::Float32              ? "fp32"
                                                             : std::string();
    }

private:
    /// The tensors of a file. A safetensors file lists them in its header. A torch file, which is kept, lists
    /// them in its pickle.
    Result<SafetensorsHeader> headerOf(const io::Path& path, CheckpointFile& entry)
    {
        SHARDSCOPE_TRY(const bool safetensors, isSafetensorsFile(m_files, path));
        if (safetensors)
            return readSafetensors(m_files, path, m_job);
        SHARDSCOPE_TRY(entry.content, TorchFile::open(m_files, path, ReadMode::Tolerant, m_job));
        entry.recordCount = entry.content->zip().recordCount();
        SafetensorsHeader out;
        out.identity = entry.content->identity();
        SHARDSCOPE_TRY(out.tensors, stateDictTensors(*entry.content));
        return out;
    }

    void addTensor(FileId file, SafeTensor tensor)
    {
        const ParamId id{static_cast<uint32_t>(m_out.params.size())};
        if (!m_out.paramByName.emplace(tensor.name, id).second) {
            m_out.findings.push_back({code::kForeignFile, Severity::Warning,
                "another file has a tensor of this name; the first one is shown",
                ParamAddress{tensor.name, "weight"}, {m_out.file(file).name}});
            return;
        }
        Parameter param;
        param.name = std::move(tensor.name);
        param.shape = std::move(tensor.shape);
        param.elements = tensor.elements;
        param.role = ParamRole::Frozen;
        m_out.params.push_back(std::move(param));
        WholeTensor whole;
        whole.param = id;
        whole.dtype = tensor.dtype;
        whole.run = {file, StoredRun::kNoRecord, tensor.byteOffset, tensor.elements};
        m_out.whole.push_back(std::move(whole));
    }

    io::FileSystem& m_files;
    JobContext& m_job;
    Checkpoint& m_out;
};

/// The file of every tensor: `weight_map` of the index (transformers, save_pretrained).
Result<std::map<std::string, std::string>> weightMap(io::FileSystem& files, const io::Path& path)
{
    SHARDSCOPE_TRY(const std::string text, files.readSmall(path, kMaxIndexBytes));
    const auto object = nlohmann::json::parse(text, nullptr, false);
    const auto bad = [&](const std::string& what) {
        return fail(ErrorCode::Damaged, "the index of the weights cannot be used: " + what, path.string());
    };
    if (!object.is_object() || !object.contains("weight_map") || !object.at("weight_map").is_object())
        return bad("it has no `weight_map`");
    std::map<std::string, std::string> out;
    for (const auto& [name, file] : object.at("weight_map").items()) {
        if (!file.is_string())
            return bad("`" + toValidUtf8(name) + "` has no file's name");
        const auto& fileName = file.get_ref<const std::string&>();
        if (fileName.empty() || fileName.front() == '.' || fileName.find('/') != std::string::npos
            || fileName.find('\0') != std::string::npos || fileName.size() > 255)
            return fail(ErrorCode::Hostile,
                "the index of the weights names a file outside its folder: `"
                    + toValidUtf8(fileName.substr(0, 100)) + "`",
                path.string());
        out.emplace(name, fileName);
    }
    return out;
}

} // namespace

bool isWeightsIndex(std::string_view name)
{
    return name.ends_with(".safetensors.index.json") || name.ends_with(".bin.index.json");
}

Result<bool> isSafetensorsFile(io::FileSystem& files, const io::Path& path)
{
    if (path.extension() == ".safetensors")
        return true; // its error is then reported as that of an index
    SHARDSCOPE_TRY(const auto file, files.openRead(path));
    std::array<uint8_t, 16> head{};
    const std::span<uint8_t> part(head.data(), std::min<uint64_t>(head.size(), file->size()));
    SHARDSCOPE_CHECK(file->readAt(0, part));
    return sniffFile(part, file->size()).name == "a safetensors file";
}

Status readWeightsFile(io::FileSystem& files, const io::Path& path, JobContext& job, Checkpoint& out)
{
    Weights weights(files, job, out);
    SHARDSCOPE_CHECK(weights.addFile(path));
    SHARDSCOPE_TRY(const bool safetensors, isSafetensorsFile(files, path));
    out.evidence.emplace_back(
        safetensors ? "a safetensors file" : "a file of torch that holds tensors alone");
    weights.finish(true);
    return {};
}

Status readWeightsIndex(io::FileSystem& files, const io::Path& path, JobContext& job, Checkpoint& out)
{
    Weights weights(files, job, out);
    SHARDSCOPE_TRY(const auto map, weightMap(files, path));
    std::set<std::string> names;
    for (const auto& [tensor, file] : map)
        names.insert(file);
    if (names.size() > kMaxFiles)
        return fail(
            ErrorCode::LimitExceeded, "the index of the weights names more than 65,536 files", path.string());
    bool complete = true;
    std::optional<Error> first;
    for (const std::string& name : names) {
        const Status added = weights.addFile(path.parent_path() / name);
        if (added)
            continue;
        if (added.error().code == ErrorCode::Cancelled)
            return forward(added.error());
        weights.note(added.error(), name);
        complete = false;
        first = first ? first : std::optional(added.error());
    }
    if (out.params.empty() && first)
        return forward(*first);
    for (const auto& [tensor, file] : map) {
        const bool there = out.findParam(tensor).has_value();
        if (there || !complete)
            continue;
        out.findings.push_back({code::kStateMissing, Severity::Error,
            "the index names a tensor that its file does not have", ParamAddress{tensor, "weight"}, {file}});
        complete = false;
        break; // one is enough
    }
    const bool safetensors = path.filename().string().ends_with(".safetensors.index.json");
    out.evidence.push_back("an index of " + std::to_string(names.size())
        + (safetensors ? " safetensors files" : " files of torch"));
    weights.finish(complete);
    return {};
}

Status readNpyWeights(io::FileSystem& files, const io::Path& folder, JobContext& job, Checkpoint& out)
{
    Weights weights(files, job, out);
    SHARDSCOPE_TRY(std::vector<NpyTensor> tensors, readNpyFolder(files, folder, job));
    size_t states = 0;
    for (NpyTensor& entry : tensors) {
        if (entry.state == kNpyWeights)
            SHARDSCOPE_CHECK(weights.addTensorFile(folder, std::move(entry)));
        else
            ++states;
    }
    out.evidence.push_back("an index of " + std::to_string(out.files.size()) + " NumPy files"
        + (states > 0 ? ", and of " + std::to_string(states) + " of other states, which are not shown" : ""));
    weights.finish(true);
    return {};
}

} // namespace shardscope
