// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/formats/npy_folder.h"

#include "core/base/checked.h"
#include "core/base/sha256.h"
#include "core/base/text.h"
#include "core/torchfile/formats/npy_format.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20;
constexpr size_t kKeptOfLongNames = 180;

bool staysInNames(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'
        || c == '.';
}

std::string spelled(const std::string& name)
{
    std::string out;
    for (const char c : name) {
        if (staysInNames(c) && !(out.empty() && c == '.'))
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    }
    return out;
}

std::string lowered(std::string text)
{
    std::ranges::transform(
        text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return text;
}

/// With the digest of the name in place of its end.
std::string marked(std::string text, const std::string& name)
{
    if (text.size() > kKeptOfLongNames) {
        text.resize(kKeptOfLongNames);
        if (const size_t escape = text.rfind('%'); escape != std::string::npos && escape + 3 > text.size())
            text.resize(escape);
    }
    Sha256 sha;
    sha.update({reinterpret_cast<const uint8_t*>(name.data()), name.size()});
    return text + "~" + sha.finishHex().substr(0, 16);
}

/// Plain names and at most one folder: "a.npy", "exp_avg/a.npy".
bool isInside(const std::string& file)
{
    const size_t slash = file.find('/');
    const auto isPlain = [](std::string_view name) {
        return !name.empty() && name.front() != '.' && name.size() <= 255
            && name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
    };
    const std::string_view all = file;
    return slash == std::string::npos ? isPlain(all)
                                      : isPlain(all.substr(0, slash)) && isPlain(all.substr(slash + 1));
}

class FolderReader
{
public:
    FolderReader(io::FileSystem& files, const io::Path& folder, JobContext& job)
        : m_files(files)
        , m_folder(folder)
        , m_job(job)
    {
    }

    Result<std::vector<NpyTensor>> read()
    {
        SHARDSCOPE_TRY(const std::string text, m_files.readSmall(m_folder / kNpyIndexName, kMaxIndexBytes));
        const Json index = Json::parse(text, nullptr, false);
        if (!index.is_object() || !index.contains("tensors"))
            return bad("it has no `tensors`");
        SHARDSCOPE_CHECK(addState(std::string(kNpyWeights), index.at("tensors")));
        const Json states = index.value("states", Json::object());
        if (!states.is_object())
            return bad("`states` is not an object");
        for (const auto& [state, tensors] : states.items())
            SHARDSCOPE_CHECK(addState(state, tensors));
        return std::move(m_out);
    }

private:
    [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const
    {
        return fail(ErrorCode::Damaged, "the index of the NumPy files is invalid: " + what,
            (m_folder / kNpyIndexName).string());
    }

    Status addState(const std::string& state, const Json& tensors)
    {
        if (!tensors.is_object())
            return bad("the tensors of `" + toValidUtf8(state) + "` are not an object");
        for (const auto& [name, entry] : tensors.items()) {
            SHARDSCOPE_CHECK(m_job.poll());
            SHARDSCOPE_CHECK(addTensor(state, name, entry));
        }
        return {};
    }

    Status addTensor(const std::string& state, const std::string& name, const Json& entry)
    {
        const auto isText = [&](const char* key) { return entry.contains(key) && entry.at(key).is_string(); };
        if (!entry.is_object() || !isText("file") || !isText("dtype") || !entry.contains("shape")
            || !entry.at("shape").is_array() || !std::ranges::all_of(entry.at("shape"), [](const Json& size) {
                   return size.is_number_unsigned();
               }))
            return bad("`" + toValidUtf8(name) + "` has no file, dtype and shape");
        NpyTensor out;
        out.state = state;
        out.file = entry.at("file").get<std::string>();
        if (!isInside(out.file))
            return fail(ErrorCode::Hostile,
                "the index of the NumPy files points outside its folder: `"
                    + toValidUtf8(out.file.substr(0, 100)) + "`",
                (m_folder / kNpyIndexName).string());
        if (!m_taken.insert(out.file).second)
            return bad("it lists the file `" + toValidUtf8(out.file) + "` twice");
        out.tensor.name = name;
        out.tensor.dtype = dtypeFromName(entry.at("dtype").get<std::string>()).value_or(DType::Unknown);
        out.tensor.shape = entry.at("shape").get<Shape>();
        SHARDSCOPE_CHECK(place(out));
        m_out.push_back(std::move(out));
        return {};
    }

    /// By the header of the tensor's file, which must be that of the index.
    Status place(NpyTensor& out)
    {
        const io::Path path = m_folder / out.file;
        SHARDSCOPE_TRY(const auto file, m_files.openRead(path));
        std::string head(std::min(file->size(), kMaxNpyHeaderBytes), '\0');
        SHARDSCOPE_CHECK(file->readAt(0, {reinterpret_cast<uint8_t*>(head.data()), head.size()}));
        SHARDSCOPE_TRY(const NpyHeader header, parseNpyHeader(head, path.string()));
        SafeTensor& tensor = out.tensor;
        const auto elements = elementCount(tensor.shape);
        const auto bytes
            = elements ? checkedMultiply(*elements, uint64_t{itemSize(tensor.dtype)}) : std::nullopt;
        const std::string meant = npyRawHeader(tensor.dtype, {});
        const auto type = parseNpyHeader(meant, path.string());
        if (tensor.dtype == DType::Unknown || !bytes || !type || type->type != header.type
            || header.shape != tensor.shape || checkedAdd(header.dataOffset, *bytes) != file->size())
            return fail(ErrorCode::Damaged,
                "the type, shape or size of the NumPy file differs from the index", path.string());
        tensor.elements = *elements;
        tensor.bytes = *bytes;
        tensor.byteOffset = header.dataOffset;
        return {};
    }

    io::FileSystem& m_files;
    const io::Path& m_folder;
    JobContext& m_job;
    std::set<std::string> m_taken; ///< files
    std::vector<NpyTensor> m_out;
};

} // namespace

std::string npyIndexText(std::span<const NpyTensor> tensors)
{
    Json out;
    out["tensors"] = Json::object();
    for (const NpyTensor& entry : tensors) {
        Json& list = entry.state == kNpyWeights ? out["tensors"] : out["states"][entry.state];
        list[entry.tensor.name]
            = {{"dtype", dtypeName(entry.tensor.dtype)}, {"file", entry.file}, {"shape", entry.tensor.shape}};
    }
    return out.dump(2, ' ', true) + "\n";
}

std::vector<std::string> npyFileNames(const std::vector<std::string>& names, size_t maxBytes)
{
    std::set<std::string> taken;
    std::vector<std::string> out;
    for (const std::string& name : names) {
        std::string text = spelled(name);
        if (text.size() > maxBytes || !taken.insert(lowered(text)).second)
            text = marked(std::move(text), name);
        out.push_back(std::move(text));
    }
    return out;
}

Result<std::vector<NpyTensor>> readNpyFolder(io::FileSystem& files, const io::Path& folder, JobContext& job)
{
    return FolderReader(files, folder, job).read();
}

} // namespace shardscope
